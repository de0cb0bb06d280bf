//! Collapsed details of each cell and contender. The middle of a long log is omitted, and the page states how
//! much.

use std::collections::BTreeMap;

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::super::table::{counts_lines, name, status};
use super::figures::{DataTable, typed};
use super::limits::{LOG_BYTES_MAX, LOGS_BYTES_MAX, REASON_LINES_MAX};
use netdyno_lab_analysis::report::{Report, format};
use netdyno_lab_store::code_lines::LineCount;
use netdyno_lab_store::{BuildRecord, CellStatus};

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

/// Details of a cell: values of the template.
pub(super) fn details(report: &Report, index: usize, setting: &str, budget: &mut LogBudget) -> Value {
    let cell = &report.cells[index];
    let mut reason = cell.reason.lines().map(str::trim_end);
    let first: Vec<&str> = reason.by_ref().take(1).collect();
    let more: Vec<&str> = reason.take(REASON_LINES_MAX).collect();
    context! {
        id => index,
        name => name(cell),
        setting,
        status => status(cell.status),
        is_missing => !cell.reason.is_empty(),
        value => if cell.status == CellStatus::Ok { cell.value_text(&report.run.primary) } else { String::new() },
        // First line and remaining lines of the reason for failure.
        reason => first.concat(),
        reason_more => more.join("\n"),
        remedy => cell.remedy.as_str(),
        log => budget.cut(&cell.stderr),
        roles => Serde(&cell.roles),
        implementations => Serde(&cell.implementations),
        partners => Serde(&cell.partners),
        params => Serde(cell.params.iter().map(|(name, value)| (name, typed(value))).collect::<Vec<_>>()),
        trials => cell.trials,
        bottleneck => cell.bottleneck.as_str(),
        load => Serde(&cell.load),
        turns => Serde(&cell.turns),
        inputs => Serde(&cell.inputs),
        metrics => Serde(&cell.metrics),
        notes => Serde(&cell.notes),
    }
}

/// Builds of all contenders, by name.
pub(super) fn builds(report: &Report) -> BTreeMap<&String, &BuildRecord> {
    report.cells.iter().flat_map(|c| &c.builds).collect()
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
