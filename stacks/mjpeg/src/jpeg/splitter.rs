//! Splits a stream into pictures (ITU-T T.81, annex B): concatenated JPEG files with arbitrary data between them, such as the
//! headers of multipart/x-mixed-replace.

use memchr::memchr;
use memchr::memmem::rfind;

use super::marker;
use super::scan::find_marker;

/// Number of bytes at the end of a picture without EOI that are searched for a multipart boundary.
const BOUNDARY_BYTES: usize = 512;

/// Splits a stream of bytes into JPEG files, in one pass over chunks of any size. A thumbnail within a segment does not end a
/// picture.
///
/// Damaged pictures are skipped up to the next SOI. A segment with an excessive length can hide at most one following picture.
///
/// ```
/// # let (first, second) = ([0xff, 0xd8, 0xff, 0xda, 0, 2, 7, 0xff, 0xd9], [0xff, 0xd8, 0xff, 0xda, 0, 2, 8, 0xff, 0xd9]);
/// use netdyno_mjpeg_core::{Split, Splitter};
///
/// let stream = [&b"--boundary\r\nContent-Type: image/jpeg\r\n\r\n"[..], &first, b"\r\n--boundary", &second].concat();
/// let (mut splitter, mut picture) = (Splitter::new(1 << 20), Vec::new());
/// let mut rest = &stream[..];
/// assert_eq!(splitter.split(&mut rest, &mut picture), Split::Picture);
/// assert_eq!(picture, first);
/// assert_eq!(splitter.split(&mut rest, &mut picture), Split::Picture);
/// assert_eq!(picture, second);
/// assert_eq!(splitter.split(&mut rest, &mut picture), Split::More);
/// ```
#[derive(Debug)]
pub struct Splitter {
    state: State,
    /// The received part of the current picture.
    picture: Vec<u8>,
    /// Start of its last scan.
    scan_start: usize,
    max_bytes: usize,
    skipped_bytes: u64,
}

/// Result of [`Splitter::split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// A picture is complete.
    Picture,
    /// The input is consumed and more is needed.
    More,
    /// A picture exceeds the maximum length and is skipped.
    TooLong,
}

/// The meaning of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between pictures.
    Between,
    /// After 0xFF between pictures.
    BetweenCode,
    /// The 0xFF that starts a marker.
    Marker,
    /// The marker code after 0xFF.
    Code,
    /// The high byte of a segment's length.
    High { scan: bool },
    /// The low byte of a segment's length.
    Low { scan: bool, high: u8 },
    /// Within a segment that has this many bytes left.
    Body { scan: bool, left: usize },
    /// Within a scan.
    Scan,
    /// After 0xFF in a scan.
    ScanCode,
    /// After the SOI of a picture that ended a picture without EOI.
    Started,
}

impl Splitter {
    /// Creates a splitter for pictures of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { state: State::Between, picture: Vec::new(), scan_start: 0, max_bytes, skipped_bytes: 0 }
    }

    /// Number of skipped bytes: data between pictures, and pictures that are damaged or too long.
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Consumes input until a picture is complete and replaces the contents of `into` by it. The old buffer of `into` is reused.
    /// A picture without EOI is complete at the next SOI or at the [end](Self::finish), and EOI is appended.
    pub fn split(&mut self, input: &mut &[u8], into: &mut Vec<u8>) -> Split {
        if self.state == State::Started && !input.is_empty() {
            self.start();
        }
        while let [first, rest @ ..] = *input {
            match self.state {
                State::Between => {
                    let count = memchr(0xff, input).map_or(input.len(), |found| {
                        self.state = State::BetweenCode;
                        found + 1
                    });
                    self.skipped_bytes += count as u64;
                    *input = &input[count..];
                    continue;
                }
                State::Body { scan, left } => {
                    let count = left.min(input.len()).min(self.capacity());
                    self.append(input, count);
                    self.expect_body(scan, left - count);
                }
                State::Scan => {
                    let window = &input[..input.len().min(self.capacity())];
                    let count = find_marker(window).map_or(window.len(), |found| {
                        self.state = State::ScanCode;
                        found + 1
                    });
                    self.append(input, count);
                }
                _ => {
                    *input = rest;
                    if self.step(*first) {
                        self.deliver(into);
                        return Split::Picture;
                    }
                }
            }
            if self.picture.len() > self.max_bytes {
                self.skip();
                return Split::TooLong;
            }
        }
        Split::More
    }

    /// Handles the end of the stream. Returns whether `into` contains a last picture that had no EOI.
    pub fn finish(&mut self, into: &mut Vec<u8>) -> bool {
        let is_picture = match self.state {
            State::Scan => true,
            State::ScanCode => {
                self.picture.pop();
                self.skipped_bytes += 1;
                true
            }
            State::Started => {
                self.skipped_bytes += 2;
                false
            }
            _ => false,
        };
        if is_picture {
            self.end_without_eoi();
            self.deliver(into);
        } else {
            self.skip();
        }
        is_picture
    }

    /// Handles a byte that may change the state. Returns whether a picture is complete.
    fn step(&mut self, byte: u8) -> bool {
        self.picture.push(byte);
        match (self.state, byte) {
            (State::BetweenCode, 0xff) => {
                self.picture.clear();
                self.skipped_bytes += 1;
            }
            (State::BetweenCode, marker::SOI) => {
                self.skipped_bytes -= 1;
                self.start();
            }
            (State::Marker, 0xff) => self.state = State::Code,
            // > Any marker may optionally be preceded by any number of fill bytes (B.1.1.2)
            (State::Code | State::ScanCode, 0xff) => {}
            (State::Code, marker::SOI) => {
                self.skipped_bytes += self.picture.len() as u64 - 2;
                self.start();
            }
            (State::Code, marker::TEM) => self.state = State::Marker,
            (State::Code, marker::SOF0..marker::RST0 | marker::SOS..=marker::COM) => self.start_segment(byte),
            (State::High { scan }, high) => self.state = State::Low { scan, high },
            (State::Low { scan, high }, low) => {
                match usize::from(u16::from_be_bytes([high, low])).checked_sub(2) {
                    Some(left) => self.expect_body(scan, left),
                    None => self.skip(),
                }
            }
            (State::ScanCode, marker::EOI) => return true,
            (State::ScanCode, marker::SOI) => {
                self.picture.truncate(self.picture.len() - 2);
                self.end_without_eoi();
                self.state = State::Started;
                return true;
            }
            // Further scans, and segments before them.
            (State::ScanCode, marker::SOF0..marker::RST0 | marker::SOS..=marker::COM) => {
                self.start_segment(byte);
            }
            (State::ScanCode, _) => self.state = State::Scan,
            _ => self.skip(),
        }
        false
    }

    /// Remaining capacity, one byte more than the maximum. An excessive length is thus detected at the same byte for any chunking.
    fn capacity(&self) -> usize {
        self.max_bytes.saturating_add(1).saturating_sub(self.picture.len())
    }

    fn append(&mut self, input: &mut &[u8], count: usize) {
        self.picture.extend_from_slice(&input[..count]);
        *input = &input[count..];
    }

    fn start_segment(&mut self, code: u8) {
        self.state = State::High { scan: code == marker::SOS };
    }

    fn expect_body(&mut self, scan: bool, left: usize) {
        self.state = match (scan, left) {
            (true, 0) => State::Scan,
            (false, 0) => State::Marker,
            _ => State::Body { scan, left },
        };
        self.scan_start = self.picture.len();
    }

    /// Starts a picture after its SOI.
    fn start(&mut self) {
        self.picture.clear();
        self.picture.extend([0xff, marker::SOI]);
        self.state = State::Marker;
    }

    fn deliver(&mut self, into: &mut Vec<u8>) {
        std::mem::swap(&mut self.picture, into);
        self.picture.clear();
        if self.state != State::Started {
            self.state = State::Between;
        }
    }

    fn skip(&mut self) {
        self.skipped_bytes += self.picture.len() as u64;
        self.picture.clear();
        self.state = State::Between;
    }

    /// Completes a picture without EOI. If a multipart boundary follows it, the boundary has been appended to it; remove it.
    fn end_without_eoi(&mut self) {
        let search_start = self.picture.len().saturating_sub(BOUNDARY_BYTES).max(self.scan_start);
        if let Some(found) = rfind(&self.picture[search_start..], b"\r\n--") {
            self.skipped_bytes += (self.picture.len() - search_start - found) as u64;
            self.picture.truncate(search_start + found);
        }
        self.picture.extend([0xff, marker::EOI]);
    }
}
