//! Limits of the contender protocol.

use std::time::Duration;

/// Longest line in either direction (PROTOCOL.md, "The conversation").
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Most durations in one `connected`.
pub const SETUP_DURATIONS_MAX: usize = 100_000;
/// Most counters in one `counters` or `result`.
pub const COUNTERS_MAX: usize = 256;
/// Longest name of a counter or histogram, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Most histograms in one `result`.
pub const HISTOGRAMS_MAX: usize = 64;
/// Most signals of a role in a trial, which bounds the lab's memory.
pub const SIGNALS_MAX: usize = 200_000;

/// Greatest counter, duration or time: the store uses signed 64-bit integers.
pub const VALUE_MAX: u64 = i64::MAX as u64;
/// Tolerated deviation of a role's clock between two marks: this, in ns ...
pub const CLOCK_SLACK_NS: u64 = 1_000_000;
/// ... plus this fraction of the time between them, since clocks of two hosts drift by at most about 100 ppm.
pub const CLOCK_DRIFT_SHARE: u64 = 1000;

/// Time limits for the replies of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// From `setup` to `ready`, which includes the imports of an interpreter.
    pub ready: Duration,
    /// From the last role's `ready` to `connected`.
    pub connected: Duration,
    /// From `start verify` to `verified`.
    pub verified: Duration,
    /// From `mark` to `counters`.
    pub counters: Duration,
    /// From `stop` to `result`, and from `result` to the exit.
    pub result: Duration,
}

impl TimeLimits {
    /// All limits multiplied by `factor`, for slow machines.
    pub fn scaled(self, factor: f64) -> TimeLimits {
        // Only a factor that the command line rejects is out of range.
        let scale =
            |limit: Duration| Duration::try_from_secs_f64(limit.as_secs_f64() * factor).unwrap_or(limit);
        TimeLimits {
            ready: scale(self.ready),
            connected: scale(self.connected),
            verified: scale(self.verified),
            counters: scale(self.counters),
            result: scale(self.result),
        }
    }
}

impl Default for TimeLimits {
    fn default() -> TimeLimits {
        TimeLimits {
            ready: Duration::from_secs(20),
            connected: Duration::from_secs(45),
            verified: Duration::from_secs(60),
            counters: Duration::from_secs(10),
            result: Duration::from_secs(10),
        }
    }
}
