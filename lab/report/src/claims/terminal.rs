//! A replication for the terminal.

use crate::{grid, wrapped};
use netdyno_lab_analysis::claims::{
    Finding, Judged, JudgedClaim, Published, Ran, Replication, Tested, ValueKind,
};
use netdyno_lab_analysis::report::format::{ratio, ratio_range};
use netdyno_lab_analysis::report::plain;

/// Formats each article with a table of its claims.
pub fn terminal(replication: &Replication, width: usize) -> String {
    replication.articles.iter().map(|judged| article(judged, width)).collect::<Vec<_>>().join("\n")
}

fn article(article: &Judged, width: usize) -> String {
    let mut out = vec![wrapped(&format!("{}  {}", article.id, plain(&article.title)), width, "", "   ")];
    for (head, all) in [("as published", &article.conditions), ("differences", &article.differs)] {
        if !all.is_empty() {
            out.push(wrapped(&format!("{head}: {}", plain(&all.join("; "))), width, "   ", "   "));
        }
    }
    let (head, rows) = table(article, row);
    let summary = wrapped(&article.summary.sentences(), width, "   ", "   ");
    out.extend([String::new(), grid(&head, &rows, width), String::new(), summary, String::new()]);
    out.extend(article.methods.iter().map(|ran| {
        let text = format!("{}: {}, {}", ran.name, run(ran), plain(&ran.headline));
        wrapped(&text, width, "   ", "      ")
    }));
    out.push(String::new());
    out.join("\n")
}

/// Head and rows of the table of claims.
pub(super) fn table(
    article: &Judged,
    row: impl Fn(&JudgedClaim) -> Vec<String>,
) -> (Vec<String>, Vec<Vec<String>>) {
    let head = ["claim", "published", "article's method", "fair method", "verdict"].map(str::to_owned);
    (head.to_vec(), article.claims.iter().map(row).collect())
}

/// `run 20260131-120000-ab12`, or "no run".
pub(super) fn run(ran: &Ran) -> String {
    if ran.run.is_empty() { "no run".to_owned() } else { format!("run {}", ran.run) }
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
