//! Where the pictures of a stream begin and end (ITU-T T.81, annex B): JPEG files one after the other, with anything between
//! them, such as the headers of multipart/x-mixed-replace.

use memchr::memchr;
use memchr::memmem::rfind;

use super::marker;
use super::scan::find_marker;

/// How far behind a picture without EOI the line is looked for that ends a part of a multipart stream.
const BOUNDARY_BYTES: usize = 512;

/// Finds the pictures of a stream that comes in pieces. One pass; a thumbnail within a segment ends no picture.
///
/// What is damaged is left out: it goes on at the next SOI. At most one picture is lost by what another one is wrong in, if that
/// has a segment that says it is longer than it is.
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
    /// What there is of the picture.
    picture: Vec<u8>,
    /// Where its scan begins in it, or the last of its scans.
    scan_start: usize,
    max_bytes: usize,
    left_out_bytes: u64,
}

/// What came of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// A picture is whole.
    Picture,
    /// All bytes are taken, and more are needed.
    More,
    /// A picture is longer than it may be, and is left out.
    TooLong,
}

/// What the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// One between pictures.
    Between,
    /// One after 0xFF between pictures.
    BetweenCode,
    /// The first of a segment: 0xFF.
    Marker,
    /// A marker's second.
    Code,
    /// The first of a segment's length.
    High { scan: bool },
    /// The second.
    Low { scan: bool, high: u8 },
    /// One of a segment; so many are left.
    Body { scan: bool, left: usize },
    /// One of a scan.
    Scan,
    /// One after 0xFF in a scan.
    ScanCode,
    /// The first after the SOI of a picture whose forerunner had no EOI.
    Begun,
}

impl Splitter {
    /// For pictures of at most so many bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { state: State::Between, picture: Vec::new(), scan_start: 0, max_bytes, left_out_bytes: 0 }
    }

    /// Bytes that are of no picture: what is between pictures, and what is damaged or too long.
    pub fn left_out_bytes(&self) -> u64 {
        self.left_out_bytes
    }

    /// Takes bytes off the front of `input` until a picture is whole, which `into` then has in place of what it had; its room is
    /// used for the next. A picture without EOI gets one, and is whole when the next begins, or at the [end](Self::finish).
    pub fn split(&mut self, input: &mut &[u8], into: &mut Vec<u8>) -> Split {
        if self.state == State::Begun && !input.is_empty() {
            self.begin();
        }
        while let [first, rest @ ..] = *input {
            match self.state {
                State::Between => {
                    let count = memchr(0xff, input).map_or(input.len(), |found| {
                        self.state = State::BetweenCode;
                        found + 1
                    });
                    self.left_out_bytes += count as u64;
                    *input = &input[count..];
                    continue;
                }
                State::Body { scan, left } => {
                    let count = left.min(input.len()).min(self.room());
                    self.take(input, count);
                    self.expect_body(scan, left - count);
                }
                State::Scan => {
                    let window = &input[..input.len().min(self.room())];
                    let count = find_marker(window).map_or(window.len(), |found| {
                        self.state = State::ScanCode;
                        found + 1
                    });
                    self.take(input, count);
                }
                _ => {
                    *input = rest;
                    if self.step(*first) {
                        self.give(into);
                        return Split::Picture;
                    }
                }
            }
            if self.picture.len() > self.max_bytes {
                self.leave_out();
                return Split::TooLong;
            }
        }
        Split::More
    }

    /// The stream has ended. Whether `into` has its last picture, which had no EOI.
    pub fn finish(&mut self, into: &mut Vec<u8>) -> bool {
        let is_picture = match self.state {
            State::Scan => true,
            State::ScanCode => {
                self.picture.pop();
                self.left_out_bytes += 1;
                true
            }
            State::Begun => {
                self.left_out_bytes += 2;
                false
            }
            _ => false,
        };
        if is_picture {
            self.end_without_eoi();
            self.give(into);
        } else {
            self.leave_out();
        }
        is_picture
    }

    /// Takes a byte on which it depends what comes. Whether a picture is whole.
    fn step(&mut self, byte: u8) -> bool {
        self.picture.push(byte);
        match (self.state, byte) {
            (State::BetweenCode, 0xff) => {
                self.picture.clear();
                self.left_out_bytes += 1;
            }
            (State::BetweenCode, marker::SOI) => {
                self.left_out_bytes -= 1;
                self.begin();
            }
            (State::Marker, 0xff) => self.state = State::Code,
            // > Any marker may optionally be preceded by any number of fill bytes (B.1.1.2)
            (State::Code | State::ScanCode, 0xff) => {}
            (State::Code, marker::SOI) => {
                self.left_out_bytes += self.picture.len() as u64 - 2;
                self.begin();
            }
            (State::Code, marker::TEM) => self.state = State::Marker,
            (State::Code, marker::SOF0..marker::RST0 | marker::SOS..=marker::COM) => self.begin_segment(byte),
            (State::High { scan }, high) => self.state = State::Low { scan, high },
            (State::Low { scan, high }, low) => {
                match usize::from(u16::from_be_bytes([high, low])).checked_sub(2) {
                    Some(left) => self.expect_body(scan, left),
                    None => self.leave_out(),
                }
            }
            (State::ScanCode, marker::EOI) => return true,
            (State::ScanCode, marker::SOI) => {
                self.picture.truncate(self.picture.len() - 2);
                self.end_without_eoi();
                self.state = State::Begun;
                return true;
            }
            // Further scans, and what comes before them.
            (State::ScanCode, marker::SOF0..marker::RST0 | marker::SOS..=marker::COM) => {
                self.begin_segment(byte);
            }
            (State::ScanCode, _) => self.state = State::Scan,
            _ => self.leave_out(),
        }
        false
    }

    /// One byte more than a picture may have, so that one is found too long at the same byte, whatever the pieces are.
    fn room(&self) -> usize {
        self.max_bytes.saturating_add(1).saturating_sub(self.picture.len())
    }

    fn take(&mut self, input: &mut &[u8], count: usize) {
        self.picture.extend_from_slice(&input[..count]);
        *input = &input[count..];
    }

    fn begin_segment(&mut self, code: u8) {
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

    /// SOI was there.
    fn begin(&mut self) {
        self.picture.clear();
        self.picture.extend([0xff, marker::SOI]);
        self.state = State::Marker;
    }

    fn give(&mut self, into: &mut Vec<u8>) {
        std::mem::swap(&mut self.picture, into);
        self.picture.clear();
        if self.state != State::Begun {
            self.state = State::Between;
        }
    }

    fn leave_out(&mut self) {
        self.left_out_bytes += self.picture.len() as u64;
        self.picture.clear();
        self.state = State::Between;
    }

    /// What a multipart stream has behind the picture has become part of it, as nothing told its end.
    fn end_without_eoi(&mut self) {
        let tail = self.picture.len().saturating_sub(BOUNDARY_BYTES).max(self.scan_start);
        if let Some(found) = rfind(&self.picture[tail..], b"\r\n--") {
            self.left_out_bytes += (self.picture.len() - tail - found) as u64;
            self.picture.truncate(tail + found);
        }
        self.picture.extend([0xff, marker::EOI]);
    }
}
