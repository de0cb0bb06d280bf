//! Two stored runs: what each measured against a contender, or a bound, that both have.
//!
//! The interval is made of the ends of both runs' intervals, so that it holds wherever both do: at two levels of 95 %, in 90 %
//! at the least. What lies between the runs, another hour, another host, is in neither.

use std::collections::BTreeMap;

use super::{Claimed, Comparison, ComparisonRow, SCHEMA_VERSION, ComparisonSide, worst};
use crate::report;
use crate::report::{Cell, Report, differing};
use netdyno_lab_manifest::{Better, Metric, Workload};
use netdyno_lab_store::Host;
use netdyno_lab_store::VerdictKind;
use netdyno_lab_store::{CellStatus, Run, StoreError};
use netdyno_stats::RegressionClaim;

/// Why two runs are not compared.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// They measured different things, or not in the same way.
    #[error("runs {from} and {to} were not measured alike: {}; measure again with the same", .differences.join("; "))]
    Unlike {
        /// A run.
        from: String,
        /// The other.
        to: String,
        /// In what they differ.
        differences: Vec<String>,
    },
    /// Nothing is in both, but for what others are held against.
    #[error("no contender is in both runs beside the baseline: {from} has {theirs}; {to} has {ours}")]
    NothingInCommon {
        /// A run.
        from: String,
        /// Its contenders.
        theirs: String,
        /// The other.
        to: String,
        /// Its contenders.
        ours: String,
    },
    /// A stored run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A ratio and its ends.
type Ratio = (f64, Option<f64>, Option<f64>);

/// Compares what is in both runs.
///
/// # Errors
/// When they were measured with other parameters or under other conditions, or have nothing in common.
pub fn across(from: &Run, to: &Run, limit: Option<f64>) -> Result<Comparison, Refused> {
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
    let shared: Vec<&Metric> =
        workloads.1.metrics.iter().filter(|m| workloads.0.metrics.contains(m)).collect();
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) = shared.iter().copied().partition(|m| m.primary);
    let (mut rows, mut claimed) = (Vec::new(), Vec::new());
    let params: Vec<_> = pairs.iter().map(|(_, now)| &reports.1.cells[*now].params).collect();
    let several = pairs.iter().any(|(_, i)| reports.1.cells[*i].label != reports.1.cells[pairs[0].1].label);
    for metric in primary.into_iter().chain(others) {
        for &(before, now) in &pairs {
            let Some((row, same_build)) = row(metric, (&reports.0, before), (&reports.1, now), margin) else {
                continue;
            };
            if !row.by.is_empty() && !same_build {
                let note = format!("{} was not built from the same in both: a change may be its own", row.by);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            if let Some(limit) = limit.filter(|_| metric.primary) {
                let (to, from) = (format!("{} in {}", row.contender, to.header.id), from.header.id.clone());
                let ends = (row.ratio, row.low, row.high);
                let mut claim = Claimed::new(metric, (&to, &format!("in {from}")), ends, limit);
                if !(alike && same_build) {
                    claim.claim = RegressionClaim::Undecided;
                }
                claimed.push(claim);
            }
            let of = differing(&params, &row.params);
            let of = if several { format!("{} {of}", row.contender).trim_end().to_owned() } else { of };
            rows.push(ComparisonRow { of, ..row });
        }
    }
    if rows.is_empty() {
        return Err(nothing_in_common(&reports.0, &reports.1));
    }
    if limit.is_some() && !alike {
        notes.push("no regression is claimed across hosts: compare revisions on one (--rev)".to_owned());
    }
    Ok(Comparison {
        schema_version: SCHEMA_VERSION,
        workload: to.header.workload.clone(),
        headline: reports.1.run.headline.clone(),
        from: side(&reports.0),
        to: side(&reports.1),
        rows,
        limit,
        claim: limit.map(|_| worst(&claimed)),
        claims: limit.into_iter().flat_map(|l| claimed.iter().map(move |c| c.sentence(l))).collect(),
        notes,
    })
}

/// What is known of a metric of two cells, and whether what lies between them is the same build; none where nothing is to be said.
fn row(
    metric: &Metric,
    (from, before): (&Report, usize),
    (to, now): (&Report, usize),
    margin: f64,
) -> Option<(ComparisonRow, bool)> {
    let cell = &to.cells[now];
    let between = between(metric, (from, before), (to, now));
    // What lies between the others has nothing to be held against.
    if between.is_none() && to.verdicts.iter().any(|v| v.baseline == cell.label) {
        return None;
    }
    let change = between.as_ref().map(|(_, change, _)| *change);
    let (by, same_build) = between.map_or((String::new(), false), |(by, _, same_build)| (by, same_build));
    let row = ComparisonRow {
        contender: cell.label.clone(),
        params: cell.params.clone(),
        of: String::new(),
        metric: metric.name.clone(),
        label: metric.label.clone(),
        unit: metric.unit.clone(),
        primary: metric.primary,
        headline: metric.primary || metric.headline,
        from: value(&from.cells[before], metric),
        to: value(cell, metric),
        ratio: change.map(|c| c.0),
        low: change.and_then(|c| c.1),
        high: change.and_then(|c| c.2),
        by,
        verdict: change.map(|change| verdict(change, metric.better, margin)),
    };
    row.says_something().then_some((row, same_build))
}

fn nothing_in_common(from: &Report, to: &Report) -> Refused {
    let names = |report: &Report| {
        let good = report.cells.iter().filter(|c| !c.ceiling && c.status == CellStatus::Ok);
        let labels: Vec<&str> = good.map(|c| c.label.as_str()).collect();
        if labels.is_empty() { "none that ran".to_owned() } else { labels.join(", ") }
    };
    let (theirs, ours) = (names(from), names(to));
    Refused::NothingInCommon { from: from.run.id.clone(), theirs, to: to.run.id.clone(), ours }
}

fn side(report: &Report) -> ComparisonSide {
    ComparisonSide {
        label: report.run.id.clone(),
        run: report.run.id.clone(),
        state: String::new(),
        started_at: report.run.started_at.clone(),
        host: report.host.headline(),
    }
}

fn value(cell: &Cell, metric: &Metric) -> Option<f64> {
    cell.metrics.get(&metric.name).and_then(|m| m.value)
}

/// In what two runs were not measured alike: the conditions, then the parameters where none are in both.
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
            "the workload's file has another primary metric: {} and {}",
            were.run.primary, are.run.primary
        ));
    }
    if before.gate != now.gate {
        all.push("the workload's file has another gate".to_owned());
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

/// The cells that are in both and were good, by their indices.
fn pairs(from: &Report, to: &Report) -> Vec<(usize, usize)> {
    let good = |cell: &Cell| !cell.ceiling && cell.status == CellStatus::Ok;
    let same = |a: &Cell, b: &Cell| good(a) && a.label == b.label && a.params == b.params;
    let now = to.cells.iter().enumerate().filter(|(_, cell)| good(cell));
    now.filter_map(|(i, cell)| Some((from.cells.iter().position(|c| same(c, cell))?, i))).collect()
}

/// What lies between the two, the change by it, and whether it was the same build in both: the baseline of both, else the
/// bound.
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
    // Of what is better when lower, the share is the bound by the figure.
    Some((by, if metric.better == Better::Higher { quotient(b, a) } else { quotient(a, b) }, same))
}

/// One by the other; the ends hold where those of both do.
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
    match () {
        () if low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin => VerdictKind::NoDifference,
        () if low > 1.0 || high < 1.0 => {
            if (ratio > 1.0) == (better == Better::Higher) {
                VerdictKind::Better
            } else {
                VerdictKind::Worse
            }
        }
        () => VerdictKind::Undecided,
    }
}

/// Whether two hosts are told by the same words, but for what changes by the hour or with what is installed.
fn are_alike(a: &Host, b: &Host) -> bool {
    let lasting = |host: &Host| Host { steal_percent: 0.0, toolchains: BTreeMap::new(), ..host.clone() };
    lasting(a) == lasting(b)
}

/// What lies between the runs beside what is compared.
fn notes(from: &Report, to: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if !are_alike(&from.host, &to.host) {
        notes.push(format!(
            "other machines, or another state of one: {} in {}, {} in {}; ratios to what both have may differ by that alone",
            from.host.headline(),
            from.run.id,
            to.host.headline(),
            to.run.id
        ));
    } else {
        notes.push(
            "machines that look the same, at two times: figures drift, ratios to what both have much less"
                .to_owned(),
        );
    }
    if from.run.lab_version != to.run.lab_version {
        notes.push(format!("measured by netdyno {} and {}", from.run.lab_version, to.run.lab_version));
    }
    for cell in to.cells.iter().filter(|c| !c.ceiling && c.status == CellStatus::Ok) {
        if same_build(&cell.label, from, to) && from.cells.iter().any(|c| c.label == cell.label) {
            notes.push(format!(
                "{} is the same build in both: what changed of it is not the program",
                cell.label
            ));
        }
    }
    notes
}
