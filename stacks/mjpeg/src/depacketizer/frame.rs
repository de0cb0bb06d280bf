//! A frame that is whole.

use std::fmt;
use std::time::Instant;

use netdyno_rtp::Timestamp;

use crate::headers::JpegHeaders;
use crate::jpeg::marker::EOI;
use crate::wire::Field;

/// What is known of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameInfo {
    /// When it was sampled, by the sender's clock of 90 kHz.
    pub timestamp: Timestamp,
    /// Number of its first packet, in 64 bits.
    pub first_sequence: u64,
    /// Packets that it came in.
    pub packets: u64,
    /// When the first of them came, and the last.
    pub first_arrived: Instant,
    /// See `first_arrived`.
    pub last_arrived: Instant,
    /// How its tables came.
    pub q: u8,
    /// Which lines of a picture it has.
    pub field: Field,
    /// What its headers say. Width and height are multiples of 8 unless SDP told the exact ones.
    pub headers: JpegHeaders,
}

/// A frame as a JPEG file, whole, in one piece of memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    pub(super) info: FrameInfo,
    /// The file begins at `start`, the scan at `scan`; EOI ends it.
    pub(super) buffer: Vec<u8>,
    pub(super) start: usize,
    pub(super) scan: usize,
}

impl Frame {
    /// What is known of it.
    pub fn info(&self) -> &FrameInfo {
        &self.info
    }

    /// The JPEG file, from SOI to EOI: JFIF headers with RFC 2435's tables, then the scan as it was sent.
    pub fn jpeg(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Its headers, from SOI to the scan header.
    pub fn headers(&self) -> &[u8] {
        &self.buffer[self.start..self.scan]
    }

    /// The scan data, EOI left out. If the sender sent EOI and padding after it, both are here.
    pub fn scan(&self) -> &[u8] {
        &self.buffer[self.scan..self.buffer.len() - 2]
    }

    /// Ends the file: puts the headers before the scan, and EOI after it if it is not there.
    pub(super) fn new(info: FrameInfo, mut buffer: Vec<u8>, scan: usize, headers: &[u8]) -> Self {
        if !buffer[scan..].ends_with(&[0xff, EOI]) {
            buffer.extend([0xff, EOI]);
        }
        let start = scan - headers.len();
        buffer[start..scan].copy_from_slice(headers);
        Self { info, buffer, start, scan }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("info", &self.info).field("bytes", &self.jpeg().len()).finish()
    }
}
