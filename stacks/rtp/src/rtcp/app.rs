//! An application's own packet ([RFC 3550 section 6.7](https://www.rfc-editor.org/rfc/rfc3550#section-6.7)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P| subtype |   APP = 204   |            length             |
//! +---+-+---------+---------------+-------------------------------+
//! |                           SSRC/CSRC                           |
//! +---------------------------------------------------------------+
//! |                          name (ASCII)                         |
//! +---------------------------------------------------------------+
//! |                   application-dependent data ..               |
//! +---------------------------------------------------------------+
//! ```

use super::RawPacket;
use crate::bytes::{Cursor, u32_at};
use crate::error::Malformed;
use crate::types::Ssrc;

/// An application's own packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App<'a> {
    /// 0 to 31.
    pub subtype: u8,
    /// Who sends it.
    pub ssrc: Ssrc,
    /// Whose format it is.
    pub name: [u8; 4],
    /// The data, whole words of 32 bits.
    pub data: &'a [u8],
}

impl<'a> App<'a> {
    /// Packet type.
    pub const KIND: u8 = 204;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((&head, data)) = raw.body.split_first_chunk::<8>() else {
            return Err(Malformed::new("RTCP APP", "has an SSRC and a name"));
        };
        let [_, _, _, _, name @ ..] = head;
        Ok(Self { subtype: raw.count, ssrc: Ssrc(u32_at(&head, 0)), name, data })
    }

    /// Writes the packet; none if it does not fit or its data are no whole words.
    pub(super) fn write(&self, out: &mut Cursor<'_>) -> Option<u8> {
        if self.subtype > 31 || !self.data.len().is_multiple_of(4) {
            return None;
        }
        out.u32(self.ssrc.0)?;
        out.bytes(&self.name)?;
        out.bytes(self.data)?;
        Some(self.subtype)
    }
}
