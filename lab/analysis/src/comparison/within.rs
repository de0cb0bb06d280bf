//! Contenders of one run, compared with its baseline.

use super::{
    Claimed, Comparison, ComparisonRow, ComparisonSide, Reference, SCHEMA_VERSION, Tolerance, primary_first,
    primary_limit,
};
use crate::report::{Cell, Report, differing};
use netdyno_lab_manifest::{Contender, Metric};
use netdyno_lab_store::Verdict;
use netdyno_stats::RegressionClaim;

/// Claims about each contender of a run, relative to the baseline, one for each tolerance. A contender without comparable
/// values has a claim that gives the reason.
pub fn claims(
    report: &Report,
    metrics: &[Metric],
    baseline: Option<&str>,
    tolerances: &[Tolerance],
) -> Vec<Claimed> {
    let baseline = baseline.or_else(|| report.verdicts.first().map(|v| v.baseline.as_str()));
    let Some(baseline) = baseline else { return Vec::new() };
    claims_against(report, metrics, (baseline, Reference::Baseline), tolerances)
}

fn claims_against(
    report: &Report,
    metrics: &[Metric],
    (baseline, reference): (&str, Reference),
    tolerances: &[Tolerance],
) -> Vec<Claimed> {
    let is_tested = |cell: &&Cell| !cell.ceiling && cell.label != baseline;
    let claims_of = |tolerance: &Tolerance| {
        let metric = metrics.iter().find(|m| tolerance.applies_to(m));
        let cells = report.cells.iter().enumerate().filter(|(_, cell)| is_tested(cell));
        let claim = move |(index, to): (usize, &Cell)| {
            let names = (to.label.as_str(), baseline);
            let Some(metric) = metric else { return Claimed::without_metric(tolerance, names) };
            let is_pair = |c: &&Cell| c.label == baseline && c.params == to.params;
            let Some(from) = report.cells.iter().find(is_pair) else {
                let reason = "the baseline has no cell of its own with these parameters";
                return Claimed::missing(&metric.label, names, reason);
            };
            let is_of = |v: &&Verdict| v.cell == index && v.metric == metric.name && v.baseline == baseline;
            let verdict = report.verdicts.iter().find(is_of);
            let ratio = verdict.map_or((None, None, None), |v| (v.ratio, v.low, v.high));
            Claimed::new(metric, (to, from), ratio, (tolerance.limit, reference))
        };
        cells.map(claim).collect::<Vec<_>>()
    };
    tolerances.iter().flat_map(claims_of).collect()
}

/// Compares two revisions of a contender in one run. `from` is the baseline.
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
    let claimed = claims_against(report, metrics, (from, Reference::Earlier), tolerances);
    let without = report.cells.iter().filter(|c| !c.reason.is_empty());
    let without = without.map(|c| format!("{}: {}", c.label, c.reason));
    let comparison = Comparison {
        workload: report.run.workload.clone(),
        headline: report.run.headline.clone(),
        from: side(from),
        to: side(to),
        notes: without.chain(report.warnings.iter().cloned()).collect(),
        rows,
        ..Comparison::default()
    };
    comparison.with_claims(claimed, metrics, tolerances)
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
        state: contender.revision.clone().unwrap_or_default(),
        ..ComparisonSide::default()
    });
    Comparison {
        schema_version: SCHEMA_VERSION,
        workload: workload.to_owned(),
        headline: text.clone(),
        from,
        to,
        claim,
        claims: vec![text],
        ..Comparison::default()
    }
}

/// Changed files that are named.
const CHANGED_NAMED: usize = 5;

/// Why two revisions are not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Their builds are identical. `missed`: code of the library differs, which the comparison then misses.
    Identical {
        /// Whether it does.
        missed: bool,
    },
    /// They differ only in documentation.
    Documentation,
}

/// Result for two revisions without measurements. `changed` are the files that differ.
pub fn unchanged(
    workload: &str,
    sides: [(&Contender, &str); 2],
    tolerances: &[Tolerance],
    (reason, changed): (Unmeasured, &[String]),
) -> Comparison {
    let (what, of) = match reason {
        Unmeasured::Identical { .. } => ("have identical builds", "changed files that are in no build"),
        Unmeasured::Documentation => ("differ only in documentation", "changed files"),
    };
    let mut text = format!("{} and {} {what}: nothing was measured", sides[0].1, sides[1].1);
    if !changed.is_empty() {
        let named = &changed[..changed.len().min(CHANGED_NAMED)];
        text.push_str(&format!("; {of}: {}", named.join(", ")));
        if changed.len() > named.len() {
            text.push_str(&format!(" and {} more", changed.len() - named.len()));
        }
    }
    let is_missing = reason == Unmeasured::Identical { missed: true };
    let claim = if is_missing { RegressionClaim::Undecided } else { RegressionClaim::NoRegression };
    let claim = (!tolerances.is_empty()).then_some(claim);
    let limit = primary_limit(tolerances);
    Comparison { limit, is_missing, ..without_run(workload, sides, claim, text) }
}

/// Result for a revision that cannot be built.
pub fn not_built(workload: &str, sides: [(&Contender, &str); 2], error: &str) -> Comparison {
    Comparison { is_missing: true, ..without_run(workload, sides, None, error.to_owned()) }
}

/// State of the sources of a contender; empty if unknown.
fn state(report: &Report, label: &str) -> String {
    let builds = report.cells.iter().find_map(|c| c.builds.get(label));
    builds.and_then(|build| build.local.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Limit;
    use crate::load::Load;
    use crate::report::build;
    use netdyno_lab_store::CellStatus;
    use netdyno_lab_store::fixture::{self, CannedContender};
    use netdyno_stats::RegressionClaim::{NoRegression, Regression, Undecided};

    fn report(from: &[u64], to: &[u64]) -> Report {
        let contender =
            |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
        build(&fixture::run(&[contender("base", from), contender("head", to)], None)).unwrap()
    }

    fn compared(report: &Report, tolerance: Tolerance) -> Comparison {
        let metrics = netdyno_lab_manifest::dummy::workload().metrics;
        within(report, &metrics, ("base", "head"), &[tolerance])
    }

    const RATES: [u64; 3] = [1000, 1001, 999];

    /// Every way in which values can be missing: none is a silent success.
    #[test]
    fn missing_values_fail_or_are_named() {
        let skip = |report: &mut Report, cell: usize| {
            report.cells[cell].status = CellStatus::Skipped;
            report.cells[cell].reason = "the workload needs a missing feature".to_owned();
        };
        let miss = |report: &mut Report, cell: usize| {
            report.cells[cell].load = Some(Load { offered: 1000.0, achieved: 187.0, held: Some(false) });
        };
        let forget = |report: &mut Report| report.verdicts.clear();
        type Change<'a> = &'a dyn Fn(&mut Report);
        let rows: [(&str, Change<'_>, _, bool, &str); 12] = [
            ("failed", &|r| r.cells[1].status = CellStatus::Failed, Regression, false, "head: failed"),
            ("skipped", &|r| skip(r, 1), Regression, false, "head: cannot run: the workload needs"),
            ("a fix", &|r| skip(r, 0), NoRegression, false, "base: cannot run: the workload needs"),
            ("both skipped", &|r| [0, 1].into_iter().for_each(|i| skip(r, i)), Undecided, true, "could not"),
            ("not held", &|r| miss(r, 1), Regression, false, "not sustained, unlike base"),
            ("held now", &|r| miss(r, 0), NoRegression, false, "base: the offered load was not sustained"),
            ("none held", &|r| [0, 1].into_iter().for_each(|i| miss(r, i)), Undecided, true, "could not"),
            ("generator", &|r| r.cells[1].generator_limited = true, Undecided, true, "load generator"),
            ("generator before", &|r| r.cells[0].generator_limited = true, Undecided, true, "load generator"),
            ("no session", &|r| r.cells[1].trials = 0, Undecided, true, "head: not measured"),
            (
                "no session of either",
                &|r| r.cells.iter_mut().for_each(|c| c.trials = 0),
                Undecided,
                true,
                "could not",
            ),
            ("nothing in common", &forget, Undecided, true, "no session or block has values of both"),
        ];
        for (what, change, claim, is_missing, part) in rows {
            let mut report = report(&RATES, &RATES);
            change(&mut report);
            let found = compared(&report, Tolerance { metric: None, limit: Limit::Relative(0.03) });
            assert_eq!((found.claim, found.is_missing), (Some(claim), is_missing), "{what}: {found:?}");
            assert!(found.claims.iter().any(|text| text.contains(part)), "{what}: {found:?}");
        }
        let one_block = compared(
            &report(&RATES[..1], &RATES[..1]),
            Tolerance { metric: None, limit: Limit::Relative(0.03) },
        );
        assert_eq!((one_block.claim, one_block.is_missing), (Some(Undecided), false));
        assert!(one_block.claims[0].contains("undecided"), "{one_block:?}");
    }

    #[test]
    fn any_metric_can_have_a_limit_and_others_are_named_if_worse() {
        let report = report(&RATES, &[500, 501, 499]);
        let primary = netdyno_lab_manifest::dummy::workload().primary().unwrap().name.clone();
        let tolerance = |limit| Tolerance { metric: Some(primary.clone()), limit };
        for (limit, claim) in [
            (Limit::Relative(0.03), Regression),
            (Limit::Relative(2.0), NoRegression),
            (Limit::Absolute(1.0), Regression),
            (Limit::Absolute(600.0), NoRegression),
        ] {
            let found = compared(&report, tolerance(limit));
            assert_eq!((found.claim, found.is_missing), (Some(claim), false), "{limit:?}: {found:?}");
            assert!(found.rows.iter().any(|r| r.metric == primary && r.headline));
        }
        let elsewhere = Tolerance { metric: Some("another".to_owned()), limit: Limit::Absolute(0.0) };
        let found = compared(&report, elsewhere);
        assert!(found.is_missing && found.unchecked.iter().any(|text| text.contains(" -> ")), "{found:?}");
    }
}
