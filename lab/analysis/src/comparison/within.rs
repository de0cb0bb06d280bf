//! Contenders of one run, compared with its baseline.

use super::{
    Claimed, Comparison, ComparisonRow, ComparisonSide, SCHEMA_VERSION, Tolerance, primary_first,
    primary_limit, unchecked, worst,
};
use crate::report::{Cell, Report, differing};
use netdyno_lab_manifest::{Contender, Metric};
use netdyno_lab_store::Verdict;
use netdyno_stats::RegressionClaim;

/// Claims about each contender, relative to the baseline, one for each tolerance. A contender without comparable values has a
/// claim that gives the reason.
#[must_use]
pub fn claims(
    report: &Report,
    metrics: &[Metric],
    baseline: Option<&str>,
    tolerances: &[Tolerance],
) -> Vec<Claimed> {
    let baseline = baseline.or_else(|| report.verdicts.first().map(|v| v.baseline.as_str()));
    let Some(baseline) = baseline else { return Vec::new() };
    let is_tested = |cell: &&Cell| !cell.ceiling && cell.label != baseline;
    let claims_of = |tolerance: &Tolerance| {
        let metric = metrics.iter().find(|m| tolerance.applies_to(m));
        let cells =
            report.cells.iter().enumerate().filter(move |(_, cell)| metric.is_some() && is_tested(cell));
        let claim = move |(index, to): (usize, &Cell)| {
            let (metric, is_pair) = (metric?, |c: &&Cell| c.label == baseline && c.params == to.params);
            let from = report.cells.iter().find(is_pair)?;
            let verdict = report.verdicts.iter().find(|v| v.cell == index && v.metric == metric.name);
            let ratio = verdict.map_or((None, None, None), |v| (v.ratio, v.low, v.high));
            Some(Claimed::new(metric, (to, from), ratio, tolerance.limit))
        };
        cells.filter_map(claim).collect::<Vec<_>>()
    };
    tolerances.iter().flat_map(claims_of).collect()
}

/// Compares two revisions of a contender in one run. `from` is the baseline.
#[must_use]
pub fn within(
    report: &Report,
    metrics: &[Metric],
    (from, to): (&str, &str),
    tolerances: &[Tolerance],
) -> Comparison {
    let side = |label: &str| ComparisonSide::new(report, label, state(report, label));
    let all: Vec<_> = report.cells.iter().map(|c| &c.params).collect();
    let row = |metric: &Metric, v: &Verdict| {
        let cell = &report.cells[v.cell];
        let before = report.cells.iter().find(|c| c.label == v.baseline && c.params == cell.params);
        let row = ComparisonRow::new(metric, before, cell);
        ComparisonRow {
            of: differing(&all, &cell.params),
            ratio: v.ratio,
            low: v.low,
            high: v.high,
            verdict: Some(v.verdict),
            headline: row.headline || tolerances.iter().any(|t| t.applies_to(metric)),
            ..row
        }
    };
    let rows = |metric: &Metric| -> Vec<ComparisonRow> {
        report.verdicts.iter().filter(|v| v.metric == metric.name).map(|v| row(metric, v)).collect()
    };
    let rows: Vec<ComparisonRow> =
        primary_first(metrics).into_iter().flat_map(rows).filter(ComparisonRow::has_content).collect();
    let claimed = claims(report, metrics, Some(from), tolerances);
    let without = report.cells.iter().filter(|c| !c.reason.is_empty());
    let without = without.map(|c| format!("{}: {}", c.label, c.reason));
    Comparison {
        schema_version: SCHEMA_VERSION,
        workload: report.run.workload.clone(),
        headline: report.run.headline.clone(),
        from: side(from),
        to: side(to),
        limit: primary_limit(tolerances),
        claim: (!tolerances.is_empty()).then(|| worst(&claimed)),
        is_missing: !tolerances.is_empty() && (claimed.is_empty() || claimed.iter().any(|c| c.is_missing)),
        claims: claimed.into_iter().map(|c| c.sentence).collect(),
        notes: without.chain(report.warnings.iter().cloned()).collect(),
        unchecked: unchecked(&rows, metrics, tolerances),
        rows,
    }
}

/// Two revisions of a contender without a run.
fn without_run(
    workload: &str,
    sides: [(&Contender, &str); 2],
    claim: Option<RegressionClaim>,
    text: String,
) -> Comparison {
    let [from, to] = sides.map(|(contender, label)| ComparisonSide {
        label: label.to_owned(),
        run: String::new(),
        state: contender.revision.clone().unwrap_or_default(),
        started_at: String::new(),
        host: String::new(),
    });
    Comparison {
        schema_version: SCHEMA_VERSION,
        workload: workload.to_owned(),
        headline: text.clone(),
        from,
        to,
        rows: Vec::new(),
        limit: None,
        claim,
        claims: vec![text],
        notes: Vec::new(),
        unchecked: Vec::new(),
        is_missing: false,
    }
}

/// Result for two revisions with identical builds, without measurements.
#[must_use]
pub fn unchanged(workload: &str, sides: [(&Contender, &str); 2], tolerances: &[Tolerance]) -> Comparison {
    let text = format!("{} and {} have identical builds: nothing was measured", sides[0].1, sides[1].1);
    let claim = (!tolerances.is_empty()).then_some(RegressionClaim::NoRegression);
    let limit = primary_limit(tolerances);
    Comparison { limit, ..without_run(workload, sides, claim, text) }
}

/// Result for a revision that cannot be built.
#[must_use]
pub fn not_built(workload: &str, sides: [(&Contender, &str); 2], error: &str) -> Comparison {
    Comparison { is_missing: true, ..without_run(workload, sides, None, error.to_owned()) }
}

/// State of the sources of a contender; empty if unknown.
fn state(report: &Report, label: &str) -> String {
    let builds = report.cells.iter().find_map(|c| c.builds.get(label));
    builds.and_then(|build| build.local.clone()).unwrap_or_default()
}
