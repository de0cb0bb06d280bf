//! A replication as Markdown, for a study; and the block of a file that it stands in.

use super::terminal::{figure, outcome, published};
use crate::{escape, markdown_table};
use netdyno_lab_analysis::claims::{Judged, JudgedClaim, Replication, Tested};
use netdyno_lab_analysis::report::plain;

const BEGIN: &str = "<!-- claims:begin -->";
const END: &str = "<!-- claims:end -->";

/// The articles, each with its table, what shows the causes, and its runs.
#[must_use]
pub fn markdown(replication: &Replication) -> String {
    replication.articles.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(article: &Judged) -> String {
    let head =
        ["the article says", "published", "by its own method", "treated alike", "verdict"].map(str::to_owned);
    let rows: Vec<Vec<String>> = article.claims.iter().map(row).collect();
    let mut out = vec![format!("**{}: {}**\n", escape(&article.id), escape(&plain(&article.title)))];
    out.push(markdown_table(&head, &rows));
    out.push(
        "Ratios of the first to the second side, with the interval that holds whenever a run stops.\n"
            .to_owned(),
    );
    let shown: Vec<String> = article.claims.iter().flat_map(causes).collect();
    if !shown.is_empty() {
        out.push(format!("What shows the causes:\n\n{}\n", shown.join("\n")));
    }
    if !article.differs.is_empty() {
        out.push(format!(
            "Otherwise here than in the article: {}.\n",
            escape(&plain(&article.differs.join("; ")))
        ));
    }
    let runs = article.methods.iter().map(|ran| {
        let run = if ran.run.is_empty() { "no run".to_owned() } else { format!("run {}", ran.run) };
        let (about, headline) = (escape(&plain(&ran.about)), escape(&plain(&ran.headline)));
        format!("- {}: {about}. `{}` ({run}, {headline})", escape(&ran.name), ran.command)
    });
    out.push(format!("Methods:\n\n{}\n", runs.collect::<Vec<_>>().join("\n")));
    let mut hosts: Vec<&str> =
        article.methods.iter().map(|r| r.host.as_str()).filter(|h| !h.is_empty()).collect();
    hosts.dedup();
    if !hosts.is_empty() {
        out.push(format!("Host: {}.\n", escape(&plain(&hosts.join("; ")))));
    }
    out.join("\n")
}

fn row(claim: &JudgedClaim) -> Vec<String> {
    let statement = format!("{} ({})", claim.statement, claim.id);
    // Why nothing is tested stands in the verdict already.
    let of = |tested: &Tested| {
        if tested.why == claim.fair.why && tested.method.is_empty() { String::new() } else { of(tested) }
    };
    vec![statement, printed(claim), of(&claim.article), of(&claim.fair), claim.sentence.clone()]
}

/// `213.38 : 135.45 MB/s, 1.58x`
fn printed(claim: &JudgedClaim) -> String {
    let p = &claim.published;
    let figures = match (p.a, p.b) {
        (Some(a), Some(b)) => format!("{a} : {b} {}", p.unit),
        (Some(a), None) => format!("{a} {}", p.unit),
        _ => String::new(),
    };
    let parts = [figures.trim().to_owned(), published(claim)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The ratio, and of whom.
fn of(tested: &Tested) -> String {
    if tested.measured.is_none() {
        tested.why.clone()
    } else {
        format!("{}, {}", figure(tested), tested.sides)
    }
}

fn causes(claim: &JudgedClaim) -> Vec<String> {
    let note = (!claim.note.is_empty()).then(|| claim.note.clone());
    let shown = claim.experiments.iter().map(|e| format!("{}: {}", e.about, outcome(&e.tested)));
    shown.chain(note).map(|text| format!("- {}: {}", claim.id, escape(&plain(&text)))).collect()
}

/// A document with the text between its markers replaced.
///
/// # Errors
/// In words: when it has no such place, or several.
pub fn into_block(document: &str, text: &str) -> Result<String, String> {
    let missing =
        || format!("has no one place for it: write the lines {BEGIN} and {END} where it should stand");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    if after.contains(BEGIN) || before.contains(END) {
        return Err(missing());
    }
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_the_rest_stays() {
        let document = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = into_block(&document, "new\n\n").unwrap();
        assert_eq!(new, format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(into_block(&new, "new").unwrap(), new);
        for broken in ["", BEGIN, &format!("{END} {BEGIN}"), &format!("{document}{document}")] {
            assert!(into_block(broken, "new").unwrap_err().contains("has no one place"), "{broken}");
        }
    }
}
