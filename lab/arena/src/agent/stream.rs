//! Splits streams into lines, with limits.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::limits::{MAX_LINES_PER_SECOND, MAX_STDOUT_BYTES, READ_BYTES};
use netdyno_lab_protocol::limits::LINE_BYTES_MAX;

#[derive(Debug)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    start: usize,
    /// No newline exists between `start` and this position.
    searched: usize,
    limit: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineTooLong;

impl LineBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, searched: 0, limit }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(chunk);
    }

    pub(crate) fn take_line(&mut self) -> Result<Option<Vec<u8>>, LineTooLong> {
        let newline = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n');
        let end = newline.map_or(self.bytes.len(), |offset| self.searched + offset);
        if end - self.start > self.limit {
            return Err(LineTooLong);
        }
        self.searched = end;
        Ok(newline.map(|_| {
            let line = self.bytes[self.start..end].to_vec();
            self.start = end + 1;
            self.searched = self.start;
            line
        }))
    }

    /// The text after the last newline, at end of file.
    pub(crate) fn take_rest(&mut self) -> Option<Vec<u8>> {
        let rest = self.bytes.split_off(self.start);
        *self = Self::new(self.limit);
        (!rest.is_empty()).then_some(rest)
    }
}

/// Detects a contender that prints more than any correct one does.
#[derive(Debug)]
pub(crate) struct FloodGuard {
    bytes: u64,
    lines: u32,
    second: Instant,
}

impl FloodGuard {
    pub(crate) fn new() -> Self {
        Self { bytes: 0, lines: 0, second: Instant::now() }
    }

    /// Counts bytes and lines that were read; the error names the exceeded limit.
    pub(crate) fn admit(&mut self, bytes: usize, lines: Result<usize, &LineTooLong>) -> Result<(), String> {
        self.bytes += bytes as u64;
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.lines = 0;
        }
        let Ok(lines) = lines else {
            return Err(format!("a line of more than {LINE_BYTES_MAX} bytes on stdout"));
        };
        self.lines = self.lines.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        if self.lines > MAX_LINES_PER_SECOND {
            return Err(format!("more than {MAX_LINES_PER_SECOND} lines within a second on stdout"));
        }
        if self.bytes > MAX_STDOUT_BYTES {
            return Err(format!("more than {MAX_STDOUT_BYTES} bytes on stdout"));
        }
        Ok(())
    }
}

/// Keeps the first and the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_most: usize,
    tail_most: usize,
    left_out: u64,
}

impl HeadAndTail {
    pub(crate) fn new(head_most: usize, tail_most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_most, tail_most, left_out: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let (first, rest) = chunk.split_at(chunk.len().min(self.head_most - self.head.len()));
        self.head.extend(first);
        let last = &rest[rest.len().saturating_sub(self.tail_most)..];
        let surplus = (self.tail.len() + last.len()).saturating_sub(self.tail_most);
        self.tail.drain(..surplus);
        self.tail.extend(last);
        self.left_out += (rest.len() - last.len() + surplus) as u64;
    }

    /// The text, with the number of omitted bytes if there are any.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.left_out > 0 {
            bytes.extend(format!("\n... {} bytes left out ...\n", self.left_out).into_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Our end of a contender's pipe, non-blocking.
#[derive(Debug)]
pub(crate) struct Pipe(OwnedFd);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(usize),
    Nothing,
    End,
}

impl Pipe {
    pub(crate) fn new(fd: OwnedFd) -> nix::Result<Self> {
        fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self(fd))
    }

    pub(crate) fn read(&self, buffer: &mut [u8; READ_BYTES]) -> Read {
        match nix::unistd::read(&self.0, buffer) {
            Ok(0) => Read::End,
            Ok(count) => Read::Bytes(count),
            Err(Errno::EAGAIN | Errno::EINTR) => Read::Nothing,
            Err(_) => Read::End,
        }
    }

    /// Writes as much as possible. `BrokenPipe`: the reader has closed it.
    pub(crate) fn write(&self, queue: &mut VecDeque<u8>) -> io::Result<()> {
        while !queue.is_empty() {
            match nix::unistd::write(&self.0, queue.as_slices().0) {
                Ok(count) => drop(queue.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_chunks_are() {
        let mut buffer = LineBuffer::new(5);
        let mut lines = Vec::new();
        for chunk in ["on", "e\n", "two\nth", "ree", "\n\nx"] {
            buffer.push(chunk.as_bytes());
            lines.extend(std::iter::from_fn(|| buffer.take_line().unwrap()));
        }
        assert_eq!(lines, [b"one".as_slice(), b"two", b"three", b""]);
        assert_eq!(buffer.take_rest().as_deref(), Some(b"x".as_slice()));
        assert_eq!(buffer.take_rest(), None);
    }

    #[test]
    fn a_line_has_a_limit_with_and_without_its_end() {
        for (chunk, fits) in [("12345\n", true), ("12345", true), ("123456\n", false), ("123456", false)] {
            let mut buffer = LineBuffer::new(5);
            buffer.push(chunk.as_bytes());
            assert_eq!(buffer.take_line().is_ok(), fits, "{chunk}");
        }
    }

    #[test]
    fn each_flood_names_its_limit() {
        let refusal = |bytes, lines| FloodGuard::new().admit(bytes, lines).unwrap_err();
        assert!(refusal(1, Err(&LineTooLong)).contains("a line of more than"));
        assert!(refusal(1, Ok(MAX_LINES_PER_SECOND as usize + 1)).contains("lines within a second"));
        assert!(refusal(MAX_STDOUT_BYTES as usize + 1, Ok(1)).contains("bytes on stdout"));
        assert!(FloodGuard::new().admit(100, Ok(3)).is_ok());
    }

    #[test]
    fn head_and_tail_are_kept_and_what_is_missing_is_counted() {
        for (chunks, text) in [
            (&["ab", "", "cde", "fgh"][..], "abcdefgh"),
            (&["abcdefg", "h"], "abcdefgh"),
            (&["abcdefgh", "ij"], "abcd\n... 2 bytes left out ...\nghij"),
            (&["a", "bcdefghij"], "abcd\n... 2 bytes left out ...\nghij"),
            (&["abcdefgh", "0123456789"], "abcd\n... 10 bytes left out ...\n6789"),
        ] {
            let mut kept = HeadAndTail::new(4, 4);
            chunks.iter().for_each(|chunk| kept.push(chunk.as_bytes()));
            assert_eq!(kept.text(), text);
        }
    }
}
