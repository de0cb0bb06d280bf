//! Contenders of one run against its baseline.

use super::{Claimed, Comparison, ComparisonRow, SCHEMA_VERSION, ComparisonSide, worst};
use crate::report::{Report, differing};
use netdyno_lab_manifest::{Contender, Metric};
use netdyno_lab_store::Verdict;
use netdyno_stats::RegressionClaim;

/// What is claimed of each contender's primary metric against the baseline, where up to `limit` is put up with.
#[must_use]
pub fn claims(report: &Report, metrics: &[Metric], limit: f64) -> Vec<Claimed> {
    let Some(primary) = metrics.iter().find(|m| m.primary) else { return Vec::new() };
    let of_primary = report.verdicts.iter().filter(|v| v.metric == primary.name);
    of_primary
        .map(|v| Claimed::new(primary, (&v.contender, &v.baseline), (v.ratio, v.low, v.high), limit))
        .collect()
}

/// A run of one contender at two revisions: `from` is the baseline. `states` are those of the repository, in words.
#[must_use]
pub fn within(
    report: &Report,
    metrics: &[Metric],
    (from, to): (&str, &str),
    limit: Option<f64>,
) -> Comparison {
    let side = |label: &str| ComparisonSide {
        label: label.to_owned(),
        run: report.run.id.clone(),
        state: state(report, label),
        started_at: report.run.started_at.clone(),
        host: report.host.headline(),
    };
    let all: Vec<_> = report.cells.iter().map(|c| &c.params).collect();
    let row = |metric: &Metric, v: &Verdict| {
        let cell = &report.cells[v.cell];
        let before = report.cells.iter().find(|c| c.label == v.baseline && c.params == cell.params);
        ComparisonRow {
            contender: v.contender.clone(),
            params: cell.params.clone(),
            of: differing(&all, &cell.params),
            metric: metric.name.clone(),
            label: metric.label.clone(),
            unit: metric.unit.clone(),
            primary: metric.primary,
            headline: metric.primary || metric.headline,
            from: before.and_then(|c| c.metrics.get(&metric.name)?.value),
            to: cell.metrics.get(&metric.name).and_then(|m| m.value),
            ratio: v.ratio,
            low: v.low,
            high: v.high,
            by: String::new(),
            verdict: Some(v.verdict),
        }
    };
    let of = |metric: &Metric| -> Vec<ComparisonRow> {
        report.verdicts.iter().filter(|v| v.metric == metric.name).map(|v| row(metric, v)).collect()
    };
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) = metrics.iter().partition(|m| m.primary);
    let claimed = limit.map(|limit| claims(report, metrics, limit));
    let failed = report.cells.iter().filter(|c| !c.reason.is_empty());
    let failed = failed.map(|c| format!("{}: {}", c.label, c.reason));
    Comparison {
        schema_version: SCHEMA_VERSION,
        workload: report.run.workload.clone(),
        headline: report.run.headline.clone(),
        from: side(from),
        to: side(to),
        rows: primary.into_iter().chain(others).flat_map(of).filter(ComparisonRow::says_something).collect(),
        limit,
        claim: claimed.as_deref().map(worst),
        claims: limit
            .into_iter()
            .flat_map(|l| claims(report, metrics, l).into_iter().map(move |c| c.sentence(l)))
            .collect(),
        notes: failed.chain(report.warnings.iter().cloned()).collect(),
    }
}

/// Two revisions that came to the same build: nothing was measured.
#[must_use]
pub fn unchanged(
    workload: &str,
    (from, to): (&Contender, &Contender),
    (from_label, to_label): (&str, &str),
    limit: Option<f64>,
) -> Comparison {
    let side = |contender: &Contender, label: &str| ComparisonSide {
        label: label.to_owned(),
        run: String::new(),
        state: contender.revision.clone().unwrap_or_default(),
        started_at: String::new(),
        host: String::new(),
    };
    let told = format!(
        "{from_label} and {to_label} come to the same build: nothing changed, and nothing was measured"
    );
    Comparison {
        schema_version: SCHEMA_VERSION,
        workload: workload.to_owned(),
        headline: told.clone(),
        from: side(from, from_label),
        to: side(to, to_label),
        rows: Vec::new(),
        limit,
        claim: limit.map(|_| RegressionClaim::NoRegression),
        claims: vec![told],
        notes: Vec::new(),
    }
}

/// What is known of the state that a contender was built from.
fn state(report: &Report, label: &str) -> String {
    let builds = report.cells.iter().find_map(|c| c.builds.get(label));
    builds.and_then(|build| build.local.clone()).unwrap_or_default()
}
