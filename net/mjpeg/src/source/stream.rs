//! Pictures from a stream of bytes: a pipe, stdin, a file, a child process.
//!
//! | does | does not |
//! |---|---|
//! | take JPEG files one after the other, and multipart/x-mixed-replace, from any descriptor that can be read | speak HTTP: `curl -sN URL` as a child process does |
//! | go on behind what is damaged or no picture | wait longer than [`SOURCE_WAIT`] in one call |
//! | run a command, end it with itself, and tell what it said when it failed | link GStreamer: see [`StreamSource::gstreamer`] |

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

/// So many bytes without a picture are told.
const MAX_LEFT_OUT_BYTES: u64 = 2 * MAX_PICTURE_BYTES as u64;

/// Pictures of a stream. It ends when the stream does.
#[derive(Debug)]
pub struct StreamSource {
    name: String,
    stream: File,
    timing: Timing,
    pictures: Pictures,
    has_ended: bool,
    had_picture: bool,
    /// Bytes left out when that they are so many was last told, or the last picture found.
    skipped_bytes: u64,
    child: Option<Child>,
}

impl StreamSource {
    /// Reads from a descriptor; `name` is for messages. Pictures come when they come ([`Timing::Live`]), but for a plain file.
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
            let reason = "a terminal gives no pictures: send JPEG files into it by a pipe";
            return Err(SourceError::unusable(name, reason.to_owned()));
        }
        let stream = stdin.as_fd().try_clone_to_owned().map_err(|error| SourceError::io(name, error))?;
        Ok(Self::new(name, stream))
    }

    /// Reads a file, or a named pipe, for whose writer is waited.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        // Else opening a pipe would wait for its writer, and Ctrl-C not be heard.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        Ok(Self::new(&name, opened.map_err(|error| SourceError::io(&name, error))?))
    }

    /// Reads what a command writes to its stdout; `sh` runs it. It is ended with this source, with all that it has started and
    /// that has stayed in its process group: by SIGTERM, and SIGKILL half a second later.
    ///
    /// # Errors
    /// It cannot be started. That it failed is told by [`next`](Source::next), with the end of what it wrote to stderr.
    pub fn command(command: &str) -> Result<Self, SourceError> {
        let name = format!("exec:{command}");
        let (child, stdout) = Child::start(command).map_err(|error| SourceError::io(&name, error))?;
        let mut source = Self::new(name, stdout);
        source.child = Some(child);
        Ok(source)
    }

    /// Reads what a GStreamer pipeline gives, such as `v4l2src ! image/jpeg,width=1280,height=720` or
    /// `videotestsrc is-live=true ! video/x-raw,format=I420 ! jpegenc`, as typed to a shell. It is run by `gst-launch-1.0`, which has to be installed.
    ///
    /// Why as a child process and not by its libraries: nothing is linked and nothing needs headers to be built, its memory
    /// is its own, and a plugin that crashes takes nobody with it. What it costs is one copy of each JPEG file through a pipe.
    ///
    /// # Errors
    /// As with [`command`](Self::command).
    pub fn gstreamer(pipeline: &str) -> Result<Self, SourceError> {
        let mut source = Self::command(&format!("exec gst-launch-1.0 -q {pipeline} ! fdsink fd=1"))?;
        source.name = format!("gstreamer:{pipeline}");
        Ok(source)
    }

    /// Says when its pictures come, where it is known better.
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Waits until there is something to read. Whether there is.
    fn wait(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let stderr = self.child.as_ref().and_then(Child::stderr);
            let [is_stream_ready, is_stderr_ready] = poll([Some(self.stream.as_fd()), stderr], left)?;
            if is_stderr_ready && let Some(child) = &mut self.child {
                child.hear();
            }
            if is_stream_ready || left.is_zero() {
                return Ok(is_stream_ready);
            }
        }
    }

    /// Reads. False: nothing came.
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

    /// How a stream without another picture has ended.
    fn end(&mut self) -> Result<Next, SourceError> {
        let (failure, said) = self.child.take().map_or((None, String::new()), Child::end);
        let reason = match failure {
            Some(failure) => failure,
            None if !self.had_picture => "it ended without a JPEG picture".to_owned(),
            None => return Ok(Next::End),
        };
        let said = if said.is_empty() { said } else { format!("; it said:\n{said}") };
        // It has been told, and is the end from now on.
        self.had_picture = true;
        Err(SourceError::unusable(&self.name, format!("{reason}{said}")))
    }

    /// What is read endlessly and has no picture is told, once in so many bytes.
    fn check_left_out(&mut self) -> Result<(), SourceError> {
        let bytes = self.pictures.skipped_bytes();
        if bytes - self.skipped_bytes <= MAX_LEFT_OUT_BYTES {
            return Ok(());
        }
        self.skipped_bytes = bytes;
        let reason = format!("{} MiB without a JPEG picture: is it motion JPEG?", MAX_LEFT_OUT_BYTES >> 20);
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
            self.check_left_out()?;
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
