//! The report as Markdown, for a README or an issue.

use super::model::{Cell, Report};
use super::table::{sentence, tables, verdict_of};
use crate::manifest::Metric;

/// Writes the report; `metrics` are the workload's.
#[must_use]
pub fn markdown(report: &Report, metrics: &[Metric]) -> String {
    let columns: Vec<&Metric> = metrics.iter().filter(|m| m.column).collect();
    let mut out = vec![format!("**{}**", escape(&report.run.headline)), String::new()];
    for t in tables(report, &columns) {
        if !t.title.is_empty() {
            out.extend([format!("### {}", escape(&t.title)), String::new()]);
        }
        if !t.rows.is_empty() {
            let rows: Vec<Vec<String>> = t.rows.iter().map(|(_, row)| row.clone()).collect();
            out.push(table(&t.head, &rows));
        }
        if let Some(primary) = metrics.iter().find(|m| m.primary) {
            let found = t.rows.iter().filter_map(|(c, _)| verdict_of(report, c, &primary.name));
            let verdicts: Vec<String> = found
                .map(|v| format!("- {}", escape(&sentence(v, &primary.label, report.run.margin))))
                .collect();
            if !verdicts.is_empty() {
                out.extend(verdicts);
                out.push(String::new());
            }
        }
        for cell in &t.missing {
            out.push(missing(cell));
        }
        if !t.missing.is_empty() {
            out.push(String::new());
        }
    }
    out.extend(report.warnings.iter().map(|w| format!("> {}\n", escape(w))));
    out.push(format!(
        "Host: {}. Run {}, seed {}.",
        escape(&report.host.headline()),
        report.run.id,
        report.run.seed
    ));
    out.push(String::new());
    out.join("\n")
}

fn missing(cell: &Cell) -> String {
    let status = format!("{:?}", cell.status).to_lowercase();
    let remedy = if cell.remedy.is_empty() { String::new() } else { format!(" Remedy: `{}`", cell.remedy) };
    format!("- {} {status}: {}{remedy}", escape(&cell.label), escape(&cell.reason))
}

/// A Markdown table, ending in a newline: the first and the last column to the left, the others to the right.
#[must_use]
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let rules = (0..head.len()).map(|i| if i == 0 || i + 1 == head.len() { "---" } else { "---:" });
    let rules = format!("|{}|", rules.collect::<Vec<_>>().join("|"));
    let body = rows.iter().map(|r| row(r));
    let mut lines: Vec<String> = [row(head), rules].into_iter().chain(body).collect();
    lines.push(String::new());
    lines.join("\n")
}

fn row(cells: &[String]) -> String {
    format!("| {} |", cells.iter().map(|c| escape(c)).collect::<Vec<_>>().join(" | "))
}

/// Keeps a text of a contender from being read as Markdown or HTML.
fn escape(text: &str) -> String {
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
