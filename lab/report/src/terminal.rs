//! A report for the terminal. `anstream` strips the colours if NO_COLOR is set or the output is a pipe.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::layout::{blocks, wrapped};
use super::table::{self, Table, sentence, verdict_of};
use crate::effects;
use netdyno_lab_analysis::report::format;
use netdyno_lab_analysis::report::{Cell, Report, plain, turn_notes};
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::{CellStatus, VerdictKind};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Columns of the longest bar.
const BAR_COLUMNS: usize = 40;
/// Bars are omitted if fewer columns are available.
const BAR_COLUMNS_LEAST: usize = 10;

/// Formats a report in lines of at most `width` columns. `metrics` are the workload's.
pub fn terminal(report: &Report, metrics: &[Metric], width: usize) -> String {
    let primary = metrics.iter().find(|m| m.primary);
    let mut out = String::new();
    line(&mut out, &format!("{BOLD}{}{BOLD:#}", wrapped(&report.run.headline, width, "", "  ")));
    for t in table::tables(report, metrics) {
        if !t.title.is_empty() {
            line(&mut out, &format!("\n{BOLD}{}{BOLD:#}", t.title));
        }
        figures(&mut out, &t, width);
        if let Some(primary) = primary {
            let cells: Vec<&Cell> = t.rows.iter().map(|(c, _)| *c).filter(|c| !c.ceiling).collect();
            bars(&mut out, &cells, primary, width);
            verdicts(&mut out, report, &cells, primary, width);
        }
        missing(&mut out, &t.missing, width);
        if !t.pending.is_empty() {
            let text = format!("not measured yet: {}", t.pending.join(", "));
            line(&mut out, &wrapped(&text, width, "  ", "    "));
        }
    }
    for matrix in effects::tables(report, primary) {
        line(&mut out, &format!("\n{BOLD}{}{BOLD:#}", wrapped(&matrix.title, width, "", "  ")));
        line(&mut out, &blocks(&matrix.head, &matrix.rows, &matrix.names(), width).join("\n\n"));
        for text in &matrix.lines {
            line(&mut out, &wrapped(&plain(text), width, "  ", "    "));
        }
    }
    let below = [table::partners(report), table::caveats(report), turn_notes(report)];
    for text in below.into_iter().flatten() {
        line(&mut out, &wrapped(&plain(&text), width, "", "  "));
    }
    for warning in &report.warnings {
        let style = AnsiColor::Yellow.on_default();
        let text = wrapped(&format!("warning: {}", plain(warning)), width, "", "  ");
        line(&mut out, &text.replacen("warning:", &format!("{style}warning:{style:#}"), 1));
    }
    let run = &report.run;
    let foot = format!("run {} · seed {} · netdyno show {}", run.id, run.seed, run.id);
    let foot = [report.host.headline(), foot].map(|text| wrapped(&text, width, "", "  "));
    line(&mut out, &format!("{DIM}{}{DIM:#}", foot.join("\n")));
    out
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

/// Table rows, split into as many blocks as the width requires. Lines of code are shown only if all columns
/// fit.
fn figures(out: &mut String, t: &Table<'_>, width: usize) {
    if t.rows.is_empty() {
        return;
    }
    let labels: Vec<String> = t.rows.iter().map(|(cell, _)| cell.label.clone()).collect();
    let rows: Vec<Vec<String>> = t.rows.iter().map(|(_, row)| row.clone()).collect();
    let mut parts = blocks(&t.head, &rows, &labels, width);
    if parts.len() > 1 {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| t.without_code(row)).collect();
        parts = blocks(&t.without_code(&t.head), &rows, &labels, width);
    }
    line(out, &parts.join("\n\n"));
}

/// One bar per cell, scaled to the greatest value.
fn bars(out: &mut String, cells: &[&Cell], primary: &Metric, width: usize) {
    const FIGURE_COLUMNS: usize = 14;
    let value = |c: &Cell| c.value(&primary.name);
    let greatest = cells.iter().filter_map(|c| value(c)).fold(0.0, f64::max);
    if greatest <= 0.0 || cells.len() < 2 {
        return;
    }
    let names = cells.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(names + FIGURE_COLUMNS).min(BAR_COLUMNS);
    if room < BAR_COLUMNS_LEAST {
        return;
    }
    line(out, "");
    let style = AnsiColor::Cyan.on_default();
    for (cell, v) in cells.iter().filter_map(|c| Some((c, value(c)?))) {
        let (bar, value) = (bar(v / greatest, room), format::value(v, &primary.unit));
        line(out, &format!("  {:names$}  {style}{bar}{style:#} {value}", cell.label));
    }
}

/// A bar that fills `share` of `columns`, to an eighth of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (columns * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn verdicts(out: &mut String, report: &Report, cells: &[&Cell], primary: &Metric, width: usize) {
    let verdicts: Vec<_> = cells.iter().filter_map(|c| verdict_of(report, c, &primary.name)).collect();
    if verdicts.is_empty() {
        return;
    }
    line(out, "");
    for v in verdicts {
        let style = match v.verdict {
            VerdictKind::Better => AnsiColor::Green.on_default(),
            VerdictKind::Worse => AnsiColor::Red.on_default(),
            VerdictKind::NoDifference | VerdictKind::Undecided => AnsiColor::Yellow.on_default(),
        };
        let text = wrapped(&sentence(v, &primary.label, report.run.margin), width, "  ", "    ");
        line(out, &format!("{style}{text}{style:#}"));
    }
    line(out, "");
}

/// Cells without results, each with its reason. Lines after the first one of a reason are the contender's
/// output.
fn missing(out: &mut String, cells: &[&Cell], width: usize) {
    for cell in cells {
        let (word, reason) = (table::status(cell.status), plain(&cell.reason));
        let colour = if cell.status == CellStatus::Failed { AnsiColor::Red } else { AnsiColor::Yellow };
        let style = colour.on_default();
        let (summary, printed) = reason.split_once('\n').unwrap_or((&reason, ""));
        let text = wrapped(&format!("{} {word}: {summary}", cell.label), width, "  ", "    ");
        line(out, &text.replacen(&format!(" {word}:"), &format!(" {style}{word}{style:#}:"), 1));
        for text in printed.lines() {
            line(out, &wrapped(text.trim_end(), width, "", "        "));
        }
        if !cell.remedy.is_empty() {
            let text = wrapped(&format!("remedy: {}", plain(&cell.remedy)), width, "    ", "      ");
            line(out, &text.replacen("remedy:", &format!("{DIM}remedy:{DIM:#}"), 1));
        }
    }
}
