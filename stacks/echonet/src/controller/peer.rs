//! A node as a controller works with it: what waits for it, what is under way to it, when it may be asked again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::address::NodeAddress;
use crate::controller::config::NodeSettings;
use crate::controller::interview::{Interview, Question};
use crate::controller::job::{Job, Purpose};
use crate::controller::node::{Node, NodeState};
use crate::controller::request::{Answer, AnswerError, RequestId};
use crate::eoj::Eoj;
use crate::esv::Esv;
use crate::frame::Frame;
use crate::hash::hash;
use crate::limits::{PARALLEL_MAX, REMEMBERED_NOTIFICATIONS};
use crate::tid::Tid;

/// A request that was sent.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) job: Box<Job>,
    pub(super) tid: Tid,
    /// How often it may be sent again.
    retries: u8,
    due: Instant,
    /// It is to be sent again.
    again: bool,
}

/// What could be sent to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    Nothing,
    /// Not before this moment.
    At(Instant),
    /// The first request under way once more.
    Again,
    /// The next request that waits.
    New,
}

/// What came of sending something to a node.
#[derive(Debug, Default)]
pub(super) struct Launch {
    /// Bytes of the datagram, if there is one.
    pub(super) bytes: Option<usize>,
    /// A request is under way that was not before.
    pub(super) begun: bool,
    /// One that was is no more.
    pub(super) ended: bool,
    /// A request that is over with this: no answer comes to it, or it does not fit the buffer.
    pub(super) over: Option<(Box<Job>, Result<(), AnswerError>)>,
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: NodeAddress,
    pub(super) node: Node,
    settings: NodeSettings,
    pub(super) queue: VecDeque<Box<Job>>,
    /// In the order in which they are due, so that nobody looks at all of them; those to be sent again are the first.
    pub(super) flights: VecDeque<Flight>,
    /// Nothing is sent to it before, because of `gap`.
    free_at: Option<Instant>,
    /// Requests without an answer, one after the other.
    failures: u8,
    /// When it is due in the timers.
    pub(super) timer: Option<Instant>,
    /// It stands in the queue of those that could be sent to.
    pub(super) ready: bool,
    /// It stands in the queue of those that wait until fewer requests are under way.
    pub(super) held: bool,
    /// Its last notifications.
    recent: [Option<(Instant, u64)>; REMEMBERED_NOTIFICATIONS],
    recent_at: usize,
    /// How many properties of one Get it takes, as it has shown.
    learned_limit: usize,
    pub(super) interview: Interview,
}

impl Peer {
    pub(super) fn new(address: NodeAddress, settings: NodeSettings) -> Self {
        Self {
            address,
            node: Node::default(),
            settings,
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

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flights.is_empty()
    }

    /// What could be sent now.
    pub(super) fn want(&self, now: Instant) -> Want {
        let again = self.flights.front().is_some_and(|flight| flight.again);
        let parallel = usize::from(self.settings.parallel).clamp(1, PARALLEL_MAX);
        if !again && (self.queue.is_empty() || self.flights.len() >= parallel) {
            return Want::Nothing;
        }
        match self.free_at.filter(|free_at| *free_at > now) {
            Some(free_at) => Want::At(free_at),
            None if again => Want::Again,
            None => Want::New,
        }
    }

    /// When something is due: an answer, or the end of the gap.
    pub(super) fn next_timer(&self, now: Instant) -> Option<Instant> {
        let answers = self.flights.iter().find(|flight| !flight.again).map(|flight| flight.due);
        let gap = if let Want::At(free_at) = self.want(now) { Some(free_at) } else { None };
        answers.into_iter().chain(gap).min()
    }

    /// Writes what could be sent into the buffer. `tid` is the last one that was used.
    pub(super) fn launch(
        &mut self,
        now: Instant,
        want: Want,
        tid: &mut Tid,
        seoj: Eoj,
        out: &mut [u8],
    ) -> Launch {
        let launch = match want {
            Want::Again => self.launch_again(now, seoj, out),
            Want::New => self.launch_next(now, tid, seoj, out),
            Want::Nothing | Want::At(_) => Launch::default(),
        };
        if launch.bytes.is_some() {
            self.free_at = (self.settings.gap > Duration::ZERO).then(|| now + self.settings.gap);
        }
        launch
    }

    fn launch_again(&mut self, now: Instant, seoj: Eoj, out: &mut [u8]) -> Launch {
        let Some(flight) = self.flights.pop_front() else { return Launch::default() };
        let Ok(bytes) = flight.job.write(flight.tid, seoj, out) else {
            let over = Some((flight.job, Err(AnswerError::TooLong)));
            return Launch { ended: true, over, ..Launch::default() };
        };
        self.fly(Flight { again: false, due: now + self.settings.timeout, ..flight });
        Launch { bytes: Some(bytes), ..Launch::default() }
    }

    fn fly(&mut self, flight: Flight) {
        // Behind all, unless the time limit became shorter.
        let at = self.flights.partition_point(|other| other.due <= flight.due);
        self.flights.insert(at, flight);
    }

    /// The next request that waits, its next part cut to what the node takes.
    fn launch_next(&mut self, now: Instant, tid: &mut Tid, seoj: Eoj, out: &mut [u8]) -> Launch {
        let Some(mut job) = self.queue.pop_front() else { return Launch::default() };
        job.limit(usize::from(self.settings.max_get_properties).min(self.learned_limit));
        let mut new = tid.next();
        while self.flights.iter().any(|flight| flight.tid == new) {
            new = new.next();
        }
        let Ok(bytes) = job.write(new, seoj, out) else {
            return Launch { over: Some((job, Err(AnswerError::TooLong))), ..Launch::default() };
        };
        *tid = new;
        if job.esv == Esv::SetI {
            return Launch { bytes: Some(bytes), over: Some((job, Ok(()))), ..Launch::default() };
        }
        let (retries, due) = (self.settings.retries, now + self.settings.timeout);
        self.fly(Flight { job, tid: new, retries, due, again: false });
        Launch { bytes: Some(bytes), begun: true, ..Launch::default() }
    }

    /// The request under way that a frame answers.
    pub(super) fn answered(&mut self, frame: &Frame<'_>) -> Option<Box<Job>> {
        let at = self.flights.iter().position(|flight| {
            flight.tid == frame.tid && flight.job.deoj == frame.seoj && flight.job.is_answered_by(frame.esv)
        })?;
        Some(self.flights.remove(at)?.job)
    }

    /// Takes out a request, waiting or under way; says also whether it was the latter.
    pub(super) fn take(&mut self, id: RequestId) -> Option<(Box<Job>, bool)> {
        let is_it = |job: &Job| job.purpose == Purpose::Application && job.id == id;
        if let Some(at) = self.flights.iter().position(|flight| is_it(&flight.job)) {
            return Some((self.flights.remove(at)?.job, true));
        }
        let at = self.queue.iter().position(|job| is_it(job))?;
        Some((self.queue.remove(at)?, false))
    }

    /// Takes out a request whose last answer is overdue; others that are become ready to be sent again.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Box<Job>> {
        let overdue = |flight: &Flight| !flight.again && flight.due <= now;
        if let Some(at) = self.flights.iter().position(|flight| overdue(flight) && flight.retries == 0) {
            return Some(self.flights.remove(at)?.job);
        }
        for flight in self.flights.iter_mut().filter(|flight| overdue(flight)) {
            (flight.again, flight.retries) = (true, flight.retries - 1);
        }
        None
    }

    /// Counts a request without an answer; says whether with this one the node is lost.
    pub(super) fn failed(&mut self, lost_after: u8) -> bool {
        self.failures = self.failures.saturating_add(1);
        let lost = lost_after > 0 && self.failures >= lost_after && self.node.state != NodeState::Lost;
        if lost {
            self.node.state = NodeState::Lost;
        }
        lost
    }

    /// Something came from it; says whether it was not there before.
    pub(super) fn heard(&mut self) -> bool {
        self.failures = 0;
        std::mem::replace(&mut self.node.state, NodeState::Present) != NodeState::Present
    }

    /// Begins or goes on to get to know it.
    pub(super) fn begin_interview(&mut self) -> Option<Question> {
        self.interview.begin(&self.node)
    }

    /// An object answered an interview's question, or did not.
    pub(super) fn interviewed(&mut self, eoj: Eoj, answer: Option<&Answer>) -> Option<Question> {
        if let Some(answer) = answer {
            self.node.learn(eoj, answer);
        }
        self.interview.answered(&self.node, eoj, answer.is_none())
    }

    pub(super) fn learn_limit(&mut self, limit: usize) {
        self.learned_limit = self.learned_limit.min(limit);
    }

    /// Whether the same notification came within `window`; remembers it if not.
    pub(super) fn heard_before(&mut self, now: Instant, window: Duration, datagram: &[u8]) -> bool {
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
