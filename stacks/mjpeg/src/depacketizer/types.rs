//! Settings, and what comes out.

use std::time::Duration;

use netdyno_rtp::{Ssrc, Timestamp};

use super::Frame;
use crate::error::ConfigError;
use crate::limits::{DepacketizerLimits, MAX_SCAN_BYTES};
use crate::packetizer::PAYLOAD_TYPE;

/// What a depacketizer takes, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DepacketizerConfig {
    /// Payload type; others are counted and dropped.
    pub payload_type: u8,
    /// The source, if signalling named it. Otherwise the first that comes, and another once that one is silent.
    pub ssrc: Option<Ssrc>,
    /// Silence after which another source may take over, where none is named.
    pub source_timeout: Duration,
    /// Width and height that SDP tells (`a=x-dimensions`). They hold where packets tell none, and where they are what
    /// packets tell but for rounding to 8.
    pub dimensions: Option<(u16, u16)>,
    /// How long a frame with a hole is waited for, from its last packet on. 0: what comes out of order is lost.
    pub max_wait: Duration,
    /// What a sender can make us hold.
    pub limits: DepacketizerLimits,
}

impl Default for DepacketizerConfig {
    /// Payload type 26; any source, another after 2 s; no dimensions; 20 ms, less than a frame at 30 a second.
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

/// What came of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "nearly all are frames; a box would be allocated for each")]
pub enum Event {
    /// A frame, whole.
    Frame(Frame),
    /// A frame, or packets of frames that nothing else is known of, will not come.
    Lost(Lost),
    /// The source began anew, or is another: what was held of before is gone, and time and numbers begin anew.
    Restarted,
}

/// What will not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The frame; none if no packet of it came: then it may be more than one.
    pub timestamp: Option<Timestamp>,
    /// Packets that did not come.
    pub missing_packets: u64,
    /// Packets that came.
    pub received_packets: u64,
    /// Why.
    pub reason: LostReason,
}

/// Why a frame is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// Packets did not come in time: the network's loss, or a receive buffer that is too small.
    #[error("packets did not come in time: pace the sender, enlarge the receive buffer, or wait longer")]
    Missing,
    /// We came into the middle of it. The next one will be whole.
    #[error("its beginning was sent before we listened")]
    Joined,
    /// Its tables were told before we listened. They come again if the sender keeps to RFC 2435 section 3.1.8.
    #[error("its quantisation tables (Q {0}) were told before we listened: wait for them to be told again")]
    TablesUnknown(u8),
    /// Its tables are not as they must be, or missing.
    #[error("its quantisation tables are malformed or missing; the sender is at fault")]
    Tables,
    /// Packets contradict each other: gaps or overlaps of their data, or different sizes.
    #[error("its packets contradict each other; the sender is at fault")]
    Contradictory,
    /// More data than [`DepacketizerLimits::max_frame_bytes`].
    #[error("it is larger than the limit: raise max_frame_bytes if it is meant")]
    TooLarge,
    /// More holes than [`DepacketizerLimits::max_runs`] allows.
    #[error("it came in too many pieces: raise max_runs if such reordering is meant")]
    TooManyPieces,
    /// A type that RFC 2435 does not define.
    #[error("it has type {0}; we know 0, 1, 64 and 65 (RFC 2435 section 4.1)")]
    Type(u8),
    /// A Q that is reserved.
    #[error("it has Q {0}, which RFC 2435 section 3.1.4 reserves")]
    ReservedQ(u8),
    /// Packets tell no size, and SDP neither.
    #[error("its size is 0 in packets, and not in the settings: take it from a=x-dimensions of the SDP")]
    Dimensions,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DepacketizerStats {
    /// Packets taken.
    pub packets: u64,
    /// Frames given out.
    pub frames: u64,
    /// Frames of which some packets came, that were lost.
    pub lost_frames: u64,
    /// Packets that did not come.
    pub missing_packets: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Packets that came after their frame was given out or up.
    pub late: u64,
    /// Packets whose payload was malformed.
    pub malformed: u64,
    /// Packets of another source or payload type, or out of reach of their source's numbers.
    pub foreign: u64,
    /// Packets dropped because events were not polled.
    pub unpolled: u64,
}
