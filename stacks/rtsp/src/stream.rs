//! The state of the stream that responses describe.

use netdyno_rtp::{Sequence, Ssrc, Timestamp};

/// The current state of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamState<'a> {
    /// The SSRC of its packets.
    pub ssrc: Ssrc,
    /// The sequence number of the next packet that a new client receives.
    pub next_sequence: Sequence,
    /// The RTP timestamp of the next frame.
    pub timestamp: Timestamp,
    /// The session description (SDP). Its last line belongs to the only media section and ends with CRLF. `None` while the
    /// stream's parameters are unknown; DESCRIBE then fails with 503.
    pub description: Option<&'a str>,
}
