//! Goodbye ([RFC 3550 section 6.6](https://www.rfc-editor.org/rfc/rfc3550#section-6.6)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P|   SC    |   BYE = 203   |            length             |
//! +---+-+---------+---------------+-------------------------------+
//! |                           SSRC/CSRC                           |  SC times
//! +---------------+-----------------------------------------------+
//! |    length     |  reason for leaving ..                        |  optional
//! +---------------+-----------------------------------------------+
//! ```

use super::RawPacket;
use crate::bytes::Cursor;
use crate::error::Malformed;
use crate::limits::MAX_REPORT_BLOCKS;
use crate::ssrcs::Ssrcs;
use crate::types::Ssrc;

/// Sources that leave, with an optional reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bye<'a> {
    /// The sources, at most 31.
    pub sources: Ssrcs<'a>,
    /// The reason, at most 255 bytes; should be UTF-8.
    pub reason: Option<&'a [u8]>,
}

impl<'a> Bye<'a> {
    /// Packet type.
    pub const KIND: u8 = 203;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((sources, rest)) = Ssrcs::split(raw.count, raw.body) else {
            return Err(Malformed::new("RTCP BYE", "the list of sources is truncated"));
        };
        let reason = match rest {
            [] => None,
            [length, text @ ..] => {
                let reason = text.get(..usize::from(*length));
                Some(reason.ok_or(Malformed::new("reason of an RTCP BYE", "the text is truncated"))?)
            }
        };
        Ok(Self { sources, reason })
    }
}

/// Writes the sources and the reason; `None` if they do not fit.
pub(super) fn write(sources: &[Ssrc], reason: Option<&[u8]>, out: &mut Cursor<'_>) -> Option<u8> {
    if sources.len() > MAX_REPORT_BLOCKS {
        return None;
    }
    sources.iter().try_for_each(|source| out.u32(source.0))?;
    if let Some(reason) = reason {
        let start = out.length();
        out.u8(u8::try_from(reason.len()).ok()?)?;
        out.bytes(reason)?;
        out.align_from(start)?;
    }
    Some(sources.len() as u8)
}
