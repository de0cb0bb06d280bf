//! The common format of feedback ([RFC 4585 section 6.1](https://www.rfc-editor.org/rfc/rfc4585#section-6.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P|   FMT   |205 RTP, 206 PS|            length             |
//! +---+-+---------+---------------+-------------------------------+
//! |                     SSRC of packet sender                     |
//! +---------------------------------------------------------------+
//! |                      SSRC of media source                     |
//! +---------------------------------------------------------------+
//! |             feedback control information (FCI) ..             |
//! +---------------------------------------------------------------+
//! ```

use super::RawPacket;
use crate::bytes::u32_at;
use crate::error::Malformed;
use crate::types::Ssrc;

/// A feedback packet of any format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// [`Feedback::TRANSPORT`] or [`Feedback::PAYLOAD`].
    pub kind: u8,
    /// Feedback message type (FMT), 0 to 31.
    pub format: u8,
    /// The SSRC of the sender.
    pub sender: Ssrc,
    /// The SSRC of the media source.
    pub media: Ssrc,
    /// The feedback control information, a multiple of four bytes.
    pub fci: &'a [u8],
}

impl<'a> Feedback<'a> {
    /// Packet type of transport-layer feedback.
    pub const TRANSPORT: u8 = 205;
    /// Packet type of payload-specific feedback.
    pub const PAYLOAD: u8 = 206;

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let Some((head, fci)) = raw.body.split_first_chunk::<8>() else {
            return Err(Malformed::new("RTCP feedback", "the SSRCs are missing"));
        };
        let (sender, media) = (Ssrc(u32_at(head, 0)), Ssrc(u32_at(head, 4)));
        Ok(Self { kind: raw.kind, format: raw.count, sender, media, fci })
    }
}
