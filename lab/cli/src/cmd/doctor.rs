//! `netdyno doctor`.

mod against_itself;
mod held;
mod resolve;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anstyle::{AnsiColor, Style};

use super::{
    CELL_FAILED, CommandResult, Fallible, GOOD, INTERRUPTED, builder, cancel_on_signal, catalog, print,
    quiet_catalog,
};
use crate::cli::{DoctorArgs, name_of};
use crate::doctor::resolution::{self, BLOCKS_MAX, Injected};
use crate::doctor::self_test::{self, CAUGHT, COST_MOST, MARKS_MOST};
use crate::doctor::{Grade, findings, self_duels};
use netdyno_lab_arena::ArenaSpec;
use netdyno_lab_engine::build::install_all;
use netdyno_lab_manifest::Net;
use netdyno_lab_report::{columns, wrapped};
use netdyno_stats::VerdictKind;

/// Indent of continuation lines: the width of the grade.
const INDENT: &str = "      ";
const COST_SECONDS: f64 = 5.0;
const MARKS_PAIRS: u32 = 25;
const MARKS_TRIALS: u32 = 6;
const DUELS: u32 = 20;
const SESSIONS: u32 = 6;

/// Prints the findings. With `--self-test`, tests the lab itself; with `--against-itself`, measures its false-positive rate; with
/// `--resolve`, finds the smallest slowdown that it detects.
pub(crate) fn run(args: &DoctorArgs) -> CommandResult {
    let cancel = cancel_on_signal()?;
    if args.self_test {
        return self_test(&cancel);
    }
    if let (Some(duels), Some(workload)) = (args.against_itself, &args.workload) {
        return against_itself::run(duels, workload, &args.contenders, cancel);
    }
    if let Some(workload) = &args.resolve {
        return resolve::run(args, workload, cancel);
    }
    let catalog = quiet_catalog()?;
    let builder = builder(&catalog, &cancel)?;
    let mut bad = false;
    let findings = findings(&catalog, &builder);
    for f in &findings {
        bad |= f.grade == Grade::Bad;
        let (word, style) = match f.grade {
            Grade::Good => ("good", AnsiColor::Green.on_default()),
            Grade::Warning => ("warn", AnsiColor::Yellow.on_default()),
            Grade::Bad => ("bad ", AnsiColor::Red.on_default()),
        };
        line(word, style, &f.what, &f.found);
        if !f.remedy.is_empty() {
            print(&format!("{}\n", wrapped(&format!("remedy: {}", f.remedy), columns(), INDENT, INDENT)));
        }
    }
    if let Some(command) = install_all(findings.iter().map(|f| f.remedy.as_str())) {
        print(&format!("to install everything missing: {command}\n"));
    }
    Ok(if bad { super::USAGE } else { GOOD })
}

fn line(word: &str, style: Style, what: &str, found: &str) {
    let text = wrapped(&format!("{what}: {found}"), columns(), INDENT, INDENT);
    print(&format!("{style}{word}{style:#}  {}\n", text.trim_start()));
}

fn verdict(good: bool, what: &str, found: &str) -> bool {
    let (word, colour) = if good { ("pass", AnsiColor::Green) } else { ("FAIL", AnsiColor::Red) };
    line(word, colour.on_default(), what, found);
    good
}

/// Checks that an injected effect is measured with its true size, in each workload that supports injection.
fn resolution(cancel: &Arc<AtomicBool>) -> bool {
    let catalog = match catalog(&[]) {
        Ok(catalog) => catalog,
        // The rest of the self-test needs no checkout.
        Err(e) => {
            print(&format!("skip  resolution: {e}\n"));
            return true;
        }
    };
    let found = builder(&catalog, cancel).map_err(Into::into).and_then(|builder| {
        resolution::measure(&catalog, &builder, &ArenaSpec::local(Net::Loopback), BLOCKS_MAX, cancel)
    });
    let shown = |i: &Injected| {
        let good = i.is_found();
        let found = format!(
            "{} {} injected, {:.0} measured ({:.0} - {:.0}), {} blocks",
            i.value, i.unit, i.found.estimate, i.found.low, i.found.high, i.blocks
        );
        verdict(good, &format!("detects a change of {} in {}", i.metric, i.workload), &found)
    };
    match found {
        // No short-circuit: every line is printed.
        Ok(found) => found.iter().map(shown).filter(|good| !good).count() == 0,
        Err(e) => verdict(false, "resolution", &e.to_string()),
    }
}

fn cost(what: &str, when: &str, share: Fallible<f64>) -> bool {
    let limit = 100.0 * COST_MOST;
    let found =
        |share: f64| format!("{:.3} % of a CPU {when}, including agents (limit: {limit} %)", 100.0 * share);
    let is_good = share.as_ref().is_ok_and(|share| *share < COST_MOST);
    verdict(is_good, what, &share.map_or_else(|error| error.to_string(), found))
}

fn self_test(cancel: &Arc<AtomicBool>) -> CommandResult {
    let tests: [&dyn Fn() -> bool; 5] = [
        &|| cost("overhead of the lab", "while measuring", self_test::cost(COST_SECONDS, cancel)),
        &|| cost("overhead in duels", "during turns", self_duels::cost(cancel)),
        &|| against_itself::dummies(DUELS, SESSIONS, cancel),
        &|| marks(cancel),
        &|| resolution(cancel),
    ];
    let cancelled = || cancel.load(std::sync::atomic::Ordering::Relaxed);
    let mut good = true;
    for test in tests {
        good &= test();
        if cancelled() {
            return Ok(INTERRUPTED);
        }
    }
    for (fault, part) in CAUGHT {
        let (caught, how) = self_test::catches(fault, part, cancel)?;
        good &= verdict(caught, &format!("detects {}", name_of(&fault)), &how);
        if cancelled() {
            return Ok(INTERRUPTED);
        }
    }
    Ok(if good { GOOD } else { CELL_FAILED })
}

fn marks(cancel: &AtomicBool) -> bool {
    let found = self_test::marks(MARKS_PAIRS, MARKS_TRIALS, cancel).map(|j| {
        let limit = format!("{} pairs (limit: {} %)", j.blocks, 100.0 * MARKS_MOST);
        let found =
            format!("{:.4}x the count without marks ({:.4} - {:.4}), {limit}", j.ratio, j.low, j.high);
        (j.verdict == VerdictKind::NoDifference, found)
    });
    let (good, found) = found.unwrap_or_else(|error| (false, error.to_string()));
    verdict(good, "marks at 10 Hz", &found)
}
