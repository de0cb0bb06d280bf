//! The agent's side of its contender: the pipes and the supervisor.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::PollFlags;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, dup2_stdin, dup2_stdout, pipe2};

use super::stream::{LineBuffer, Pipe, Read};
use super::supervisor::{self, Ends};
use crate::error::failed;
use crate::limits::{MAX_CONTROL_LINE_BYTES, MAX_UNREAD_STDIN_BYTES, READ_BYTES};
use crate::messages::{Launch, Report};
use crate::meter::host_pid_of;
use crate::sys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Lab,
    Stdin,
    Stdout,
    Stderr,
    Supervisor,
}

#[derive(Debug)]
pub(crate) struct Contender {
    /// Its process id in our PID namespace.
    pub(crate) pid: i32,
    /// Notes on its isolation.
    pub(crate) notes: Vec<String>,
    pub(crate) supervisor: Pid,
    stdin: Option<Pipe>,
    pub(crate) stdout: Option<Pipe>,
    pub(crate) stderr: Option<Pipe>,
    reports: Option<Pipe>,
    report_lines: LineBuffer,
    lifeline: Option<OwnedFd>,
    unsent: VecDeque<u8>,
}

impl Contender {
    pub(crate) fn start(launch: &Launch, entrances: Vec<File>) -> Result<Self, String> {
        // If the supervisor dies, its orphans are reparented to this process.
        set_child_subreaper(true).map_err(failed("PR_SET_CHILD_SUBREAPER"))?;
        let mut notes = Vec::new();
        let private_pids = launch.spec.private_pids
            && unshare(CloneFlags::CLONE_NEWPID)
                .inspect_err(|errno| {
                    notes.push(format!("no PID namespace ({errno}): processes are killed one by one"))
                })
                .is_ok();
        if private_pids {
            notes.push("PID namespace".to_owned());
        }
        let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(failed("pipe"));
        let (stdin, stdout, stderr, report, lifeline) = (pipe()?, pipe()?, pipe()?, pipe()?, pipe()?);
        let ends = [stdin.0, stdout.1, stderr.1, report.1, lifeline.0];
        let ours = [stdin.1, stdout.0, stderr.0, report.0];
        match sys::fork_single_threaded().map_err(failed("fork"))? {
            ForkResult::Child => {
                // Our ends must not stay open in the child, or end of file would never be seen.
                drop((ours, lifeline.1));
                become_supervisor(launch, ends, entrances, private_pids)
            }
            ForkResult::Parent { child } => {
                drop((ends, entrances));
                let [stdin, stdout, stderr, reports] = ours.map(Pipe::new);
                let mut contender = Self {
                    pid: 0,
                    notes,
                    supervisor: child,
                    stdin: stdin.ok(),
                    stdout: stdout.ok(),
                    stderr: stderr.ok(),
                    reports: reports.ok(),
                    report_lines: LineBuffer::new(MAX_CONTROL_LINE_BYTES),
                    lifeline: Some(lifeline.1),
                    unsent: VecDeque::new(),
                };
                contender.await_start().inspect_err(|_| contender.reap_supervisor())?;
                Ok(contender)
            }
        }
    }

    fn await_start(&mut self) -> Result<(), String> {
        let mut buffer = [0; READ_BYTES];
        while let Some(reports) = &self.reports {
            let mut fds = [nix::poll::PollFd::new(reports.as_fd(), PollFlags::POLLIN)];
            let _ = nix::poll::poll(&mut fds, nix::poll::PollTimeout::NONE);
            match self.read_report(&mut buffer) {
                Some(Report::Started(started)) => {
                    let (pid, note) = started?;
                    self.notes.extend(note);
                    // A process that has already ended has no number outside.
                    self.pid = host_pid_of(self.supervisor.as_raw(), pid).unwrap_or(0);
                    return Ok(());
                }
                Some(Report::Ended { .. }) | None => {}
            }
        }
        Err("the supervisor ended before it started anything".to_owned())
    }

    pub(crate) fn is_supervised(&self) -> bool {
        self.reports.is_some()
    }

    pub(crate) fn has_output(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let stdin = self.stdin.iter().filter(|_| !self.unsent.is_empty());
        let readable = [
            (Source::Stdout, &self.stdout),
            (Source::Stderr, &self.stderr),
            (Source::Supervisor, &self.reports),
        ];
        stdin.map(|pipe| (Source::Stdin, pipe.as_fd(), PollFlags::POLLOUT)).chain(
            readable
                .into_iter()
                .filter_map(|(source, pipe)| Some((source, pipe.as_ref()?.as_fd(), PollFlags::POLLIN))),
        )
    }

    /// Queues a line for stdin and writes as much as possible. The error names the exceeded limit.
    pub(crate) fn queue_line(&mut self, text: &str) -> Result<(), String> {
        if self.stdin.is_none() {
            // The contender closed its stdin. If it still owes a reply, the time limit expires.
            return Ok(());
        }
        if self.unsent.len() + text.len() >= MAX_UNREAD_STDIN_BYTES {
            return Err(format!("more than {MAX_UNREAD_STDIN_BYTES} bytes on stdin left unread"));
        }
        self.unsent.extend(text.as_bytes());
        self.unsent.push_back(b'\n');
        self.write_stdin();
        Ok(())
    }

    pub(crate) fn write_stdin(&mut self) {
        let written: io::Result<()> = self.stdin.as_ref().map_or(Ok(()), |pipe| pipe.write(&mut self.unsent));
        if written.is_err() {
            self.stdin = None;
            self.unsent.clear();
        }
    }

    /// The supervisor's next complete report. If `Ended` arrives together with `Started`, it is read when end of file
    /// wakes the agent.
    pub(crate) fn read_report(&mut self, buffer: &mut [u8; READ_BYTES]) -> Option<Report> {
        if let Read::Bytes(count) = read_or_close(&mut self.reports, buffer) {
            self.report_lines.push(&buffer[..count]);
        }
        let line = self.report_lines.take_line().ok().flatten()?;
        serde_json::from_slice(&line).ok()
    }

    /// Tells the supervisor to kill all processes; false if that was done before.
    pub(crate) fn cut_lifeline(&mut self) -> bool {
        self.lifeline.take().is_some()
    }

    /// Waits for the supervisor, whose end also ends its PID namespace, and kills processes that were reparented to
    /// this one.
    pub(crate) fn reap_supervisor(&mut self) {
        self.lifeline = None;
        while waitpid(self.supervisor, None) == Err(Errno::EINTR) {}
        super::kill_own_descendants();
        while let Ok(Some(_)) = sys::reap_any() {}
    }
}

pub(super) fn read_or_close(pipe: &mut Option<Pipe>, buffer: &mut [u8; READ_BYTES]) -> Read {
    let read = pipe.as_ref().map_or(Read::End, |pipe| pipe.read(buffer));
    if read == Read::End {
        *pipe = None;
    }
    read
}

/// Never returns, because the stack below it belongs to the agent.
fn become_supervisor(launch: &Launch, ends: Ends, entrances: Vec<File>, private_pids: bool) -> ! {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        // The lab must see end of file on the agent's stdout when the agent ends, and only the agent reads its stdin.
        let null = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        supervisor::run(launch, ends, entrances, private_pids);
        io::Result::Ok(())
    }));
    sys::exit_now(if matches!(ran, Ok(Ok(()))) { 0 } else { 1 })
}
