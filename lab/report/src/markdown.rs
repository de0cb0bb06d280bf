//! A report as Markdown, for a README or an issue.

use std::ops::Range;

use super::table::{Table, caveats, partners, sentence, status, tables, uncounted, verdict_of};
use crate::effects;
use netdyno_lab_analysis::report::{Cell, Report, plain, turn_notes};
use netdyno_lab_manifest::Metric;

/// Formats a report: a summary, then all columns, the verdicts and the machine in a collapsed section.
/// `metrics` are the workload's.
pub fn markdown(report: &Report, metrics: &[Metric]) -> String {
    let tables = tables(report, metrics);
    let mut out = vec![format!("**{}**\n", escape(&report.run.headline))];
    for t in &tables {
        out.extend(headed(t, t.summary_columns));
        out.extend(t.missing.iter().map(|cell| missing(cell)));
        if !t.pending.is_empty() {
            out.push(format!("- not measured yet: {}", escape(&t.pending.join(", "))));
        }
        if !(t.missing.is_empty() && t.pending.is_empty()) {
            out.push(String::new());
        }
    }
    for matrix in effects::tables(report, metrics.iter().find(|m| m.primary)) {
        out.push(format!("### {}\n", escape(&matrix.title)));
        out.push(aligned(&matrix.head, &matrix.rows, 1..matrix.head.len()));
        out.extend(matrix.lines.iter().map(|text| format!("- {}\n", escape(&plain(text)))));
    }
    let lines = [partners(report), caveats(report), turn_notes(report)];
    out.extend(lines.iter().flatten().map(|text| format!("{}\n", escape(&plain(text)))));
    out.extend(report.warnings.iter().map(|w| format!("> {}\n", escape(w))));
    out.push("<details>\n<summary>All columns, verdicts and the machine</summary>\n".to_owned());
    for t in &tables {
        out.extend(headed(t, t.head.len()));
        out.extend(verdicts(report, metrics, t));
    }
    let uncounted: Vec<String> =
        uncounted(report).iter().map(|text| format!("- {}", escape(&plain(text)))).collect();
    if !uncounted.is_empty() {
        out.push(format!("{}\n", uncounted.join("\n")));
    }
    let (host, run) = (escape(&report.host.headline()), &report.run);
    out.push(format!("Host: {host}. Run {}, seed {}.\n\n</details>\n", run.id, run.seed));
    out.join("\n")
}

/// The title and the first columns of a table.
fn headed(t: &Table<'_>, columns: usize) -> Vec<String> {
    let mut out = Vec::new();
    if !t.title.is_empty() {
        out.push(format!("### {}\n", escape(&t.title)));
    }
    if !t.rows.is_empty() {
        let rows: Vec<Vec<String>> = t.rows.iter().map(|(_, row)| row[..columns].to_vec()).collect();
        // The last column of the whole table is text; every column of the summary is a number.
        let numbers = if columns == t.head.len() { columns - 1 } else { columns };
        out.push(aligned(&t.head[..columns], &rows, 1..numbers));
    }
    out
}

fn verdicts(report: &Report, metrics: &[Metric], t: &Table<'_>) -> Vec<String> {
    let Some(primary) = metrics.iter().find(|m| m.primary) else { return Vec::new() };
    let verdicts = t.rows.iter().filter_map(|(c, _)| verdict_of(report, c, &primary.name));
    let mut lines: Vec<String> =
        verdicts.map(|v| format!("- {}", escape(&sentence(v, &primary.label, report.run.margin)))).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
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

/// Escapes text so that it is not interpreted as Markdown or HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}
