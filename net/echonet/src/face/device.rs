//! One device behind one lock, for the faces.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use netdyno_echonet_core::{Device, DeviceEvent, Source};

use super::clock::{Clock, Timed};
use super::controller::Kick;
use super::feed::{Feed, Feeds};
use super::receiver::{Buffer, Receiver};
use crate::error::Error;
use crate::limits::DATAGRAM_BYTES;
use crate::links::Links;

/// The device that threads or a task turn, and whose handles act on it directly.
pub(crate) struct Hub {
    links: Links,
    state: Mutex<State>,
    /// Of the one task or thread that takes all sockets in turn.
    buffer: Mutex<Buffer>,
    is_over: AtomicBool,
    kick: Kick,
}

struct State {
    core: Device,
    out: Box<[u8]>,
    feeds: Feeds<DeviceEvent>,
    clock: Clock,
    woken: Vec<Waker>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(core: Device, links: Links, kick: Kick) -> Self {
        let state = State {
            core,
            out: vec![0; DATAGRAM_BYTES].into_boxed_slice(),
            feeds: Feeds::default(),
            clock: Clock::default(),
            woken: Vec::new(),
        };
        Self {
            links,
            state: Mutex::new(state),
            buffer: Mutex::default(),
            is_over: AtomicBool::new(false),
            kick,
        }
    }

    /// Does something with the device, and sends what comes of it.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut Device) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state.core);
        self.finish(state, Instant::now());
        result
    }

    /// Looks at the device.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Device) -> T) -> T {
        look(&self.lock().core)
    }

    /// One more listener.
    pub(crate) fn listen(&self) -> Result<Arc<Feed<DeviceEvent>>, Error> {
        if self.is_over() {
            return Err(Error::Closed);
        }
        Ok(self.lock().feeds.listen())
    }

    /// Sends, tells whom it concerns, gives the lock back.
    fn finish(&self, mut state: MutexGuard<'_, State>, now: Instant) {
        let State { core, out, feeds, clock, woken } = &mut *state;
        while let Some(transmit) = core.poll_transmit(now, out) {
            self.links.send(transmit, out);
        }
        while let Some(event) = core.poll_event() {
            feeds.tell(&event, woken);
        }
        let is_late = clock.is_late(core);
        let woken = if state.woken.is_empty() { Vec::new() } else { std::mem::take(&mut state.woken) };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        if is_late {
            (self.kick)();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug of ours that has been told already; the others go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receiver for Hub {
    fn links(&self) -> &Links {
        &self.links
    }

    fn receive(&self, datagram: &[u8], source: Source) {
        let mut state = self.lock();
        let now = Instant::now();
        let State { core, out, .. } = &mut *state;
        if let Some(transmit) = core.handle(now, datagram, source, out) {
            self.links.send(transmit, out);
        }
        core.pass(now);
        self.finish(state, now);
    }

    fn tick(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        if state.core.pass(now) {
            self.finish(state, now);
        }
    }

    fn rest(&self, longest: Duration) -> Duration {
        let mut state = self.lock();
        let State { core, clock, .. } = &mut *state;
        clock.rest(core, longest)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn calls(&self) -> u64 {
        0
    }

    fn with_lead(&self, receive: &mut dyn FnMut(&mut Buffer)) -> bool {
        receive(&mut self.buffer.lock().unwrap_or_else(PoisonError::into_inner));
        true
    }

    fn end(&self) {
        let mut state = self.lock();
        self.is_over.store(true, Ordering::Release);
        let State { feeds, woken, .. } = &mut *state;
        feeds.end(woken);
        let woken = std::mem::take(woken);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        (self.kick)();
    }
}
