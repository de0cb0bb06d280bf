//! FORWARD-TSN ([RFC 3758 section 3.2](https://www.rfc-editor.org/rfc/rfc3758#section-3.2)) and I-FORWARD-TSN
//! ([RFC 8260 section 2.3.1](https://www.rfc-editor.org/rfc/rfc8260#section-2.3.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 192   |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |    stream sequence number     |  for each stream
//! +-------------------------------+-------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |  type = 194   |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-----------------------------+-+
//! |       stream identifier       |          reserved           |U|  for each stream, ordered
//! +-------------------------------+-----------------------------+-+  and unordered
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! ```

use super::bytes::{u16_at, u32_at};
use super::cursor::Cursor;
use super::{Malformed, PacketWriter, RawChunk};
use crate::types::{Mid, Ssn, StreamId, Tsn};

const UNORDERED: u16 = 1;

/// The sender has abandoned everything up to a TSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// Count everything up to this as arrived.
    pub new_cumulative_tsn: Tsn,
    /// The last abandoned message of each stream.
    pub skipped: SkippedStreams<'a>,
}

/// How far one stream advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// FORWARD-TSN: all ordered messages up to this number are abandoned.
    Ssn(StreamId, Ssn),
    /// I-FORWARD-TSN: the same by message identifier, for the ordered or the unordered messages.
    Mid(StreamId, Mid, /** Unordered. */ bool),
}

/// The streams of a FORWARD-TSN or I-FORWARD-TSN: all [`Skipped::Ssn`], or all [`Skipped::Mid`]. Streams may
/// repeat.
#[derive(Debug, Clone, Copy)]
pub struct SkippedStreams<'a> {
    interleaved: bool,
    /// Complete entries: of 4 bytes, or 8 if interleaved.
    rest: &'a [u8],
}

impl SkippedStreams<'_> {
    /// Whether they are from an I-FORWARD-TSN, which must match the negotiated chunk type (RFC 8260 section
    /// 2.3.1).
    pub fn is_interleaved(&self) -> bool {
        self.interleaved
    }
}

impl Iterator for SkippedStreams<'_> {
    type Item = Skipped;

    fn next(&mut self) -> Option<Skipped> {
        if !self.interleaved {
            let (entry, rest) = self.rest.split_first_chunk::<4>()?;
            self.rest = rest;
            return Some(Skipped::Ssn(StreamId(u16_at(entry, 0)), Ssn(u16_at(entry, 2))));
        }
        let (entry, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        let unordered = u16_at(entry, 2) & UNORDERED != 0;
        Some(Skipped::Mid(StreamId(u16_at(entry, 0)), Mid(u32_at(entry, 4)), unordered))
    }
}

/// Equal if they have the same chunk type and contain the same streams.
impl PartialEq for SkippedStreams<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.interleaved == other.interleaved && Iterator::eq(*self, *other)
    }
}

impl Eq for SkippedStreams<'_> {}

impl<'a> ForwardTsn<'a> {
    /// Chunk type FORWARD-TSN.
    pub const KIND: u8 = 192;
    /// Chunk type I-FORWARD-TSN.
    pub const KIND_INTERLEAVED: u8 = 194;
    /// Bytes of a chunk without streams, including its header.
    pub const OVERHEAD: usize = 8;

    /// Parses a chunk of either type.
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let (interleaved, entry_bytes) = match chunk.kind {
            Self::KIND => (false, 4),
            Self::KIND_INTERLEAVED => (true, 8),
            _ => return Err(Malformed { what: "FORWARD-TSN", rule: "must be of type 192 or 194" }),
        };
        match chunk.value.split_first_chunk::<4>() {
            Some((tsn, rest)) if rest.len() % entry_bytes == 0 => Ok(Self {
                new_cumulative_tsn: Tsn(u32_at(tsn, 0)),
                skipped: SkippedStreams { interleaved, rest },
            }),
            _ => Err(Malformed { what: "FORWARD-TSN", rule: "must have a TSN and whole entries" }),
        }
    }

    /// Writes a FORWARD-TSN with all of the streams. Returns false and writes nothing if they do not fit:
    /// then advance less far, because a stream left out would wait indefinitely.
    pub fn write(
        packet: &mut PacketWriter<'_>,
        new_cumulative_tsn: Tsn,
        skipped: impl IntoIterator<Item = (StreamId, Ssn)>,
    ) -> bool {
        packet.chunk_within(Self::KIND, 0, |value| {
            let mut cursor = Cursor::new(value);
            cursor.u32(new_cumulative_tsn.0)?;
            for (stream, ssn) in skipped {
                cursor.u16(stream.0)?;
                cursor.u16(ssn.0)?;
            }
            Some(cursor.length())
        })
    }

    /// Writes an I-FORWARD-TSN with all of the streams; `true` means the unordered messages of a stream.
    /// Returns false and writes nothing if they do not fit.
    pub fn write_interleaved(
        packet: &mut PacketWriter<'_>,
        new_cumulative_tsn: Tsn,
        skipped: impl IntoIterator<Item = (StreamId, Mid, bool)>,
    ) -> bool {
        packet.chunk_within(Self::KIND_INTERLEAVED, 0, |value| {
            let mut cursor = Cursor::new(value);
            cursor.u32(new_cumulative_tsn.0)?;
            for (stream, mid, unordered) in skipped {
                cursor.u16(stream.0)?;
                cursor.u16(u16::from(unordered))?;
                cursor.u32(mid.0)?;
            }
            Some(cursor.length())
        })
    }
}

#[cfg(test)]
mod tests;
