//! An engine behind one lock.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Waker;
use std::time::{Duration, Instant};

use netdyno_io::{DatagramBatch, SendBatch};

use super::clock::Clock;
use super::feed::{Feed, Feeds};
use super::waits::Waits;
use crate::engine::{Dispatch, Engine};
use crate::error::Error;
use crate::links::{Links, buffer};
use crate::streams::{Streams, Transports};

/// Wakes the driver.
pub(crate) type Kick = Box<dyn Fn() + Send + Sync>;

/// A controller or a device that is driven by threads or a task, and whose handles act on it directly.
pub(crate) struct Hub<E: Engine> {
    pub(super) links: Links,
    state: Mutex<State<E>>,
    /// Held by the receiver of unicast messages: a waiting call if there is one, otherwise the driver.
    lead: Mutex<DatagramBatch>,
    /// Threads that wait for an answer while another one leads.
    pub(super) parked: AtomicUsize,
    /// Calls in progress: while there are some, the callers receive.
    pub(super) calls: AtomicU64,
    is_over: AtomicBool,
    kick: Kick,
}

pub(super) struct State<E: Engine> {
    pub(super) core: E,
    streams: Streams,
    /// Empty for a device.
    pub(super) waits: Waits,
    out: Box<[u8]>,
    answers: SendBatch,
    feeds: Feeds<E::Event>,
    clock: Clock,
    woken: Vec<Waker>,
}

impl<E: Engine> std::fmt::Debug for Hub<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl<E: Engine> Hub<E> {
    pub(crate) fn new(core: E, links: Links, streams: Streams, kick: Kick) -> Self {
        let state = State {
            core,
            streams,
            waits: Waits::default(),
            out: buffer(),
            answers: SendBatch::default(),
            feeds: Feeds::default(),
            clock: Clock::default(),
            woken: Vec::new(),
        };
        Self {
            links,
            state: Mutex::new(state),
            lead: Mutex::default(),
            parked: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            kick,
        }
    }

    /// Executes a function on the engine and sends the resulting messages.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut E, Instant) -> T) -> T {
        let mut state = self.lock();
        let now = Instant::now();
        let result = act(&mut state.core, now);
        self.finish(state, now);
        result
    }

    /// Executes a function on the engine, read-only.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&E) -> T) -> T {
        look(&self.lock().core)
    }

    /// Adds a listener.
    pub(crate) fn listen(&self) -> Result<Arc<Feed<E::Event>>, Error> {
        if self.is_over() {
            return Err(Error::Closed);
        }
        Ok(self.lock().feeds.listen())
    }

    /// Handles datagrams from the socket with this number, and delivers events.
    pub(super) fn receive(&self, number: usize, batch: &DatagramBatch) {
        let mut state = self.lock();
        let now = Instant::now();
        state.take(&self.links, now, number, batch);
        state.core.handle_timers(now);
        self.finish(state, now);
    }

    /// Receives the pending datagrams of a socket.
    pub(crate) fn drain(&self, number: usize, batch: &mut DatagramBatch) {
        self.links.drain(number, batch, |batch| self.receive(number, batch));
    }

    /// Handles messages from connections.
    pub(crate) fn turn(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.streams.receive(now);
        self.finish(state, now);
    }

    /// Handles expired timers.
    pub(crate) fn tick(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        let is_due = state.streams.due(now).is_some_and(|due| due <= now);
        if is_due {
            state.streams.receive(now);
        }
        if state.core.handle_timers(now) || is_due {
            self.finish(state, now);
        }
    }

    /// How long the driver may sleep: until the next deadline, or `longest`. It must not wake up earlier on
    /// its own.
    pub(crate) fn rest(&self, longest: Duration) -> Duration {
        let mut state = self.lock();
        let now = Instant::now();
        let rest = state.due(now).map_or(longest, |due| due.saturating_duration_since(now).min(longest));
        state.clock.rest(now, rest);
        rest
    }

    /// Receives unicast messages with the leader's buffer; `None` if another thread leads.
    pub(crate) fn with_lead<T>(&self, receive: impl FnOnce(&mut DatagramBatch) -> T) -> Option<T> {
        let result = match self.lead.try_lock() {
            Ok(mut batch) => receive(&mut batch),
            Err(TryLockError::Poisoned(error)) => receive(&mut error.into_inner()),
            Err(TryLockError::WouldBlock) => return None,
        };
        // A waiting thread takes the lead.
        if self.parked.load(Ordering::SeqCst) > 0 {
            let waker = self.lock().waits.next_to_lead();
            waker.into_iter().for_each(Waker::wake);
        }
        Some(result)
    }

    /// Whether a thread receives unicast messages.
    pub(super) fn is_led(&self) -> bool {
        matches!(self.lead.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether the hub has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends the hub; waiting calls and listeners are woken.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        self.is_over.store(true, Ordering::Release);
        let State { waits, feeds, woken, .. } = &mut *state;
        feeds.end(woken);
        woken.extend(waits.wakers());
        wake(state);
        (self.kick)();
    }

    /// Sends pending messages, delivers events, releases the lock.
    pub(super) fn finish(&self, mut state: MutexGuard<'_, State<E>>, now: Instant) {
        state.settle(&self.links, now);
        self.release(state, now);
    }

    /// Releases the lock, then calls the wakers.
    pub(super) fn release(&self, mut state: MutexGuard<'_, State<E>>, now: Instant) {
        let due = state.due(now);
        let is_late = state.clock.is_late(due);
        wake(state);
        if is_late {
            (self.kick)();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<E>> {
        // A panic under the lock is a bug that has been reported; other threads continue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Engine> State<E> {
    /// The next deadline of the engine or of connections.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        [self.core.next_deadline(), self.streams.due(now)].into_iter().flatten().min()
    }

    /// Handles datagrams and sends the replies at once.
    pub(super) fn take(&mut self, links: &Links, now: Instant, number: usize, batch: &DatagramBatch) {
        self.core.handle_batch(now, links, number, batch, &mut self.out, &mut self.answers);
    }

    /// Sends pending messages and queues events.
    pub(super) fn settle(&mut self, links: &Links, now: Instant) {
        let Self { core, streams, waits, out, feeds, woken, .. } = self;
        Transports { links, streams }.settle(now, core, out);
        while let Some(told) = core.poll_dispatch() {
            match told {
                Dispatch::Caller(id, result) => waits.answer(id, result, woken),
                Dispatch::All(event) => feeds.tell(&event, woken),
            }
        }
    }
}

fn wake<E: Engine>(mut state: MutexGuard<'_, State<E>>) {
    let woken = std::mem::take(&mut state.woken);
    drop(state);
    woken.into_iter().for_each(Waker::wake);
}
