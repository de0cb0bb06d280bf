//! Every limit of the contender protocol, named.

use std::time::Duration;

/// Longest line either side may send (PROTOCOL.md, "The conversation").
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Most durations in one `connected`.
pub const SETUP_DURATIONS_MAX: usize = 100_000;
/// Most counters in one `counters` or `result`.
pub const COUNTERS_MAX: usize = 256;
/// Longest counter or histogram name, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Most histograms in one `result`.
pub const HISTOGRAMS_MAX: usize = 64;
/// Most signals one role may send in a trial: a hostile one must not fill our memory.
pub const SIGNALS_MAX: usize = 200_000;

/// Greatest counter, duration or time: what a signed 64-bit integer holds, as the store keeps them.
pub const VALUE_MAX: u64 = i64::MAX as u64;
/// How far a role's clock may be off ours between two marks: this, in ns ...
pub const CLOCK_SLACK_NS: u64 = 1_000_000;
/// ... and one part in so many of the time between them (two hosts' clocks drift by some 100 ppm at most).
pub const CLOCK_DRIFT_SHARE: u64 = 1000;

/// How long a role may take for each thing it owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// From `setup` to `ready`: an interpreter may import for seconds.
    pub ready: Duration,
    /// From the last role's `ready` to `connected`.
    pub connected: Duration,
    /// From `start verify` to `verified`.
    pub verified: Duration,
    /// From `mark` to `counters`.
    pub counters: Duration,
    /// From `stop` to `result`, and again from there to the exit.
    pub result: Duration,
}

impl TimeLimits {
    /// Every limit times `factor`, for machines that are slower than most.
    #[must_use]
    pub fn scaled(self, factor: f64) -> TimeLimits {
        // Out of range only for a factor that the command line refuses.
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
