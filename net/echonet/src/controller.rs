//! A controller driven by the application: the interface with the least overhead.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use netdyno_echonet_core as core;
use netdyno_echonet_core::{
    Answer, AnswerError, ControllerConfig, ControllerEvent, Eoj, Epc, NodeAddress, Property, Request,
    RequestError, RequestId,
};
use netdyno_io::{DatagramBatch, Events, Poller, SendBatch, Waker};

use crate::engine::Engine;
use crate::error::{CallError, Error};
use crate::limits::{KEPT_EVENTS, SLACK, STREAMS_KEY, WAIT};
use crate::links::{Links, buffer};
use crate::settings::Settings;
use crate::streams::{Streams, Transports};

/// Discovers nodes, sends them requests and receives their notifications, on the calling thread. It has no
/// locks, threads or tasks.
///
/// A call that waits for its answer ([`get`](Self::get), [`set`](Self::set), [`call`](Self::call)) costs one
/// system call to send and one to receive, somewhat more over TCP. For concurrent requests and for
/// notifications, use [`begin`](Self::begin) and [`poll`](Self::poll).
#[derive(Debug)]
pub struct Controller {
    core: core::Controller,
    links: Links,
    streams: Streams,
    poller: Poller,
    ready: Events,
    /// The waker was used.
    is_woken: bool,
    /// Events received while a call waited for its own answer.
    kept: VecDeque<ControllerEvent>,
    dropped: u64,
    /// `next_event` has more events to return: new requests are sent together.
    gives: bool,
    /// A request was started and not sent yet.
    is_behind: bool,
    answers: SendBatch,
    input: DatagramBatch,
    out: Box<[u8]>,
}

impl Controller {
    /// Opens the sockets.
    pub fn open(settings: &Settings, config: ControllerConfig) -> Result<Self, Error> {
        let links = Links::open(settings, Some(WAIT))?;
        let mut core = core::Controller::new(config)?;
        core.set_own_addresses(links.own_addresses());
        let poller = links.poller()?;
        let streams = Streams::open(settings, true, &poller)?;
        Ok(Self {
            core,
            poller,
            links,
            streams,
            ready: Events::default(),
            is_woken: false,
            kept: VecDeque::new(),
            dropped: 0,
            gives: false,
            is_behind: false,
            answers: SendBatch::default(),
            input: DatagramBatch::default(),
            out: buffer(),
        })
    }

    /// The core: known nodes and counters.
    pub fn core(&self) -> &core::Controller {
        &self.core
    }

    /// The core itself. Its messages are sent by the next [`poll`](Self::poll).
    pub fn core_mut(&mut self) -> &mut core::Controller {
        &mut self.core
    }

    /// Events dropped because too many waited for [`poll`](Self::poll).
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Wakes [`poll`](Self::poll) from another thread.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Searches for all nodes. [`poll`](Self::poll) returns [`Found`](ControllerEvent::Found) for each that
    /// answers.
    pub fn search(&mut self) {
        let now = Instant::now();
        self.core.search(now);
        self.flush(now);
    }

    /// Reads properties.
    pub fn get(&mut self, node: impl Into<NodeAddress>, eoj: Eoj, epcs: &[Epc]) -> Result<Answer, CallError> {
        self.call(node, eoj, Request::Get(epcs))
    }

    /// Writes properties and waits for the confirmation.
    pub fn set(
        &mut self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        properties: &[Property<'_>],
    ) -> Result<Answer, CallError> {
        self.call(node, eoj, Request::Set(properties))
    }

    /// Sends a request and waits for its answer. Other events are kept for [`poll`](Self::poll).
    pub fn call(
        &mut self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<Answer, CallError> {
        let mut now = Instant::now();
        let id = self.begin_at(now, node.into(), eoj, request)?;
        loop {
            if let Some(result) = self.answer(id) {
                return Ok(result?);
            }
            (now, _) = self.receive(now, WAIT)?;
        }
    }

    /// Like [`poll`](Self::poll), for applications with many requests in progress: it waits only for unicast
    /// messages, so that an answer costs at most one system call to receive. Multicast messages are received
    /// by `poll`.
    pub fn next_event(&mut self, timeout: Duration) -> Result<Option<ControllerEvent>, CallError> {
        let mut begin = None;
        let mut spent = Duration::ZERO;
        loop {
            if let Some(event) = self.kept.pop_front().or_else(|| self.core.poll_event()) {
                self.gives = !self.kept.is_empty() || self.core.has_events();
                return Ok(Some(event));
            }
            if self.is_behind {
                self.flush(Instant::now());
                continue;
            }
            // The clock is read when there is nothing to return.
            let begin = *begin.get_or_insert_with(Instant::now);
            let (now, received) = self.receive(begin + spent, timeout.saturating_sub(spent).min(WAIT))?;
            spent = now.saturating_duration_since(begin);
            if !received && timeout <= spent + SLACK {
                return Ok(self.core.poll_event());
            }
        }
    }

    /// Starts a request; [`poll`](Self::poll) returns its answer. It is sent at once, unless
    /// [`next_event`](Self::next_event) has returned some of several events: then the new requests are sent
    /// together, after the last event.
    pub fn begin(
        &mut self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, RequestError> {
        let now = Instant::now();
        let id = self.core.request(now, node.into(), eoj, request)?;
        self.is_behind = true;
        if !self.gives {
            self.flush(now);
        }
        Ok(id)
    }

    fn begin_at(
        &mut self,
        now: Instant,
        node: NodeAddress,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, RequestError> {
        let id = self.core.request(now, node, eoj, request)?;
        self.flush(now);
        Ok(id)
    }

    /// The next event; waits up to `timeout` (`None`: without limit). Returns `None` after the timeout, or
    /// when the [`waker`](Self::waker) was used.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Option<ControllerEvent>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.gives = false;
        loop {
            if let Some(event) = self.kept.pop_front().or_else(|| self.core.poll_event()) {
                return Ok(Some(event));
            }
            let now = Instant::now();
            self.flush(now);
            let due =
                [deadline, self.core.next_deadline(), self.streams.due(now)].into_iter().flatten().min();
            let left = due.map(|due| due.saturating_duration_since(now));
            self.poller.wait_with(&self.links.unicast, &mut self.ready, left)?;
            self.is_woken |= self.ready.is_woken();
            self.turn();
            if std::mem::take(&mut self.is_woken)
                || self.ready.is_empty() && deadline.is_some_and(|deadline| deadline <= Instant::now())
            {
                return Ok(self.core.poll_event());
            }
        }
    }

    /// Receives pending messages from all sockets and connections, and handles timers.
    fn turn(&mut self) {
        let Self { core, links, ready, input, out, answers, .. } = self;
        let now = Instant::now();
        if ready.iter().any(|ready| ready.key == STREAMS_KEY)
            || self.streams.due(now).is_some_and(|due| due <= now)
        {
            self.streams.receive(now);
        }
        for socket in ready.iter().filter(|ready| ready.key != STREAMS_KEY) {
            let number = socket.key as usize;
            links.drain(number, input, |batch| {
                core.handle_batch(Instant::now(), links, number, batch, out, answers);
            });
        }
        self.advance(Instant::now());
    }

    /// Waits for unicast datagrams, for `longest` from `now` on; returns the time afterwards, and whether any
    /// were received. If there are connections, it waits for any message.
    fn receive(&mut self, now: Instant, longest: Duration) -> Result<(Instant, bool), CallError> {
        let left = self.core.left(now, longest);
        if !self.streams.is_empty() {
            let left = self.streams.due(now).map_or(left, |due| due.saturating_duration_since(now).min(left));
            self.poller
                .wait_with(&self.links.unicast, &mut self.ready, Some(left))
                .map_err(|_| CallError::Closed)?;
            // Kept for the next `poll`.
            self.is_woken |= self.ready.is_woken();
            self.turn();
            return Ok((Instant::now(), !self.ready.is_empty()));
        }
        let Self { core, links, input, out, answers, .. } = self;
        let received = links.wait(input, left).map_err(|_| CallError::Closed)?;
        let now = Instant::now();
        if let Some(number) = received {
            core.handle_batch(now, links, number, input, out, answers);
        }
        self.advance(now);
        Ok((now, received.is_some()))
    }

    fn advance(&mut self, now: Instant) {
        self.core.handle_timers(now);
        self.flush(now);
    }

    fn flush(&mut self, now: Instant) {
        self.is_behind = false;
        let Self { core, links, streams, out, .. } = self;
        Transports { links, streams }.settle(now, core, out);
    }

    /// The answer to this request, if it has been received; other events are kept.
    fn answer(&mut self, wanted: RequestId) -> Option<Result<Answer, AnswerError>> {
        while let Some(event) = self.core.poll_event() {
            match event {
                ControllerEvent::Answer { id, result, .. } if id == wanted => return Some(result),
                other if self.kept.len() < KEPT_EVENTS => self.kept.push_back(other),
                _ => self.dropped += 1,
            }
        }
        None
    }
}
