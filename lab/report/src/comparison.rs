//! A comparison of two runs as a terminal table, and as Markdown for a pull request comment.

use minijinja::context;
use minijinja::value::Serde;

use crate::text::rendered;
use netdyno_lab_analysis::comparison::{Comparison, ComparisonRow};
use netdyno_lab_analysis::report::{self, format};
use netdyno_lab_store::VerdictKind;
use netdyno_stats::RegressionClaim;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Formats a comparison in lines of at most `width` columns.
pub fn terminal(comparison: &Comparison, width: usize) -> String {
    let (head, rows) = table(comparison, |_| true);
    let values = context! {
        c => Serde(comparison),
        title => title(comparison),
        table => if rows.is_empty() { String::new() } else { crate::grid(&head, &rows, width) },
        bold => BOLD.render().to_string(),
        reset => BOLD.render_reset().to_string(),
        width,
    };
    rendered(include_str!("comparison.txt.j2"), values)
}

/// Formats a comparison as a comment: conclusion, summary table, and a collapsed section with all metrics and
/// `details`, which is Markdown.
pub fn markdown(comparison: &Comparison, details: &str) -> String {
    let conclusion = match comparison.claim {
        Some(RegressionClaim::Regression) => Some("Regression"),
        _ if comparison.is_missing => Some("Not compared"),
        Some(RegressionClaim::NoRegression) => Some("No regression"),
        Some(RegressionClaim::Undecided) => Some("Undecided"),
        None => None,
    };
    let tabulated = |is_shown: fn(&&ComparisonRow) -> bool| {
        let (head, rows) = table(comparison, is_shown);
        crate::markdown_table(&head, &rows)
    };
    let values = context! {
        c => Serde(comparison),
        title => title(comparison),
        conclusion,
        summary => tabulated(|row| row.headline),
        table => tabulated(|_| true),
        details,
    };
    rendered(include_str!("comparison.md.j2"), values)
}

fn title(comparison: &Comparison) -> String {
    let Comparison { workload, from, to, .. } = comparison;
    format!("{workload}: {} against {}", to.label, from.label)
}

/// Head and rows of a table.
fn table(comparison: &Comparison, is_shown: fn(&&ComparisonRow) -> bool) -> (Vec<String>, Vec<Vec<String>>) {
    let rows: Vec<&ComparisonRow> = comparison.rows.iter().filter(is_shown).collect();
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
