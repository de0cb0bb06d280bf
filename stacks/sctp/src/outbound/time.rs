//! Time within the sending half: half the size of an `Instant`, compared by one instruction.

use std::time::{Duration, Instant};

/// Nanoseconds since the first time passed to the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(u64);

impl Time {
    /// Before every time that a clock returns.
    pub(super) const START: Self = Self(0);
    /// After every time: a deadline that is not set.
    pub(super) const NEVER: Self = Self(u64::MAX);

    /// This time plus `delay`; at most `NEVER`.
    pub(super) fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(delay)))
    }

    /// Time since `earlier`; zero if it is in the future.
    pub(super) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Converts between `Instant` and `Time`.
#[derive(Debug)]
pub(super) struct Clock {
    first: Option<Instant>,
    /// The last time read.
    pub(super) last: Time,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { first: None, last: Time::START }
    }

    /// Converts the time to at least one nanosecond after `Time::START`. Times before the first count as the
    /// first.
    pub(super) fn read(&mut self, now: Instant) -> Time {
        self.first.get_or_insert(now);
        self.last = self.time(now);
        self.last
    }

    /// The same, without storing it.
    pub(super) fn time(&self, now: Instant) -> Time {
        let since_first = self.first.map_or(Duration::ZERO, |first| now.saturating_duration_since(first));
        Time(nanoseconds(since_first).saturating_add(1))
    }

    /// Converts back; `None` for `NEVER`.
    pub(super) fn instant(&self, time: Time) -> Option<Instant> {
        let first = self.first.filter(|_| time != Time::NEVER)?;
        first.checked_add(Duration::from_nanos(time.0.saturating_sub(1)))
    }
}

/// 584 years fit; longer durations count as never.
fn nanoseconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let (mut clock, now) = (Clock::new(), Instant::now());
        let first = clock.read(now);
        let later = clock.read(now + Duration::from_millis(5));
        assert!(Time::START < first && first < later && later < Time::NEVER);
        assert_eq!(later.since(first), Duration::from_millis(5));
        assert_eq!(first.since(later), Duration::ZERO);
        assert_eq!(clock.instant(later), Some(now + Duration::from_millis(5)));
        assert_eq!(clock.instant(Time::NEVER), None);
        assert_eq!(clock.read(now - Duration::from_secs(1)), first);
        assert_eq!(first.after(Duration::MAX), Time::NEVER);
    }
}
