//! A replication as Markdown, and its block in the document of a study.

use minijinja::context;
use minijinja::value::Serde;

use super::terminal::{figure, kind, outcome, parts, published, table, values};
use crate::markdown_table;
use crate::text::rendered;
use netdyno_lab_analysis::claims::{Judged, JudgedClaim, Replication, Tested};

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
    let mut hosts: Vec<&str> =
        article.methods.iter().map(|r| r.host.as_str()).filter(|h| !h.is_empty()).collect();
    hosts.dedup();
    let values = context! {
        article => Serde(article),
        table => markdown_table(&head, &rows),
        summary => article.summary.sentences(),
        causes => Serde(article.claims.iter().flat_map(causes).collect::<Vec<_>>()),
        hosts => Serde(hosts),
    };
    rendered(include_str!("article.md.j2"), values)
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

/// Results of experiments and the note, each with the claim's id.
fn causes(claim: &JudgedClaim) -> Vec<(&str, String)> {
    let note = (!claim.note.is_empty()).then(|| claim.note.clone());
    let outcomes = claim.experiments.iter().map(|e| format!("{}: {}", e.about, outcome(&e.tested)));
    outcomes.chain(note).map(|text| (claim.id.as_str(), text)).collect()
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
