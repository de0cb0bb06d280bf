//! Errors in pictures, session descriptions and settings.

use crate::limits::{
    MAX_FRAME_PACKETS, MAX_HEADER_DIMENSION, MAX_PACKET_BYTES, MAX_SCAN_BYTES, MIN_PACKET_BYTES,
};

/// A picture cannot be sent. Later pictures are unaffected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JpegError {
    /// The input is not a JPEG file, or it is damaged.
    #[error("not a valid JPEG file: {rule} (at byte {offset}); remove the file or create it again")]
    Malformed {
        /// Position of the fault, in bytes from the start.
        offset: usize,
        /// The fault.
        rule: &'static str,
    },
    /// The JPEG file is valid, but RFC 2435 cannot carry it.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
}

impl JpegError {
    pub(crate) fn malformed(offset: usize, rule: &'static str) -> Self {
        Self::Malformed { offset, rule }
    }
}

/// A property of a picture that RFC 2435 cannot carry. It carries only baseline JPEG with three components, 4:2:2 or 4:2:0
/// subsampling and the typical Huffman tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Progressive.
    #[error("progressive JPEG is not supported by RFC 2435; encode as baseline JPEG")]
    Progressive,
    /// Lossless, including JPEG-LS.
    #[error("lossless JPEG is not supported by RFC 2435; encode as baseline JPEG")]
    Lossless,
    /// Differential or hierarchical.
    #[error("hierarchical JPEG is not supported by RFC 2435; encode as baseline JPEG")]
    Hierarchical,
    /// Arithmetic coding.
    #[error("arithmetic coding is not supported by RFC 2435; encode with Huffman coding")]
    Arithmetic,
    /// Sample precision other than 8 bits.
    #[error("a sample precision of {0} bits is not supported by RFC 2435; encode with 8 bits")]
    Precision(u8),
    /// One component.
    #[error(
        "greyscale JPEG is not supported by RFC 2435; encode with three components (YCbCr) and 4:2:0 subsampling"
    )]
    Greyscale,
    /// A number of components other than one and three.
    #[error(
        "JPEG with {0} components (such as CMYK) is not supported by RFC 2435; encode as YCbCr with 4:2:0 subsampling"
    )]
    Components(u8),
    /// Three components other than Y, Cb and Cr.
    #[error("RGB JPEG is not supported by RFC 2435; encode as YCbCr with 4:2:0 subsampling")]
    Rgb,
    /// Other subsampling: the horizontal and vertical factors of the three components.
    #[error(
        "sampling factors {} are not supported by RFC 2435; encode with 2x2,1x1,1x1 (4:2:0) or 2x1,1x1,1x1 (4:2:2)",
        format_factors(.0)
    )]
    Sampling([(u8, u8); 3]),
    /// Different quantisation tables for Cb and Cr.
    #[error(
        "different quantisation tables for Cb and Cr are not supported by RFC 2435; encode with one table for both"
    )]
    ThreeTables,
    /// Huffman tables other than those of annex K.
    #[error(
        "optimised Huffman tables are not supported by RFC 2435; encode with the standard tables (no optimisation)"
    )]
    Huffman,
    /// More than one scan.
    #[error("JPEG with several scans is not supported by RFC 2435; encode with one interleaved scan")]
    SeveralScans,
    /// The height follows the scan (DNL).
    #[error(
        "a height after the scan (DNL) is not supported by RFC 2435; encode with the height in the frame header"
    )]
    Dnl,
    /// A reserved coding process.
    #[error("the reserved JPEG process with marker {0:#04x} is not supported; encode as baseline JPEG")]
    Process(u8),
}

/// Formats the sampling factors of all components as encoders do in their settings.
fn format_factors(factors: &[(u8, u8); 3]) -> String {
    factors.map(|(horizontal, vertical)| format!("{horizontal}x{vertical}")).join(",")
}

/// Dimensions that the headers of packets cannot represent (RFC 2435 sections 3.1.5 and 3.1.6). Receivers need
/// `a=x-dimensions` from SDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InexactDimensions {
    /// The width or the height is not a multiple of 8. Most receivers show padding at the right and bottom edges.
    #[error(
        "{0}x{1} pixels are not multiples of 8 (RFC 2435 section 3.1.5); receivers such as FFmpeg and \
         GStreamer show padding at the edges; use multiples of 8"
    )]
    Rounded(u16, u16),
    /// The width or the height exceeds 2,040. Receivers that ignore the attribute cannot decode the stream.
    #[error(
        "{0}x{1} pixels exceed the limit of {MAX_HEADER_DIMENSION} (RFC 2435 section 3.1.5); receivers that ignore \
         a=x-dimensions, such as FFmpeg, cannot decode the stream; use at most {MAX_HEADER_DIMENSION}x{MAX_HEADER_DIMENSION}"
    )]
    Omitted(u16, u16),
}

impl InexactDimensions {
    /// Checks the dimensions of a picture; `None` if packets represent them exactly.
    pub fn check(width: u16, height: u16) -> Option<Self> {
        if width.max(height) > MAX_HEADER_DIMENSION {
            return Some(Self::Omitted(width, height));
        }
        let is_exact = width.is_multiple_of(8) && height.is_multiple_of(8);
        (!is_exact).then_some(Self::Rounded(width, height))
    }
}

/// A frame cannot be packetized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The scan data exceed the range of the fragment offset.
    #[error("{0} bytes of scan data exceed RFC 2435's limit of {MAX_SCAN_BYTES}; encode with lower quality")]
    TooLong(usize),
    /// The frame needs too many packets for its sequence numbers to be comparable.
    #[error(
        "the frame needs {0} packets, more than {MAX_FRAME_PACKETS}; use larger packets or encode with lower quality"
    )]
    TooManyPackets(usize),
}

/// An invalid setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The packet size is out of range.
    #[error(
        "invalid packet size of {0} bytes; use {MIN_PACKET_BYTES} to {MAX_PACKET_BYTES}, including the RTP header"
    )]
    PacketBytes(usize),
    /// The payload type is out of range.
    #[error("invalid payload type {0}; use 0 to 127 (26 without SDP)")]
    PayloadType(u8),
    /// The limit on frame length is out of range.
    #[error("invalid frame limit of {0} bytes; use 1 to {MAX_SCAN_BYTES}")]
    FrameBytes(usize),
    /// The limit on frames or runs is 0.
    #[error("a limit of 0 frames or 0 runs is invalid; use 1 or more")]
    NothingHeld,
    /// The width or height is 0.
    #[error("invalid dimensions of {0} x {1} pixels; both must be at least 1")]
    Dimensions(u16, u16),
}

/// An invalid session description (SDP).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid session description (SDP): {rule}")]
pub struct SdpError {
    rule: String,
}

impl SdpError {
    pub(crate) fn new(rule: impl ToString) -> Self {
        Self { rule: rule.to_string() }
    }
}
