//! SACK ([RFC 9260 section 3.3.4](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.4)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 3    |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//! |              advertised receiver window credit                |
//! +-------------------------------+-------------------------------+
//! |   number of gap ack blocks    |   number of duplicate TSNs    |
//! +-------------------------------+-------------------------------+
//! |     first of a gap block      |      last of a gap block      |  for each gap block
//! +-------------------------------+-------------------------------+
//! |                         duplicate TSN                         |  for each duplicate
//! +---------------------------------------------------------------+
//! ```

use super::bytes::{put_u16, put_u32, u16_at, u32_at};
use super::{Malformed, PacketWriter, RawChunk};
use crate::types::Tsn;

/// Length of the fields after the chunk header.
const FIELD_BYTES: usize = 12;

/// A selective acknowledgement, as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack<'a> {
    /// Everything up to this has arrived.
    pub cumulative_tsn: Tsn,
    /// Advertised receiver window credit, bytes.
    pub window_bytes: u32,
    /// What has arrived beyond.
    pub gaps: GapBlocks<'a>,
    /// TSNs that arrived twice, counted.
    pub duplicates: usize,
}

/// Gap ack blocks: (first, last) as offsets from the cumulative TSN.
///
/// Whatever the peer sent, each block given has `2 <= first <= last`, and begins after the block before it: so all of
/// them together name each offset once at most. Blocks that break this are left out, and the iteration goes on with the
/// one after; it is bounded by what the chunk holds. Offset 1 cannot have come, or the cumulative TSN would be higher.
#[derive(Debug, Clone, Copy)]
pub struct GapBlocks<'a> {
    /// Blocks not looked at yet.
    rest: &'a [u8],
    /// The last offset given, 1 at first: blocks must begin after it.
    after: u16,
}

impl Iterator for GapBlocks<'_> {
    type Item = (u16, u16);

    #[inline]
    fn next(&mut self) -> Option<(u16, u16)> {
        while let Some((block, rest)) = self.rest.split_first_chunk::<4>() {
            self.rest = rest;
            let (first, last) = (u16_at(block, 0), u16_at(block, 2));
            if self.after < first && first <= last {
                self.after = last;
                return Some((first, last));
            }
        }
        None
    }
}

/// Equal if they give the same blocks.
impl PartialEq for GapBlocks<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for GapBlocks<'_> {}

impl<'a> Sack<'a> {
    /// Chunk type.
    pub const KIND: u8 = 3;

    /// Parses a SACK.
    #[inline]
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((fields, lists)) = chunk.value.split_first_chunk::<FIELD_BYTES>() else {
            return Err(Malformed { what: "SACK", rule: "must have its fields" });
        };
        let (gaps, duplicates) = (usize::from(u16_at(fields, 8)), usize::from(u16_at(fields, 10)));
        if lists.len() != 4 * (gaps + duplicates) {
            return Err(Malformed {
                what: "SACK",
                rule: "must have the length of its gap blocks and duplicates",
            });
        }
        Ok(Self {
            cumulative_tsn: Tsn(u32_at(fields, 0)),
            window_bytes: u32_at(fields, 4),
            gaps: GapBlocks { rest: &lists[..4 * gaps], after: 1 },
            duplicates,
        })
    }

    /// Writes a SACK with as many gap blocks, then duplicates, as fit. Gives false, and writes nothing, if not even
    /// the bare SACK fits.
    pub fn write(
        packet: &mut PacketWriter<'_>,
        cumulative_tsn: Tsn,
        window_bytes: u32,
        gaps: impl Iterator<Item = (u16, u16)>,
        duplicates: &[Tsn],
    ) -> bool {
        packet.chunk_within(Self::KIND, 0, |value| {
            let (fields, lists) = value.split_first_chunk_mut::<FIELD_BYTES>()?;
            let (entries, _) = lists.as_chunks_mut::<4>();
            let (mut gap_count, mut duplicate_count) = (0u16, 0u16);
            let mut entries = entries.iter_mut();
            // The gap is taken first: an entry taken without a gap would leave a hole before the duplicates.
            for ((first, last), entry) in gaps.zip(entries.by_ref()) {
                put_u16(entry, 0, first);
                put_u16(entry, 2, last);
                gap_count += 1;
            }
            for (duplicate, entry) in duplicates.iter().zip(entries) {
                put_u32(entry, 0, duplicate.0);
                duplicate_count += 1;
            }
            put_u32(fields, 0, cumulative_tsn.0);
            put_u32(fields, 4, window_bytes);
            put_u16(fields, 8, gap_count);
            put_u16(fields, 10, duplicate_count);
            Some(FIELD_BYTES + 4 * (usize::from(gap_count) + usize::from(duplicate_count)))
        })
    }
}

#[cfg(test)]
mod tests;
