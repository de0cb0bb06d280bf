//! The state of the stream that answers describe.

use netdyno_rtp::{Sequence, Ssrc, Timestamp};

/// The current state of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// Its source.
    pub ssrc: Ssrc,
    /// The sequence number of the next frame's first packet, with which a client that plays now begins.
    pub next: Sequence,
    /// The timestamp of this moment.
    pub timestamp: Timestamp,
    /// Width and height of the pictures, pixels; none while no picture is known.
    pub dimensions: Option<(u16, u16)>,
    /// Frames a second, where they are known.
    pub frames_per_s: Option<f64>,
}
