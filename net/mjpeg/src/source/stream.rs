//! Pictures from a stream of bytes: a pipe, stdin, a file, a child process.
//!
//! | does | does not |
//! |---|---|
//! | take JPEG files one after the other, and multipart/x-mixed-replace, from any descriptor that can be read | speak HTTP: `curl -sN URL` as a child process does |
//! | go on behind what is damaged or no picture | wait longer than [`SOURCE_WAIT`] in one call |
//! | run a command, end it with itself, and tell what it said when it failed | link GStreamer: see [`StreamSource::gstreamer`] |

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use netdyno_mjpeg_core::{Split, Splitter};
use rustix::fs::OFlags;

use super::child::{Child, poll};
use super::{MAX_PICTURE_BYTES, Next, SOURCE_WAIT, Source, SourceError, Timing};

/// What one read takes at the most, bytes: all that a pipe holds unless it was told otherwise.
const READ_BYTES: usize = 64 << 10;
/// So many bytes without a picture are told.
const MAX_LEFT_OUT_BYTES: u64 = 2 * MAX_PICTURE_BYTES as u64;

/// Pictures of a stream. It ends when the stream does.
#[derive(Debug)]
pub struct StreamSource {
    name: String,
    stream: File,
    timing: Timing,
    splitter: Splitter,
    buffer: Box<[u8]>,
    /// What of the buffer is not yet looked at.
    filled: Range<usize>,
    has_ended: bool,
    pictures: u64,
    /// Bytes left out when the last picture was found, or their number last told.
    left_out_bytes: u64,
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
            splitter: Splitter::new(MAX_PICTURE_BYTES),
            buffer: vec![0; READ_BYTES].into(),
            filled: 0..0,
            has_ended: false,
            pictures: 0,
            left_out_bytes: 0,
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
            return Err(unusable(name, "a terminal gives no pictures: send JPEG files into it by a pipe"));
        }
        let stream = stdin.as_fd().try_clone_to_owned().map_err(|error| failed(name, error))?;
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
        Ok(Self::new(&name, opened.map_err(|error| failed(&name, error))?))
    }

    /// Reads what a command writes to its stdout; `sh` runs it. It is ended with this source, with all that it has started and
    /// that has stayed in its process group: by SIGTERM, and SIGKILL half a second later.
    ///
    /// # Errors
    /// It cannot be started. That it failed is told by [`next`](Source::next), with the end of what it wrote to stderr.
    pub fn command(command: &str) -> Result<Self, SourceError> {
        let name = format!("exec:{command}");
        let (child, stdout) = Child::start(command).map_err(|error| failed(&name, error))?;
        let mut source = Self::new(name, stdout);
        source.child = Some(child);
        Ok(source)
    }

    /// Reads what a GStreamer pipeline gives, such as `v4l2src ! image/jpeg,width=1280,height=720` or
    /// `videotestsrc is-live=true ! jpegenc`, as typed to a shell. It is run by `gst-launch-1.0`, which has to be installed.
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

    /// Fills the buffer, which is empty. False: nothing came. At the end it is empty, too, and that is noted.
    fn fill(&mut self, until: Instant) -> io::Result<bool> {
        if !self.wait(until)? {
            return Ok(false);
        }
        match self.stream.read(&mut self.buffer) {
            Ok(count) => {
                self.filled = 0..count;
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
            None if self.pictures == 0 => "it ended without a JPEG picture".to_owned(),
            None => return Ok(Next::End),
        };
        let said = if said.is_empty() { said } else { format!("; it said:\n{said}") };
        // It has been told, and is the end from now on.
        self.pictures = 1;
        Err(unusable(&self.name, &format!("{reason}{said}")))
    }

    /// Takes note of a picture, or of what is none.
    fn found(&mut self, split: Split) -> Option<Result<Next, SourceError>> {
        let left_out = self.splitter.left_out_bytes();
        let result = match split {
            Split::Picture => {
                self.pictures += 1;
                Ok(Next::Picture)
            }
            Split::TooLong => {
                let rule = format!("a picture of more than {MAX_PICTURE_BYTES} bytes; it is left out");
                Err(unusable(&self.name, &rule))
            }
            Split::More if left_out - self.left_out_bytes > MAX_LEFT_OUT_BYTES => {
                let rule = format!("{MAX_LEFT_OUT_BYTES} bytes without a JPEG picture: is it motion JPEG?");
                Err(unusable(&self.name, &rule))
            }
            Split::More => return None,
        };
        self.left_out_bytes = left_out;
        Some(result)
    }
}

impl Source for StreamSource {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        let until = Instant::now() + SOURCE_WAIT;
        loop {
            let mut rest = &self.buffer[self.filled.clone()];
            let split = self.splitter.split(&mut rest, into);
            self.filled.start = self.filled.end - rest.len();
            if let Some(result) = self.found(split) {
                return result;
            }
            if self.has_ended {
                return self.end();
            }
            if !self.fill(until).map_err(|error| failed(&self.name, error))? || Instant::now() >= until {
                return Ok(Next::Nothing);
            }
            if self.has_ended && self.splitter.finish(into) {
                self.pictures += 1;
                return Ok(Next::Picture);
            }
        }
    }

    fn timing(&self) -> Timing {
        self.timing
    }
}

fn failed(name: &str, error: io::Error) -> SourceError {
    SourceError::Io { name: name.to_owned(), error }
}

fn unusable(name: &str, reason: &str) -> SourceError {
    SourceError::Unusable { name: name.to_owned(), reason: reason.to_owned() }
}
