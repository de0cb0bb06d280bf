//! Errors: what is wrong with a picture, or with settings.

use crate::limits::{MAX_FRAME_PACKETS, MAX_PACKET_BYTES, MAX_SCAN_BYTES, MIN_PACKET_BYTES};

/// A picture cannot be sent. The next one may be fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JpegError {
    /// It is no JPEG file, or a damaged one: what made it is at fault.
    #[error("not a JPEG file, or a damaged one: {rule} (at byte {offset}); leave it out")]
    Malformed {
        /// Where, bytes from the start.
        offset: usize,
        /// The rule that is broken.
        rule: &'static str,
    },
    /// A fine JPEG file, of a kind that RFC 2435 has no place for.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
}

impl JpegError {
    pub(crate) fn malformed(offset: usize, rule: &'static str) -> Self {
        Self::Malformed { offset, rule }
    }
}

/// What RFC 2435 cannot carry: baseline JPEG, 4:2:2 or 4:2:0, with the usual Huffman tables is all it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Progressive.
    #[error("a progressive JPEG; RFC 2435 carries baseline alone: encode without progressive mode")]
    Progressive,
    /// Lossless, JPEG-LS among it.
    #[error("a lossless JPEG; RFC 2435 carries baseline alone: encode as baseline")]
    Lossless,
    /// Differential or hierarchical.
    #[error("a hierarchical JPEG; RFC 2435 carries baseline alone: encode as baseline")]
    Hierarchical,
    /// Arithmetic coding.
    #[error("a JPEG with arithmetic coding; RFC 2435 carries Huffman codes alone: encode without it")]
    Arithmetic,
    /// Samples of so many bits.
    #[error("a JPEG of {0} bits a sample; RFC 2435 carries 8 alone: encode with 8")]
    Precision(u8),
    /// One component.
    #[error("a greyscale JPEG; RFC 2435 carries three components: encode with colour, 4:2:0")]
    Greyscale,
    /// Neither one component nor three, or not YCbCr.
    #[error("a JPEG of {0} components; RFC 2435 carries three: encode as YCbCr, 4:2:0")]
    Components(u8),
    /// Three components, but not Y, Cb and Cr.
    #[error("a JPEG in RGB; RFC 2435 carries YCbCr alone: encode as YCbCr")]
    Rgb,
    /// Another subsampling: horizontal and vertical factors of the three components.
    #[error(
        "a JPEG with sampling factors {}; RFC 2435 carries 2x1,1x1,1x1 (4:2:2) and 2x2,1x1,1x1 (4:2:0): encode with one of \
         these", shown(.0)
    )]
    Sampling([(u8, u8); 3]),
    /// Cb and Cr have tables of their own.
    #[error(
        "a JPEG with different quantisation tables for Cb and Cr; RFC 2435 has one for both: encode with two tables"
    )]
    ThreeTables,
    /// Huffman tables other than those of annex K.
    #[error(
        "a JPEG with optimised Huffman tables; RFC 2435 carries the usual ones alone: encode without optimisation"
    )]
    Huffman,
    /// More than one scan.
    #[error("a JPEG of several scans; RFC 2435 carries one: encode with interleaved components")]
    SeveralScans,
    /// The height comes after the scan (DNL).
    #[error(
        "a JPEG that tells its height after the scan (DNL); RFC 2435 has no place for it: encode with the height"
    )]
    Dnl,
    /// A process that the standard keeps for later.
    #[error("a JPEG of a process that has no name (marker {0:#04x}): encode as baseline")]
    Process(u8),
}

/// Sampling factors of all components, as encoders' settings have them.
fn shown(factors: &[(u8, u8); 3]) -> String {
    factors.map(|(horizontal, vertical)| format!("{horizontal}x{vertical}")).join(",")
}

/// A frame cannot be packed. The caller's settings or the picture are at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// More scan data than the offset can tell.
    #[error("a frame of {0} bytes; RFC 2435's offset ends at {MAX_SCAN_BYTES}: encode with less quality")]
    TooLong(usize),
    /// More packets than sequence numbers can tell apart.
    #[error(
        "a frame of {0} packets, more than {MAX_FRAME_PACKETS}: send larger packets, or encode with less quality"
    )]
    TooManyPackets(usize),
}

/// Settings that cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A packet size out of range.
    #[error(
        "packets of {0} bytes; they must have {MIN_PACKET_BYTES} to {MAX_PACKET_BYTES}, the RTP header included"
    )]
    PacketBytes(usize),
    /// A payload type out of range.
    #[error("payload type {0}; it must be 0 to 127, and 26 without SDP")]
    PayloadType(u8),
    /// A frame limit out of range.
    #[error("frames of {0} bytes; the limit must be 1 to {MAX_SCAN_BYTES}")]
    FrameBytes(usize),
    /// No frame or no run may be held.
    #[error("limits of 0 frames or runs; at least one must be held")]
    NothingHeld,
    /// A picture without width or height.
    #[error("dimensions of {0} x {1} pixels; both must be at least 1")]
    Dimensions(u16, u16),
}
