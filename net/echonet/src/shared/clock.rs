//! When the driver of an engine next wakes up.

use std::time::{Duration, Instant};

/// When the driver wakes up on its own.
#[derive(Debug, Default)]
pub(super) struct Clock {
    wakes_at: Option<Instant>,
}

impl Clock {
    /// The driver sleeps for this time from now on.
    pub(super) fn rest(&mut self, now: Instant, rest: Duration) {
        self.wakes_at = now.checked_add(rest);
    }

    /// Whether the driver would wake up too late for a deadline and must be woken. Returns true once.
    pub(super) fn is_late(&mut self, due: Option<Instant>) -> bool {
        let is_late = match (due, self.wakes_at) {
            (Some(due), Some(wakes_at)) => due < wakes_at,
            (due, _) => due.is_some(),
        };
        if is_late {
            self.wakes_at = due;
        }
        is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_woken_for_an_earlier_deadline() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut clock = Clock::default();
        assert!(!clock.is_late(None));
        clock.rest(now, second);
        assert!(!clock.is_late(Some(now + 9 * second)));
        let soon = Some(now + second / 2);
        assert_eq!((clock.is_late(soon), clock.is_late(soon)), (true, false));
        clock.rest(now, second / 2);
        assert!(!clock.is_late(soon));
    }
}
