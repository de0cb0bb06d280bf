//! A node's queue: waiting requests, requests in progress, and when the next one may be sent.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::address::{ConnectionId, Destination, NodeAddress, Source};
use crate::controller::config::NodeSettings;
use crate::controller::interview::{Interview, Question};
use crate::controller::job::{Job, Purpose};
use crate::controller::node::{Node, NodeState};
use crate::controller::request::{Answer, AnswerError, RequestId};
use crate::eoj::Eoj;
use crate::esv::Esv;
use crate::frame::Frame;
use crate::hash::hash;
use crate::limits::{PARALLEL_MAX, REMEMBERED_NOTIFICATIONS, TCP_AGAIN};
use crate::tid::Tid;

/// A request in progress.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) job: Box<Job>,
    pub(super) tid: Tid,
    /// Remaining retries.
    retries: u8,
    /// Where it was last sent, and so where its answer comes from; `None` while it waits for a connection.
    sent_to: Option<Destination>,
    due: Instant,
    /// It is to be sent, or sent again.
    again: bool,
    /// It was sent before.
    was_sent: bool,
}

impl Flight {
    /// Whether its answer is late.
    fn is_overdue(&self, now: Instant) -> bool {
        !self.again && self.due <= now
    }

    /// Whether it may be sent once more without a new connection.
    fn is_repeated(&self) -> bool {
        self.retries > 0 && !matches!(self.sent_to, Some(Destination::Connection(_)))
    }
}

/// The TCP connection to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    Down,
    /// The caller is to be asked to connect.
    Wanted,
    /// The caller was asked to connect.
    Connecting,
    Up(ConnectionId),
    /// The connection failed: datagrams are sent instead, and no connection is tried before this time.
    Fallback(Instant),
}

/// What can be sent to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sendable {
    Nothing,
    /// Nothing before this time.
    At(Instant),
    /// A connection is needed first.
    Connection,
    /// The first request in progress, for the first time or as a retry.
    Again,
    /// The next waiting request.
    New,
}

/// The result of sending to a node.
#[derive(Debug, Default)]
pub(super) struct Launch {
    /// Bytes of the message, if there is one.
    pub(super) bytes: Option<usize>,
    /// A new request is in progress.
    pub(super) begun: bool,
    /// A request in progress ended.
    pub(super) ended: bool,
    pub(super) tid: Tid,
    /// The message is a retry.
    pub(super) again: bool,
    /// A request that this completes: it expects no answer, or does not fit the buffer.
    pub(super) over: Option<(Box<Job>, Result<(), AnswerError>)>,
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: NodeAddress,
    pub(super) node: Node,
    settings: NodeSettings,
    link: Link,
    pub(super) queue: VecDeque<Box<Job>>,
    /// In order of their deadlines, so that none is searched for; those to be sent again come first.
    pub(super) flights: VecDeque<Flight>,
    /// Nothing is sent before this time, because of `gap`.
    free_at: Option<Instant>,
    /// Consecutive requests without an answer.
    failures: u8,
    /// Its current deadline in the timers.
    pub(super) timer: Option<Instant>,
    /// Whether it is in the queue of nodes that can be sent to.
    pub(super) ready: bool,
    /// Whether it is in the queue of nodes that wait for fewer requests in progress.
    pub(super) held: bool,
    /// Its latest notifications.
    recent: [Option<(Instant, u64)>; REMEMBERED_NOTIFICATIONS],
    recent_at: usize,
    /// How many properties it accepts in one Get, as observed.
    learned_limit: usize,
    pub(super) interview: Interview,
}

impl Peer {
    pub(super) fn new(address: NodeAddress, settings: NodeSettings) -> Self {
        Self {
            address,
            node: Node::default(),
            settings,
            link: Link::Down,
            queue: VecDeque::new(),
            flights: VecDeque::new(),
            free_at: None,
            failures: 0,
            timer: None,
            ready: false,
            held: false,
            recent: [None; REMEMBERED_NOTIFICATIONS],
            recent_at: 0,
            learned_limit: usize::MAX,
            interview: Interview::default(),
        }
    }

    pub(super) fn set_settings(&mut self, settings: NodeSettings) {
        self.settings = settings;
        self.learned_limit = usize::MAX;
    }

    pub(super) fn is_asked_by_tcp(&self) -> bool {
        self.settings.tcp && !matches!(self.link, Link::Fallback(_))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flights.is_empty()
    }

    /// What can be sent now.
    pub(super) fn want(&self, now: Instant) -> Sendable {
        let again = self.flights.front().is_some_and(|flight| flight.again);
        match self.link {
            Link::Wanted | Link::Connecting if self.settings.tcp => return Sendable::Nothing,
            Link::Down if self.settings.tcp && again => return Sendable::Connection,
            _ => {}
        }
        let parallel = usize::from(self.settings.parallel).clamp(1, PARALLEL_MAX);
        if !again && (self.queue.is_empty() || self.flights.len() >= parallel) {
            return Sendable::Nothing;
        }
        match self.free_at.filter(|free_at| *free_at > now) {
            Some(free_at) => Sendable::At(free_at),
            None if again => Sendable::Again,
            None => Sendable::New,
        }
    }

    /// The next deadline: an answer, or the end of the gap.
    pub(super) fn next_timer(&self, now: Instant) -> Option<Instant> {
        let answers = self.flights.iter().find(|flight| !flight.again).map(|flight| flight.due);
        let gap = if let Sendable::At(free_at) = self.want(now) { Some(free_at) } else { None };
        answers.into_iter().chain(gap).min()
    }

    /// Writes the next message into the buffer. `tid` is the last one that was used.
    pub(super) fn launch(
        &mut self,
        now: Instant,
        want: Sendable,
        tid: &mut Tid,
        seoj: Eoj,
        out: &mut [u8],
    ) -> Launch {
        let launch = match want {
            Sendable::Again => self.launch_again(now, seoj, out),
            Sendable::New => self.launch_next(now, tid, seoj, out),
            Sendable::Nothing | Sendable::At(_) | Sendable::Connection => Launch::default(),
        };
        if launch.bytes.is_some() {
            self.free_at = (self.settings.gap > Duration::ZERO).then(|| now + self.settings.gap);
        }
        launch
    }

    fn launch_again(&mut self, now: Instant, seoj: Eoj, out: &mut [u8]) -> Launch {
        let Some(flight) = self.flights.pop_front() else { return Launch::default() };
        let written = flight.job.write(flight.tid, seoj, out);
        if flight.job.esv == Esv::SetI || written.is_err() {
            let over = Some((flight.job, written.map(drop).map_err(|_| AnswerError::TooLong)));
            return Launch { bytes: written.ok(), ended: true, over, ..Launch::default() };
        }
        let (sent_to, due, again) = (self.destination(), now + self.settings.timeout, flight.was_sent);
        let tid = flight.tid;
        self.fly(Flight { again: false, was_sent: true, sent_to, due, ..flight });
        Launch { bytes: written.ok(), tid, again, ..Launch::default() }
    }

    fn fly(&mut self, flight: Flight) {
        // After all others, unless the time limit became shorter.
        let at = self.flights.partition_point(|other| other.due <= flight.due);
        self.flights.insert(at, flight);
    }

    /// Starts the next waiting request, its next part limited to what the node accepts.
    fn launch_next(&mut self, now: Instant, tid: &mut Tid, seoj: Eoj, out: &mut [u8]) -> Launch {
        let Some(mut job) = self.queue.pop_front() else { return Launch::default() };
        if matches!(self.link, Link::Fallback(until) if until <= now) {
            self.link = Link::Down;
        }
        job.limit(usize::from(self.settings.max_get_properties).min(self.learned_limit));
        let mut new = tid.next();
        while self.flights.iter().any(|flight| flight.tid == new) {
            new = new.next();
        }
        let Ok(bytes) = job.write(new, seoj, out) else {
            return Launch { over: Some((job, Err(AnswerError::TooLong))), ..Launch::default() };
        };
        *tid = new;
        let to = self.destination();
        if job.esv == Esv::SetI && to.is_some() {
            return Launch { bytes: Some(bytes), tid: new, over: Some((job, Ok(()))), ..Launch::default() };
        }
        let (retries, due) = (self.settings.retries, now + self.settings.timeout);
        let was_sent = to.is_some();
        let due = if was_sent { due } else { now };
        self.fly(Flight { job, tid: new, retries, sent_to: to, due, again: !was_sent, was_sent });
        Launch { bytes: was_sent.then_some(bytes), tid: new, begun: true, ..Launch::default() }
    }

    /// The current destination of requests; `None` if there is no connection.
    pub(super) fn destination(&self) -> Option<Destination> {
        match self.link {
            _ if !self.is_asked_by_tcp() => Some(Destination::Node(self.address)),
            Link::Up(connection) => Some(Destination::Connection(connection)),
            _ => None,
        }
    }

    /// Requests a connection from the caller.
    pub(super) fn want_connection(&mut self) {
        self.link = Link::Wanted;
    }

    /// Marks the connection as requested and returns its time limit, if one is wanted.
    pub(super) fn connect(&mut self) -> Option<Duration> {
        let is_wanted = self.link == Link::Wanted;
        is_wanted.then(|| {
            self.link = Link::Connecting;
            self.settings.timeout
        })
    }

    /// A connection was established.
    pub(super) fn connected(&mut self, connection: ConnectionId) {
        if self.link == Link::Connecting {
            self.link = Link::Up(connection);
        }
    }

    /// A connection ended or (`None`) failed. Returns whether it was this node's. Requests lost with it are
    /// queued again if they may be retried.
    pub(super) fn disconnected(&mut self, now: Instant, connection: Option<ConnectionId>) -> bool {
        if self.link != connection.map_or(Link::Connecting, Link::Up) {
            return false;
        }
        self.link = Link::Down;
        if connection.is_none() && self.settings.tcp && self.settings.udp_fallback {
            // Requests that waited for the connection are sent as they are.
            self.link = Link::Fallback(now + TCP_AGAIN);
            return true;
        }
        let is_lost = |flight: &&mut Flight| match connection {
            Some(connection) => flight.sent_to == Some(Destination::Connection(connection)),
            None => flight.again,
        };
        for flight in self.flights.iter_mut().filter(is_lost) {
            // Requests without retries left are removed next.
            flight.again = flight.retries > 0;
            (flight.sent_to, flight.retries) = (None, flight.retries.saturating_sub(1));
            flight.due = now;
        }
        self.flights.make_contiguous().sort_by_key(|flight| (!flight.again, flight.due));
        true
    }

    /// Removes a request that was lost with its connection and has no retries left.
    pub(super) fn unreachable(&mut self) -> Option<Box<Job>> {
        let at = self.flights.iter().position(|flight| flight.sent_to.is_none() && !flight.again)?;
        Some(self.flights.remove(at)?.job)
    }

    /// Removes a request in progress that could not be sent.
    pub(super) fn unsent(&mut self, tid: Tid) -> Option<Box<Job>> {
        let at = self.flights.iter().position(|flight| flight.tid == tid)?;
        Some(self.flights.remove(at)?.job)
    }

    /// The request in progress that a frame answers.
    pub(super) fn answered(&mut self, frame: &Frame<'_>, from: Source) -> Option<Box<Job>> {
        let at = self.flights.iter().position(|flight| {
            flight.tid == frame.tid
                && flight.job.deoj == frame.seoj
                && flight.job.is_answered_by(frame.esv)
                && flight.sent_to == Some(from.reply())
        })?;
        Some(self.flights.remove(at)?.job)
    }

    /// Removes a request, waiting or in progress; also returns whether it was in progress.
    pub(super) fn take(&mut self, id: RequestId) -> Option<(Box<Job>, bool)> {
        let is_it = |job: &Job| job.purpose == Purpose::Application && job.id == id;
        if let Some(at) = self.flights.iter().position(|flight| is_it(&flight.job)) {
            return Some((self.flights.remove(at)?.job, true));
        }
        let at = self.queue.iter().position(|job| is_it(job))?;
        Some((self.queue.remove(at)?, false))
    }

    /// Removes a request whose last answer is overdue; other overdue requests are marked to be sent again.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Box<Job>> {
        let is_last = |flight: &Flight| flight.is_overdue(now) && !flight.is_repeated();
        if let Some(at) = self.flights.iter().position(is_last) {
            return Some(self.flights.remove(at)?.job);
        }
        for flight in self.flights.iter_mut().filter(|flight| flight.is_overdue(now)) {
            (flight.again, flight.retries) = (true, flight.retries - 1);
        }
        None
    }

    /// Counts an unanswered request; returns whether the node is now lost.
    pub(super) fn failed(&mut self, lost_after: u8) -> bool {
        self.failures = self.failures.saturating_add(1);
        let lost = lost_after > 0 && self.failures >= lost_after && self.node.state != NodeState::Lost;
        if lost {
            self.node.state = NodeState::Lost;
        }
        lost
    }

    /// Records a message from the node; returns whether it was absent before.
    pub(super) fn heard(&mut self) -> bool {
        self.failures = 0;
        std::mem::replace(&mut self.node.state, NodeState::Present) != NodeState::Present
    }

    /// Starts or continues the interview.
    pub(super) fn begin_interview(&mut self) -> Option<Question> {
        self.interview.begin(&self.node)
    }

    /// An object answered an interview request, or timed out.
    pub(super) fn interviewed(&mut self, eoj: Eoj, answer: Option<&Answer>) -> Option<Question> {
        if let Some(answer) = answer {
            self.node.learn(eoj, answer);
        }
        self.interview.answered(&self.node, eoj, answer.is_none())
    }

    pub(super) fn learn_limit(&mut self, limit: usize) {
        self.learned_limit = self.learned_limit.min(limit);
    }

    /// Whether the same notification was received within `window`; records it if not.
    pub(super) fn is_duplicate(&mut self, now: Instant, window: Duration, datagram: &[u8]) -> bool {
        let hash = hash(datagram);
        let before = self
            .recent
            .iter()
            .flatten()
            .any(|(time, other)| *other == hash && now.saturating_duration_since(*time) < window);
        if !before {
            self.recent[self.recent_at] = Some((now, hash));
            self.recent_at = (self.recent_at + 1) % REMEMBERED_NOTIFICATIONS;
        }
        before
    }
}
