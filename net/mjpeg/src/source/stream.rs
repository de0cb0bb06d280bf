//! Pictures from a stream of bytes: a pipe, stdin, a file or a child process.
//!
//! | does | does not |
//! |---|---|
//! | read concatenated JPEG files and multipart/x-mixed-replace from any readable descriptor | implement HTTP: use `curl -sN URL` as a child process |
//! | skip damaged pictures and other data | wait longer than [`SOURCE_WAIT`] in one call |
//! | run a command, end it with the source, and report its stderr if it fails | link GStreamer: see [`StreamSource::gstreamer`] |

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::OFlags;

use super::child::{Child, poll};
use super::pictures::Pictures;
use super::{Next, SOURCE_WAIT, Source, SourceError, Timing};
use crate::limits::MAX_PICTURE_BYTES;

/// Number of bytes without a picture that is an error.
const MAX_SKIPPED_BYTES: u64 = 2 * MAX_PICTURE_BYTES as u64;

/// A source that reads a stream until its end.
#[derive(Debug)]
pub struct StreamSource {
    name: String,
    stream: File,
    timing: Timing,
    pictures: Pictures,
    has_ended: bool,
    had_picture: bool,
    /// Number of skipped bytes at the last picture or error.
    skipped_bytes: u64,
    child: Option<Child>,
}

impl StreamSource {
    /// Reads from a descriptor; `name` appears in messages. The timing is [`Timing::Live`], except for regular files.
    pub fn new(name: impl Into<String>, stream: impl Into<OwnedFd>) -> Self {
        let stream = File::from(stream.into());
        let is_file = stream.metadata().is_ok_and(|metadata| metadata.is_file());
        Self {
            name: name.into(),
            stream,
            timing: if is_file { Timing::OnDemand } else { Timing::Live },
            pictures: Pictures::new(),
            has_ended: false,
            had_picture: false,
            skipped_bytes: 0,
            child: None,
        }
    }

    /// Reads stdin.
    ///
    /// # Errors
    /// It is a terminal, or closed.
    pub fn stdin() -> Result<Self, SourceError> {
        let name = "stdin";
        let stdin = io::stdin();
        if stdin.is_terminal() {
            let reason = "stdin is a terminal; pipe JPEG files into it";
            return Err(SourceError::unusable(name, reason.to_owned()));
        }
        let stream = stdin.as_fd().try_clone_to_owned().map_err(|error| SourceError::io(name, error))?;
        Ok(Self::new(name, stream))
    }

    /// Reads a file or a named pipe. For a pipe, it waits for a writer.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        // Without it, opening a pipe would block until there is a writer.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        Ok(Self::new(&name, opened.map_err(|error| SourceError::io(&name, error))?))
    }

    /// Reads the stdout of a shell command. Dropping the source ends its process group by SIGTERM, and by SIGKILL half a second later.
    ///
    /// # Errors
    /// The command cannot be started. [`next`](Source::next) reports a later failure with the end of stderr.
    pub fn command(command: &str) -> Result<Self, SourceError> {
        let name = format!("exec:{command}");
        let (child, stdout) = Child::start(command).map_err(|error| SourceError::io(&name, error))?;
        let mut source = Self::new(name, stdout);
        source.child = Some(child);
        Ok(source)
    }

    /// Reads the output of a GStreamer pipeline, such as `v4l2src ! image/jpeg,width=1280,height=720` or
    /// `videotestsrc is-live=true ! video/x-raw,format=I420 ! jpegenc`, in shell syntax. `gst-launch-1.0` must be installed.
    ///
    /// GStreamer runs as a child process rather than as a library. Building needs no headers, its memory is separate, and a crash of a
    /// plugin does not end this process. The cost is one copy of each JPEG file through a pipe.
    ///
    /// # Errors
    /// See [`command`](Self::command).
    pub fn gstreamer(pipeline: &str) -> Result<Self, SourceError> {
        let mut source = Self::command(&format!("exec gst-launch-1.0 -q {pipeline} ! fdsink fd=1"))?;
        source.name = format!("gstreamer:{pipeline}");
        Ok(source)
    }

    /// Overrides the timing.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Waits until the stream is readable. Returns whether it is.
    fn wait(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let stderr = self.child.as_ref().and_then(Child::stderr);
            let [is_stream_ready, is_stderr_ready] = poll([Some(self.stream.as_fd()), stderr], left)?;
            if is_stderr_ready && let Some(child) = &mut self.child {
                child.read_stderr();
            }
            if is_stream_ready || left.is_zero() {
                return Ok(is_stream_ready);
            }
        }
    }

    /// Reads once. Returns `false` without data.
    fn read(&mut self, until: Instant) -> io::Result<bool> {
        if !self.wait(until)? {
            return Ok(false);
        }
        match self.pictures.read(&mut self.stream) {
            Ok(count) => {
                self.has_ended = count == 0;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Handles the end of the stream.
    fn end(&mut self) -> Result<Next, SourceError> {
        let (failure, stderr) = self.child.take().map_or((None, String::new()), Child::end);
        let reason = match failure {
            Some(failure) => failure,
            None if !self.had_picture => "the stream ended without a JPEG picture".to_owned(),
            None => return Ok(Next::End),
        };
        let stderr = if stderr.is_empty() { stderr } else { format!("; its stderr:\n{stderr}") };
        // Report the failure once; later calls return the end.
        self.had_picture = true;
        Err(SourceError::unusable(&self.name, format!("{reason}{stderr}")))
    }

    /// Fails if the stream has no picture for too long.
    fn check_skipped(&mut self) -> Result<(), SourceError> {
        let bytes = self.pictures.skipped_bytes();
        if bytes - self.skipped_bytes <= MAX_SKIPPED_BYTES {
            return Ok(());
        }
        self.skipped_bytes = bytes;
        let reason = format!(
            "{} MiB without a JPEG picture; check that the stream is Motion JPEG",
            MAX_SKIPPED_BYTES >> 20
        );
        Err(SourceError::unusable(&self.name, reason))
    }
}

impl Source for StreamSource {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        let until = Instant::now() + SOURCE_WAIT;
        loop {
            if self.pictures.next(&self.name, into)? || self.has_ended && self.pictures.finish(into) {
                self.skipped_bytes = self.pictures.skipped_bytes();
                self.had_picture = true;
                return Ok(Next::Picture);
            }
            self.check_skipped()?;
            if self.has_ended {
                return self.end();
            }
            let is_more = self.read(until).map_err(|error| SourceError::io(&self.name, error))?;
            if !is_more || Instant::now() >= until {
                return Ok(Next::Pending);
            }
        }
    }

    fn timing(&self) -> Timing {
        self.timing
    }
}
