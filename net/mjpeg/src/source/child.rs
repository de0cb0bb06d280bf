//! Child processes whose stdout is read. They are ended with their source.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{self, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Time for a command to exit after the end of its output, or after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// Interval of checks whether a command has exited.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// Number of bytes kept from the end of stderr.
const STDERR_BYTES: usize = 2048;

/// A shell command in its own process group. Dropping it ends the group.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    stderr: Option<ChildStderr>,
    /// The end of its stderr.
    stderr_tail: Vec<u8>,
    /// Whether it was reaped; its process ID may then be reused.
    is_reaped: bool,
}

impl Child {
    pub(super) fn start(command: &str) -> io::Result<(Self, ChildStdout)> {
        let mut process = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let stdout = process.stdout.take().expect("stdout is piped");
        let stderr = process.stderr.take();
        Ok((Self { process, stderr, stderr_tail: Vec::new(), is_reaped: false }, stdout))
    }

    /// Its stderr for polling; `None` after its end.
    pub(super) fn stderr(&self) -> Option<BorrowedFd<'_>> {
        self.stderr.as_ref().map(AsFd::as_fd)
    }

    /// Reads from stderr once. Does not block if it is ready.
    pub(super) fn read_stderr(&mut self) {
        let mut bytes = [0; STDERR_BYTES];
        let count = self.stderr.as_mut().and_then(|stderr| stderr.read(&mut bytes).ok()).unwrap_or(0);
        if count == 0 {
            self.stderr = None;
        }
        self.stderr_tail.extend_from_slice(&bytes[..count]);
        let surplus = self.stderr_tail.len().saturating_sub(STDERR_BYTES);
        self.stderr_tail.drain(..surplus);
    }

    /// Ends the command after the end of its output. Returns its failure, if any, and the end of its stderr.
    pub(super) fn end(mut self) -> (Option<String>, String) {
        let has_exited = self.exits_within(GRACE);
        while poll([self.stderr(), None], Duration::ZERO).is_ok_and(|[is_ready, _]| is_ready) {
            self.read_stderr();
        }
        let status = self.kill();
        let failed = status.ok().filter(|status| has_exited && !status.success());
        // Remove control characters, which could affect a terminal.
        let is_shown = |c: &char| *c == '\n' || !c.is_control();
        let stderr = String::from_utf8_lossy(&self.stderr_tail).trim().chars().filter(is_shown).collect();
        (failed.map(|status| format!("the command failed with {status}")), stderr)
    }

    /// Whether it exits within a time. It is not reaped, so that its process group ID stays valid.
    fn exits_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while let Ok(None) = waitid(WaitId::Pid(self.group()), options) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        true
    }

    /// Ends the process group and reaps the command.
    fn kill(&mut self) -> io::Result<process::ExitStatus> {
        if !self.exits_within(Duration::ZERO) {
            // The group may have ended already.
            let _ = kill_process_group(self.group(), Signal::TERM);
            self.exits_within(GRACE);
        }
        let _ = kill_process_group(self.group(), Signal::KILL);
        self.is_reaped = true;
        self.process.wait()
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = self.kill();
        }
    }
}

/// Waits until one of two descriptors is readable or at its end. Returns which.
pub(super) fn poll(descriptors: [Option<BorrowedFd<'_>>; 2], time: Duration) -> io::Result<[bool; 2]> {
    let time = Timespec::try_from(time).expect("the timeout is short");
    let mut list: Vec<PollFd<'_>> =
        descriptors.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match rustix::event::poll(&mut list, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = list.iter().map(|descriptor| !descriptor.revents().is_empty());
    Ok(descriptors.map(|descriptor| descriptor.is_some() && ready.next() == Some(true)))
}
