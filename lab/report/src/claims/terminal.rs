//! A replication for the terminal.

use minijinja::context;
use minijinja::value::Serde;

use crate::grid;
use crate::text::rendered;
use netdyno_lab_analysis::claims::{Finding, Judged, JudgedClaim, Published, Replication, Tested, ValueKind};
use netdyno_lab_analysis::report::format::{ratio, ratio_range};

/// Formats each article with a table of its claims.
pub fn terminal(replication: &Replication, width: usize) -> String {
    replication.articles.iter().map(|judged| article(judged, width)).collect::<Vec<_>>().join("\n")
}

fn article(article: &Judged, width: usize) -> String {
    let (head, rows) = table(article, row);
    let (table, summary) = (grid(&head, &rows, width), article.summary.sentences());
    rendered(include_str!("article.txt.j2"), context! { article => Serde(article), table, summary, width })
}

/// Head and rows of the table of claims.
pub(super) fn table(
    article: &Judged,
    row: impl Fn(&JudgedClaim) -> Vec<String>,
) -> (Vec<String>, Vec<Vec<String>>) {
    let head = ["claim", "published", "article's method", "fair method", "verdict"].map(str::to_owned);
    (head.to_vec(), article.claims.iter().map(row).collect())
}

fn row(claim: &JudgedClaim) -> Vec<String> {
    let mut text = vec![claim.sentence.clone(), format!("the article: {}", claim.statement)];
    text.extend(claim.experiments.iter().map(|e| format!("{}: {}", e.about, outcome(&e.tested))));
    text.extend((!claim.note.is_empty()).then(|| claim.note.clone()));
    vec![claim.id.clone(), printed(claim), figure(&claim.article), figure(&claim.fair), text.join("\n")]
}

/// `1.58x`, `0.89x (estimated)`, or a value without a second side: `18 us (estimated)`.
fn printed(claim: &JudgedClaim) -> String {
    let values = if claim.published_ratio.is_some() { published(claim) } else { values(&claim.published) };
    values + kind(&claim.published)
}

/// `213.38 : 135.45 MiB/s`, or empty if the article has no values.
pub(super) fn values(published: &Published) -> String {
    let unit = &published.unit;
    let text = match (published.a, published.b) {
        (Some(a), Some(b)) => format!("{a} : {b} {unit}"),
        (Some(a), None) => format!("{a} {unit}"),
        _ => String::new(),
    };
    text.trim_end().to_owned()
}

/// The kind of published values; empty for quotations.
pub(super) fn kind(published: &Published) -> &'static str {
    match published.kind {
        Some(ValueKind::Calculated) => " (calculated)",
        Some(ValueKind::Estimated) => " (estimated)",
        Some(ValueKind::Quoted) | None => "",
    }
}

/// `1.58x`, or empty if the article has no ratio.
pub(super) fn published(claim: &JudgedClaim) -> String {
    claim.published_ratio.map_or(String::new(), |r| format!("{}x", ratio(r)))
}

/// `1.62x (1.2 - 2.0)`, or "not tested".
pub(super) fn figure(tested: &Tested) -> String {
    let Some(m) = &tested.measured else { return "not tested".to_owned() };
    match (m.low, m.high) {
        (Some(low), Some(high)) if low == high => format!("{}x", ratio(m.ratio)),
        (Some(low), Some(high)) => format!("{}x ({})", ratio(m.ratio), ratio_range((low, high))),
        _ => format!("{}x (no interval yet)", ratio(m.ratio)),
    }
}

/// `direction confirmed, published ratio refuted`
pub(super) fn parts(tested: &Tested) -> Option<String> {
    let named = [("direction", tested.direction), ("published ratio", tested.size)];
    let known = named.into_iter().filter(|(_, finding)| *finding != Finding::Missing);
    let parts: Vec<String> = known.map(|(name, finding)| format!("{name} {}", finding.word())).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Outcome of an experiment, relative to the expectation.
pub(super) fn outcome(tested: &Tested) -> String {
    let outcome = match tested.finding {
        Finding::Shown => "as expected",
        Finding::Refuted => "not as expected",
        Finding::Open => "undecided",
        Finding::Missing => return format!("not tested: {}", tested.why),
    };
    format!("{outcome}, {} {} ({})", tested.sides, figure(tested), tested.metric)
}
