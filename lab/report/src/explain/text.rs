//! An explanation as text for the terminal.

use crate::{blocks, wrapped};
use netdyno_lab_analysis::explain::figures::FigureRow;
use netdyno_lab_analysis::explain::{Cause, Equalised, Explanation, Look, Ratio};
use netdyno_lab_analysis::report::value;

/// Number of causes in the table. Causes with a share are always included.
const CAUSES: usize = 14;
/// Counts smaller than this on both sides are omitted from the text; the JSON has them.
const SHOWN_MIN: f64 = 0.005;
/// Indentation of continuation lines.
const INDENT: &str = "   ";

/// Formats an explanation in lines of at most `width` columns.
#[must_use]
pub fn text(e: &Explanation, width: usize) -> String {
    let mut out = String::new();
    let mut push = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    push(&wrapped(
        &format!("{} against {}: {}, {} (run {})", e.b, e.a, e.workload, e.params, e.run),
        width,
        "",
        " ",
    ));
    push(&wrapped(&primary(e), width, " ", " "));
    push("");
    for sentence in &e.summary {
        push(&wrapped(sentence, width, " ", INDENT));
    }
    if !e.causes.is_empty() {
        push("");
        push(&wrapped(&format!("Breakdown of the difference ({}):", e.basis), width, " ", " "));
        push(&causes(e, width));
    }
    push("");
    push(&rows(e, width));
    for line in unmeasured(e) {
        push(&wrapped(&line, width, " ", INDENT));
    }
    for equalised in &e.equalised {
        push("");
        push(&wrapped(&gap(e, equalised), width, " ", INDENT));
    }
    let notes = probe_notes(e);
    if !notes.is_empty() {
        push("");
        for note in notes {
            push(&wrapped(&note, width, " ", INDENT));
        }
    }
    for warning in &e.warnings {
        push(&wrapped(&format!("note: {warning}"), width, " ", INDENT));
    }
    out
}

fn primary(e: &Explanation) -> String {
    let figure = |v: Option<f64>| v.map_or("not measured".to_owned(), |v| value(v, &e.primary.unit));
    let p = &e.primary;
    let ratio = p.ratio.as_ref().map_or(String::new(), |r| format!(": {}, {}", times(r), r.of));
    format!("{}: {} {}, {} {}{ratio}", p.label, e.a, figure(p.a), e.b, figure(p.b))
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
            vec![
                format!(
                    "{}{}",
                    cause.role.as_ref().map_or(String::new(), |role| format!("{role}: ")),
                    cause.name
                ),
                value(cause.a_ns, "ns"),
                value(cause.b_ns, "ns"),
                format!("{}{} ns{error}", if ns < 0.0 { "-" } else { "+" }, whole(ns.abs())),
                cause.share.map_or("concurrent".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
                details(cause),
            ]
        })
        .collect();
    let names: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
    blocks(&head, &rows, &names, width).join("\n\n")
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
    let mut all: Vec<Vec<String>> = Vec::new();
    let is_shown = |v: Option<f64>| v.is_none_or(|v| v.abs() >= SHOWN_MIN);
    let has_values = |row: &&FigureRow| row.a.is_some() || row.b.is_some();
    for row in e.rows.iter().filter(has_values).filter(|r| r.unit != "1" || is_shown(r.a) || is_shown(r.b)) {
        let figure = |v: Option<f64>| v.map_or("not measured".to_owned(), |v| value(v, &row.unit));
        let difference = row.difference().map_or(String::new(), |d| {
            format!("{}{}", if d < 0.0 { "-" } else { "+" }, value(d.abs(), &row.unit))
        });
        let name = format!("{}: {}", role(row), row.name);
        all.push(vec![name, figure(row.a), figure(row.b), difference, String::new()]);
    }
    let names: Vec<String> = all.iter().map(|row| row[0].clone()).collect();
    blocks(&head, &all, &names, width).join("\n\n")
}

fn role(row: &FigureRow) -> &str {
    row.role.as_deref().unwrap_or("network")
}

/// One line for each reason for which figures are missing on both sides.
fn unmeasured(e: &Explanation) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in e.rows.iter().filter(|row| row.a.is_none() && row.b.is_none()) {
        let name = format!("{}: {}", role(row), row.name.trim());
        match reasons.iter_mut().find(|(reason, _)| *reason == row.source) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&row.source, vec![name])),
        }
    }
    reasons
        .into_iter()
        .map(|(reason, names)| format!("not measured: {} ({reason})", names.join(", ")))
        .collect()
}

/// One line for each kind of probe, and one for each failed probe.
fn probe_notes(e: &Explanation) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut kinds: Vec<&str> = e.looks.iter().map(|look| look.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let looks: Vec<&Look> = e.looks.iter().filter(|look| look.kind == kind).collect();
        let speeds: Vec<f64> = looks.iter().filter(|l| l.problem.is_none()).filter_map(|l| l.speed).collect();
        let mut sources: Vec<&str> =
            looks.iter().filter(|l| l.problem.is_none()).map(|l| l.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        if let Some(least) = speeds.iter().copied().reduce(f64::min) {
            let sources = sources.join("; ");
            notes.push(format!("{kind}: {sources}; at {:.0} % of the undisturbed rate", 100.0 * least));
        }
        for look in looks {
            if let Some(problem) = &look.problem {
                notes.push(format!("{kind} of {}, {}: {problem}", look.contender, look.role));
            }
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
