//! Tools as child processes: in their own process group, with line-wise output, ended on request.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::limits::{DRAIN_LIMIT, KILL_GRACE, LINES_QUEUED_MAX, POLL, TOOL_LINE_BYTES_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Why a tool did not finish.
#[derive(Debug)]
pub(super) enum Stop {
    Start(io::Error),
    Cancelled,
    TimeLimit,
    /// The generated file exceeds its limit.
    TooLong,
}

/// When a tool must end.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) cancel: &'a AtomicBool,
    pub(super) deadline: Instant,
    /// A generated file and its limit in bytes.
    file: Option<(&'a Path, u64)>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cancel: &'a AtomicBool, limit: Duration) -> Self {
        Self { cancel, deadline: Instant::now() + limit, file: None }
    }

    pub(super) fn making(self, file: &'a Path, bytes_max: u64) -> Self {
        Self { file: Some((file, bytes_max)), ..self }
    }

    /// Fails after cancellation, the time limit or the file limit.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stop::Cancelled);
        }
        let is_too_long = |(file, most): (&Path, u64)| fs::metadata(file).is_ok_and(|file| file.len() > most);
        if self.file.is_some_and(is_too_long) {
            return Err(Stop::TooLong);
        }
        if Instant::now() >= self.deadline { Err(Stop::TimeLimit) } else { Ok(()) }
    }
}

/// Runs a tool to its end and passes on each line of output.
pub(super) fn run(
    command: &mut Command,
    watch: Watch<'_>,
    on_line: &mut dyn FnMut(Stream, &str),
) -> Result<ExitStatus, Stop> {
    watch.check()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut group = Group { child: command.spawn().map_err(Stop::Start)?, reaped: false };
    let lines = group.lines();
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        watch.check()?;
        match lines.recv_timeout(POLL) {
            Ok((stream, line)) => on_line(stream, &line),
            Err(RecvTimeoutError::Timeout) => {}
            // Both pipes are closed; the tool itself may take a moment longer.
            Err(RecvTimeoutError::Disconnected) => match ended {
                Some((status, _)) => return Ok(status),
                None => thread::sleep(POLL / 10),
            },
        }
        if let Some((status, at)) = ended {
            if at.elapsed() > DRAIN_LIMIT {
                // A child of the tool still holds its pipe.
                group.signal(Signal::SIGKILL);
                return Ok(status);
            }
        } else if let Some(status) = group.ended().map_err(Stop::Start)? {
            ended = Some((status, Instant::now()));
        }
    }
}

/// Runs a tool for a short query. Returns the first line of its reply, or a note that it did not finish in time; none
/// if it is missing, failed, or printed nothing.
pub(crate) fn first_line(program: &str, argument: &str, limit: Duration) -> Option<String> {
    let never = AtomicBool::new(false);
    let mut first = None;
    let ended = run(Command::new(program).arg(argument), Watch::new(&never, limit), &mut |stream, line| {
        if stream == Stream::Stdout && first.is_none() {
            first = Some(line.trim().to_owned());
        }
    });
    match ended {
        Ok(status) if status.success() => first.filter(|line| !line.is_empty()),
        Err(Stop::TimeLimit) => Some(format!("no answer to {argument} in {} s", limit.as_secs_f64())),
        _ => None,
    }
}

/// A child with its process group; ended when dropped.
struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    /// The lines of both pipes, until both are closed.
    fn lines(&mut self) -> Receiver<(Stream, String)> {
        let (sender, receiver) = sync_channel(LINES_QUEUED_MAX);
        if let Some(pipe) = self.child.stdout.take() {
            forward(Stream::Stdout, pipe, sender.clone());
        }
        if let Some(pipe) = self.child.stderr.take() {
            forward(Stream::Stderr, pipe, sender);
        }
        receiver
    }

    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.reaped |= status.is_some();
        Ok(status)
    }

    fn signal(&self, signal: Signal) {
        if let Ok(id) = i32::try_from(self.child.id()) {
            // It fails if the group has already ended.
            let _ = killpg(Pid::from_raw(id), signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::SIGTERM);
        let end = Instant::now() + KILL_GRACE;
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(POLL / 5);
        }
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Sends the lines of a pipe until it is closed or has no receiver. A carriage return also ends a line, since tools
/// use it for progress.
fn forward(stream: Stream, pipe: impl Read + Send + 'static, sender: SyncSender<(Stream, String)>) {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            let chunk = match pipe.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let end = chunk.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let part = &chunk[..end.unwrap_or(chunk.len())];
            line.extend_from_slice(&part[..part.len().min(TOOL_LINE_BYTES_MAX - line.len())]);
            let used = part.len() + usize::from(end.is_some());
            pipe.consume(used);
            if end.is_some() && !line.is_empty() {
                if sender.send((stream, String::from_utf8_lossy(&line).into_owned())).is_err() {
                    return;
                }
                line.clear();
            }
        }
        if !line.is_empty() {
            let _ = sender.send((stream, String::from_utf8_lossy(&line).into_owned()));
        }
    });
}
