//! The main header ([RFC 2435 section 3.1](https://www.rfc-editor.org/rfc/rfc2435#section-3.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-----------------------------------------------+
//! | type-specific |                fragment offset                |
//! +---------------+---------------+---------------+---------------+
//! |     type      |       Q       |   width / 8   |  height / 8   |
//! +---------------+---------------+---------------+---------------+
//! ```

use super::Malformed;
use crate::jpeg::Sampling;
use crate::limits::MAX_HEADER_DIMENSION;

/// Length of the main header.
pub const MAIN_HEADER_BYTES: usize = 8;

/// The first type with a restart header (section 3.1.3).
const RESTART_TYPES: u8 = 64;

/// The main header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MainHeader {
    /// The lines of the picture that the frame contains.
    pub field: Field,
    /// Offset of the packet's data in the scan, in bytes, below 2^24.
    pub offset: u32,
    /// Type: subsampling and presence of restart markers.
    pub kind: JpegType,
    /// Quantisation tables: 1 to 99 computed, 128 to 254 sent once per session, 255 sent with each frame; others are reserved.
    pub q: u8,
    /// Dimensions of the picture.
    pub dimensions: Dimensions,
}

/// Type-specific field of types 0 and 1 (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Field {
    /// All lines.
    #[default]
    Progressive,
    /// The odd field of an interlaced picture: lines 1, 3, 5 and so on, counted from 1.
    Odd,
    /// The even field.
    Even,
    /// A single field, to be displayed at twice its height.
    Single,
    /// A value that RFC 2435 does not define.
    Other(u8),
}

impl Field {
    fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Progressive,
            1 => Self::Odd,
            2 => Self::Even,
            3 => Self::Single,
            _ => Self::Other(byte),
        }
    }

    fn to_byte(self) -> u8 {
        match self {
            Self::Progressive => 0,
            Self::Odd => 1,
            Self::Even => 2,
            Self::Single => 3,
            Self::Other(byte) => byte,
        }
    }
}

/// Type (sections 3.1.3 and 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JpegType(pub u8);

impl JpegType {
    /// The type of a picture.
    pub fn new(sampling: Sampling, has_restarts: bool) -> Self {
        let base = match sampling {
            Sampling::Yuv422 => 0,
            Sampling::Yuv420 => 1,
        };
        Self(if has_restarts { base + RESTART_TYPES } else { base })
    }

    /// Whether packets of this type have a restart header.
    pub fn has_restarts(self) -> bool {
        (RESTART_TYPES..128).contains(&self.0)
    }

    /// Chroma subsampling of the types that RFC 2435 defines: 0, 1, 64 and 65.
    pub fn sampling(self) -> Option<Sampling> {
        match self.0 {
            0 | 64 => Some(Sampling::Yuv422),
            1 | 65 => Some(Sampling::Yuv420),
            _ => None,
        }
    }
}

/// Width and height in units of 8 pixels. 0 means that SDP has them (`a=x-dimensions:WIDTH,HEIGHT`). This is not in the RFC;
/// GStreamer does it for sizes above 2,040.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Dimensions {
    width_8: u8,
    height_8: u8,
}

impl Dimensions {
    /// The dimensions of a picture; 0 in both fields if one exceeds 2,040 pixels.
    pub fn new(width: u16, height: u16) -> Self {
        if width.max(height) > MAX_HEADER_DIMENSION {
            return Self::default();
        }
        Self { width_8: width.div_ceil(8) as u8, height_8: height.div_ceil(8) as u8 }
    }

    /// Width and height in pixels, rounded up to multiples of 8. `None` if only SDP has them.
    pub fn pixels(self) -> Option<(u16, u16)> {
        let is_present = self.width_8 > 0 && self.height_8 > 0;
        is_present.then(|| (u16::from(self.width_8) * 8, u16::from(self.height_8) * 8))
    }
}

impl MainHeader {
    /// Parses the header and returns it with the remaining bytes.
    pub fn parse(payload: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let Some((head, rest)) = payload.split_first_chunk::<MAIN_HEADER_BYTES>() else {
            return Err(Malformed::new("the main header of 8 bytes is truncated"));
        };
        let [field, o2, o1, o0, kind, q, width_8, height_8] = *head;
        let header = Self {
            field: Field::from_byte(field),
            offset: u32::from_be_bytes([0, o2, o1, o0]),
            kind: JpegType(kind),
            q,
            dimensions: Dimensions { width_8, height_8 },
        };
        Ok((header, rest))
    }

    /// Formats the header with the low 24 bits of the offset.
    pub fn to_bytes(self) -> [u8; MAIN_HEADER_BYTES] {
        let [_, o2, o1, o0] = self.offset.to_be_bytes();
        let Dimensions { width_8, height_8 } = self.dimensions;
        [self.field.to_byte(), o2, o1, o0, self.kind.0, self.q, width_8, height_8]
    }
}
