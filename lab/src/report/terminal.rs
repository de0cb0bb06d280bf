//! The report on a terminal. Colour is taken out by `anstream` where it is not wanted (NO_COLOR, a pipe).

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::format;
use super::model::{Cell, Report, VerdictKind};
use super::table::{self, sentence, verdict_of};
use crate::manifest::Metric;
use crate::store::CellStatus;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAR_COLUMNS: usize = 40;

/// Writes the report; `metrics` are the workload's.
#[must_use]
pub fn terminal(report: &Report, metrics: &[Metric]) -> String {
    let columns: Vec<&Metric> = metrics.iter().filter(|m| m.column).collect();
    let primary = metrics.iter().find(|m| m.primary);
    let mut out = String::new();
    line(&mut out, &format!("{BOLD}{}{BOLD:#}", report.run.headline));
    for t in table::tables(report, &columns) {
        if !t.title.is_empty() {
            line(&mut out, &format!("\n{BOLD}{}{BOLD:#}", t.title));
        }
        if !t.rows.is_empty() {
            line(&mut out, &grid(&t.head, t.rows.iter().map(|(_, row)| row)));
        }
        if let Some(primary) = primary {
            let cells: Vec<&Cell> = t.rows.iter().map(|(c, _)| *c).filter(|c| !c.ceiling).collect();
            bars(&mut out, &cells, primary);
            verdicts(&mut out, report, &cells, primary);
        }
        missing(&mut out, &t.missing);
    }
    for warning in &report.warnings {
        let style = AnsiColor::Yellow.on_default();
        line(&mut out, &format!("{style}warning:{style:#} {warning}"));
    }
    let host = format!(
        "{DIM}{}\nrun {} · seed {} · netdyno show {}{DIM:#}",
        report.host.headline(),
        report.run.id,
        report.run.seed,
        report.run.id
    );
    line(&mut out, &host);
    out
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

/// Aligned columns: the first and the last to the left, the others to the right.
#[must_use]
pub fn grid<'a>(head: &[String], rows: impl Iterator<Item = &'a Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().map(String::as_str));
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        let last = i + 1 == head.len();
        column.set_cell_alignment(if i == 0 || last { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|l| format!(" {}", l.trim_end())).collect::<Vec<_>>().join("\n")
}

/// One bar a cell, the longest for the greatest value.
fn bars(out: &mut String, cells: &[&Cell], primary: &Metric) {
    let value = |c: &Cell| c.metrics.get(&primary.name).and_then(|m| m.value);
    let greatest = cells.iter().filter_map(|c| value(c)).fold(0.0, f64::max);
    if greatest <= 0.0 || cells.len() < 2 {
        return;
    }
    let width = cells.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
    line(out, "");
    for cell in cells {
        let Some(v) = value(cell) else { continue };
        let style = AnsiColor::Cyan.on_default();
        let bar = bar(v / greatest);
        line(
            out,
            &format!("  {:width$}  {style}{bar}{style:#} {}", cell.label, format::value(v, &primary.unit)),
        );
    }
}

/// A share of [`BAR_COLUMNS`] in eighths of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR_COLUMNS * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn verdicts(out: &mut String, report: &Report, cells: &[&Cell], primary: &Metric) {
    let found: Vec<_> = cells.iter().filter_map(|c| verdict_of(report, c, &primary.name)).collect();
    if found.is_empty() {
        return;
    }
    line(out, "");
    for v in found {
        let style = match v.verdict {
            VerdictKind::Better => AnsiColor::Green.on_default(),
            VerdictKind::Worse => AnsiColor::Red.on_default(),
            VerdictKind::NoDifference | VerdictKind::Undecided => AnsiColor::Yellow.on_default(),
        };
        line(out, &format!("  {style}{}{style:#}", sentence(v, &primary.label, report.run.margin)));
    }
    line(out, "");
}

/// Without the control characters by which a contender could write elsewhere on the terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

fn missing(out: &mut String, cells: &[&Cell]) {
    for cell in cells {
        let (word, style) = match cell.status {
            CellStatus::Failed => ("failed", AnsiColor::Red.on_default()),
            CellStatus::Skipped => ("skipped", AnsiColor::Yellow.on_default()),
            CellStatus::Planned | CellStatus::Ok => ("not measured", AnsiColor::Yellow.on_default()),
        };
        line(out, &format!("  {} {style}{word}{style:#}: {}", cell.label, plain(&cell.reason)));
        if !cell.remedy.is_empty() {
            line(out, &format!("    {DIM}remedy:{DIM:#} {}", cell.remedy));
        }
    }
}
