//! Noise of the machine: a loop that reads the clock sees every interruption as a gap.

use std::time::{Duration, Instant};

/// Least gap between two clock readings that is an interruption.
const GAP: Duration = Duration::from_micros(20);

/// The interruptions of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    /// Share of the time lost to other programs, from 0 to 1.
    pub(super) lost: f64,
    /// The longest interruption.
    pub(super) longest: Duration,
}

/// Spins for `time` on one CPU.
pub(super) fn measure(time: Duration) -> Noise {
    let begun = Instant::now();
    let (mut last, mut lost, mut longest) = (begun, Duration::ZERO, Duration::ZERO);
    while last.duration_since(begun) < time {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if gap >= GAP {
            lost += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    Noise { lost: lost.as_secs_f64() / time.as_secs_f64(), longest }
}
