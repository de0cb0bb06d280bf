//! A controller that the application drives by itself: the fastest face.

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
use crate::streams::{Streams, Ways};

/// Finds nodes, asks them, hears them, on the thread that calls. No locks, no other thread, no task.
///
/// A call that waits for its answer ([`get`](Self::get), [`set`](Self::set), [`call`](Self::call)) costs one system call to send
/// and one to receive, by TCP some more. Any number of requests at once, and what nodes tell by themselves, are for [`begin`](Self::begin)
/// and [`poll`](Self::poll).
#[derive(Debug)]
pub struct Controller {
    core: core::Controller,
    links: Links,
    streams: Streams,
    poller: Poller,
    ready: Events,
    /// Somebody used the waker.
    is_woken: bool,
    /// What happened while a call waited for its own answer.
    kept: VecDeque<ControllerEvent>,
    dropped: u64,
    /// `next_event` has more to give: what is begun meanwhile is sent together.
    gives: bool,
    /// Something was begun and not sent.
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

    /// What is known of nodes, and what was counted.
    pub fn core(&self) -> &core::Controller {
        &self.core
    }

    /// The core itself. What it has to send goes out with the next [`poll`](Self::poll).
    pub fn core_mut(&mut self) -> &mut core::Controller {
        &mut self.core
    }

    /// Events that were dropped since too many waited for [`poll`](Self::poll).
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Ends a [`poll`](Self::poll) from another thread.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Asks all nodes who they are. [`poll`](Self::poll) gives [`Found`](ControllerEvent::Found) for each that answers.
    pub fn search(&mut self) {
        let now = Instant::now();
        self.core.search(now);
        self.flush(now);
    }

    /// Reads properties.
    pub fn get(&mut self, node: impl Into<NodeAddress>, eoj: Eoj, epcs: &[Epc]) -> Result<Answer, CallError> {
        self.call(node, eoj, Request::Get(epcs))
    }

    /// Writes properties, and awaits that it was done.
    pub fn set(
        &mut self,
        node: impl Into<NodeAddress>,
        eoj: Eoj,
        properties: &[Property<'_>],
    ) -> Result<Answer, CallError> {
        self.call(node, eoj, Request::Set(properties))
    }

    /// Asks a node, and waits for its answer. What happens meanwhile is kept for [`poll`](Self::poll).
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

    /// As [`poll`](Self::poll), for who keeps many requests under way: it waits for what is sent to us alone, so that an answer
    /// costs one system call to receive, or a part of one where several have come. What is sent to all is heard by `poll`.
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
            // The clock is read once there is nothing to give.
            let begin = *begin.get_or_insert_with(Instant::now);
            let (now, received) = self.receive(begin + spent, timeout.saturating_sub(spent).min(WAIT))?;
            spent = now.saturating_duration_since(begin);
            if !received && timeout <= spent + SLACK {
                return Ok(self.core.poll_event());
            }
        }
    }

    /// Asks a node; [`poll`](Self::poll) gives the answer. The request is sent at once, unless [`next_event`](Self::next_event) has
    /// told something of several: then what is begun before it has told the last is sent with that.
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

    /// What happened next; waits for it, `timeout` at the most (`None`: without end). `None`: nothing in that time, or
    /// somebody used the [`waker`](Self::waker).
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

    /// Takes what is there, of all sockets and connections, and lets time pass.
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
                core.take_all(Instant::now(), links, number, batch, out, answers);
            });
        }
        self.pass(Instant::now());
    }

    /// Waits for datagrams to us alone, for `longest` from `now` on; gives the time then, and whether there were any. Where there
    /// are connections, it waits for whatever comes.
    fn receive(&mut self, now: Instant, longest: Duration) -> Result<(Instant, bool), CallError> {
        let left = self.core.left(now, longest);
        if !self.streams.is_empty() {
            let left = self.streams.due(now).map_or(left, |due| due.saturating_duration_since(now).min(left));
            self.poller
                .wait_with(&self.links.unicast, &mut self.ready, Some(left))
                .map_err(|_| CallError::Closed)?;
            // That is for the next `poll`.
            self.is_woken |= self.ready.is_woken();
            self.turn();
            return Ok((Instant::now(), !self.ready.is_empty()));
        }
        let Self { core, links, input, out, answers, .. } = self;
        let received = links.wait(input, left).map_err(|_| CallError::Closed)?;
        let now = Instant::now();
        if let Some(number) = received {
            core.take_all(now, links, number, input, out, answers);
        }
        self.pass(now);
        Ok((now, received.is_some()))
    }

    fn pass(&mut self, now: Instant) {
        self.core.pass(now);
        self.flush(now);
    }

    fn flush(&mut self, now: Instant) {
        self.is_behind = false;
        let Self { core, links, streams, out, .. } = self;
        Ways { links, streams }.settle(now, core, out);
    }

    /// The answer to this request, if it is there; other events are kept.
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
