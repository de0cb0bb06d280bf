//! A report for the terminal. `anstream` strips the colours if NO_COLOR is set or the output is a pipe.

use anstyle::{AnsiColor, Style};
use minijinja::context;
use minijinja::value::Serde;

use super::layout::{blocks, wrapped};
use super::table::{self, Table, sentence, verdict_of};
use crate::effects::{self, EffectTable};
use crate::text::rendered;
use netdyno_lab_analysis::report::{Cell, Report, format, plain, turn_notes};
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::{CellStatus, Verdict, VerdictKind};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Columns of the longest bar.
const BAR_COLUMNS: usize = 40;
/// Bars are omitted if fewer columns are available.
const BAR_COLUMNS_LEAST: usize = 10;

/// Formats a report in lines of at most `width` columns. `metrics` are the workload's.
pub fn terminal(report: &Report, metrics: &[Metric], width: usize) -> String {
    let primary = metrics.iter().find(|m| m.primary);
    let table = |t: Table<'_>| {
        let cells: Vec<&Cell> = t.rows.iter().map(|(c, _)| *c).filter(|c| !c.ceiling).collect();
        context! {
            title => t.title.as_str(),
            figures => figures(&t, width),
            bars => primary.map_or_else(Vec::new, |primary| bars(&cells, primary, width)),
            verdicts => primary.map_or_else(Vec::new, |primary| verdicts(report, &cells, primary, width)),
            missing => t.missing.iter().map(|cell| missing(cell, width)).collect::<Vec<_>>(),
            pending => Serde(&t.pending),
        }
    };
    let matrix = |matrix: EffectTable| {
        let table = blocks(&matrix.head, &matrix.rows, None, width).join("\n\n");
        context! { title => matrix.title, table, lines => matrix.lines }
    };
    let below = [table::partners(report), table::caveats(report), turn_notes(report)];
    let values = context! {
        run => Serde(&report.run),
        host => report.host.headline(),
        tables => table::tables(report, metrics).into_iter().map(table).collect::<Vec<_>>(),
        matrices => effects::tables(report, primary).into_iter().map(matrix).collect::<Vec<_>>(),
        below => below.into_iter().flatten().collect::<Vec<_>>(),
        warnings => Serde(&report.warnings),
        width,
        bold => BOLD.render().to_string(),
        dim => DIM.render().to_string(),
        yellow => AnsiColor::Yellow.on_default().render().to_string(),
        reset => BOLD.render_reset().to_string(),
    };
    rendered(include_str!("report.txt.j2"), values)
}

/// Table rows, split into as many blocks as the width requires. Lines of code are shown only if all columns
/// fit.
fn figures(t: &Table<'_>, width: usize) -> String {
    if t.rows.is_empty() {
        return String::new();
    }
    let labels: Vec<String> = t.rows.iter().map(|(cell, _)| cell.label.clone()).collect();
    let rows: Vec<Vec<String>> = t.rows.iter().map(|(_, row)| row.clone()).collect();
    let mut parts = blocks(&t.head, &rows, Some(&labels), width);
    if parts.len() > 1 {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| t.without_code(row)).collect();
        parts = blocks(&t.without_code(&t.head), &rows, Some(&labels), width);
    }
    parts.join("\n\n")
}

/// One bar per cell, scaled to the greatest value.
fn bars(cells: &[&Cell], primary: &Metric, width: usize) -> Vec<String> {
    const FIGURE_COLUMNS: usize = 14;
    let value = |c: &Cell| c.value(&primary.name);
    let greatest = cells.iter().filter_map(|c| value(c)).fold(0.0, f64::max);
    if greatest <= 0.0 || cells.len() < 2 {
        return Vec::new();
    }
    let names = cells.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(names + FIGURE_COLUMNS).min(BAR_COLUMNS);
    if room < BAR_COLUMNS_LEAST {
        return Vec::new();
    }
    let style = AnsiColor::Cyan.on_default();
    let line = |cell: &&Cell| {
        let v = value(cell)?;
        let (bar, value) = (bar(v / greatest, room), format::value(v, &primary.unit));
        Some(format!("  {:names$}  {style}{bar}{style:#} {value}", cell.label))
    };
    cells.iter().filter_map(line).collect()
}

/// A bar that fills `share` of `columns`, to an eighth of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (columns * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn verdicts(report: &Report, cells: &[&Cell], primary: &Metric, width: usize) -> Vec<String> {
    let line = |v: &Verdict| {
        let style = match v.verdict {
            VerdictKind::Better => AnsiColor::Green.on_default(),
            VerdictKind::Worse => AnsiColor::Red.on_default(),
            VerdictKind::NoDifference | VerdictKind::Undecided => AnsiColor::Yellow.on_default(),
        };
        let text = wrapped(&sentence(v, &primary.label, report.run.margin), width, "  ", "    ");
        format!("{style}{text}{style:#}")
    };
    cells.iter().filter_map(|c| verdict_of(report, c, &primary.name)).map(line).collect()
}

/// A cell without results, with the reason. Lines after the first one of a reason are the contender's output.
fn missing(cell: &Cell, width: usize) -> String {
    let (word, reason) = (table::status(cell.status), plain(&cell.reason));
    let colour = if cell.status == CellStatus::Failed { AnsiColor::Red } else { AnsiColor::Yellow };
    let style = colour.on_default();
    let (summary, printed) = reason.split_once('\n').unwrap_or((&reason, ""));
    let text = wrapped(&format!("{} {word}: {summary}", cell.label), width, "  ", "    ");
    let mut lines = vec![text.replacen(&format!(" {word}:"), &format!(" {style}{word}{style:#}:"), 1)];
    lines.extend(printed.lines().map(|text| wrapped(text.trim_end(), width, "", "        ")));
    if !cell.remedy.is_empty() {
        let text = wrapped(&format!("remedy: {}", plain(&cell.remedy)), width, "    ", "      ");
        lines.push(text.replacen("remedy:", &format!("{DIM}remedy:{DIM:#}"), 1));
    }
    lines.join("\n")
}
