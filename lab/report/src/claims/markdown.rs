//! A replication as Markdown, and its block in the document of a study.

use super::terminal::{figure, kind, outcome, parts, published, run, table, values};
use crate::{escape, markdown_table};
use netdyno_lab_analysis::claims::{Judged, JudgedClaim, Replication, Tested};
use netdyno_lab_analysis::report::plain;

/// Begins a marker, which may end with the command that prints the block.
const BEGIN: &str = "<!-- claims:begin";
const MARKER_END: &str = "-->";
const END: &str = "<!-- claims:end -->";

/// Formats each article: table of claims, evidence for the causes, and methods.
pub fn markdown(replication: &Replication) -> String {
    replication.articles.iter().map(article).collect::<Vec<_>>().join("\n")
}

fn article(article: &Judged) -> String {
    let (head, rows) = table(article, row);
    let mut out = vec![format!("**{}: {}**\n", escape(&article.id), escape(&plain(&article.title)))];
    out.push(markdown_table(&head, &rows));
    out.push(format!("{}\n", article.summary.sentences()));
    out.push(
        "Ratios of the first side to the second, with a confidence interval that is valid whenever the run stops.\n"
            .to_owned(),
    );
    let causes: Vec<String> = article.claims.iter().flat_map(causes).collect();
    if !causes.is_empty() {
        out.push(format!("Evidence for the causes:\n\n{}\n", causes.join("\n")));
    }
    if !article.differs.is_empty() {
        let differs = article.differs.iter().map(|text| format!("- {}", escape(&plain(text))));
        out.push(format!("Differences from the article:\n\n{}\n", differs.collect::<Vec<_>>().join("\n")));
    }
    let runs = article.methods.iter().map(|ran| {
        let (about, headline) = (escape(&plain(&ran.about)), escape(&plain(&ran.headline)));
        format!("- {}: {about}. `{}` ({}, {headline})", escape(&ran.name), ran.command, run(ran))
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
    // The verdict already contains the reason why nothing was tested.
    let result = |tested: &Tested| {
        if tested.why == claim.fair.why && tested.method.is_empty() { String::new() } else { result(tested) }
    };
    vec![statement, printed(claim), result(&claim.article), result(&claim.fair), claim.sentence.clone()]
}

/// `213.38 : 135.45 MiB/s, 1.58x`, `606 : 312 rounds/s (calculated), 1.94x`
fn printed(claim: &JudgedClaim) -> String {
    let (values, ratio, kind) = (values(&claim.published), published(claim), kind(&claim.published));
    match (values.as_str(), ratio.as_str()) {
        ("", "") => String::new(),
        ("", only) | (only, "") => format!("{only}{kind}"),
        (values, ratio) => format!("{values}{kind}, {ratio}"),
    }
}

/// The measured ratio and its two sides, or the reason why there is none.
fn result(tested: &Tested) -> String {
    if tested.measured.is_none() {
        return tested.why.clone();
    }
    let parts = parts(tested).map_or(String::new(), |parts| format!("; {parts}"));
    format!("{}, {}{parts}", figure(tested), tested.sides)
}

fn causes(claim: &JudgedClaim) -> Vec<String> {
    let note = (!claim.note.is_empty()).then(|| claim.note.clone());
    let outcomes = claim.experiments.iter().map(|e| format!("{}: {}", e.about, outcome(&e.tested)));
    outcomes.chain(note).map(|text| format!("- {}: {}", claim.id, escape(&plain(&text)))).collect()
}

/// Replaces the text between the markers of a document, which must have exactly one pair of them.
pub fn into_block(document: &str, text: &str) -> Result<String, String> {
    let rule = "does not have exactly one block for the results: mark it with the lines";
    let missing = || format!("{rule} {BEGIN} {MARKER_END} and {END}");
    let (before, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (command, rest) = rest.split_once(MARKER_END).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    if after.contains(BEGIN) || before.contains(END) {
        return Err(missing());
    }
    Ok(format!("{before}{BEGIN}{command}{MARKER_END}\n{}\n{END}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_the_rest_stays() {
        for marker in ["<!-- claims:begin -->", "<!-- claims:begin netdyno replicate D -->"] {
            let document = format!("a\n{marker}\nold\n{END}\nb\n");
            let new = into_block(&document, "new\n\n").unwrap();
            assert_eq!(new, format!("a\n{marker}\nnew\n{END}\nb\n"));
            assert_eq!(into_block(&new, "new").unwrap(), new);
        }
        let document = format!("a\n<!-- claims:begin -->\nold\n{END}\nb\n");
        for broken in ["", BEGIN, &format!("{END} {BEGIN}"), &format!("{document}{document}")] {
            assert!(into_block(broken, "new").unwrap_err().contains("exactly one block"), "{broken}");
        }
    }
}
