//! An engine behind one lock.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::Waker;
use std::time::{Duration, Instant};

use netdyno_echonet_core::{self as core, ControllerConfig, Description};
use netdyno_io::hub::{self, Drive, Guard, HubState, Launch};
use netdyno_io::{DatagramBatch, Events, SendBatch};

use super::feed::{Feed, Feeds};
use super::waits::Waits;
use crate::engine::{Dispatch, Engine};
use crate::error::Error;
use crate::limits::{STREAMS_KEY, WAIT};
use crate::links::{Links, buffer};
use crate::settings::Settings;
use crate::streams::{Streams, Transports};

/// A hub and what drives it.
pub(crate) type Driver<E> = hub::Driver<Hub<E>>;

/// A controller or a device that is driven by threads or a task, and whose handles act on it directly.
#[derive(Debug)]
pub(crate) struct Hub<E: Engine> {
    pub(crate) links: Arc<Links>,
    shared: hub::Hub<State<E>>,
    /// Held by the receiver of unicast messages: a waiting call if there is one, otherwise the driver.
    lead: Mutex<DatagramBatch>,
    /// Threads that wait for an answer while another one leads.
    pub(super) parked: AtomicUsize,
    /// Calls begun: while there are some, the callers receive.
    pub(crate) calls: AtomicU64,
}

pub(super) struct State<E: Engine> {
    pub(super) core: E,
    links: Arc<Links>,
    streams: Streams,
    /// Empty for a device.
    pub(super) waits: Waits,
    out: Box<[u8]>,
    answers: SendBatch,
    feeds: Feeds<E::Event>,
    woken: Vec<Waker>,
}

impl<E: Engine> HubState for State<E> {
    fn woken(&mut self) -> &mut Vec<Waker> {
        &mut self.woken
    }

    fn end(&mut self, _has_panicked: bool) {
        self.feeds.end(&mut self.woken);
        self.woken.extend(self.waits.wakers());
    }
}

impl Hub<core::Controller> {
    pub(crate) fn controller(
        settings: &Settings,
        config: ControllerConfig,
        links: Links,
        launch: &Launch,
    ) -> Result<Self, Error> {
        let mut core = core::Controller::new(config)?;
        core.set_own_addresses(links.own_addresses());
        Ok(Self::new(core, links, Streams::open(settings, true, launch.poller())?, launch))
    }
}

impl Hub<core::Device> {
    pub(crate) fn device(
        settings: &Settings,
        description: &Description,
        links: Links,
        launch: &Launch,
    ) -> Result<Self, Error> {
        let core = core::Device::new(description)?;
        links.limit_sources(settings.source_limit_per_s);
        Ok(Self::new(core, links, Streams::open(settings, false, launch.poller())?, launch))
    }
}

impl<E: Engine> Hub<E> {
    fn new(core: E, links: Links, streams: Streams, launch: &Launch) -> Self {
        let links = Arc::new(links);
        let state = State {
            core,
            links: links.clone(),
            streams,
            waits: Waits::default(),
            out: buffer(),
            answers: SendBatch::default(),
            feeds: Feeds::default(),
            woken: Vec::new(),
        };
        Self {
            links,
            shared: hub::Hub::new(state, launch.kick()),
            lead: Mutex::default(),
            parked: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
        }
    }

    /// Executes a function on the engine and sends the resulting messages.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut E, Instant) -> T) -> T {
        let mut state = self.lock();
        let now = Instant::now();
        let result = act(&mut state.core, now);
        finish(state, now);
        result
    }

    /// Executes a function on the engine, read-only.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&E) -> T) -> T {
        look(&self.lock().core)
    }

    /// Adds a listener.
    pub(crate) fn listen(&self) -> Result<Feed<E::Event>, Error> {
        let mut state = self.lock();
        match self.shared.failure() {
            Some(error) => Err(Error::Driver(error.clone())),
            None if self.is_over() => Err(Error::Closed),
            None => Ok(state.feeds.listen()),
        }
    }

    /// Handles datagrams from the socket with this number, and delivers events.
    pub(crate) fn receive(&self, number: usize, batch: &DatagramBatch) {
        let mut state = self.lock();
        let now = Instant::now();
        state.handle_batch(now, number, batch);
        state.core.handle_timers(now);
        finish(state, now);
    }

    /// Receives the pending datagrams of a socket.
    pub(crate) fn drain(&self, number: usize, batch: &mut DatagramBatch) {
        self.links.drain(number, batch, |batch| self.receive(number, batch));
    }

    /// Handles messages from connections.
    pub(crate) fn receive_streams(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.streams.receive(now);
        finish(state, now);
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
            finish(state, now);
        }
    }

    /// How long the driver may sleep: until the next deadline, or `longest`. It must not wake up earlier on
    /// its own.
    pub(crate) fn rest(&self, longest: Duration) -> Duration {
        let mut state = self.lock();
        let now = Instant::now();
        let rest = state.due(now).map_or(longest, |due| due.saturating_duration_since(now).min(longest));
        state.sleep(now, Some(rest));
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
        self.shared.is_over()
    }

    /// Whether connections are enabled.
    pub(crate) fn has_streams(&self) -> bool {
        self.lock().streams.is_on()
    }

    pub(super) fn lock(&self) -> Guard<'_, State<E>> {
        self.shared.lock()
    }
}

impl<E: Engine> Drive for Hub<E> {
    fn turn(&self, ready: &Events) -> io::Result<Option<Duration>> {
        if self.is_over() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        for socket in ready.iter() {
            if socket.key == STREAMS_KEY {
                self.receive_streams();
            } else {
                self.with_lead(|batch| self.drain(socket.key as usize, batch));
            }
        }
        self.tick();
        Ok(Some(self.rest(WAIT)))
    }

    fn end(&self) {
        self.shared.end();
    }

    fn fail(&self, error: io::Error) {
        self.shared.fail(error);
    }
}

impl<E: Engine> State<E> {
    /// The next deadline of the engine or of connections.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        [self.core.next_deadline(), self.streams.due(now)].into_iter().flatten().min()
    }

    /// Handles datagrams and sends the replies at once.
    pub(super) fn handle_batch(&mut self, now: Instant, number: usize, batch: &DatagramBatch) {
        self.core.handle_batch(now, &self.links, number, batch, &mut self.out, &mut self.answers);
    }

    /// Sends pending messages and queues events.
    pub(super) fn settle(&mut self, now: Instant) {
        let Self { core, links, streams, waits, out, feeds, woken, .. } = self;
        Transports { links, streams }.settle(now, core, out);
        while let Some(dispatch) = core.poll_dispatch() {
            match dispatch {
                Dispatch::Caller(id, result) => waits.answer(id, result, woken),
                Dispatch::All(event) => feeds.send(&event, woken),
            }
        }
    }
}

/// Sends pending messages, delivers events, releases the lock.
pub(super) fn finish<E: Engine>(mut state: Guard<'_, State<E>>, now: Instant) {
    state.settle(now);
    release(state, now);
}

/// Releases the lock, then calls the wakers.
pub(super) fn release<E: Engine>(mut state: Guard<'_, State<E>>, now: Instant) {
    let due = state.due(now);
    state.release(due);
}

#[cfg(test)]
mod tests {
    use netdyno_io::Poller;
    use netdyno_io::hub::{block, block_forever};

    use super::*;

    #[test]
    fn a_dead_driver_gives_its_reason() {
        const OUT_OF_FILES: i32 = 24;
        let launch = Launch::thread(Poller::new().unwrap());
        let (settings, config) = (Settings::default(), ControllerConfig::new([0; 3], [0; 13]));
        let hub = Hub::controller(&settings, config, Links::none(), &launch).unwrap();
        let feed = hub.listen().unwrap();
        assert_eq!(block(Some(Instant::now()), |wait| feed.poll(wait)), None, "it has not ended");
        for code in [OUT_OF_FILES, 1] {
            hub.fail(io::Error::from_raw_os_error(code));
            let error = hub.listen().unwrap_err();
            let is_first = matches!(&error, Error::Driver(why) if why.raw_os_error() == Some(OUT_OF_FILES));
            assert!(is_first, "{error}");
        }
        assert_eq!(block_forever(|wait| feed.poll(wait)), None);
    }
}
