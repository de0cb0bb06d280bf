//! Comparison of two stored runs by ratios to a contender or ceiling that both contain.
//!
//! The interval combines the ends of both runs' intervals, so that it is valid if both are: with two levels of 95 %, the level
//! is at least 90 %. Differences in time or host between the runs are not included.

use std::collections::BTreeMap;

use super::{Claimed, Comparison, ComparisonRow, ComparisonSide, Reference, Tolerance, primary_first};
use crate::report::{self, Cell, Report, differing};
use netdyno_lab_manifest::{Better, Metric, Workload};
use netdyno_lab_store::{CellStatus, Host, Run, StoreError, VerdictKind};

/// Two runs cannot be compared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum Refused {
    #[error("runs {from} and {to} differ: {}; measure both under the same conditions", .differences.join("; "))]
    Unlike { from: String, to: String, differences: Vec<String> },
    #[error(
        "the runs have no contender in common except for the baseline: {from} has {theirs}; {to} has {ours}"
    )]
    NothingInCommon { from: String, theirs: String, to: String, ours: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A ratio and the ends of its interval.
type Ratio = (f64, Option<f64>, Option<f64>);

/// Compares the cells that both runs contain.
pub fn across(from: &Run, to: &Run, tolerances: &[Tolerance]) -> Result<Comparison, Refused> {
    let workloads = (from.header.parsed_workload()?, to.header.parsed_workload()?);
    let reports = (report::build(from)?, report::build(to)?);
    let differences = differences((from, &workloads.0, &reports.0), (to, &workloads.1, &reports.1));
    if !differences.is_empty() {
        let (from, to) = (from.header.id.clone(), to.header.id.clone());
        return Err(Refused::Unlike { from, to, differences });
    }
    let pairs = pairs(&reports.0, &reports.1);
    let mut notes = notes(&reports.0, &reports.1);
    let alike = are_alike(&reports.0.host, &reports.1.host);
    let margin = to.header.settings.margin;
    let shared = primary_first(workloads.1.metrics.iter().filter(|m| workloads.0.metrics.contains(m)));
    let mut rows = Vec::new();
    let params: Vec<_> = pairs.iter().map(|(_, now)| &reports.1.cells[*now].params).collect();
    let several = pairs.iter().any(|(_, i)| reports.1.cells[*i].label != reports.1.cells[pairs[0].1].label);
    for metric in shared {
        for &(before, now) in &pairs {
            let Some((row, same_build)) = row(metric, (&reports.0, before), (&reports.1, now), margin) else {
                continue;
            };
            if !row.by.is_empty() && !same_build {
                let note =
                    format!("the builds of {} differ between the runs: a change may be due to that", row.by);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let setting = differing(&params, &row.params);
            let of =
                if several { format!("{} {setting}", row.contender).trim_end().to_owned() } else { setting };
            rows.push(ComparisonRow { of, ..row });
        }
    }
    if rows.is_empty() {
        return Err(nothing_in_common(&reports.0, &reports.1));
    }
    if !tolerances.is_empty() && !alike {
        notes.push(
            "regressions are not reported across hosts: compare revisions on one host (--rev)".to_owned(),
        );
    }
    let claim = |tolerance| claims(tolerance, (&reports.0, &workloads.0), (&reports.1, &workloads.1));
    let claimed = tolerances.iter().flat_map(claim).collect();
    let comparison = Comparison {
        workload: to.header.workload.clone(),
        headline: reports.1.run.headline.clone(),
        from: ComparisonSide::new(&reports.0, &from.header.id, String::new()),
        to: ComparisonSide::new(&reports.1, &to.header.id, String::new()),
        notes,
        rows,
        ..Comparison::default()
    };
    Ok(comparison.with_claims(claimed, &workloads.1.metrics, tolerances))
}

/// Claims about each contender of the first run, one for each of its parameter settings.
fn claims(
    tolerance: &Tolerance,
    (from, before): (&Report, &Workload),
    (to, now): (&Report, &Workload),
) -> Vec<Claimed> {
    let names = |cell: &Cell| [to, from].map(|report| format!("{} in {}", cell.label, report.run.id));
    let metric = now.metrics.iter().find(|m| tolerance.applies_to(m) && before.metrics.contains(m));
    let alike = are_alike(&from.host, &to.host);
    let reference = if alike { Reference::Earlier } else { Reference::Elsewhere };
    let claim = |(index, was): (usize, &Cell)| {
        let [name, other] = names(was);
        let names = (name.as_str(), other.as_str());
        let Some(metric) = metric else { return Some(Claimed::without_metric(tolerance, names)) };
        let Some(i) = to.cells.iter().position(|c| is_same(was, c)) else {
            let reason = "the second run does not have it with these parameters";
            return Some(Claimed::missing(&metric.label, names, reason));
        };
        let cells = (&to.cells[i], was);
        if let Some(claimed) = Claimed::by_state(metric, cells, names, reference) {
            return Some(claimed);
        }
        // The baseline itself has no reference.
        let (row, same_build) = row(metric, (from, index), (to, i), 0.0)?;
        let (ratio, limit) = ((row.ratio, row.low, row.high), (tolerance.limit, alike && same_build));
        Some(Claimed::by_values(metric, cells, names, ratio, limit))
    };
    from.cells.iter().enumerate().filter(|(_, cell)| !cell.ceiling).filter_map(claim).collect()
}

/// A metric of two cells, and whether the contender or ceiling that links the runs has the same build; `None` without content.
fn row(
    metric: &Metric,
    (from, before): (&Report, usize),
    (to, now): (&Report, usize),
    margin: f64,
) -> Option<(ComparisonRow, bool)> {
    let cell = &to.cells[now];
    let between = between(metric, (from, before), (to, now));
    // The baseline has no reference.
    if between.is_none() && to.verdicts.iter().any(|v| v.baseline == cell.label) {
        return None;
    }
    let change = between.as_ref().map(|(_, change, _)| *change);
    let (by, same_build) = between.map_or((String::new(), false), |(by, _, same_build)| (by, same_build));
    let row = ComparisonRow {
        ratio: change.map(|c| c.0),
        low: change.and_then(|c| c.1),
        high: change.and_then(|c| c.2),
        by,
        verdict: change.map(|change| verdict(change, metric.better, margin)),
        ..ComparisonRow::new(metric, Some(&from.cells[before]), cell)
    };
    row.has_content().then_some((row, same_build))
}

fn nothing_in_common(from: &Report, to: &Report) -> Refused {
    let names = |report: &Report| {
        let good = report.cells.iter().filter(|c| !c.ceiling && c.status == CellStatus::Ok);
        let labels: Vec<&str> = good.map(|c| c.label.as_str()).collect();
        if labels.is_empty() { "no measured contender".to_owned() } else { labels.join(", ") }
    };
    let (theirs, ours) = (names(from), names(to));
    Refused::NothingInCommon { from: from.run.id.clone(), theirs, to: to.run.id.clone(), ours }
}

/// Differences in conditions, then in parameters if the runs have no setting in common.
fn differences(
    (from, before, were): (&Run, &Workload, &Report),
    (to, now, are): (&Run, &Workload, &Report),
) -> Vec<String> {
    let conditions = |run: &Run| {
        let s = &run.header.settings;
        let size = |limit: Option<u64>| limit.map_or("none".to_owned(), report::bytes);
        [
            ("workload", run.header.workload.clone()),
            ("role", s.role.clone().unwrap_or("all".to_owned())),
            ("network", s.net.to_string()),
            ("placement", format!("{:?}", s.placement).to_lowercase()),
            ("memory limit", size(s.memory_limit_bytes)),
            ("CPUs kept awake", s.awake.to_string()),
        ]
    };
    let differs = |name: &str, a: &str, b: &str| (a != b).then(|| format!("{name} {a} and {b}"));
    let pairs = conditions(from).into_iter().zip(conditions(to));
    let mut all: Vec<String> = pairs.filter_map(|((name, a), (_, b))| differs(name, &a, &b)).collect();
    if from.header.workload != to.header.workload {
        return all;
    }
    let primary = |workload: &Workload| workload.primary().cloned();
    if primary(before) != primary(now) {
        all.push(format!(
            "the primary metric of the workload changed: {} and {}",
            were.run.primary, are.run.primary
        ));
    }
    if before.gate != now.gate {
        all.push("the gate of the workload changed".to_owned());
    }
    let has = |report: &Report, params: &BTreeMap<String, serde_json::Value>| {
        report.cells.iter().any(|c| c.params == *params)
    };
    if let (Some(a), Some(b)) = (were.cells.first(), are.cells.first())
        && !were.cells.iter().any(|c| has(are, &c.params))
    {
        let names = a.params.keys().chain(b.params.keys().filter(|name| !a.params.contains_key(*name)));
        let shown = |value: Option<&serde_json::Value>| value.map_or("none".to_owned(), ToString::to_string);
        all.extend(names.filter_map(|name| {
            differs(&format!("parameter {name}"), &shown(a.params.get(name)), &shown(b.params.get(name)))
        }));
    }
    all
}

/// Indices of the cells that were measured in both runs.
fn pairs(from: &Report, to: &Report) -> Vec<(usize, usize)> {
    let good = |cell: &Cell| !cell.ceiling && cell.status == CellStatus::Ok;
    let now = to.cells.iter().enumerate().filter(|(_, cell)| good(cell));
    let before = |cell: &Cell| from.cells.iter().position(|c| good(c) && is_same(c, cell));
    now.filter_map(|(i, cell)| Some((before(cell)?, i))).collect()
}

fn is_same(a: &Cell, b: &Cell) -> bool {
    a.label == b.label && a.params == b.params
}

/// The contender that links both runs (the baseline, else the ceiling), the ratio through it, and whether its build is the same.
fn between(
    metric: &Metric,
    (from, before): (&Report, usize),
    (to, now): (&Report, usize),
) -> Option<(String, Ratio, bool)> {
    let verdict = |report: &Report, cell: usize| {
        let found = report.verdicts.iter().find(|v| v.cell == cell && v.metric == metric.name)?;
        Some((found.baseline.clone(), (found.ratio?, found.low, found.high)))
    };
    if let (Some((by, a)), Some((other, b))) = (verdict(from, before), verdict(to, now))
        && by == other
    {
        let same = same_build(&by, from, to);
        return Some((by, quotient(b, a), same));
    }
    let share = |report: &Report, cell: usize| {
        let figure = report.cells[cell].metrics.get(&metric.name)?;
        Some((figure.of_ceiling?, figure.of_ceiling_low, figure.of_ceiling_high))
    };
    let (a, b) = (share(from, before)?, share(to, now)?);
    let bound = |report: &Report| report.cells.iter().find(|c| c.ceiling).map(|c| c.label.clone());
    let by = bound(from).filter(|name| bound(to).as_ref() == Some(name))?;
    let same = same_build(&by, from, to);
    // If lower is better, the share is ceiling / value.
    Some((by, if metric.better == Better::Higher { quotient(b, a) } else { quotient(a, b) }, same))
}

/// Quotient of two ratios. The ends are valid if those of both are.
fn quotient(a: Ratio, b: Ratio) -> Ratio {
    let end = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    (a.0 / b.0, end(a.1, b.2), end(a.2, b.1))
}

fn same_build(label: &str, from: &Report, to: &Report) -> bool {
    let keys = |report: &Report| -> Option<Vec<String>> {
        let cell = report.cells.iter().find(|c| c.label == label)?;
        Some(cell.builds.values().map(|build| build.key.clone()).collect())
    };
    keys(from) == keys(to)
}

fn verdict((ratio, low, high): Ratio, better: Better, margin: f64) -> VerdictKind {
    let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
    if low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin {
        VerdictKind::NoDifference
    } else if !(low > 1.0 || high < 1.0) {
        VerdictKind::Undecided
    } else if (ratio > 1.0) == (better == Better::Higher) {
        VerdictKind::Better
    } else {
        VerdictKind::Worse
    }
}

/// Whether two hosts have the same description, except for variable load and installed toolchains.
fn are_alike(a: &Host, b: &Host) -> bool {
    let lasting = |host: &Host| Host { steal_percent: 0.0, toolchains: BTreeMap::new(), ..host.clone() };
    lasting(a) == lasting(b)
}

/// Remarks on differences between the runs.
fn notes(from: &Report, to: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(match are_alike(&from.host, &to.host) {
        true => {
            "the machines appear identical, but the runs were made at different times: values drift, ratios much less"
                .to_owned()
        }
        false => format!(
            "the machines differ: {} in {}, {} in {}; this alone may change ratios",
            from.host.headline(),
            from.run.id,
            to.host.headline(),
            to.run.id
        ),
    });
    if from.run.lab_version != to.run.lab_version {
        notes.push(format!("measured by netdyno {} and {}", from.run.lab_version, to.run.lab_version));
    }
    for report in [from, to] {
        notes.extend(report.warnings.iter().map(|warning| format!("{}: {warning}", report.run.id)));
    }
    for cell in to.cells.iter().filter(|c| !c.ceiling && c.status == CellStatus::Ok) {
        if same_build(&cell.label, from, to) && from.cells.iter().any(|c| c.label == cell.label) {
            notes.push(format!(
                "{} has the same build in both runs: its changes are not due to the program",
                cell.label
            ));
        }
    }
    notes
}
