//! Complete frames.

use std::fmt;
use std::time::Instant;

use netdyno_rtp::Timestamp;

use crate::headers::JpegHeaders;
use crate::jpeg::marker::EOI;
use crate::wire::Field;

/// The metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameInfo {
    /// RTP timestamp, 90 kHz.
    pub timestamp: Timestamp,
    /// Extended sequence number of its first packet.
    pub first_sequence: u64,
    /// Number of packets.
    pub packets: u64,
    /// Arrival of its first packet.
    pub first_arrived: Instant,
    /// Arrival of its last packet.
    pub last_arrived: Instant,
    /// The Q of its packets.
    pub q: u8,
    /// The lines of the picture that it contains.
    pub field: Field,
    /// The parameters in its headers. Width and height are multiples of 8 unless SDP has the exact ones.
    pub headers: JpegHeaders,
}

/// A complete frame as a JPEG file in contiguous memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    pub(super) info: FrameInfo,
    /// The file starts at `start`, its scan at `scan`; it ends with EOI.
    pub(super) buffer: Vec<u8>,
    pub(super) start: usize,
    pub(super) scan: usize,
}

impl Frame {
    /// The metadata.
    pub fn info(&self) -> &FrameInfo {
        &self.info
    }

    /// The JPEG file: reconstructed JFIF headers and the scan as received.
    pub fn jpeg(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The headers, from SOI to the scan header.
    pub fn headers(&self) -> &[u8] {
        &self.buffer[self.start..self.scan]
    }

    /// The scan data without the final EOI. An EOI that the sender followed by padding is included.
    pub fn scan(&self) -> &[u8] {
        &self.buffer[self.scan..self.buffer.len() - 2]
    }

    /// Completes the file: copies the headers in front of the scan and appends EOI if it is missing.
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
