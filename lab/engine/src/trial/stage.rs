//! The roles of a trial: their processes and conversations, and the loop that drives both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::{Collected, TrialSpec, failed, nanoseconds, setup};
use netdyno_lab_arena::meter::monotonic_ns;
use netdyno_lab_arena::{AgentEvent, Arena, EndedBy, RoleIndex, RoleProcess};
use netdyno_lab_protocol::{Event, Fault, Phase, Session, State, Verified};
use netdyno_lab_store::Outcome;

/// Interval of checking for cancellation; rare enough to cost nothing.
const CANCEL_CHECK: Duration = Duration::from_millis(250);
/// How long the other roles may still report their errors after one has failed.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Share of the time limit of `verified` after which the roles are asked for their progress: late, since it disturbs
/// them, but early enough for a reply.
const ASK_AFTER: f64 = 0.9;
/// The mark for the progress query. Its replies are not stored.
const PROGRESS_MARK: u64 = 1 << 40;
/// A counter of every workload's roles.
const MESSAGES: &str = "messages";
/// Time limit of a killed role's exit.
const KILL_LIMIT: Duration = Duration::from_secs(5);

struct Role {
    name: String,
    process: RoleProcess,
    /// The contender's process, as numbered on this host.
    pid: Option<i32>,
    session: Session,
    verified: Option<Verified>,
    /// Its message counter when `verified` was late.
    progress: Option<u64>,
    meter: Option<u64>,
    freezing: bool,
    memory_limit: bool,
    /// Its stderr, once it has ended.
    ended: Option<String>,
}

impl Role {
    fn stderr(&self) -> String {
        self.ended.clone().unwrap_or_default()
    }

    /// Notes the last event, which also ends the wait for a reply.
    fn end(&mut self, stderr: String) {
        self.meter = None;
        self.freezing = false;
        self.ended = Some(stderr);
    }
}

pub(super) struct Stage<'a> {
    roles: Vec<Role>,
    /// Roles before this one do not receive messages yet.
    held_before: usize,
    events: Receiver<(RoleIndex, AgentEvent)>,
    cancel: &'a AtomicBool,
    collected: &'a mut Collected,
}

impl<'a> Stage<'a> {
    pub(super) fn launch(
        spec: &TrialSpec<'_>,
        arena: &Arena,
        cancel: &'a AtomicBool,
        collected: &'a mut Collected,
    ) -> Result<Stage<'a>, Outcome> {
        let (sender, events) = channel();
        let mut roles = Vec::with_capacity(spec.roles.len());
        for role in &spec.roles {
            let process = arena
                .launch(role.launch.clone(), sender.clone())
                .map_err(|e| failed(&role.name, e.to_string()))?;
            let verifies = spec.workload.gate.role == role.name;
            let session = Session::new(setup(spec, role), verifies, spec.limits, monotonic_ns());
            collected.cpus(role);
            roles.push(Role {
                name: role.name.clone(),
                process,
                pid: None,
                session,
                verified: None,
                progress: None,
                meter: None,
                freezing: false,
                memory_limit: role.launch.memory_limit_bytes.is_some(),
                ended: None,
            });
        }
        let held_before = roles.len();
        Ok(Stage { roles, held_before, events, cancel, collected })
    }

    /// Sets the roles up one after the other, receivers first: a role that starts immediately must not include its
    /// peer's start in its times.
    pub(super) fn until_ready(&mut self) -> Result<(), Outcome> {
        for i in (0..self.roles.len()).rev() {
            self.held_before = i;
            self.roles[i].session.expect_ready(monotonic_ns());
            self.pump(None, |roles| *roles[i].session.state() != State::AwaitReady)?;
        }
        Ok(())
    }

    pub(super) fn until_connected(&mut self) -> Result<(), Outcome> {
        let now = monotonic_ns();
        self.roles.iter_mut().for_each(|r| r.session.expect_connected(now));
        self.pump(None, |roles| roles.iter().all(|r| *r.session.state() != State::AwaitConnected))
    }

    pub(super) fn start(&mut self, phase: Phase) {
        // Receivers first: they are later in the workload's order.
        for i in (0..self.roles.len()).rev() {
            self.roles[i].session.start(monotonic_ns(), phase);
            self.flush();
        }
    }

    /// Waits for `verified`. If it is late, the roles are asked for their progress, which becomes part of the error.
    pub(super) fn until_verified(
        &mut self,
        role: &str,
        expected: u64,
        limit: Duration,
    ) -> Result<Option<Verified>, Outcome> {
        let is_quiet = |roles: &[Role]| roles.iter().all(|r| r.session.is_quiet());
        let ask = nanoseconds(limit.mul_f64(ASK_AFTER));
        self.pump(Some(monotonic_ns().saturating_add(ask)), is_quiet)?;
        if !is_quiet(&self.roles) {
            let now = monotonic_ns();
            self.roles.iter_mut().for_each(|r| _ = r.session.mark(now, PROGRESS_MARK));
            self.pump(None, is_quiet).map_err(|halt| self.with_progress(halt, role, expected))?;
        }
        Ok(self.roles.iter().find(|r| r.name == role).and_then(|r| r.verified.clone()))
    }

    /// Adds the message counters of all roles to the error if the role that must send `verified` was silent.
    fn with_progress(&self, halt: Outcome, gate: &str, expected: u64) -> Outcome {
        let silent =
            |r: &Role| r.name == gate && matches!(r.session.state(), State::Failed(Fault::Silent { .. }));
        match halt {
            Outcome::Failed { role, mut reason, stderr } if self.roles.iter().any(silent) => {
                for r in &self.roles {
                    let Some(count) = r.progress else { continue };
                    if r.name == gate {
                        reason.push_str(&format!("; {count} of {expected} messages have arrived"));
                    } else {
                        reason.push_str(&format!("; the {} counts {count}", r.name));
                    }
                }
                Outcome::Failed { role, reason, stderr }
            }
            other => other,
        }
    }

    pub(super) fn sleep(&mut self, time: Duration) -> Result<(), Outcome> {
        let until = monotonic_ns().saturating_add(nanoseconds(time));
        self.pump(Some(until), |_| false)
    }

    /// The process of each role, as numbered on this host.
    pub(super) fn processes(&self) -> Vec<(String, i32)> {
        self.roles.iter().filter_map(|r| Some((r.name.clone(), r.pid?))).collect()
    }

    /// Requests the counters of every role and waits for them.
    pub(super) fn mark(&mut self, id: u64) -> Result<(), Outcome> {
        let now = monotonic_ns();
        self.roles.iter_mut().for_each(|r| _ = r.session.mark(now, id));
        self.pump(None, |roles| roles.iter().all(|r| r.session.is_quiet()))
    }

    pub(super) fn meter(&mut self, id: u64, deep: bool) -> Result<(), Outcome> {
        for role in &mut self.roles {
            // The last event of an ended role ends the wait.
            let _ = role.process.meter(id, deep);
            role.meter = Some(id).filter(|_| role.ended.is_none());
        }
        self.pump(None, |roles| roles.iter().all(|r| r.meter.is_none()))
    }

    /// Freezes the roles, senders first, so that no sender fills the socket of a frozen receiver; or thaws them,
    /// receivers first.
    pub(super) fn freeze(&mut self, frozen: bool) -> Result<(), Outcome> {
        let count = self.roles.len();
        for i in (0..count).map(|i| if frozen { i } else { count - 1 - i }) {
            let role = &mut self.roles[i];
            // The last event of an ended role ends the wait.
            let _ = role.process.freeze(frozen);
            role.freezing = role.ended.is_none();
            self.pump(None, |roles| !roles[i].freezing)?;
        }
        Ok(())
    }

    /// Stops the roles one after the other, in the workload's order.
    pub(super) fn stop(&mut self) -> Result<(), Outcome> {
        for i in 0..self.roles.len() {
            self.roles[i].session.stop(monotonic_ns());
            self.pump(None, |roles| roles[i].session.is_over())?;
        }
        Ok(())
    }

    /// Checks the data collected so far. A failure ends all roles and has the stderr of the role at fault.
    pub(super) fn check(
        &mut self,
        check: impl FnOnce(&Collected) -> Result<(), Outcome>,
    ) -> Result<(), Outcome> {
        match check(self.collected) {
            Err(Outcome::Failed { role, reason, .. }) => {
                self.end_all();
                let stderr = self.roles.iter().find(|r| r.name == role).map_or(String::new(), Role::stderr);
                Err(Outcome::Failed { role, reason, stderr })
            }
            checked => checked,
        }
    }

    fn end_all(&mut self) {
        for role in &mut self.roles {
            let _ = role.process.kill();
        }
        self.drain(KILL_LIMIT, |roles| roles.iter().all(|r| r.ended.is_some()));
    }

    /// Drives processes and conversations until `done`, until a point in time, or until an error.
    fn pump(&mut self, until_ns: Option<u64>, done: impl Fn(&[Role]) -> bool) -> Result<(), Outcome> {
        loop {
            self.flush();
            if let Some(first) = self.roles.iter().position(|r| is_bad(r.session.state())) {
                return Err(self.halt(first));
            }
            if done(&self.roles) {
                return Ok(());
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Outcome::Interrupted);
            }
            let now = monotonic_ns();
            if until_ns.is_some_and(|until| now >= until) {
                return Ok(());
            }
            let deadline = self.roles.iter().filter_map(|r| r.session.next_deadline()).chain(until_ns).min();
            let wait = deadline.map_or(CANCEL_CHECK, |d| Duration::from_nanos(d.saturating_sub(now)));
            match self.events.recv_timeout(wait.min(CANCEL_CHECK)) {
                Ok((role, event)) => self.on_event(role, event),
                Err(RecvTimeoutError::Timeout) => {
                    let now = monotonic_ns();
                    self.roles.iter_mut().for_each(|r| r.session.handle_timeout(now));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed("", "every agent has ended".to_owned()));
                }
            }
        }
    }

    /// Sends messages, forwards signals and handles events until none are left.
    fn flush(&mut self) {
        loop {
            let mut idle = true;
            for i in self.held_before..self.roles.len() {
                while let Some(event) = self.roles[i].session.poll_event() {
                    idle = false;
                    self.on_session_event(i, event);
                }
                let role = &mut self.roles[i];
                while let Some(line) = role.session.poll_transmit() {
                    idle = false;
                    if let Err(e) = role.process.send_line(&line) {
                        // The agent has ended; its last event has the reason.
                        tracing::debug!(role = role.name, error = %e, "line not sent");
                    }
                }
            }
            if idle {
                return;
            }
        }
    }

    fn on_session_event(&mut self, i: usize, event: Event) {
        let now = monotonic_ns();
        let name = self.roles[i].name.clone();
        match event {
            Event::Ready(implementation) => {
                self.collected.implementations.insert(name, implementation);
            }
            Event::Signal { to, body } => {
                if let Some(other) = self.roles.iter_mut().find(|r| r.name == to) {
                    other.session.deliver_signal(&name, body);
                } else {
                    let known: Vec<&str> = self.roles.iter().map(|r| r.name.as_str()).collect();
                    let known = known.join(", ");
                    self.roles[i].session.handle_unknown_role(to, known);
                }
            }
            Event::Connected(setup_ns) => self.collected.setups(&name, &setup_ns, now),
            Event::Counters(counters) if counters.id == PROGRESS_MARK => {
                self.roles[i].progress = counters.values.get(MESSAGES).copied();
            }
            Event::Counters(counters) => self.collected.counters(&name, &counters),
            Event::Verified(verified) => self.roles[i].verified = Some(verified),
            Event::Result(result) => self.collected.result(&name, result, now),
        }
    }

    fn on_event(&mut self, index: RoleIndex, event: AgentEvent) {
        let now = monotonic_ns();
        let Some(role) = self.roles.get_mut(index) else { return };
        match event {
            AgentEvent::Started { pid, notes, memory_limited } => {
                role.pid = Some(pid);
                if role.memory_limit && !memory_limited {
                    role.session.handle_exit(None, "memory limit not enforced: no memory cgroup is writable");
                }
                self.collected.notes.extend(notes);
            }
            AgentEvent::Line { text } => role.session.handle_line(now, &text),
            AgentEvent::Meter { id, snapshot } => {
                self.collected.meter(&role.name, id, &snapshot);
                role.meter = role.meter.filter(|wanted| *wanted != id);
            }
            AgentEvent::Frozen { by, .. } => {
                role.freezing = false;
                match by {
                    Ok(how) => self.collected.froze(how),
                    Err(why) => {
                        role.session.handle_exit(None, &format!("the lab could not freeze it: {why}"))
                    }
                }
            }
            AgentEvent::Flood { reason } => role.session.handle_exit(None, &reason),
            AgentEvent::Exited(exit) => {
                match exit.by {
                    // An end caused by the lab is not the contender's fault.
                    EndedBy::Lab => {}
                    EndedBy::Itself if exit.left_behind > 0 => {
                        let what =
                            format!("{}, leaving {} process(es) behind", exit.reason, exit.left_behind);
                        role.session.handle_exit(None, &what);
                    }
                    _ => role.session.handle_exit(exit.code, &exit.reason),
                }
                if let Some(usage) = &exit.usage {
                    self.collected.usage(&role.name, usage, now);
                }
                role.end(exit.stderr);
            }
            AgentEvent::Failed { reason } => {
                role.session.handle_exit(None, &reason);
                role.end(String::new());
            }
        }
    }

    /// Ends all roles. The result names the first role at fault and the errors of the others.
    fn halt(&mut self, first: usize) -> Outcome {
        self.drain(LAST_WORDS, |roles| roles.iter().all(|r| r.ended.is_some()));
        if let State::Unsupported(reason) = self.roles[first].session.state() {
            return Outcome::Skipped { role: self.roles[first].name.clone(), reason: reason.clone() };
        }
        // A crash explains the errors of the peer.
        let crashed =
            self.roles.iter().position(|r| matches!(r.session.state(), State::Failed(f) if f.is_death()));
        let at_fault = crashed.unwrap_or(first);
        self.end_all();
        let reason_of = |r: &Role| match r.session.state() {
            State::Failed(fault) => Some(fault.to_string()),
            _ => None,
        };
        let role = &self.roles[at_fault];
        let mut reason = reason_of(role).unwrap_or_default();
        for (i, other) in self.roles.iter().enumerate() {
            if let Some(also) = reason_of(other).filter(|_| i != at_fault) {
                reason = format!("{reason}; the {} too: {also}", other.name);
            }
        }
        Outcome::Failed { role: role.name.clone(), reason, stderr: role.stderr() }
    }

    /// Handles events for a while, or until `done`.
    fn drain(&mut self, time: Duration, done: impl Fn(&[Role]) -> bool) {
        let until = monotonic_ns() + nanoseconds(time);
        while !done(&self.roles) {
            let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
            match self.events.recv_timeout(left) {
                Ok((role, event)) => self.on_event(role, event),
                Err(_) => return,
            }
        }
    }
}

fn is_bad(state: &State) -> bool {
    matches!(state, State::Failed(_) | State::Unsupported(_))
}
