//! A command whose stdout is read, ended with whoever started it.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{self, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long a command whose output has ended may take to end itself, and one that was asked to end.
const GRACE: Duration = Duration::from_millis(500);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(5);
/// Of what it wrote to stderr so much is kept, from the end.
const HEARD_BYTES: usize = 2048;

/// A shell that runs a command, in a process group of its own. Ends all of it when dropped.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    stderr: Option<ChildStderr>,
    /// The last of what it wrote there.
    heard: Vec<u8>,
    /// Its number, and that of its group, are somebody else's by now.
    is_over: bool,
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
        let stdout = process.stdout.take().expect("stdout was asked for");
        let stderr = process.stderr.take();
        Ok((Self { process, stderr, heard: Vec::new(), is_over: false }, stdout))
    }

    /// To be waited for; `None` once it is closed.
    pub(super) fn stderr(&self) -> Option<BorrowedFd<'_>> {
        self.stderr.as_ref().map(AsFd::as_fd)
    }

    /// Reads from stderr once: does not wait if it was said to be ready.
    pub(super) fn hear(&mut self) {
        let mut bytes = [0; HEARD_BYTES];
        let count = self.stderr.as_mut().and_then(|stderr| stderr.read(&mut bytes).ok()).unwrap_or(0);
        if count == 0 {
            self.stderr = None;
        }
        self.heard.extend_from_slice(&bytes[..count]);
        let surplus = self.heard.len().saturating_sub(HEARD_BYTES);
        self.heard.drain(..surplus);
    }

    /// Its output has ended: how it failed, if it did, and the last of what it wrote to stderr.
    pub(super) fn end(mut self) -> (Option<String>, String) {
        let by_itself = self.has_ended_within(GRACE);
        while poll([self.stderr(), None], Duration::ZERO).is_ok_and(|[is_ready, _]| is_ready) {
            self.hear();
        }
        let status = self.kill();
        let failed = status.ok().filter(|status| by_itself && !status.success());
        // It may say anything, also what would do something to a terminal.
        let is_shown = |c: &char| *c == '\n' || !c.is_control();
        let said = String::from_utf8_lossy(&self.heard).trim().chars().filter(is_shown).collect();
        (failed.map(|status| format!("it failed with {status}")), said)
    }

    /// Whether it is over. It is left as it is, so that its group keeps its number.
    fn has_ended_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while let Ok(None) = waitid(WaitId::Pid(self.group()), options) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Ends it, and what is left of its group.
    fn kill(&mut self) -> io::Result<process::ExitStatus> {
        if !self.has_ended_within(Duration::ZERO) {
            // That there is nobody any more is fine.
            let _ = kill_process_group(self.group(), Signal::TERM);
            self.has_ended_within(GRACE);
        }
        let _ = kill_process_group(self.group(), Signal::KILL);
        self.is_over = true;
        self.process.wait()
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.kill();
        }
    }
}

/// Waits until one of two descriptors can be read, or has ended. Which.
pub(super) fn poll(descriptors: [Option<BorrowedFd<'_>>; 2], time: Duration) -> io::Result<[bool; 2]> {
    let time = Timespec::try_from(time).expect("so short a time has a form");
    let mut list: Vec<PollFd<'_>> =
        descriptors.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match rustix::event::poll(&mut list, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = list.iter().map(|descriptor| !descriptor.revents().is_empty());
    Ok(descriptors.map(|descriptor| descriptor.is_some() && ready.next() == Some(true)))
}
