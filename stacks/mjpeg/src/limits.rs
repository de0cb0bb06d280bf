//! The limits of this crate.

/// Minimum packet length with the RTP header: the headers of a first packet with two tables of 16 bits, and some data.
pub const MIN_PACKET_BYTES: usize = 300;

/// Maximum packet length with the RTP header: the maximum payload of UDP over IPv4.
pub const MAX_PACKET_BYTES: usize = 65_507;

/// Maximum length of the headers of a packet: RTP, main header, restart header, tables of 16 bits.
pub const MAX_PACKET_HEADER_BYTES: usize = 12 + 8 + 4 + 4 + 256;

/// Maximum length of a frame's scan data: its offset has 24 bits (RFC 2435 section 3.1.2).
pub const MAX_SCAN_BYTES: usize = 1 << 24;

/// Maximum number of packets per frame: sequence numbers compare correctly only within half their range.
pub const MAX_FRAME_PACKETS: usize = 32_767;

/// Maximum width and height in the main header: a byte in units of 8 pixels (RFC 2435 sections 3.1.5 and 3.1.6).
pub const MAX_HEADER_DIMENSION: u16 = 2_040;

/// Maximum length of the reconstructed JPEG headers, with tables of 16 bits and a restart interval.
pub const MAX_JPEG_HEADER_BYTES: usize = 745;

/// Maximum number of static table pairs per session: Q 128 to 254 (RFC 2435 section 3.1.4).
pub const MAX_STATIC_TABLES: usize = 127;

/// Maximum length of a session description (SDP).
pub const MAX_SDP_BYTES: usize = 64 << 10;

/// Limits on the state that a sender can make a depacketizer store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DepacketizerLimits {
    /// Maximum length of a frame's scan data; longer frames are lost. At most [`MAX_SCAN_BYTES`].
    pub max_frame_bytes: usize,
    /// Maximum number of frames that are incomplete or wait for an incomplete one. Beyond it, the oldest is lost.
    pub max_frames: usize,
    /// Maximum number of contiguous runs of received bytes per frame. A frame with more is lost.
    pub max_runs: usize,
    /// Maximum number of recycled buffers that are kept for later frames.
    pub max_spare_buffers: usize,
}

impl Default for DepacketizerLimits {
    /// 4 MiB (more than a 4K frame at quality 95), 3 frames, 256 runs, 2 buffers. The capacity of a buffer can be twice the
    /// length of its frame, so that a malicious sender can make the depacketizer allocate 48 MiB.
    fn default() -> Self {
        Self { max_frame_bytes: 4 << 20, max_frames: 3, max_runs: 256, max_spare_buffers: 2 }
    }
}
