//! A comparison of two runs as a terminal table, and as Markdown for a pull request comment.

use std::fmt::Write;

use crate::{escape, wrapped};
use netdyno_lab_analysis::comparison::{Comparison, ComparisonRow};
use netdyno_lab_analysis::report::{self, format, plain};
use netdyno_lab_store::VerdictKind;
use netdyno_stats::RegressionClaim;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Formats a comparison in lines of at most `width` columns.
pub fn terminal(comparison: &Comparison, width: usize) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", wrapped(&title(comparison), width, "", "  "));
    for side in [&comparison.from, &comparison.to].into_iter().filter(|side| !side.state.is_empty()) {
        let _ = writeln!(out, "{}", wrapped(&format!("{}: {}", side.label, side.state), width, "  ", "    "));
    }
    if !comparison.rows.is_empty() {
        let (head, rows) = table(comparison, &comparison.rows.iter().collect::<Vec<_>>());
        let _ = writeln!(out, "{}", crate::grid(&head, &rows, width));
    }
    for text in &comparison.claims {
        let _ = writeln!(out, "{}", wrapped(&plain(text), width, "", "  "));
    }
    if !comparison.unchecked.is_empty() {
        let _ = writeln!(out, "{}", wrapped(&plain(&unchecked(comparison)), width, "", "  "));
    }
    for note in &comparison.notes {
        let _ = writeln!(out, "{}", wrapped(&format!("note: {}", plain(note)), width, "", "  "));
    }
    out
}

/// Formats a comparison as a comment: conclusion, summary table, and a collapsed section with all metrics and
/// `details`, which is Markdown.
pub fn markdown(comparison: &Comparison, details: &str) -> String {
    let mut out = vec![format!("### {}\n", escape(&title(comparison)))];
    let claims: Vec<String> = comparison.claims.iter().map(|text| escape(&plain(text))).collect();
    let conclusion = match comparison.claim {
        Some(RegressionClaim::Regression) => Some("Regression"),
        _ if comparison.is_missing => Some("Not compared"),
        Some(RegressionClaim::NoRegression) => Some("No regression"),
        Some(RegressionClaim::Undecided) => Some("Undecided"),
        None => None,
    };
    match conclusion {
        Some(word) if claims.is_empty() => out.push(format!("**{word}**: nothing was measured\n")),
        Some(word) => out.push(format!("**{word}**: {}\n", claims.join("; "))),
        None => out.extend(claims.iter().map(|claim| format!("{claim}\n"))),
    }
    if !comparison.unchecked.is_empty() {
        out.push(format!("**{}**\n", escape(&plain(&unchecked(comparison)))));
    }
    let notes = comparison.notes.iter().map(|note| format!("- {}", escape(&plain(note))));
    if comparison.rows.is_empty() {
        out.extend(notes);
        out.extend((!details.is_empty()).then(|| format!("\n{details}")));
        return out.join("\n");
    }
    let tabulated = |is_shown: fn(&&ComparisonRow) -> bool| {
        let (head, rows) = table(comparison, &comparison.rows.iter().filter(is_shown).collect::<Vec<_>>());
        crate::markdown_table(&head, &rows)
    };
    out.push(tabulated(|row| row.headline));
    out.push("<details>\n<summary>All metrics, the run and the machine</summary>\n".to_owned());
    out.push(tabulated(|_| true));
    for side in [&comparison.from, &comparison.to] {
        let state = if side.state.is_empty() { String::new() } else { format!(", {}", escape(&side.state)) };
        out.push(format!("- {}: run {}{state}, {}", escape(&side.label), side.run, escape(&side.host)));
    }
    out.extend(notes);
    out.push(format!("\n{details}\n</details>\n"));
    out.join("\n")
}

/// Changes for the worse that no limit covers.
fn unchecked(comparison: &Comparison) -> String {
    format!("Worse, but not covered by --fail-on: {}", comparison.unchecked.join("; "))
}

fn title(comparison: &Comparison) -> String {
    let Comparison { workload, from, to, .. } = comparison;
    format!("{workload}: {} against {}", to.label, from.label)
}

/// Head and rows of a table.
fn table(comparison: &Comparison, rows: &[&ComparisonRow]) -> (Vec<String>, Vec<Vec<String>>) {
    let has_names = rows.iter().any(|row| !row.of.is_empty());
    let has_links = rows.iter().any(|row| !row.by.is_empty());
    let optional = |is_shown: bool, text: &str| is_shown.then(|| text.to_owned());
    let row = |name: &str, figures: [String; 4], by: &str, verdict: &str| -> Vec<String> {
        let names = optional(has_names, name).into_iter();
        names.chain(figures).chain(optional(has_links, by)).chain([verdict.to_owned()]).collect()
    };
    let labels = ["", &comparison.from.label, &comparison.to.label, "ratio"].map(str::to_owned);
    let head = row("cell", labels, "compared through", "verdict");
    let cells = |r: &&ComparisonRow| {
        let [from, to] = [r.from, r.to].map(|value| format::value_or_not(value, &r.unit));
        let verdict = r.verdict.map_or("not compared", VerdictKind::word);
        row(&r.of, [r.label.clone(), from, to, ratio(r)], &r.by, verdict)
    };
    (head, rows.iter().map(cells).collect())
}

/// `0.95x  (0.93 - 0.97)`.
fn ratio(row: &ComparisonRow) -> String {
    let Some(ratio) = row.ratio else { return "not compared".to_owned() };
    let end = |end: Option<f64>, unbounded: &str| end.map_or(unbounded.to_owned(), report::ratio);
    match (row.low, row.high) {
        (None, None) => format!("{}x", report::ratio(ratio)),
        (low, high) => format!("{}x  ({} - {})", report::ratio(ratio), end(low, "0"), end(high, "any")),
    }
}
