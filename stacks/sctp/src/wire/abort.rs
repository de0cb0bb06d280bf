//! ABORT ([RFC 9260 section 3.3.7](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------------+-+-------------------------------+
//! |   type = 6    |  reserved   |T|            length             |
//! +---------------+-------------+-+-------------------------------+
//! |                   error causes, perhaps none                  |
//! +---------------------------------------------------------------+
//! ```

use super::cursor::Cursor;
use super::error::{Cause, Causes, write_causes};
use super::{PacketWriter, RawChunk, TAG_REFLECTED};

/// Ends the association immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abort<'a> {
    /// T: the packet reflects the verification tag of the packet that it answers, because there is no
    /// association.
    pub tag_reflected: bool,
    /// The reasons.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    /// Chunk type.
    pub const KIND: u8 = 6;

    /// Parses an ABORT. Any value is accepted: the association ends even if the causes are malformed.
    pub fn parse(chunk: &RawChunk<'a>) -> Self {
        Self { tag_reflected: chunk.flags & TAG_REFLECTED != 0, causes: Causes::new(chunk.value) }
    }

    /// Writes an ABORT with the causes that fit. Returns false and writes nothing if not even its header
    /// fits.
    #[must_use]
    pub fn write<'c>(
        packet: &mut PacketWriter<'_>,
        tag_reflected: bool,
        causes: impl IntoIterator<Item = Cause<'c>>,
    ) -> bool {
        packet.chunk_within(Self::KIND, u8::from(tag_reflected), |value| {
            let mut cursor = Cursor::new(value);
            write_causes(&mut cursor, causes);
            Some(cursor.length())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{HEADER, only_chunk, written};

    #[test]
    fn known_bytes() {
        let bye = [Cause::UserAbort(b"bye")];
        for (tag_reflected, causes, bytes) in [
            (false, &[][..], &[6, 0, 0, 4][..]),
            (true, &[], &[6, 1, 0, 4]),
            (false, &bye, &[6, 0, 0, 11, 0, 12, 0, 7, b'b', b'y', b'e', 0]),
        ] {
            let write = |packet: &mut PacketWriter<'_>| {
                assert!(Abort::write(packet, tag_reflected, causes.iter().copied()));
            };
            assert_eq!(written(write), bytes);
            let read = Abort::parse(&only_chunk(bytes));
            assert_eq!(read.tag_reflected, tag_reflected);
            assert!(read.causes.eq(causes.iter().copied()));
        }
    }

    #[test]
    fn at_any_length() {
        let value = [0, 12, 0, 7, b'b', b'y', b'e', 0, 0, 10, 0, 4];
        for length in 0..=value.len() {
            let read = Abort::parse(&RawChunk { kind: Abort::KIND, flags: 0, value: &value[..length] });
            let whole = usize::from(length >= 7) + usize::from(length >= 12);
            assert_eq!(read.causes.count(), whole, "{length}");
        }
    }

    #[test]
    fn it_is_written_even_if_no_cause_fits() {
        let mut out = [0; 16];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert!(Abort::write(&mut packet, false, [Cause::UserAbort(b"bye")]));
        assert!(!Abort::write(&mut packet, false, []));
        assert_eq!(packet.finish(true), 16);
    }
}
