//! Waiting tasks and threads, both represented by wakers.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

/// Abandoned waits are removed when a list is full and longer than this.
const MIN_LIMIT: usize = 8;

/// The waker of one wait. The waiting call owns it, so that an abandoned wait leaves nothing behind.
#[derive(Debug, Default)]
struct Slot(Mutex<Option<Waker>>);

impl Slot {
    fn set(&self, waker: &Waker) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *slot {
            Some(known) => known.clone_from(waker),
            None => *slot = Some(waker.clone()),
        }
    }

    fn take(&self) -> Option<Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One wait, while it is polled.
#[derive(Debug)]
pub struct Wait<'a> {
    waker: &'a Waker,
    /// Created on the first wait.
    slot: &'a mut Option<Arc<Slot>>,
}

impl Wait<'_> {
    /// The waker of the waiting thread or task.
    pub fn waker(&self) -> &Waker {
        self.waker
    }
}

/// All waits for one condition. They are woken together, and each checks the condition.
#[derive(Debug, Default)]
pub struct Waiters(Vec<Weak<Slot>>);

impl Waiters {
    /// Registers a wait, to be woken once.
    pub fn register(&mut self, wait: &mut Wait<'_>) {
        let slot = wait.slot.get_or_insert_default();
        slot.set(wait.waker);
        if self.0.iter().any(|known| std::ptr::eq(known.as_ptr(), &**slot)) {
            return;
        }
        // Clean up only when the memory is full: at most twice as many entries as waits, at amortised
        // constant cost.
        if self.0.len() >= MIN_LIMIT && self.0.len() == self.0.capacity() {
            self.0.retain(|known| known.strong_count() > 0);
        }
        self.0.push(Arc::downgrade(slot));
    }

    /// Moves all wakers to `woken`, to be called when no lock is held.
    pub fn wake(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(self.0.drain(..).filter_map(|known| known.upgrade()?.take()));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Created once per thread.
    static UNPARK: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
}

/// The waker of this thread, which unparks it.
pub fn thread_waker() -> Waker {
    UNPARK.with(Waker::clone)
}

/// Polls on this thread until ready, or until the deadline; then `None`.
pub fn block<T>(deadline: Option<Instant>, mut poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> Option<T> {
    let mut slot = None;
    UNPARK.with(|waker| {
        loop {
            if let Poll::Ready(value) = poll(&mut Wait { waker, slot: &mut slot }) {
                return Some(value);
            }
            match deadline {
                None => std::thread::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    std::thread::park_timeout(left);
                }
            }
        }
    })
}

/// Polls on this thread until ready.
pub fn block_forever<T>(poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> T {
    block(None, poll).expect("without a deadline, a wait ends only with a result")
}

/// Polls as a future.
pub async fn ready<T>(mut poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> T {
    let mut slot = None;
    std::future::poll_fn(|context| poll(&mut Wait { waker: context.waker(), slot: &mut slot })).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_waits_once_and_is_woken() {
        let waiters = Arc::new(Mutex::new((false, Waiters::default())));
        let other = waiters.clone();
        let thread = std::thread::spawn(move || {
            block(None, |wait| {
                let mut waiters = other.lock().unwrap();
                waiters.1.register(wait);
                waiters.1.register(wait);
                assert_eq!(waiters.1.0.len(), 1);
                if waiters.0 { Poll::Ready(()) } else { Poll::Pending }
            })
        });
        while waiters.lock().unwrap().1.0.is_empty() {
            std::thread::yield_now();
        }
        let mut woken = Vec::new();
        let mut guard = waiters.lock().unwrap();
        guard.0 = true;
        guard.1.wake(&mut woken);
        drop(guard);
        woken.drain(..).for_each(Waker::wake);
        assert_eq!(thread.join().unwrap(), Some(()));
    }

    #[test]
    fn a_deadline_ends_a_wait() {
        let deadline = Instant::now() + Duration::from_millis(5);
        assert_eq!(block(Some(deadline), |_| Poll::<()>::Pending), None);
        assert!(Instant::now() >= deadline);
    }

    #[test]
    fn abandoned_waits_do_not_pile_up() {
        let mut waiters = Waiters::default();
        let mut kept: Vec<_> = (0..20).map(|_| None).collect();
        for slot in &mut kept {
            waiters.register(&mut Wait { waker: Waker::noop(), slot });
        }
        for _ in 0..10_000 {
            waiters.register(&mut Wait { waker: Waker::noop(), slot: &mut None });
        }
        assert!(waiters.0.len() <= 64, "{}", waiters.0.len());
        let mut woken = Vec::new();
        waiters.wake(&mut woken);
        assert_eq!(woken.len(), kept.len());
        waiters.wake(&mut woken);
        assert_eq!(woken.len(), kept.len(), "once");
    }
}
