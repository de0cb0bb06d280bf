//! Application-defined packets ([RFC 3550 section 6.7](https://www.rfc-editor.org/rfc/rfc3550#section-6.7)).
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

/// An application-defined packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App<'a> {
    /// Subtype, 0 to 31.
    pub subtype: u8,
    /// The SSRC of the sender.
    pub ssrc: Ssrc,
    /// Name of the application.
    pub name: [u8; 4],
    /// The data, a multiple of four bytes.
    pub data: &'a [u8],
}

impl<'a> App<'a> {
    /// Packet type.
    pub const KIND: u8 = 204;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((&head, data)) = raw.body.split_first_chunk::<8>() else {
            return Err(Malformed::new("RTCP APP", "the SSRC or the name is missing"));
        };
        let [_, _, _, _, name @ ..] = head;
        Ok(Self { subtype: raw.count, ssrc: Ssrc(u32_at(&head, 0)), name, data })
    }

    /// Writes the packet; `None` if it does not fit or its length is not a multiple of four bytes.
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
