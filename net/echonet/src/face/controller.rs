//! One controller behind one lock, for the faces.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Waker;
#[cfg(feature = "tokio")]
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Answer, AnswerError, Controller, ControllerEvent, Eoj, NodeAddress, Request, RequestId, Source,
};

use super::clock::{Clock, Timed};
use super::feed::{Feed, Feeds};
use super::receiver::{Buffer, Receiver};
use super::wait::this_thread;
use crate::error::{CallError, Error};
use crate::limits::{DATAGRAM_BYTES, WAIT};
use crate::links::Links;

/// Ends the driver's wait.
pub(crate) type Kick = Box<dyn Fn() + Send + Sync>;

/// The controller that a driver turns, and whose handles act on it directly.
pub(crate) struct Hub {
    links: Links,
    state: Mutex<State>,
    /// Held by who receives what is sent to us alone: whoever waits for an answer, if he can get it, else the driver.
    lead: Mutex<Buffer>,
    /// Threads that wait for an answer while another one leads.
    parked: AtomicUsize,
    /// Calls that were begun.
    calls: AtomicU64,
    is_over: AtomicBool,
    kick: Kick,
}

struct State {
    core: Controller,
    out: Box<[u8]>,
    waits: HashMap<RequestId, Wait>,
    feeds: Feeds<ControllerEvent>,
    clock: Clock,
    woken: Vec<Waker>,
}

/// A request whose answer somebody waits for.
#[derive(Default)]
struct Wait {
    result: Option<Result<Answer, AnswerError>>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(core: Controller, links: Links, kick: Kick) -> Self {
        let state = State {
            core,
            out: vec![0; DATAGRAM_BYTES].into_boxed_slice(),
            waits: HashMap::new(),
            feeds: Feeds::default(),
            clock: Clock::default(),
            woken: Vec::new(),
        };
        Self {
            links,
            state: Mutex::new(state),
            lead: Mutex::new(Buffer::default()),
            parked: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            kick,
        }
    }

    /// Does something with the controller, and sends what comes of it.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut Controller, Instant) -> T) -> T {
        let mut state = self.lock();
        let now = Instant::now();
        let result = act(&mut state.core, now);
        self.finish(state, now);
        result
    }

    /// Looks at the controller.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Controller) -> T) -> T {
        look(&self.lock().core)
    }

    /// One more listener.
    pub(crate) fn listen(&self) -> Result<Arc<Feed<ControllerEvent>>, Error> {
        if self.is_over() {
            return Err(Error::Closed);
        }
        Ok(self.lock().feeds.listen())
    }

    /// Begins a request whose answer will be awaited.
    pub(crate) fn begin(
        &self,
        node: NodeAddress,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, CallError> {
        if self.is_over() {
            return Err(CallError::Closed);
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        let now = Instant::now();
        let id = state.core.request(now, node, eoj, request)?;
        state.waits.insert(id, Wait::default());
        self.finish(state, now);
        Ok(id)
    }

    /// The answer, once it is there.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_answer(
        &self,
        id: RequestId,
        context: &mut Context<'_>,
    ) -> Poll<Result<Answer, CallError>> {
        self.lock().take_or_wait(id, Some(context.waker())).map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits for the answer, and receives meanwhile: no other thread stands between the kernel and who waits.
    pub(crate) fn wait_answer(&self, id: RequestId) -> Result<Answer, CallError> {
        if let Some(result) = self.lock().take_or_wait(id, None) {
            return result;
        }
        loop {
            if let Some(mut lead) = self.try_lead() {
                let result = self.lead(&mut lead, id);
                drop(lead);
                self.hand_over();
                return result;
            }
            self.parked.fetch_add(1, Ordering::SeqCst);
            let result = self.lock().take_or_wait(id, Some(&this_thread()));
            // The leader may have left before it could see that somebody waits: then the lead is to be had.
            if result.is_none() && self.try_lead().is_none() {
                std::thread::park_timeout(self.time_left());
            }
            self.parked.fetch_sub(1, Ordering::SeqCst);
            if let Some(result) = result {
                return result;
            }
            self.tick();
            if let Some(result) = self.lock().take_or_wait(id, None) {
                return result;
            }
        }
    }

    /// Gives a request up.
    #[cfg(feature = "tokio")]
    pub(crate) fn forget(&self, id: RequestId) {
        let mut state = self.lock();
        if state.waits.remove(&id).is_some() {
            let now = Instant::now();
            state.core.cancel(now, id);
            self.finish(state, now);
        }
    }

    /// Receives until the answer is there.
    fn lead(&self, buffer: &mut Buffer, id: RequestId) -> Result<Answer, CallError> {
        loop {
            let left = self.time_left();
            let received = buffer.wait(&self.links, left);
            let mut state = self.lock();
            let now = Instant::now();
            match received {
                Ok(Some((bytes, source))) => self.take(&mut state, now, &buffer.bytes[..bytes], source),
                Ok(None) => {}
                Err(_) => {
                    state.waits.remove(&id);
                    return Err(CallError::Closed);
                }
            }
            state.core.pass(now);
            state.flush(&self.links, now);
            let result = state.take_or_wait(id, None);
            self.finish(state, now);
            if let Some(result) = result {
                return result;
            }
            if self.is_over() {
                return Err(CallError::Closed);
            }
        }
    }

    /// Somebody who waits takes the lead.
    fn hand_over(&self) {
        if self.parked.load(Ordering::SeqCst) > 0 {
            let waker = self.lock().waits.values_mut().find_map(|wait| wait.waker.take());
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn try_lead(&self) -> Option<MutexGuard<'_, Buffer>> {
        match self.lead.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Time until something is due, or somebody should look whether it is over.
    fn time_left(&self) -> Duration {
        self.lock().core.left(Instant::now(), WAIT)
    }

    fn take(&self, state: &mut State, now: Instant, datagram: &[u8], source: Source) {
        let State { core, out, .. } = state;
        if let Some(transmit) = core.handle(now, datagram, source, out) {
            self.links.send(transmit, out);
        }
    }

    /// Sends, tells whom it concerns, gives the lock back.
    fn finish(&self, mut state: MutexGuard<'_, State>, now: Instant) {
        state.flush(&self.links, now);
        state.deliver();
        let State { core, clock, .. } = &mut *state;
        let is_late = clock.is_late(core);
        wake(state);
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
        self.take(&mut state, now, datagram, source);
        state.core.pass(now);
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
        self.calls.load(Ordering::Relaxed)
    }

    fn with_lead(&self, receive: &mut dyn FnMut(&mut Buffer)) -> bool {
        let Some(mut lead) = self.try_lead() else { return false };
        receive(&mut lead);
        drop(lead);
        self.hand_over();
        true
    }

    fn end(&self) {
        let mut state = self.lock();
        self.is_over.store(true, Ordering::Release);
        let State { waits, feeds, woken, .. } = &mut *state;
        feeds.end(woken);
        woken.extend(waits.values_mut().filter_map(|wait| wait.waker.take()));
        wake(state);
        (self.kick)();
    }
}

impl State {
    fn flush(&mut self, links: &Links, now: Instant) {
        while let Some(transmit) = self.core.poll_transmit(now, &mut self.out) {
            links.send(transmit, &self.out);
        }
    }

    fn deliver(&mut self) {
        while let Some(event) = self.core.poll_event() {
            if let ControllerEvent::Answer { id, result, .. } = event {
                // Without a wait it was given up.
                if let Some(wait) = self.waits.get_mut(&id) {
                    wait.result = Some(result);
                    self.woken.extend(wait.waker.take());
                }
            } else {
                self.feeds.tell(&event, &mut self.woken);
            }
        }
    }

    /// The answer, if it is there; otherwise the waker is to be told.
    fn take_or_wait(&mut self, id: RequestId, waker: Option<&Waker>) -> Option<Result<Answer, CallError>> {
        self.deliver();
        let Some(wait) = self.waits.get_mut(&id) else { return Some(Err(CallError::Closed)) };
        if let Some(result) = wait.result.take() {
            self.waits.remove(&id);
            return Some(result.map_err(CallError::from));
        }
        if let Some(waker) = waker {
            match &mut wait.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        None
    }
}

/// Gives the lock back, then wakes whom it concerns.
fn wake(mut state: MutexGuard<'_, State>) {
    if state.woken.is_empty() {
        return;
    }
    let mut woken = std::mem::take(&mut state.woken);
    drop(state);
    woken.drain(..).for_each(Waker::wake);
}
