//! The agent's main loop, between `started` and the last event.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::contender::{Contender, Source, read_or_close};
use super::send;
use super::stream::{FloodGuard, HeadAndTail, LineBuffer, LineTooLong, Read};
use crate::cgroup::Cgroup;
use crate::freezer::Freezer;
use crate::limits::{DRAIN_TIME, KILL_TIME, READ_BYTES, STDERR_HEAD_BYTES, STDERR_TAIL_BYTES};
use crate::messages::{AgentEvent, EndedBy, Exit, LabCommand, Reaped, Report};
use crate::meter::Meter;
use crate::sys;
use netdyno_lab_protocol::limits::LINE_BYTES_MAX;

pub(super) struct Agent {
    contender: Contender,
    meter: Meter,
    freezer: Freezer,
    commands: LineBuffer,
    lines: LineBuffer,
    guard: FloodGuard,
    stderr: HeadAndTail,
    lab_is_there: bool,
    ended_by: EndedBy,
    kill_deadline: Option<Instant>,
    end: Option<Report>,
}

impl Agent {
    /// `commands` may already contain lines that arrived with `launch`.
    pub(super) fn new(contender: Contender, meter: Meter, freezer: Freezer, commands: LineBuffer) -> Self {
        Self {
            contender,
            meter,
            freezer,
            commands,
            lines: LineBuffer::new(LINE_BYTES_MAX),
            guard: FloodGuard::new(),
            stderr: HeadAndTail::new(STDERR_HEAD_BYTES, STDERR_TAIL_BYTES),
            lab_is_there: true,
            ended_by: EndedBy::Itself,
            kill_deadline: None,
            end: None,
        }
    }

    /// Relays until the supervisor and all its processes have ended. Returns the last event.
    pub(super) fn relay(&mut self, cgroup: &Cgroup) -> AgentEvent {
        let mut buffer = [0; READ_BYTES];
        // Lines that arrived with `launch`.
        self.obey();
        while self.contender.is_supervised() {
            for source in self.wait() {
                self.serve(source, &mut buffer);
            }
            if self.kill_deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                cgroup.kill();
                // With it, its PID namespace ends.
                sys::kill_quietly(self.contender.supervisor.as_raw());
                self.kill_deadline = None;
            }
        }
        self.contender.reap_supervisor();
        self.drain(&mut buffer);
        AgentEvent::Exited(Box::new(self.exit(cgroup)))
    }

    fn wait(&self) -> Vec<Source> {
        let stdin = io::stdin();
        let mut watched: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::with_capacity(5);
        if self.lab_is_there {
            watched.push((Source::Lab, stdin.as_fd(), PollFlags::POLLIN));
        }
        watched.extend(self.contender.watched());
        let mut fds: Vec<PollFd<'_>> = watched.iter().map(|&(_, fd, flags)| PollFd::new(fd, flags)).collect();
        let timeout = match self.kill_deadline {
            None => PollTimeout::NONE,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
            }
        };
        match poll(&mut fds, timeout) {
            Err(Errno::EINTR) | Ok(0) => Vec::new(),
            // Cannot happen with so few open descriptors; reading all of them reveals the problem.
            Err(_) => watched.iter().map(|&(source, ..)| source).collect(),
            Ok(_) => {
                let ready = fds.iter().zip(&watched).filter(|(fd, _)| fd.any().unwrap_or(true));
                ready.map(|(_, &(source, ..))| source).collect()
            }
        }
    }

    fn serve(&mut self, source: Source, buffer: &mut [u8; READ_BYTES]) {
        match source {
            Source::Lab => self.read_lab(buffer),
            Source::Stdin => self.contender.write_stdin(),
            Source::Stdout => self.read_stdout(buffer),
            Source::Stderr => {
                if let Read::Bytes(count) = read_or_close(&mut self.contender.stderr, buffer) {
                    self.stderr.push(&buffer[..count]);
                }
            }
            Source::Supervisor => self.end = self.contender.read_report(buffer).or(self.end.take()),
        }
    }

    fn read_lab(&mut self, buffer: &mut [u8; READ_BYTES]) {
        match nix::unistd::read(io::stdin().as_fd(), buffer) {
            Err(Errno::EINTR | Errno::EAGAIN) => return,
            Ok(0) | Err(_) => {
                self.lab_is_there = false;
                return self.end_contender(EndedBy::LabGone);
            }
            Ok(count) => self.commands.push(&buffer[..count]),
        }
        self.obey();
    }

    /// Executes the received commands. A protocol violation by the lab is treated like its end.
    fn obey(&mut self) {
        loop {
            let line = match self.commands.take_line() {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(LineTooLong) => return self.end_contender(EndedBy::LabGone),
            };
            match serde_json::from_slice(&line) {
                Ok(LabCommand::Line { text }) => {
                    if let Err(reason) = self.contender.queue_line(&text) {
                        self.flood(reason);
                    }
                }
                Ok(LabCommand::Meter { id, deep }) => {
                    let snapshot = Box::new(self.meter.read(deep));
                    self.tell(&AgentEvent::Meter { id, snapshot });
                }
                Ok(LabCommand::Freeze { frozen }) => {
                    let done = self.freezer.set(frozen, &self.meter.tree);
                    let by = done.map(|()| self.freezer.name().to_owned()).map_err(|e| e.to_string());
                    self.tell(&AgentEvent::Frozen { frozen, by });
                }
                Ok(LabCommand::Kill) => self.end_contender(EndedBy::Lab),
                Ok(LabCommand::Launch(_)) | Err(_) => self.end_contender(EndedBy::LabGone),
            }
        }
    }

    fn read_stdout(&mut self, buffer: &mut [u8; READ_BYTES]) {
        let count = match read_or_close(&mut self.contender.stdout, buffer) {
            Read::Bytes(count) => count,
            Read::Nothing => return,
            Read::End => {
                if let Some(rest) = self.lines.take_rest() {
                    self.relay_line(&rest);
                }
                return;
            }
        };
        self.lines.push(&buffer[..count]);
        let lines: Result<Vec<_>, _> = std::iter::from_fn(|| self.lines.take_line().transpose()).collect();
        if let Err(reason) = self.guard.admit(count, lines.as_ref().map(Vec::len)) {
            return self.flood(reason);
        }
        lines.iter().flatten().for_each(|line| self.relay_line(line));
    }

    /// Invalid UTF-8 is replaced; the lab then rejects the line as invalid JSON.
    fn relay_line(&mut self, line: &[u8]) {
        self.tell(&AgentEvent::Line { text: String::from_utf8_lossy(line).into_owned() });
    }

    fn flood(&mut self, reason: String) {
        self.contender.stdout = None;
        self.lines = LineBuffer::new(LINE_BYTES_MAX);
        self.end_contender(EndedBy::Flood);
        self.tell(&AgentEvent::Flood { reason });
    }

    fn tell(&mut self, event: &AgentEvent) {
        if send(event).is_err() {
            self.end_contender(EndedBy::LabGone);
        }
    }

    /// Ends the contender; only the first reason is reported.
    fn end_contender(&mut self, by: EndedBy) {
        if self.contender.cut_lifeline() {
            // A frozen v1 cgroup would delay the kill.
            let _ = self.freezer.set(false, &self.meter.tree);
            self.ended_by = by;
            self.kill_deadline = Some(Instant::now() + KILL_TIME);
        }
    }

    /// Reads the remaining output. All writers are dead, so the pipes reach end of file.
    fn drain(&mut self, buffer: &mut [u8; READ_BYTES]) {
        self.kill_deadline = Some(Instant::now() + DRAIN_TIME);
        while self.contender.has_output()
            && self.kill_deadline.is_some_and(|deadline| Instant::now() < deadline)
        {
            for source in self.wait() {
                match source {
                    // Its commands come too late.
                    Source::Lab => self.lab_is_there = false,
                    source => self.serve(source, buffer),
                }
            }
        }
    }

    fn exit(&mut self, cgroup: &Cgroup) -> Exit {
        let (code, signal, usage, left_behind) = match self.end.take() {
            Some(Report::Ended { contender: Reaped { code, signal, usage, .. }, left_behind }) => {
                (code, signal, Some(usage), left_behind)
            }
            _ => (None, None, None, 0),
        };
        let by = if cgroup.memory_kills() > 0 { EndedBy::MemoryLimit } else { self.ended_by };
        let mut reason = match (by, code, signal) {
            (EndedBy::MemoryLimit, ..) => {
                format!("killed: exceeded the memory limit of {}", cgroup.memory_limit)
            }
            (EndedBy::Lab, ..) => "killed by the lab".to_owned(),
            (EndedBy::LabGone, ..) => "killed: the lab ended".to_owned(),
            (EndedBy::Flood, ..) => "killed: printed too much, or did not read its input".to_owned(),
            (EndedBy::Itself, Some(code), _) => format!("exited with code {code}"),
            (EndedBy::Itself, None, Some(signal)) => format!("ended by {}", signal_name(signal)),
            (EndedBy::Itself, None, None) => "ended together with its supervisor".to_owned(),
        };
        if let Some(limit) = cgroup.process_limit_hit() {
            reason.push_str(&format!("; reached the limit of {limit} processes and threads"));
        }
        Exit { code, signal, by, reason, usage, left_behind, stderr: self.stderr.text() }
    }
}

fn signal_name(number: i32) -> String {
    nix::sys::signal::Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string())
}
