//! The media clock of a stream.

use std::time::{Duration, Instant};

use crate::types::Timestamp;

/// Maps times to RTP timestamps without cumulative error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaClock {
    start: Instant,
    first: Timestamp,
    rate_hz: u32,
}

impl MediaClock {
    /// Creates a clock with `rate_hz` ticks per second and the timestamp `first` at `start`. `first` should be random (RFC 3550
    /// section 5.1).
    pub fn new(start: Instant, first: Timestamp, rate_hz: u32) -> Self {
        Self { start, first, rate_hz }
    }

    /// Ticks per second.
    pub fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// The timestamp at a time, rounded down. Times before the start map to the start.
    pub fn at(&self, now: Instant) -> Timestamp {
        self.after(now.saturating_duration_since(self.start))
    }

    /// The timestamp at a time since the start, rounded down.
    pub fn after(&self, time: Duration) -> Timestamp {
        self.first.add(ticks(time, self.rate_hz) as u32)
    }
}

/// Number of complete ticks in a duration. Wraps after 6,000 years at 90 kHz.
pub(crate) fn ticks(time: Duration, rate_hz: u32) -> u64 {
    let rate = u64::from(rate_hz);
    time.as_secs().wrapping_mul(rate).wrapping_add(u64::from(time.subsec_nanos()) * rate / 1_000_000_000)
}

/// The duration of a number of ticks in nanoseconds; 0 if the rate is 0.
pub(crate) fn duration(ticks: u32, rate_hz: u32) -> Duration {
    let nanos = (u64::from(ticks) * 1_000_000_000).checked_div(u64::from(rate_hz));
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_drift() {
        let start = Instant::now();
        let clock = MediaClock::new(start, Timestamp(u32::MAX - 10), 90_000);
        for (millis, ticks) in [(0, 0), (1, 90), (33, 2_970), (1_000, 90_000), (86_400_000, 7_776_000_000u64)]
        {
            let at = start + Duration::from_millis(millis);
            assert_eq!(clock.at(at), Timestamp((u64::from(u32::MAX - 10) + ticks) as u32), "{millis} ms");
        }
        assert_eq!(clock.at(start - Duration::from_secs(1)), Timestamp(u32::MAX - 10));
        assert_eq!(duration(3_000, 90_000), Duration::from_nanos(33_333_333));
        assert_eq!(duration(3_000, 0), Duration::ZERO);
    }
}
