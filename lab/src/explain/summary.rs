//! The difference in a few sentences.

use super::figures::SYSTEM_CALLS;
use super::model::{CallDifference, Cause, Explanation};
use super::rank::WAITING;
use crate::report::value;

/// Causes that are named.
const NAMED: usize = 4;
/// Share of the difference from which a cause is worth a sentence.
const SHARE_LEAST: f64 = 0.1;
/// Counts that differ by less than this factor are alike ...
const ALIKE: f64 = 1.2;
/// ... and those that differ by less than this, by the unit of work, are few.
const FEW: f64 = 0.1;
/// Counts that are named beside the causes.
const COUNTS_NAMED: usize = 4;

/// What there is to say: the whole, its greatest parts, and counts that differ.
pub(super) fn sentences(e: &Explanation) -> Vec<String> {
    let mut all = Vec::new();
    match e.difference_ns {
        None => all.push("Time was not measured on both sides: there is nothing to break down.".to_owned()),
        Some(ns) => {
            let more = if ns >= 0.0 { "more" } else { "less" };
            all.push(format!("{} takes {} {more} a {} than {}.", e.b, value(ns.abs(), "ns"), e.unit, e.a));
            let parts: Vec<String> = named(e).map(|cause| part(e, cause)).collect();
            match parts.is_empty() {
                true => all.push("No single part of it is beyond what chance may show.".to_owned()),
                false => all.extend(parts),
            }
        }
    }
    all.extend(counts(e));
    all
}

/// The causes that go the way that the whole goes, and are more than chance.
fn named(e: &Explanation) -> impl Iterator<Item = &Cause> {
    let worth = |cause: &&Cause| cause.is_sure() && cause.share.is_some_and(|share| share >= SHARE_LEAST);
    e.causes.iter().filter(worth).take(NAMED)
}

fn part(e: &Explanation, cause: &Cause) -> String {
    let share = 100.0 * cause.share.unwrap_or(0.0);
    let ns = cause.difference_ns();
    let sign = if ns < 0.0 { "-" } else { "+" };
    let mut text = format!("{share:.0} % of it ({sign}{}): {}", value(ns.abs(), "ns"), place(cause));
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
        None => "time in which no role works (waking up, timers, the wire)".to_owned(),
        Some(role) if cause.name == WAITING => format!("the {role} waits"),
        Some(role) => format!("{} of the {role}", cause.name),
    }
}

/// How often a call is made on both sides; of waiting, in which one it is spent.
fn called(e: &Explanation, cause: &Cause, call: &CallDifference) -> String {
    let name = if call.name == cause.name { String::new() } else { format!("{} ", call.name) };
    let inside = if cause.name == WAITING {
        let ns = call.b_inside_ns - call.a_inside_ns;
        format!(" and {} {} inside", value(ns.abs(), "ns"), if ns < 0.0 { "less" } else { "more" })
    } else {
        String::new()
    };
    let count = match (call.a, call.b) {
        (a, b) if a < 0.005 => format!("{b:.2} calls a {}, {} makes none", e.unit, e.a),
        (a, b) if b < 0.005 => format!("no calls, {} makes {a:.2} a {}", e.a, e.unit),
        (a, b) if (b / a).max(a / b) < 1.05 => format!("{b:.2} calls a {} as before", e.unit),
        (a, b) => format!("{b:.2} calls a {} instead of {a:.2}", e.unit),
    };
    format!("{name}{count}{inside}")
}

/// Counts that differ most, in a sentence.
fn counts(e: &Explanation) -> Option<String> {
    let differs = |unit: &str, a: f64, b: f64| {
        let few = if unit == "B" { 1.0 } else { FEW };
        let factor = (a.max(b) / a.min(b).max(f64::MIN_POSITIVE)).min(1e9);
        ((b - a).abs() >= few && factor >= ALIKE).then_some(factor)
    };
    let mut rows: Vec<(f64, String)> = e
        .rows
        .iter()
        // Each call stands for itself.
        .filter(|row| row.unit != "ns" && row.name != SYSTEM_CALLS)
        .filter_map(|row| {
            let (a, b) = (row.a?, row.b?);
            let whose = row.role.as_ref().map_or(String::new(), |role| format!(" of the {role}"));
            let text =
                format!("{}{whose} {} to {}", row.name.trim(), value(a, &row.unit), value(b, &row.unit));
            Some((differs(&row.unit, a, b)?, text))
        })
        .collect();
    rows.sort_by(|x, y| y.0.total_cmp(&x.0));
    let texts: Vec<String> = rows.into_iter().take(COUNTS_NAMED).map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| format!("Counts that differ, a {}: {}.", e.unit, texts.join("; ")))
}
