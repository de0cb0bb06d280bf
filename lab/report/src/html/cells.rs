//! Collapsed details of each cell and contender. The middle of a long log is omitted, and the page states how
//! much.

use std::collections::BTreeMap;

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::super::table::{counted, counts_lines, name, status};
use super::figures::{DataTable, typed};
use super::limits::{LOG_BYTES_MAX, LOGS_BYTES_MAX, NOTES_MAX, REASON_LINES_MAX, SAMPLES_MAX};
use netdyno_lab_analysis::report::format;
use netdyno_lab_analysis::report::{Cell, InTurns, Report};
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::code_lines::LineCount;
use netdyno_lab_store::{BuildRecord, CellStatus};

/// Details of a cell: values of the template.
#[derive(Debug, Clone)]
pub(super) struct Details {
    /// Whether the cell has no result.
    pub(super) is_missing: bool,
    pub(super) values: Value,
}

/// Bytes of logs that the page may still hold.
pub(super) struct LogBudget(usize);

impl LogBudget {
    pub(super) fn new() -> LogBudget {
        LogBudget(LOGS_BYTES_MAX)
    }

    /// Beginning and end of a log, as much as the budget allows.
    pub(super) fn cut(&mut self, log: &str) -> String {
        let most = self.0.min(LOG_BYTES_MAX);
        if log.len() <= most {
            self.0 -= log.len();
            return log.to_owned();
        }
        self.0 -= most;
        let head = log.floor_char_boundary(most / 4);
        let tail = log.ceil_char_boundary(log.len() - (most - most / 4));
        let omitted = tail - head;
        format!("{}\n[{omitted} bytes omitted; the JSON report has them]\n{}", &log[..head], &log[tail..])
    }
}

/// Details of a cell.
pub(super) fn details(
    report: &Report,
    metrics: &[Metric],
    index: usize,
    setting: &str,
    budget: &mut LogBudget,
) -> Details {
    let cell = &report.cells[index];
    let mut reason = cell.reason.lines().map(str::trim_end);
    let first: Vec<&str> = reason.by_ref().take(1).collect();
    let more: Vec<&str> = reason.take(REASON_LINES_MAX).collect();
    let notes = cell.notes.iter().take(NOTES_MAX).cloned();
    let values = context! {
        id => index,
        name => name(cell),
        setting,
        status => status(cell.status),
        value => if cell.status == CellStatus::Ok { cell.value_text(&report.run.primary) } else { String::new() },
        // First line and remaining lines of the reason for failure.
        reason => first.concat(),
        reason_more => more.join("\n"),
        remedy => cell.remedy.as_str(),
        log => budget.cut(&cell.stderr),
        facts => Serde(facts(report, cell)),
        metrics => metrics.iter().filter_map(|m| figures(m, cell)).collect::<Vec<_>>(),
        notes => notes.chain(remainder(cell.notes.len(), NOTES_MAX)).collect::<Vec<_>>(),
    };
    Details { is_missing: !cell.reason.is_empty(), values }
}

fn remainder(all: usize, most: usize) -> Option<String> {
    (all > most).then(|| format!("and {} more in the JSON report", all - most))
}

fn facts(report: &Report, cell: &Cell) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            facts.push((name.to_owned(), text));
        }
    };
    for role in &report.run.roles {
        let Some(contender) = cell.roles.get(role) else { continue };
        let implementation = cell.implementations.get(role);
        let version = implementation
            .map_or(String::new(), |i| format!(": {} {}, {} {}", i.name, i.version, i.language, i.runtime));
        let partner = if cell.partners.contains(role) { ", the same in every cell" } else { "" };
        add(role, format!("{contender}{version}{partner}"));
    }
    let params = cell.params.iter().map(|(name, value)| format!("{name}={}", typed(value)));
    add("parameters", params.collect::<Vec<_>>().join("  "));
    if cell.status == CellStatus::Ok {
        add("valid trials", cell.trials.to_string());
        add("bottleneck", cell.bottleneck.clone());
    }
    if let Some(load) = &cell.load {
        let [offered, achieved] = [load.offered, load.achieved].map(|v| format::value(v, "1/s"));
        let held = match load.held {
            Some(true) => "sustained",
            Some(false) => "not sustained",
            None => "windows too short to decide",
        };
        add("offered load", format!("{offered} requested, {achieved} achieved: {held}"));
    }
    if let Some(turns) = &cell.turns {
        add("turns", turns_text(turns));
    }
    for (name, input) in &cell.inputs {
        add(
            &format!("input {name}"),
            format!("{} messages, {} bytes, digest {}", input.messages, input.bytes, input.digest),
        );
    }
    facts
}

fn turns_text(turns: &InTurns) -> String {
    let [turn, lead] = [turns.turn_ns, turns.lead_ns].map(|ns| format::value(ns as f64, "ns"));
    let share = turns.of_undisturbed.map_or(String::new(), |share| {
        let range = turns
            .low
            .zip(turns.high)
            .map_or(String::new(), |ends| format!(", {}", format::ratio_range(ends)));
        format!("; {} of the undisturbed rate in {} stretches{range}", format::ratio(share), turns.stretches)
    });
    let sessions = counted(turns.sessions as usize, "session");
    let count = counted(turns.turns as usize, "turn");
    format!("{sessions} of {count} of {turn} after a lead of {lead}, frozen by {}{share}", turns.freezer)
}

/// A metric of a cell: values of the template.
fn figures(metric: &Metric, cell: &Cell) -> Option<Value> {
    let m = cell.metrics.get(&metric.name)?;
    let spread = m.range().filter(|_| m.samples.len() > 1);
    let samples = m.samples.iter().take(SAMPLES_MAX).map(|s| format::value(*s, &m.unit));
    let samples: Vec<String> = samples.chain(remainder(m.samples.len(), SAMPLES_MAX)).collect();
    let parts = m.per_role.iter().map(|(role, v)| format!("{role} {}", format::value(*v, &m.unit)));
    Some(context! {
        label => metric.label.as_str(),
        value => cell.value_text(&metric.name),
        parts => parts.collect::<Vec<_>>().join(", "),
        spread => spread.map_or(String::new(), |(low, high)| format::range(low, high, &m.unit)),
        count => m.samples.len(),
        samples => samples.join(", "),
        source => m.source.as_str(),
    })
}

/// Build facts of each contender.
pub(super) fn builds(report: &Report) -> Vec<(String, Vec<(String, String)>)> {
    let all = report.cells.iter().flat_map(|c| &c.builds);
    let all: BTreeMap<&String, &BuildRecord> = all.collect();
    all.into_iter().map(|(name, build)| (name.clone(), build_facts(build))).collect()
}

fn build_facts(build: &BuildRecord) -> Vec<(String, String)> {
    let lines = build.lines.parts().map(|(kind, count)| match count.lines {
        Some(n) => format!("{kind} {} ({})", format::whole(n), count.source),
        None => format!("{kind} not measured: {}", count.source),
    });
    let facts = [
        ("version", build.version.clone()),
        ("local source", build.local.clone().unwrap_or_default()),
        ("caveat", build.caveat.clone().unwrap_or_default()),
        ("toolchain", build.toolchain.clone()),
        ("flags", build.flags.join(" ")),
        ("tuning", build.tuning.clone()),
        ("lines of code", lines.join("; ")),
        ("lock file", build.lock_hash.clone()),
        ("build", build.key.clone()),
    ];
    let known = facts.into_iter().filter(|(_, text)| !text.is_empty());
    known.map(|(name, text)| (name.to_owned(), text)).collect()
}

/// Table of the lines of code of all contenders. None if no lines are known.
pub(super) fn lines_of_code(report: &Report) -> Option<DataTable> {
    if !counts_lines(report) {
        return None;
    }
    let all = report.cells.iter().filter(|c| !c.ceiling).flat_map(|c| &c.builds);
    let all: BTreeMap<&String, &BuildRecord> = all.collect();
    let count = |(_, count): (&str, &LineCount)| count.lines.map_or("not measured".to_owned(), format::whole);
    let row = |(name, build): (&String, &BuildRecord)| {
        [name.clone()].into_iter().chain(build.lines.parts().map(count)).collect()
    };
    let rows: Vec<Vec<String>> = all.into_iter().map(row).collect();
    let head = ["", "library", "adapter", "generated"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| DataTable { caption: "Lines of code".to_owned(), head, rows })
}
