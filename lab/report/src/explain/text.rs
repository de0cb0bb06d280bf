//! An explanation as text for the terminal.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Serde;

use crate::blocks;
use crate::text::rendered;
use netdyno_lab_analysis::explain::figures::FigureRow;
use netdyno_lab_analysis::explain::{Cause, Equalised, Explanation, Look, Ratio};
use netdyno_lab_analysis::grouped;
use netdyno_lab_analysis::report::format::{value, value_or_not};

/// Number of causes in the table. Causes with a share are always included.
const CAUSES: usize = 14;
/// Counts smaller than this on both sides are omitted from the text; the JSON has them.
const SHOWN_MIN: f64 = 0.005;

/// Formats an explanation in lines of at most `width` columns.
pub fn text(e: &Explanation, width: usize) -> String {
    let values = context! {
        e => Serde(e),
        primary => primary(e),
        causes => causes(e, width),
        rows => rows(e, width),
        unmeasured => unmeasured(e),
        gaps => e.equalised.iter().map(|equalised| gap(e, equalised)).collect::<Vec<_>>(),
        notes => probe_notes(e),
        width,
    };
    rendered(include_str!("text.txt.j2"), values)
}

fn primary(e: &Explanation) -> String {
    let p = &e.primary;
    let [a, b] = [p.a, p.b].map(|v| value_or_not(v, &p.unit));
    let ratio = p.ratio.as_ref().map_or(String::new(), |r| format!(": {}, {}", times(r), r.of));
    format!("{}: {} {a}, {} {b}{ratio}", p.label, e.a, e.b)
}

fn times(ratio: &Ratio) -> String {
    let high = ratio.high.map_or("unbounded".to_owned(), |high| format!("{high:.2}"));
    format!("{:.2}x ({:.2} - {high})", ratio.value, ratio.low)
}

fn causes(e: &Explanation, width: usize) -> String {
    let head = ["", &e.a, &e.b, "difference", "share", "calls, functions"].map(str::to_owned);
    let has_share = e.causes.iter().filter(|c| c.share.is_some()).count();
    let listed = e.causes.iter().take(has_share.max(CAUSES));
    let listed = listed.filter(|c| c.difference_ns().abs() >= 0.5);
    let rows: Vec<Vec<String>> = listed
        .map(|cause| {
            let ns = cause.difference_ns();
            let error = cause.error_ns.map_or(String::new(), |error| format!(" ±{}", whole(2.0 * error)));
            let role = cause.role.as_ref().map_or(String::new(), |role| format!("{role}: "));
            vec![
                role + &cause.name,
                value(cause.a_ns, "ns"),
                value(cause.b_ns, "ns"),
                format!("{}{} ns{error}", sign(ns), whole(ns.abs())),
                cause.share.map_or("concurrent".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
                details(cause),
            ]
        })
        .collect();
    blocks(&head, &rows, None, width).join("\n\n")
}

fn whole(ns: f64) -> String {
    if ns < 10.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

fn details(cause: &Cause) -> String {
    let calls = cause.calls.iter().map(|c| {
        let name = if c.name == cause.name { "calls" } else { &c.name };
        format!("{name} {:.2} -> {:.2}", c.a, c.b)
    });
    let functions = cause.functions.iter().map(|f| format!("{} {:+.0}", f.name, f.b_ns - f.a_ns));
    calls.chain(functions).collect::<Vec<_>>().join("; ")
}

fn rows(e: &Explanation, width: usize) -> String {
    let head = [format!("per {}", e.unit), e.a.clone(), e.b.clone(), "difference".to_owned(), String::new()];
    let is_negligible = |v: Option<f64>| v.is_some_and(|v| v.abs() < SHOWN_MIN);
    let is_shown = |row: &&FigureRow| {
        (row.a.is_some() || row.b.is_some())
            && !(row.unit == "1" && is_negligible(row.a) && is_negligible(row.b))
    };
    let cells = |row: &FigureRow| {
        let [a, b] = [row.a, row.b].map(|v| value_or_not(v, &row.unit));
        let difference = |d: f64| format!("{}{}", sign(d), value(d.abs(), &row.unit));
        let difference = row.difference().map_or(String::new(), difference);
        vec![format!("{}: {}", role(row), row.name), a, b, difference, String::new()]
    };
    let all: Vec<Vec<String>> = e.rows.iter().filter(is_shown).map(cells).collect();
    blocks(&head, &all, None, width).join("\n\n")
}

fn sign(difference: f64) -> &'static str {
    if difference < 0.0 { "-" } else { "+" }
}

fn role(row: &FigureRow) -> &str {
    row.role.as_deref().unwrap_or("network")
}

/// One line for each reason for which figures are missing on both sides.
fn unmeasured(e: &Explanation) -> Vec<String> {
    let missing = e.rows.iter().filter(|row| row.a.is_none() && row.b.is_none());
    let reasons = grouped(missing.map(|row| (&row.source, format!("{}: {}", role(row), row.name.trim()))));
    let line =
        |(reason, names): (&String, Vec<String>)| format!("not measured: {} ({reason})", names.join(", "));
    reasons.into_iter().map(line).collect()
}

/// One line for each kind of probe, and one for each failed probe.
fn probe_notes(e: &Explanation) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let by_kind: BTreeMap<&str, Vec<&Look>> =
        grouped(e.looks.iter().map(|look| (look.kind.as_str(), look))).into_iter().collect();
    for (kind, looks) in by_kind {
        let good = || looks.iter().filter(|look| look.problem.is_none());
        if let Some(least) = good().filter_map(|look| look.speed).reduce(f64::min) {
            let sources: BTreeSet<&str> = good().map(|look| look.source.as_str()).collect();
            let sources = sources.into_iter().collect::<Vec<_>>().join("; ");
            notes.push(format!("{kind}: {sources}; at {:.0} % of the undisturbed rate", 100.0 * least));
        }
        for (look, problem) in looks.iter().filter_map(|look| Some((look, look.problem.as_ref()?))) {
            notes.push(format!("{kind} of {}, {}: {problem}", look.contender, look.role));
        }
    }
    notes
}

fn gap(e: &Explanation, equalised: &Equalised) -> String {
    let Equalised { what, how, before, after, closes, .. } = equalised;
    let (Some(before), Some(after)) = (before, after) else {
        return format!("{what} cannot be equalised on this machine: {how}");
    };
    let percent =
        |share: Option<f64>| share.map_or("unbounded".to_owned(), |s| format!("{:.0} %", 100.0 * s));
    let closed = closes.map_or("there is no statistically significant gap to close".to_owned(), |c| {
        format!("this closes {:.0} % of the gap ({} to {})", 100.0 * c.share, percent(c.low), percent(c.high))
    });
    format!(
        "{what} equalised: {} relative to {} changes from {} to {}; {closed}. {how}",
        e.b,
        e.a,
        times(before),
        times(after)
    )
}
