//! Settings, events and counters of a depacketizer.

use std::time::Duration;

use netdyno_rtp::{Ssrc, Timestamp};

use super::Frame;
use crate::error::ConfigError;
use crate::limits::{DepacketizerLimits, MAX_SCAN_BYTES};
use crate::packetizer::PAYLOAD_TYPE;

/// Settings of a depacketizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DepacketizerConfig {
    /// Payload type. Packets with another one are counted and dropped.
    pub payload_type: u8,
    /// The SSRC, if known from signalling. Otherwise the first one received, until it is silent for `source_timeout`.
    pub ssrc: Option<Ssrc>,
    /// Silence after which another SSRC is accepted.
    pub source_timeout: Duration,
    /// Width and height from SDP (`a=x-dimensions`). They apply if packets have none, or the same rounded to multiples of 8.
    pub dimensions: Option<(u16, u16)>,
    /// How long to wait for missing packets after the last packet of a frame. With 0, reordered packets are lost.
    pub max_wait: Duration,
    /// Limits on stored state.
    pub limits: DepacketizerLimits,
}

impl Default for DepacketizerConfig {
    /// Payload type 26, any SSRC with a timeout of 2 s, no dimensions, a wait of 20 ms (less than a frame interval at 30 frames/s).
    fn default() -> Self {
        Self {
            payload_type: PAYLOAD_TYPE,
            ssrc: None,
            source_timeout: Duration::from_secs(2),
            dimensions: None,
            max_wait: Duration::from_millis(20),
            limits: DepacketizerLimits::default(),
        }
    }
}

impl DepacketizerConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let DepacketizerLimits { max_frame_bytes, max_frames, max_runs, .. } = self.limits;
        if self.payload_type > 127 {
            return Err(ConfigError::PayloadType(self.payload_type));
        }
        if !(1..=MAX_SCAN_BYTES).contains(&max_frame_bytes) {
            return Err(ConfigError::FrameBytes(max_frame_bytes));
        }
        if max_frames == 0 || max_runs == 0 {
            return Err(ConfigError::NothingHeld);
        }
        match self.dimensions {
            Some((width, height)) if width == 0 || height == 0 => Err(ConfigError::Dimensions(width, height)),
            _ => Ok(()),
        }
    }
}

/// An event of a depacketizer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all events are frames; a box would need an allocation for each"
)]
pub enum Event {
    /// A complete frame.
    Frame(Frame),
    /// A frame was lost, or packets between two frames.
    Lost(Lost),
    /// The source restarted or changed. Incomplete frames were discarded; timestamps and sequence numbers start anew.
    Restarted,
}

/// Lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Timestamp of the frame. `None` if no packet of it arrived; the packets may then be those of several frames.
    pub timestamp: Option<Timestamp>,
    /// Number of missing packets.
    pub missing_packets: u64,
    /// Number of received packets.
    pub received_packets: u64,
    /// The cause.
    pub reason: LostReason,
}

/// The cause of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// Packets did not arrive in time: they were lost in the network or in a full receive buffer.
    #[error("packets did not arrive in time; pace the sender, enlarge the receive buffer or wait longer")]
    Missing,
    /// Reception started within the frame.
    #[error("reception started within the frame")]
    Joined,
    /// Its tables were sent before reception started. Senders repeat them (RFC 2435 section 3.1.8).
    #[error(
        "its quantisation tables (Q {0}) were sent before reception started; wait until the sender repeats them"
    )]
    TablesUnknown(u8),
    /// Its tables are malformed or missing.
    #[error("its quantisation tables are malformed or missing (fault of the sender)")]
    Tables,
    /// Its packets are inconsistent: their data have gaps or overlap, or their headers differ.
    #[error("its packets are inconsistent (fault of the sender)")]
    Contradictory,
    /// It exceeds [`DepacketizerLimits::max_frame_bytes`].
    #[error("it exceeds the maximum frame length; raise max_frame_bytes")]
    TooLarge,
    /// It exceeds [`DepacketizerLimits::max_runs`].
    #[error("it arrived in too many separate runs of packets; raise max_runs")]
    TooManyPieces,
    /// A type that RFC 2435 does not define.
    #[error("its type {0} is not supported; RFC 2435 section 4.1 defines 0, 1, 64 and 65")]
    Type(u8),
    /// A reserved Q.
    #[error("its Q {0} is reserved (RFC 2435 section 3.1.4)")]
    ReservedQ(u8),
    /// Neither its packets nor SDP have its dimensions.
    #[error("its packets have no dimensions; take them from a=x-dimensions in the SDP")]
    Dimensions,
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DepacketizerStats {
    /// Accepted packets.
    pub packets: u64,
    /// Delivered frames.
    pub frames: u64,
    /// Lost frames of which at least one packet arrived.
    pub lost_frames: u64,
    /// Missing packets.
    pub missing_packets: u64,
    /// Duplicate packets.
    pub duplicates: u64,
    /// Packets that arrived after their frame was delivered or lost.
    pub late: u64,
    /// Packets with a malformed payload.
    pub malformed: u64,
    /// Packets of another SSRC or payload type, or with an implausible sequence number.
    pub foreign: u64,
    /// Packets dropped because events were not polled.
    pub unpolled: u64,
}
