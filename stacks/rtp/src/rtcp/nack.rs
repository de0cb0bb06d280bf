//! Generic NACK ([RFC 4585 section 6.2.1](https://www.rfc-editor.org/rfc/rfc4585#section-6.2.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |        packet ID (PID)        | lost packets after it (BLP)   |  one time or more
//! +-------------------------------+-------------------------------+
//! ```

use super::Feedback;
use crate::bytes::{Cursor, u16_at};
use crate::error::Malformed;
use crate::types::{Sequence, Ssrc};

/// A generic NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// The SSRC of the receiver.
    pub sender: Ssrc,
    /// The SSRC of the missing packets.
    pub media: Ssrc,
    fci: &'a [u8],
}

/// A missing packet and a bitmask of the following 16 packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NackEntry {
    /// Sequence number of the packet.
    pub first: Sequence,
    /// Bit `n` is set if packet `n + 1` after it is missing.
    pub following: u16,
}

impl NackEntry {
    /// The missing packets, at most 17, in order.
    pub fn sequences(self) -> impl Iterator<Item = Sequence> {
        let following = (0..16u16).filter(move |bit| self.following & 1 << bit != 0);
        std::iter::once(self.first).chain(following.map(move |bit| self.first.add(bit + 1)))
    }
}

impl<'a> Nack<'a> {
    /// Feedback message type.
    pub const FORMAT: u8 = 1;

    pub(super) fn parse(feedback: Feedback<'a>) -> Result<Self, Malformed> {
        let Feedback { sender, media, fci, .. } = feedback;
        if fci.is_empty() || !fci.len().is_multiple_of(4) {
            return Err(Malformed::new("RTCP NACK", "the entries are missing or truncated"));
        }
        Ok(Self { sender, media, fci })
    }

    /// The entries.
    pub fn entries(self) -> impl Iterator<Item = NackEntry> {
        let (entries, _) = self.fci.as_chunks::<4>();
        entries
            .iter()
            .map(|entry| NackEntry { first: Sequence(u16_at(entry, 0)), following: u16_at(entry, 2) })
    }

    /// The missing packets in the order of the entries.
    pub fn sequences(self) -> impl Iterator<Item = Sequence> {
        self.entries().flat_map(NackEntry::sequences)
    }
}

/// Writes entries for ascending sequence numbers; `None` if they do not fit or are empty.
pub(super) fn write(missing: impl IntoIterator<Item = Sequence>, out: &mut Cursor<'_>) -> Option<()> {
    let mut missing = missing.into_iter();
    let mut entry = NackEntry { first: missing.next()?, following: 0 };
    for sequence in missing {
        match sequence.since(entry.first) {
            distance @ 1..=16 => entry.following |= 1 << (distance - 1),
            0 => {}
            _ => {
                put(entry, out)?;
                entry = NackEntry { first: sequence, following: 0 };
            }
        }
    }
    put(entry, out)
}

fn put(entry: NackEntry, out: &mut Cursor<'_>) -> Option<()> {
    out.u16(entry.first.0)?;
    out.u16(entry.following)
}
