//! The computation of the background tasks, and the counters of its runs.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of steps of one run.
const STEPS: usize = 100;
/// Number of counters that the tasks share, to make contention between CPUs rare.
const COUNTERS: usize = 16;

/// Aligned to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

/// Counters of the runs of all background tasks.
#[derive(Debug, Default)]
pub(super) struct Runs([Counter; COUNTERS]);

impl Runs {
    pub(super) fn sum(&self) -> u64 {
        self.0.iter().map(|counter| counter.0.load(Relaxed)).sum()
    }

    /// Returns the initial state of task `number`.
    pub(super) fn work(&'static self, number: u32) -> Work {
        Work { x: number + 1, runs: &self.0[number as usize % COUNTERS].0 }
    }
}

/// The state of one background task.
#[derive(Debug)]
pub struct Work {
    x: u32,
    runs: &'static AtomicU64,
}

impl Work {
    /// Performs one computation.
    pub fn run(&mut self) {
        let mut x = self.x;
        for _ in 0..STEPS {
            x = xorshift(x);
        }
        // The value is unused; black_box keeps the computation from being optimised away.
        self.x = black_box(x);
        self.runs.fetch_add(1, Relaxed);
    }
}

fn xorshift(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ (x << 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xorshift_matches_the_publication() {
        // The first outputs of Marsaglia's 32-bit generator with the seed 1.
        assert_eq!([1, 270_369].map(xorshift), [270_369, 67_634_689]);
    }

    #[test]
    fn runs_are_counted_over_all_tasks() {
        let runs: &'static Runs = Box::leak(Box::default());
        let mut works: Vec<_> = (0..COUNTERS as u32 + 2).map(|number| runs.work(number)).collect();
        works.iter_mut().for_each(Work::run);
        works[0].run();
        assert_eq!(runs.sum(), COUNTERS as u64 + 3);
        assert_ne!(works[0].x, works[1].x);
    }
}
