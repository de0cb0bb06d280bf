//! A report as Markdown, for a README or an issue.

use std::ops::Range;

use minijinja::context;
use minijinja::value::Serde;

use super::table::{Table, caveats, partners, sentence, status, tables, uncounted, verdict_of};
use crate::effects::{self, EffectTable};
use crate::text::{escape, rendered};
use netdyno_lab_analysis::report::{Cell, Report, plain, turn_notes};
use netdyno_lab_manifest::Metric;

/// Formats a report: a summary, then all columns, the verdicts and the machine in a collapsed section.
/// `metrics` are the workload's.
pub fn markdown(report: &Report, metrics: &[Metric]) -> String {
    let primary = metrics.iter().find(|m| m.primary);
    let table = |t: Table<'_>| {
        let verdicts = primary.into_iter().flat_map(|primary| {
            let verdicts = t.rows.iter().filter_map(move |(c, _)| verdict_of(report, c, &primary.name));
            verdicts.map(move |v| sentence(v, &primary.label, report.run.margin))
        });
        context! {
            title => t.title.as_str(),
            summary => columns(&t, t.summary_columns),
            all => columns(&t, t.head.len()),
            missing => t.missing.iter().map(|cell| missing(cell)).collect::<Vec<_>>(),
            pending => Serde(&t.pending),
            verdicts => verdicts.collect::<Vec<_>>(),
        }
    };
    let matrix = |matrix: EffectTable| {
        let table = aligned(&matrix.head, &matrix.rows, 1..matrix.head.len());
        context! { title => matrix.title, table, lines => matrix.lines }
    };
    let lines = [partners(report), caveats(report), turn_notes(report)];
    let values = context! {
        run => Serde(&report.run),
        host => report.host.headline(),
        tables => tables(report, metrics).into_iter().map(table).collect::<Vec<_>>(),
        matrices => effects::tables(report, primary).into_iter().map(matrix).collect::<Vec<_>>(),
        lines => lines.into_iter().flatten().collect::<Vec<_>>(),
        warnings => Serde(&report.warnings),
        uncounted => uncounted(report),
    };
    rendered(include_str!("report.md.j2"), values)
}

/// The first columns of a table; empty without rows.
fn columns(t: &Table<'_>, columns: usize) -> String {
    if t.rows.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = t.rows.iter().map(|(_, row)| row[..columns].to_vec()).collect();
    // The last column of the whole table is text; every column of the summary is a number.
    let numbers = if columns == t.head.len() { columns - 1 } else { columns };
    aligned(&t.head[..columns], &rows, 1..numbers)
}

/// A cell without results: status, reason and remedy, then the contender's output as a code block.
fn missing(cell: &Cell) -> String {
    let status = status(cell.status);
    let remedy = if cell.remedy.is_empty() { String::new() } else { format!("; remedy: `{}`", cell.remedy) };
    let reason = plain(&cell.reason);
    let (summary, printed) = reason.split_once('\n').unwrap_or((&reason, ""));
    let printed: Vec<String> = printed.lines().map(|l| format!("\n      {}", l.trim())).collect();
    let printed = if printed.is_empty() { String::new() } else { format!("\n{}\n", printed.concat()) };
    format!("- {} {status}: {}{remedy}{printed}", escape(&cell.label), escape(summary))
}

/// Formats a left-aligned Markdown table. It ends in a newline.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    aligned(head, rows, 0..0)
}

/// Formats a Markdown table whose `numbers` columns are right-aligned. It ends in a newline.
fn aligned(head: &[String], rows: &[Vec<String>], numbers: Range<usize>) -> String {
    let rules = (0..head.len()).map(|i| if numbers.contains(&i) { "---:" } else { "---" });
    let rules = format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
    row(head) + &rules + &rows.iter().map(|cells| row(cells)).collect::<String>()
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|c| escape(c)).collect::<Vec<_>>().join(" | "))
}
