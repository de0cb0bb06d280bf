//! The conversation with one role, as a sans-I/O state machine.
//!
//! Input arrives by `handle_*` methods and commands; output is taken by `poll_*` methods; `next_deadline` says when
//! [`Session::handle_timeout`] is due. Calls are valid in any order. After a fault, which is always the contender's,
//! the session is final: it sends and expects nothing more.

use std::collections::VecDeque;
use std::time::Duration;

use super::limits::{CLOCK_DRIFT_SHARE, CLOCK_SLACK_NS, SIGNALS_MAX, TimeLimits};
use super::message::{
    ContenderMessage, Counters, Implementation, LabMessage, Phase, Setup, TrialResult, Verified,
    parse_contender_line,
};

/// The state of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// `setup` was sent.
    AwaitReady,
    /// `ready` was received; connections are being made.
    AwaitConnected,
    /// Every connection is established, and no phase is running.
    Connected,
    /// In a phase.
    Running(Phase),
    /// `stop` was sent.
    AwaitResult,
    /// `result` was received; the process must exit.
    AwaitExit,
    /// Ended correctly.
    Done,
    /// The role replied `unsupported`: a skip.
    Unsupported(String),
    /// The contender violated the protocol.
    Failed(Fault),
}

/// A protocol violation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum Fault {
    #[error("no `{owed}` within {} s", limit.as_secs_f64())]
    Silent { owed: &'static str, limit: Duration },
    #[error("bad line: {0}")]
    BadLine(String),
    #[error("`{message}` {when}")]
    OutOfTurn { message: &'static str, when: String },
    #[error("the contender reported: {0}")]
    Said(String),
    #[error("signal to the unknown role {role:?}; roles: {known}")]
    UnknownRole { role: String, known: String },
    #[error("ended early: {0}")]
    Died(String),
    #[error("more than {limit} {what}")]
    TooMany { what: &'static str, limit: usize },
}

impl Fault {
    /// Whether the process died, which usually explains the complaints of its peer.
    pub fn is_death(&self) -> bool {
        matches!(self, Fault::Died(_))
    }
}

/// An event for the lab.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The role is set up.
    Ready(Implementation),
    /// A signal for the role `to`.
    Signal {
        /// The other role.
        to: String,
        /// The body, word for word.
        body: serde_json::Value,
    },
    /// Connections are up.
    Connected(Vec<u64>),
    /// A mark was answered.
    Counters(Counters),
    /// `verify` has finished.
    Verified(Verified),
    /// The final result.
    Result(TrialResult),
}

#[derive(Debug)]
struct Mark {
    id: u64,
    sent_ns: u64,
    due_ns: u64,
}

/// When a mark was sent and answered by the lab's clock, and the role's time in the reply.
#[derive(Debug)]
struct Answer {
    sent_ns: u64,
    received_ns: u64,
    at_ns: u64,
}

/// The conversation with one role.
#[derive(Debug)]
pub struct Session {
    state: State,
    limits: TimeLimits,
    /// Whether this role must send `verified`.
    verifies: bool,
    verified: bool,
    /// The deadline of the state's own reply, and its name.
    owed: Option<(u64, &'static str, Duration)>,
    mark: Option<Mark>,
    /// The reply to the first mark, with which every later one is compared.
    first_answer: Option<Answer>,
    last_at_ns: u64,
    signals: usize,
    /// Signals received for this role before it was ready.
    held: Vec<LabMessage>,
    transmits: VecDeque<LabMessage>,
    events: VecDeque<Event>,
}

impl Session {
    /// A conversation that starts with `setup` at `now_ns`. `verifies`: this role sends `verified`.
    pub fn new(setup: Setup, verifies: bool, limits: TimeLimits, now_ns: u64) -> Session {
        let mut session = Session {
            state: State::AwaitReady,
            limits,
            verifies,
            verified: false,
            owed: None,
            mark: None,
            first_answer: None,
            last_at_ns: 0,
            signals: 0,
            held: Vec::new(),
            transmits: VecDeque::from([LabMessage::Setup(setup)]),
            events: VecDeque::new(),
        };
        session.owe(now_ns, "ready", limits.ready);
        session
    }

    /// The state of the conversation.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether no reply is pending, neither the state's own nor a mark's.
    pub fn is_quiet(&self) -> bool {
        self.owed.is_none() && self.mark.is_none()
    }

    /// Whether the conversation has ended, successfully or not.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Unsupported(_) | State::Failed(_))
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected | State::Running(_))
    }

    // ---- input ---------------------------------------------------------------------------------------------

    /// Handles a line from the role.
    pub fn handle_line(&mut self, now_ns: u64, line: &str) {
        if self.is_over() {
            return;
        }
        match parse_contender_line(line) {
            Ok(message) => self.handle_message(now_ns, message),
            Err(reason) => self.fail(Fault::BadLine(reason)),
        }
    }

    /// Handles the end of the process. `code` is its exit code, if any; `how` describes the end.
    pub fn handle_exit(&mut self, code: Option<i32>, how: &str) {
        match (&self.state, code) {
            (State::AwaitExit, Some(0)) => {
                self.state = State::Done;
                self.owed = None;
            }
            (State::AwaitExit, _) => self.fail(Fault::Died(format!("{how} after its result"))),
            (State::Done | State::Unsupported(_) | State::Failed(_), _) => {}
            _ => self.fail(Fault::Died(how.to_owned())),
        }
    }

    /// The role's last signal was for a role that does not exist.
    pub fn handle_unknown_role(&mut self, role: String, known: String) {
        if !self.is_over() {
            self.fail(Fault::UnknownRole { role, known });
        }
    }

    /// Checks for overdue replies.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.is_over() {
            return;
        }
        if self.mark.as_ref().is_some_and(|mark| now_ns >= mark.due_ns) {
            self.fail(Fault::Silent { owed: "counters", limit: self.limits.counters });
        } else if let Some((due, owed, limit)) = self.owed
            && now_ns >= due
        {
            self.fail(Fault::Silent { owed, limit });
        }
    }

    // ---- commands ------------------------------------------------------------------------------------------

    /// Starts the time limit of `ready`.
    pub fn expect_ready(&mut self, now_ns: u64) {
        if self.state == State::AwaitReady {
            self.owe(now_ns, "ready", self.limits.ready);
        }
    }

    /// Starts the time limit of `connected`, once all roles are ready.
    pub fn expect_connected(&mut self, now_ns: u64) {
        if self.state == State::AwaitConnected {
            self.owe(now_ns, "connected", self.limits.connected);
        }
    }

    /// Delivers another role's signal; delayed until this role is ready.
    pub fn deliver_signal(&mut self, from: &str, body: serde_json::Value) {
        let message = LabMessage::Signal { from: from.to_owned(), body };
        match self.state {
            State::AwaitReady => self.held.push(message),
            _ if self.is_over() => {}
            _ => self.transmits.push_back(message),
        }
    }

    /// Starts a phase.
    pub fn start(&mut self, now_ns: u64, phase: Phase) {
        if !self.is_connected() {
            return;
        }
        self.state = State::Running(phase);
        self.transmits.push_back(LabMessage::Start { phase });
        if phase == Phase::Verify && self.verifies {
            self.owe(now_ns, "verified", self.limits.verified);
        }
    }

    /// Requests the counters. Returns false, without sending anything, if a mark is pending.
    pub fn mark(&mut self, now_ns: u64, id: u64) -> bool {
        if self.mark.is_some() || !self.is_connected() {
            return false;
        }
        self.mark = Some(Mark { id, sent_ns: now_ns, due_ns: now_ns + nanos(self.limits.counters) });
        self.transmits.push_back(LabMessage::Mark { id });
        true
    }

    /// Stops the role.
    pub fn stop(&mut self, now_ns: u64) {
        if !self.is_connected() {
            return;
        }
        self.state = State::AwaitResult;
        self.transmits.push_back(LabMessage::Stop);
        self.owe(now_ns, "result", self.limits.result);
    }

    // ---- output --------------------------------------------------------------------------------------------

    /// The next line to send to the role.
    pub fn poll_transmit(&mut self) -> Option<String> {
        self.transmits.pop_front().map(|m| m.to_line())
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Session::handle_timeout`] is due.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let state = self.owed.map(|(due, _, _)| due);
        let mark = self.mark.as_ref().map(|mark| mark.due_ns);
        state.into_iter().chain(mark).min()
    }

    // ---- handlers ------------------------------------------------------------------------------------------

    fn handle_message(&mut self, now_ns: u64, message: ContenderMessage) {
        let name = message.name();
        let out_of_turn = match (message, &self.state) {
            (ContenderMessage::Failed { reason }, _) => return self.fail(Fault::Said(reason)),
            (ContenderMessage::Unsupported { reason }, State::AwaitReady) => {
                self.owed = None;
                self.state = State::Unsupported(reason);
                return;
            }
            (ContenderMessage::Ready { implementation }, State::AwaitReady) => {
                self.transmits.extend(self.held.drain(..));
                return self.enter(State::AwaitConnected, Event::Ready(implementation));
            }
            (ContenderMessage::Signal { to, body }, state) if *state != State::Running(Phase::Measure) => {
                return self.on_signal(to, body);
            }
            (ContenderMessage::Connected { setup_ns }, State::AwaitConnected) => {
                return self.enter(State::Connected, Event::Connected(setup_ns));
            }
            (ContenderMessage::Verified(verified), State::Running(Phase::Verify))
                if self.verifies && !self.verified =>
            {
                self.verified = true;
                return self.enter(State::Running(Phase::Verify), Event::Verified(verified));
            }
            (ContenderMessage::Counters(counters), _) => return self.on_counters(now_ns, counters),
            (ContenderMessage::Result(result), State::AwaitResult) => {
                self.mark = None;
                self.enter(State::AwaitExit, Event::Result(result));
                return self.owe(now_ns, "exit", self.limits.result);
            }
            (ContenderMessage::Unsupported { .. }, _) => "after `ready`; use `failed` instead",
            (ContenderMessage::Ready { .. }, _) => "twice",
            (ContenderMessage::Signal { .. }, _) => "between `start measure` and `stop`",
            (ContenderMessage::Connected { .. }, _) => "before `ready`, or twice",
            (ContenderMessage::Verified(_), _) => {
                "outside `verify`, twice, or from a role that does not verify"
            }
            (ContenderMessage::Result(_), _) => "before `stop`, or twice",
        };
        self.out_of_turn(name, out_of_turn);
    }

    /// The reply that was owed has arrived.
    fn enter(&mut self, state: State, event: Event) {
        self.state = state;
        self.owed = None;
        self.events.push_back(event);
    }

    fn on_signal(&mut self, to: String, body: serde_json::Value) {
        self.signals += 1;
        if self.signals > SIGNALS_MAX {
            return self.fail(Fault::TooMany { what: "signals", limit: SIGNALS_MAX });
        }
        self.events.push_back(Event::Signal { to, body });
    }

    fn on_counters(&mut self, now_ns: u64, counters: Counters) {
        let Some(mark) = self.mark.take_if(|mark| mark.id == counters.id) else {
            return self.out_of_turn("counters", "without its mark");
        };
        if counters.at_ns < self.last_at_ns {
            return self.out_of_turn("counters", "with a clock that ran backwards");
        }
        self.last_at_ns = counters.at_ns;
        let answer = Answer { sent_ns: mark.sent_ns, received_ns: now_ns, at_ns: counters.at_ns };
        match &self.first_answer {
            None => self.first_answer = Some(answer),
            Some(first) if is_plausible(first, &answer) => {}
            Some(_) => return self.out_of_turn("counters", "with a clock that does not count nanoseconds"),
        }
        self.events.push_back(Event::Counters(counters));
    }

    fn owe(&mut self, now_ns: u64, what: &'static str, limit: Duration) {
        self.owed = Some((now_ns + nanos(limit), what, limit));
    }

    fn out_of_turn(&mut self, message: &'static str, when: &str) {
        self.fail(Fault::OutOfTurn { message, when: when.to_owned() });
    }

    fn fail(&mut self, fault: Fault) {
        self.state = State::Failed(fault);
        self.owed = None;
        self.mark = None;
        self.transmits.clear();
    }
}

/// Whether a role's clock advanced like ours between two replies. Each reading happened between sending the mark and
/// receiving the reply, which bounds the difference. Only differences are compared, so that the roles may be on other
/// hosts.
fn is_plausible(first: &Answer, later: &Answer) -> bool {
    let elapsed = later.at_ns - first.at_ns;
    let least = later.sent_ns.saturating_sub(first.received_ns);
    let most = later.received_ns.saturating_sub(first.sent_ns);
    let slack = CLOCK_SLACK_NS + most / CLOCK_DRIFT_SHARE;
    elapsed.saturating_add(slack) >= least && elapsed <= most.saturating_add(slack)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
