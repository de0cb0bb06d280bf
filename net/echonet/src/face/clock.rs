//! When an engine has something to do by itself, and when its driver looks.

use std::time::{Duration, Instant};

use netdyno_echonet_core::{Controller, Device};

/// An engine that waits for times.
pub(crate) trait Timed {
    /// When the next one is due.
    fn due(&self) -> Option<Instant>;
    /// Does what is due.
    fn act(&mut self, now: Instant);

    /// Does what is due; says whether anything was.
    fn pass(&mut self, now: Instant) -> bool {
        let is_due = self.due().is_some_and(|due| due <= now);
        if is_due {
            self.act(now);
        }
        is_due
    }

    /// Time until something is due, or `longest`.
    fn left(&self, now: Instant, longest: Duration) -> Duration {
        self.due().map_or(longest, |due| due.saturating_duration_since(now).min(longest))
    }
}

impl Timed for Controller {
    fn due(&self) -> Option<Instant> {
        self.next_deadline()
    }

    fn act(&mut self, now: Instant) {
        self.handle_timeout(now);
    }
}

impl Timed for Device {
    fn due(&self) -> Option<Instant> {
        self.next_deadline()
    }

    fn act(&mut self, now: Instant) {
        self.handle_timeout(now);
    }
}

/// When the driver looks at the time by itself.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    wakes_at: Option<Instant>,
}

impl Clock {
    /// Time that the driver may rest; it will not look sooner.
    pub(crate) fn rest(&mut self, engine: &impl Timed, longest: Duration) -> Duration {
        let now = Instant::now();
        let rest = engine.left(now, longest);
        self.wakes_at = now.checked_add(rest);
        rest
    }

    /// Whether the driver would look too late, and must be woken. Says so once.
    pub(crate) fn is_late(&mut self, engine: &impl Timed) -> bool {
        let due = engine.due();
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

    struct Once(Option<Instant>);

    impl Timed for Once {
        fn due(&self) -> Option<Instant> {
            self.0
        }

        fn act(&mut self, _now: Instant) {
            self.0 = None;
        }
    }

    #[test]
    fn a_driver_is_woken_for_what_comes_before_it_looks() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut clock = Clock::default();
        assert!(!clock.is_late(&Once(None)));
        assert_eq!(clock.rest(&Once(None), second), second);
        assert!(!clock.is_late(&Once(Some(now + 9 * second))));
        let soon = Once(Some(now + second / 2));
        assert_eq!((clock.is_late(&soon), clock.is_late(&soon)), (true, false));
        assert!(clock.rest(&soon, second) <= second / 2);
        let mut due = Once(Some(now));
        assert_eq!((due.left(now, second), due.pass(now), due.pass(now)), (Duration::ZERO, true, false));
        assert!(!Once(Some(now + second)).pass(now));
    }
}
