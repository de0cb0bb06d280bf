//! PAD ([RFC 4820 section 3](https://www.rfc-editor.org/rfc/rfc4820#section-3)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 132   |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                zeros; the receiver does not look              |
//! +---------------------------------------------------------------+
//! ```

use super::{CHUNK_HEADER_BYTES, PacketWriter, RawChunk};

/// Padding; makes a packet longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad {
    /// Length of the chunk, including its header of 4 bytes.
    pub length: usize,
}

impl Pad {
    /// Chunk type.
    pub const KIND: u8 = 132;

    /// Parses a PAD. Any value is accepted.
    pub fn parse(chunk: &RawChunk<'_>) -> Self {
        Self { length: chunk.value.len() + CHUNK_HEADER_BYTES }
    }

    /// Writes a PAD. Returns false and writes nothing if it does not fit or is shorter than its header.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_within(Self::KIND, 0, |value| {
            let length = self.length.checked_sub(CHUNK_HEADER_BYTES)?;
            value.get_mut(..length)?.fill(0);
            Some(length)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{HEADER, only_chunk, written};

    #[test]
    fn known_bytes() {
        for (length, bytes) in [(4, &[132, 0, 0, 4][..]), (7, &[132, 0, 0, 7, 0, 0, 0, 0])] {
            assert_eq!(written(|packet| assert!(Pad { length }.write(packet))), bytes);
            assert_eq!(Pad::parse(&only_chunk(bytes)), Pad { length });
        }
    }

    #[test]
    fn it_fills_a_packet_to_the_end() {
        for length in [0, 3, 101, usize::MAX] {
            let mut out = [1; 112];
            assert!(!Pad { length }.write(&mut PacketWriter::new(&mut out, HEADER)), "{length}");
        }
        let mut out = [1; 112];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert!(Pad { length: packet.room() }.write(&mut packet));
        assert_eq!(packet.room(), 0);
        assert!(out[16..].iter().all(|&byte| byte == 0));
    }
}
