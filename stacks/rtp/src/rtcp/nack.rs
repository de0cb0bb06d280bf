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

/// Packets that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// Who misses them.
    pub sender: Ssrc,
    /// Whose they are.
    pub media: Ssrc,
    fci: &'a [u8],
}

/// One packet that is missing, and which of the sixteen after it are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NackEntry {
    /// The packet.
    pub first: Sequence,
    /// Bit `n` stands for the packet `n + 1` after it.
    pub following: u16,
}

impl NackEntry {
    /// The packets, at most seventeen, in their order.
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
            return Err(Malformed::new("RTCP NACK", "has at least one entry, each of 4 bytes"));
        }
        Ok(Self { sender, media, fci })
    }

    /// Its entries.
    pub fn entries(self) -> impl Iterator<Item = NackEntry> {
        let (entries, _) = self.fci.as_chunks::<4>();
        entries
            .iter()
            .map(|entry| NackEntry { first: Sequence(u16_at(entry, 0)), following: u16_at(entry, 2) })
    }

    /// The packets that are missing, in the order told.
    pub fn sequences(self) -> impl Iterator<Item = Sequence> {
        self.entries().flat_map(NackEntry::sequences)
    }
}

/// Writes entries for sequence numbers in ascending order; none if they do not fit, or there are none.
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
