//! Runs many seeds on a few threads, or repeats one.

use std::env;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::failure::Failure;

/// Runs only this seed.
pub const SEED: &str = "NETDYNO_SIM_SEED";
/// The number of seeds to run.
pub const SEEDS: &str = "NETDYNO_SIM_SEEDS";
/// The first seed to run; 0 by default.
pub const FIRST_SEED: &str = "NETDYNO_SIM_FIRST_SEED";

/// Threads that run seeds.
const THREADS: usize = 2;
/// Failures that are printed.
const SHOWN_MAX: usize = 10;
/// Failures after which no more seeds are started.
const FAILURES_MAX: usize = 50;

/// Calls `run` for many seeds, as many as the environment or else `count` specifies. Panics if one fails,
/// with its seed and the command that repeats it. `test` names the test for that command, as in `--test sctp
/// name_of_the_test`.
///
/// # Panics
/// If a seed fails, or an environment variable is not a number.
pub fn check_seeds(test: &str, count: u64, run: impl Fn(u64) -> Result<(), Failure> + Sync) {
    let (first, count) = match number(SEED) {
        Some(seed) => (seed, 1),
        None => (number(FIRST_SEED).unwrap_or(0), number(SEEDS).unwrap_or(count)),
    };
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS.min(count as usize) {
            scope.spawn(|| {
                loop {
                    let offset = next.fetch_add(1, Ordering::Relaxed);
                    if offset >= count {
                        return;
                    }
                    let seed = first.wrapping_add(offset);
                    if let Err(what) = run_caught(seed, &run) {
                        let mut failures = failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        failures.push((seed, what));
                        if failures.len() >= FAILURES_MAX {
                            next.store(count, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    failures.sort();
    assert!(failures.is_empty(), "{}", report(test, count, &failures));
}

/// Runs one seed; a panic is a failure too.
fn run_caught(seed: u64, run: &impl Fn(u64) -> Result<(), Failure>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| run(seed))) {
        Ok(result) => result.map_err(|failure| failure.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(format!("panicked: {text}"))
        }
    }
}

fn report(test: &str, count: u64, failures: &[(u64, String)]) -> String {
    let mut text = format!("{} of {count} seeds failed", failures.len());
    for (seed, what) in failures.iter().take(SHOWN_MAX) {
        let _ = write!(text, "\n  seed {seed}: {what}\n    {SEED}={seed} cargo test -p netdyno-sim {test}");
    }
    text
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={text}: not a number")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn failures_and_panics_are_reported_with_their_seeds() {
        let what = |seed| {
            run_caught(seed, &|seed| match seed {
                0 => Ok(()),
                1 => Err(Failure::new(Duration::from_millis(5), "no")),
                _ => panic!("seed {seed}"),
            })
        };
        assert_eq!(what(0), Ok(()));
        assert_eq!(what(1), Err("after 5ms: no".to_owned()));
        assert_eq!(what(2), Err("panicked: seed 2".to_owned()));
        let text = report("--test x", 9, &[(1, "no".to_owned())]);
        assert!(text.contains("1 of 9 seeds failed"), "{text}");
        assert!(text.contains("NETDYNO_SIM_SEED=1 cargo test -p netdyno-sim --test x"), "{text}");
    }
}
