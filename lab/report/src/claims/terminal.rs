//! A replication for people.

use crate::{grid, wrapped};
use netdyno_lab_analysis::claims::Finding;
use netdyno_lab_analysis::claims::{Judged, JudgedClaim, Replication, Tested};
use netdyno_lab_analysis::report::format::ratio;
use netdyno_lab_analysis::report::plain;

/// The articles, each with a table of its claims.
#[must_use]
pub fn terminal(replication: &Replication, width: usize) -> String {
    replication.articles.iter().map(|article| one(article, width)).collect::<Vec<_>>().join("\n")
}

fn one(article: &Judged, width: usize) -> String {
    let mut out = vec![wrapped(&format!("{}  {}", article.id, plain(&article.title)), width, "", "   ")];
    let told = |head: &str, all: &[String]| {
        wrapped(&format!("{head}: {}", plain(&all.join("; "))), width, "   ", "   ")
    };
    for (head, all) in [("as published", &article.conditions), ("otherwise here", &article.differs)] {
        if !all.is_empty() {
            out.push(told(head, all));
        }
    }
    out.push(String::new());
    let head = ["claim", "published", "its own method", "fair method", "verdict"].map(str::to_owned);
    let rows: Vec<Vec<String>> = article.claims.iter().map(row).collect();
    out.push(grid(&head, &rows, width));
    out.push(String::new());
    for ran in &article.methods {
        let run = if ran.run.is_empty() { "no run".to_owned() } else { format!("run {}", ran.run) };
        out.push(wrapped(&format!("{}: {run}, {}", ran.name, plain(&ran.headline)), width, "   ", "      "));
    }
    out.push(String::new());
    out.join("\n")
}

fn row(claim: &JudgedClaim) -> Vec<String> {
    let mut text = vec![claim.sentence.clone(), format!("the article: {}", claim.statement)];
    text.extend(claim.experiments.iter().map(|e| format!("{}: {}", e.about, outcome(&e.tested))));
    text.extend((!claim.note.is_empty()).then(|| claim.note.clone()));
    vec![claim.id.clone(), published(claim), figure(&claim.article), figure(&claim.fair), text.join("\n")]
}

/// `1.58x`, or nothing where no figure was printed.
pub(super) fn published(claim: &JudgedClaim) -> String {
    claim.published_ratio.map_or(String::new(), |r| format!("{}x", ratio(r)))
}

/// `1.62x (1.2 - 2.0)`, and what it says; or nothing.
pub(super) fn figure(tested: &Tested) -> String {
    let Some(m) = &tested.measured else { return "not tested".to_owned() };
    match (m.low, m.high) {
        (Some(low), Some(high)) if low == high => format!("{}x", ratio(m.ratio)),
        (Some(low), Some(high)) => format!("{}x ({} - {})", ratio(m.ratio), ratio(low), ratio(high)),
        _ => format!("{}x (no interval yet)", ratio(m.ratio)),
    }
}

/// What an experiment showed of what was expected.
pub(super) fn outcome(tested: &Tested) -> String {
    let found = match tested.finding {
        Finding::Shown => "as expected",
        Finding::Refuted => "not as expected",
        Finding::Open => "open",
        Finding::Missing => return format!("not tested: {}", tested.why),
    };
    format!("{found}, {} {} ({})", tested.sides, figure(tested), tested.metric)
}
