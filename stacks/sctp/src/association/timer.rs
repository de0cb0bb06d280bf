//! The association's timers, except those of its two halves.

use std::time::{Duration, Instant};

/// Purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// T1: resend INIT or COOKIE ECHO (RFC 9260 sections 4 and 5.1).
    SetUp,
    /// T2: resend SHUTDOWN or SHUTDOWN ACK (section 9.2).
    Shutdown,
    /// T5: the shutdown has taken too long (section 9.2).
    ShutdownGuard,
    /// The association may be idle: a HEARTBEAT is due (section 8.3).
    Heartbeat,
    /// A HEARTBEAT was not answered.
    HeartbeatAnswer,
    /// A path MTU probe was not answered, or the next search is due (RFC 8899 section 5.1.1).
    Probe,
    /// A RE-CONFIG was not answered (RFC 6525 section 5.1.1).
    Reset,
}

impl Timer {
    pub(super) const ALL: [Self; 7] = [
        Self::SetUp,
        Self::Shutdown,
        Self::ShutdownGuard,
        Self::Heartbeat,
        Self::HeartbeatAnswer,
        Self::Probe,
        Self::Reset,
    ];
}

/// Deadline of each timer, and the earliest of them.
#[derive(Debug, Default)]
pub(super) struct Timers {
    deadlines: [Option<Instant>; Timer::ALL.len()],
    first: Option<Instant>,
}

impl Timers {
    /// The earliest deadline.
    #[inline]
    pub(super) fn first(&self) -> Option<Instant> {
        self.first
    }

    /// Starts or restarts a timer. One whose deadline the clock cannot represent never expires.
    pub(super) fn start(&mut self, timer: Timer, now: Instant, after: Duration) {
        self.put(timer, now.checked_add(after));
    }

    /// Stops a timer.
    pub(super) fn stop(&mut self, timer: Timer) {
        self.put(timer, None);
    }

    /// Stops all timers.
    pub(super) fn stop_all(&mut self) {
        *self = Self::default();
    }

    /// Whether a timer runs.
    pub(super) fn is_running(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize].is_some()
    }

    /// Stops a timer that has expired and returns it.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        self.first.filter(|&first| first <= now)?;
        let expired = |timer: &Timer| self.deadlines[*timer as usize].is_some_and(|deadline| deadline <= now);
        let timer = Timer::ALL.into_iter().find(expired)?;
        self.stop(timer);
        Some(timer)
    }

    fn put(&mut self, timer: Timer, deadline: Option<Instant>) {
        self.deadlines[timer as usize] = deadline;
        self.first = self.deadlines.iter().flatten().min().copied();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_once_and_the_first_is_known() {
        let now = Instant::now();
        let mut timers = Timers::default();
        assert_eq!((timers.first(), timers.take_expired(now)), (None, None));
        timers.start(Timer::Probe, now, Duration::from_secs(2));
        timers.start(Timer::SetUp, now, Duration::from_secs(1));
        timers.start(Timer::Heartbeat, now, Duration::MAX);
        assert_eq!(timers.first(), Some(now + Duration::from_secs(1)));
        assert_eq!(timers.take_expired(now), None);
        let later = now + Duration::from_secs(2);
        assert_eq!(timers.take_expired(later), Some(Timer::SetUp));
        assert_eq!(timers.take_expired(later), Some(Timer::Probe));
        assert_eq!((timers.take_expired(later), timers.first()), (None, None));
    }

    #[test]
    fn each_timer_has_its_place() {
        for (place, timer) in Timer::ALL.into_iter().enumerate() {
            assert_eq!(timer as usize, place);
        }
    }
}
