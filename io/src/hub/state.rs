//! The lock, and when the driver must be woken.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::driver::Kick;

/// The state that a hub guards.
pub trait HubState {
    /// Wakers to call after the lock is released.
    fn woken(&mut self) -> &mut Vec<Waker>;

    /// Ends everything and collects the wakers of all waiting calls. `has_panicked`: the state may be
    /// inconsistent.
    fn end(&mut self, has_panicked: bool);
}

/// One state behind one lock, shared by a driver and all handles.
pub struct Hub<S> {
    guarded: Mutex<Guarded<S>>,
    is_over: AtomicBool,
    /// Why the driver has ended, if a system call failed.
    failure: OnceLock<Arc<io::Error>>,
    kick: Kick,
}

struct Guarded<S> {
    state: S,
    clock: Clock,
}

impl<S> fmt::Debug for Hub<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl<S: HubState> Hub<S> {
    /// `kick` wakes the driver.
    pub fn new(state: S, kick: Kick) -> Self {
        let guarded = Mutex::new(Guarded { state, clock: Clock::default() });
        Self { guarded, is_over: AtomicBool::new(false), failure: OnceLock::new(), kick }
    }

    /// Locks the state.
    pub fn lock(&self) -> Guard<'_, S> {
        // A panic under the lock is a bug that was already reported; other handles continue.
        let guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { guarded, kick: &self.kick }
    }

    /// Whether the hub has ended. Final if read under the lock.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// As [`end`](Self::end), because a system call of the driver failed. An ended hub keeps its reason.
    pub fn fail(&self, error: io::Error) {
        if !self.is_over() {
            // It is set once.
            let _ = self.failure.set(Arc::new(error));
        }
        self.end();
    }

    /// Why the hub has ended, if a system call of the driver failed.
    pub fn failure(&self) -> Option<&Arc<io::Error>> {
        self.failure.get()
    }

    /// Ends the state once, and wakes all waiting calls and the driver.
    pub fn end(&self) {
        let mut guard = self.lock();
        if !self.is_over.swap(true, Ordering::AcqRel) {
            guard.end(self.guarded.is_poisoned());
        }
        guard.wake();
        (self.kick)();
    }
}

/// The locked state. Dropping it releases the lock and wakes nothing.
pub struct Guard<'a, S> {
    guarded: MutexGuard<'a, Guarded<S>>,
    kick: &'a Kick,
}

impl<S> fmt::Debug for Guard<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl<S> Deref for Guard<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.guarded.state
    }
}

impl<S> DerefMut for Guard<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.guarded.state
    }
}

impl<S: HubState> Guard<'_, S> {
    /// The driver runs its next turn in `rest`, or when it is woken.
    pub fn sleep(&mut self, now: Instant, rest: Option<Duration>) {
        self.guarded.clock.sleep(now, rest);
    }

    /// Whether the driver is about to run a turn anyway.
    pub fn is_driver_awake(&self) -> bool {
        self.guarded.clock.is_awake
    }

    /// Releases the lock, then calls the collected wakers.
    pub fn wake(mut self) {
        if self.woken().is_empty() {
            return;
        }
        let mut woken = std::mem::take(self.woken());
        drop(self);
        woken.drain(..).for_each(Waker::wake);
    }

    /// As [`wake`](Self::wake); then wakes the driver if it would miss the next deadline.
    pub fn release(mut self, due: Option<Instant>) {
        let (is_late, kick) = (self.guarded.clock.is_late(due), self.kick);
        self.wake();
        if is_late {
            kick();
        }
    }
}

/// When the driver wakes up on its own.
#[derive(Debug, Default)]
struct Clock {
    /// `None`: not on its own.
    wakes_at: Option<Instant>,
    is_awake: bool,
}

impl Clock {
    fn sleep(&mut self, now: Instant, rest: Option<Duration>) {
        self.is_awake = rest == Some(Duration::ZERO);
        self.wakes_at = rest.and_then(|rest| now.checked_add(rest));
    }

    /// Whether the driver would wake up too late and must be woken. Returns true once for each sleep.
    fn is_late(&mut self, due: Option<Instant>) -> bool {
        let is_late = match (due, self.wakes_at) {
            _ if self.is_awake => false,
            (Some(due), Some(wakes_at)) => due < wakes_at,
            (due, _) => due.is_some(),
        };
        self.is_awake |= is_late;
        is_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_woken_once_for_an_earlier_deadline() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut clock = Clock::default();
        assert!(!clock.is_late(None));
        let (soon, later) = (Some(now + second / 2), Some(now + 9 * second));
        for (rest, due, expected) in [
            (Some(second), later, [false, false]),
            (Some(second), soon, [true, false]),
            (Some(second / 2), soon, [false, false]),
            (None, later, [true, false]),
            (None, None, [false, false]),
            (Some(Duration::ZERO), soon, [false, false]),
        ] {
            clock.sleep(now, rest);
            assert_eq!([clock.is_late(due), clock.is_late(due)], expected, "{rest:?}");
        }
    }
}
