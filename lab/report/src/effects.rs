//! Effects of the contenders of a matrix, by role, as tables for [`crate::terminal`], [`crate::markdown`] and
//! [`crate::html`].

use std::collections::{BTreeMap, BTreeSet};

use netdyno_lab_analysis::report::{Effect, Effects, Report, differing, format};
use netdyno_lab_manifest::Metric;

use crate::table::{bounds, counted};

/// A table of effects, and the notes below it.
pub(super) struct EffectTable {
    pub(super) title: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) lines: Vec<String>,
}

/// Tables of a report, one per matrix.
pub(super) fn tables(report: &Report, primary: Option<&Metric>) -> Vec<EffectTable> {
    let Some(primary) = primary else { return Vec::new() };
    let all: Vec<_> = report.cells.iter().map(|cell| &cell.params).collect();
    let at = |matrix: &Effects| differing(&all, &matrix.params);
    report.effects.iter().map(|matrix| table(report, primary, matrix, &at(matrix))).collect()
}

/// Table of one parameter setting. Its title omits the setting.
pub(super) fn table_at(
    report: &Report,
    primary: Option<&Metric>,
    params: &BTreeMap<String, serde_json::Value>,
) -> Option<EffectTable> {
    let matrix = report.effects.iter().find(|matrix| matrix.params == *params)?;
    Some(table(report, primary?, matrix, ""))
}

fn table(report: &Report, primary: &Metric, matrix: &Effects, at: &str) -> EffectTable {
    let is_main = |effect: &&Effect| effect.of.len() == 1;
    let belongs_to = |effect: &Effect, role: &str, name: &str| effect.of.get(role).is_some_and(|n| n == name);
    let varies = |role: &&String| matrix.effects.iter().filter(is_main).any(|e| e.of.contains_key(*role));
    let roles: Vec<&String> = report.run.roles.iter().filter(varies).collect();
    let names: BTreeSet<&String> =
        matrix.effects.iter().filter(is_main).flat_map(|e| e.of.values()).collect();
    let figure = |role: &str, name: &str| {
        let effect = matrix.effects.iter().filter(is_main).find(|e| belongs_to(e, role, name));
        effect.map_or(String::new(), |e| format!("{}x  {}", format::ratio(e.ratio), bounds(e.low, e.high)))
    };
    let row = |name: &&String| {
        let figures = roles.iter().map(|role| figure(role, name));
        std::iter::once((*name).clone()).chain(figures).collect()
    };
    let (label, count) = (&primary.label, counted(matrix.count as usize, &matrix.unit));
    let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
    let head = roles.iter().map(|role| format!("as {role}"));
    EffectTable {
        title: format!(
            "{at}effect of each contender on {label}, relative to the mean of all pairs ({count})"
        ),
        head: std::iter::once(String::new()).chain(head).collect(),
        rows: names.iter().map(row).collect(),
        lines: interactions(report, matrix),
    }
}

/// Pairs whose interaction is significant and exceeds the margin, and the contenders that were excluded.
fn interactions(report: &Report, matrix: &Effects) -> Vec<String> {
    let margin = report.run.margin.ln_1p();
    let is_significant = |e: &&Effect| {
        let end = |end: Option<f64>, sign: f64| end.is_some_and(|v| sign * v.ln() > margin);
        e.of.len() > 1 && (end(e.low, 1.0) || end(e.high, -1.0))
    };
    let line = |e: &Effect| {
        let pair: Vec<&str> =
            report.run.roles.iter().filter_map(|r| e.of.get(r)).map(String::as_str).collect();
        let (ratio, bounds) = (format::ratio(e.ratio), bounds(e.low, e.high));
        format!("{}: {ratio}x the product of the two effects {bounds}", pair.join(" > "))
    };
    let mut lines: Vec<String> = matrix.effects.iter().filter(is_significant).map(line).collect();
    if lines.is_empty() {
        lines.push("no pair differs significantly from the product of its two effects".to_owned());
    }
    if !matrix.left_out.is_empty() {
        lines.push(format!("excluded because cells are missing: {}", matrix.left_out.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::{markdown, terminal};
    use netdyno_lab_analysis::report::build;
    use netdyno_lab_store::CellStatus;
    use netdyno_lab_store::fixture::{CannedContender, run};

    #[test]
    fn effects_follow_the_table() {
        // Two contenders in both roles; b > b has half the product of its two effects.
        let rates: [&[u64]; 4] =
            [&[1000, 1010, 990], &[2000, 2020, 1980], &[2000, 2010, 1990], &[2000, 2020, 1990]];
        let contender =
            |rates| CannedContender { name: "x", status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
        let mut run = run(&rates.map(contender), None);
        let pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")];
        for (cell, (from, to)) in run.cells.iter_mut().zip(pairs) {
            cell.contenders =
                [("source", from), ("sink", to)].map(|(r, n)| (r.to_owned(), n.to_owned())).into();
        }
        let report = build(&run).unwrap();
        assert_eq!(report.effects.len(), 1);
        let metrics = netdyno_lab_manifest::dummy::workload().metrics;
        let text = terminal(&report, &metrics, 100);
        for part in [
            "effect of each contender on counted, relative to the mean of all pairs (3 blocks)",
            "as source",
            " a  0.84x  (0.82 - 0.86)",
            "b > b: 0.84x the product of the two effects (0.8",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = markdown(&report, &metrics);
        assert!(text.contains("| b | 1.19x  (1.1") && text.contains("- b > b: 0.84x the product"), "{text}");
        run.cells[3].status = CellStatus::Failed;
        assert!(build(&run).unwrap().effects.is_empty());
    }
}
