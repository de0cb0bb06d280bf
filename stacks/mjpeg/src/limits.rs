//! Everything has a limit, and every limit a name.

/// The least that a packet may be long, RTP header included: the headers of the first packet with two tables of 16 bits,
/// and some data.
pub const MIN_PACKET_BYTES: usize = 300;

/// The most that a packet may be long, RTP header included: what UDP over IPv4 can carry.
pub const MAX_PACKET_BYTES: usize = 65_507;

/// Bytes of headers of one packet: RTP, the main header, restarts, tables of 16 bits.
pub const MAX_PACKET_HEADER_BYTES: usize = 12 + 8 + 4 + 4 + 256;

/// Bytes of scan data of one frame: its offset has 24 bits (RFC 2435 section 3.1.2).
pub const MAX_SCAN_BYTES: usize = 1 << 24;

/// Packets of one frame: sequence numbers must be comparable within it, which they are over half their range.
pub const MAX_FRAME_PACKETS: usize = 32_767;

/// Width and height that the main header can tell, pixels: units of 8 in a byte (RFC 2435 sections 3.1.5 and 3.1.6).
pub const MAX_HEADER_DIMENSION: u16 = 2_040;

/// Bytes of the headers of a JPEG file that is made of packets, with tables of 16 bits and a restart interval.
pub const MAX_JPEG_HEADER_BYTES: usize = 745;

/// Pairs of static tables that a session can have: Q 128 to 254 (RFC 2435 section 3.1.4).
pub const MAX_STATIC_TABLES: usize = 127;

/// What a sender can make a depacketizer hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DepacketizerLimits {
    /// Scan data of one frame, bytes; a longer one is lost. At most [`MAX_SCAN_BYTES`].
    pub max_frame_bytes: usize,
    /// Frames that are not whole, or wait for one that is not. One more, and the oldest is given up.
    pub max_frames: usize,
    /// Pieces that a frame may be in, holes between them; with more it is lost.
    pub max_runs: usize,
    /// Buffers of frames that were given back and are kept for the next.
    pub max_spare_buffers: usize,
}

impl Default for DepacketizerLimits {
    /// 4 MiB, more than 4K at quality 95; 3 frames; 256 pieces; 2 buffers. A buffer can have twice the room that it needs,
    /// so that a sender who wants it so makes us hold 48 MiB; with 300 KB a frame and no loss it is less than 2 MB.
    fn default() -> Self {
        Self { max_frame_bytes: 4 << 20, max_frames: 3, max_runs: 256, max_spare_buffers: 2 }
    }
}
