//! Summary of an explanation in sentences.

use super::figures::{FigureRow, SYSTEM_CALLS};
use super::model::{CallDifference, Cause, Explanation};
use super::rank::WAITING;
use crate::report::value;

/// Number of named causes.
const NAMED: usize = 4;
/// Minimum size of a named cause, as a share of the greatest cause or of the whole difference.
const WORTH: f64 = 0.1;
/// Greater shares are not printed: if parts cancel, each may exceed the whole.
const SHARE_MOST: f64 = 1.2;
/// Counts that differ by less than this factor are equal ...
const ALIKE: f64 = 1.2;
/// ... as are those that differ by less than this per unit of work.
const FEW: f64 = 0.1;
/// Number of named counts.
const COUNTS_NAMED: usize = 4;

/// The whole difference, its greatest parts, and counts that differ.
pub(super) fn sentences(e: &Explanation) -> Vec<String> {
    let mut all = Vec::new();
    match e.difference_ns {
        None => all.push("Time was not measured on both sides, so there is no breakdown.".to_owned()),
        Some(ns) => {
            let more = if ns >= 0.0 { "more" } else { "less" };
            let doubt = if is_sure(e) { "" } else { " (not significant in this run)" };
            let time = value(ns.abs(), "ns");
            all.push(format!("{} takes {time} {more} per {} than {}{doubt}.", e.b, e.unit, e.a));
            let parts: Vec<String> = named(e, ns).map(|cause| part(e, cause)).collect();
            match parts.is_empty() {
                true => all.push("No single part exceeds the sampling error.".to_owned()),
                false => all.extend(parts),
            }
        }
    }
    all.extend(counts(e));
    all
}

/// Whether the run's interval excludes 1.
fn is_sure(e: &Explanation) -> bool {
    e.primary.ratio.as_ref().is_some_and(|r| r.low > 1.0 || r.high.is_some_and(|high| high < 1.0))
}

/// The greatest significant causes, in both directions, because some cancel each other.
fn named(e: &Explanation, whole_ns: f64) -> impl Iterator<Item = &Cause> {
    let on_path = || e.causes.iter().filter(|cause| cause.share.is_some());
    let greatest = on_path().map(|cause| cause.difference_ns().abs()).fold(whole_ns.abs(), f64::max);
    let worth = move |cause: &&Cause| cause.is_sure() && cause.difference_ns().abs() >= WORTH * greatest;
    on_path().filter(worth).take(NAMED)
}

fn part(e: &Explanation, cause: &Cause) -> String {
    let ns = cause.difference_ns();
    let sign = if ns < 0.0 { "-" } else { "+" };
    let share = cause.share.filter(|share| is_sure(e) && (0.0..=SHARE_MOST).contains(share));
    let share = share.map_or(String::new(), |share| format!(", {:.0} % of it", 100.0 * share));
    let mut text = format!("{sign}{}{share}: {}", value(ns.abs(), "ns"), place(cause));
    let more: Vec<String> = cause.calls.iter().take(2).map(|call| called(e, cause, call)).collect();
    if !more.is_empty() {
        text.push_str(&format!(", {}", more.join(", ")));
    }
    if let Some(function) = cause.functions.first() {
        let names: Vec<&str> = cause.functions.iter().take(3).map(|f| f.name.as_str()).collect();
        let sign = if function.b_ns < function.a_ns { "less" } else { "more" };
        text.push_str(&format!(", {sign} in {}", names.join(", ")));
    }
    text.push('.');
    text
}

fn place(cause: &Cause) -> String {
    match &cause.role {
        None => "time in which no role works (wake-ups, timers, the wire)".to_owned(),
        Some(role) if cause.name == WAITING => format!("the {role} waits"),
        Some(role) => format!("{} of the {role}", cause.name),
    }
}

/// Number of calls on both sides; for waiting, the time inside the call.
fn called(e: &Explanation, cause: &Cause, call: &CallDifference) -> String {
    let name = if call.name == cause.name { String::new() } else { format!("{} ", call.name) };
    let inside = if cause.name == WAITING {
        let ns = call.b_inside_ns - call.a_inside_ns;
        format!(" and {} {} inside", value(ns.abs(), "ns"), if ns < 0.0 { "less" } else { "more" })
    } else {
        String::new()
    };
    let count = match (call.a, call.b) {
        (a, b) if a < 0.005 => format!("{b:.2} calls per {}, {} makes none", e.unit, e.a),
        (a, b) if b < 0.005 => format!("no calls, {} makes {a:.2} per {}", e.a, e.unit),
        (a, b) if (b / a).max(a / b) < 1.05 => format!("{b:.2} calls per {} in both", e.unit),
        (a, b) => format!("{b:.2} calls per {} instead of {a:.2}", e.unit),
    };
    format!("{name}{count}{inside}")
}

/// Sentence about the counts that differ most.
fn counts(e: &Explanation) -> Option<String> {
    let differs = |unit: &str, a: f64, b: f64| {
        let few = if unit == "B" { 1.0 } else { FEW };
        let factor = (a.max(b) / a.min(b).max(f64::MIN_POSITIVE)).min(1e9);
        ((b - a).abs() >= few && factor >= ALIKE).then_some(factor)
    };
    // System calls are compared individually.
    let counts = e.rows.iter().filter(|row| row.unit != "ns" && row.name != SYSTEM_CALLS);
    let text = |row: &FigureRow| {
        let (name, a, b) = (row.name.trim(), row.a?, row.b?);
        let whose = row.role.as_ref().map_or(String::new(), |role| format!(" of the {role}"));
        let [from, to] = [a, b].map(|count| value(count, &row.unit));
        Some((differs(&row.unit, a, b)?, format!("{name}{whose} {from} to {to}")))
    };
    let mut rows: Vec<(f64, String)> = counts.filter_map(text).collect();
    rows.sort_by(|x, y| y.0.total_cmp(&x.0));
    let texts: Vec<String> = rows.into_iter().take(COUNTS_NAMED).map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| format!("Counts that differ, per {}: {}.", e.unit, texts.join("; ")))
}
