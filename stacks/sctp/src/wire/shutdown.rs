//! SHUTDOWN ([RFC 9260 section 3.3.8](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.8)), SHUTDOWN ACK
//! ([section 3.3.9](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.9)) and SHUTDOWN COMPLETE
//! ([section 3.3.13](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.13)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 7    |   flags = 0   |          length = 8           |
//! +---------------+---------------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |   type = 8    |   flags = 0   |          length = 4           |
//! +---------------+---------------+-------------------------------+
//!
//! +---------------+-------------+-+-------------------------------+
//! |   type = 14   |  reserved   |T|          length = 4           |
//! +---------------+-------------+-+-------------------------------+
//! ```

use super::bytes::u32_at;
use super::{Malformed, PacketWriter, RawChunk, TAG_REFLECTED};
use crate::types::Tsn;

/// The sender has no more data, and all of its data was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Everything of the receiver up to this has arrived.
    pub cumulative_tsn: Tsn,
}

impl Shutdown {
    /// Chunk type.
    pub const KIND: u8 = 7;

    /// Parses a SHUTDOWN.
    pub fn parse(chunk: &RawChunk<'_>) -> Result<Self, Malformed> {
        let Ok(tsn) = <&[u8; 4]>::try_from(chunk.value) else {
            return Err(Malformed { what: "SHUTDOWN", rule: "must be 8 bytes long" });
        };
        Ok(Self { cumulative_tsn: Tsn(u32_at(tsn, 0)) })
    }

    /// Writes a SHUTDOWN. Gives false, and writes nothing, if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_of(Self::KIND, 0, &self.cumulative_tsn.0.to_be_bytes())
    }
}

/// The answer to SHUTDOWN, once the other side has no more data either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownAck;

impl ShutdownAck {
    /// Chunk type.
    pub const KIND: u8 = 8;

    /// Writes a SHUTDOWN ACK. Gives false, and writes nothing, if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_of(Self::KIND, 0, &[])
    }
}

/// The last word of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownComplete {
    /// T: the packet's verification tag is that of the packet answered, for want of an association.
    pub tag_reflected: bool,
}

impl ShutdownComplete {
    /// Chunk type.
    pub const KIND: u8 = 14;

    /// Parses a SHUTDOWN COMPLETE. Every value will do: there is nothing in it but the flag.
    pub fn parse(chunk: &RawChunk<'_>) -> Self {
        Self { tag_reflected: chunk.flags & TAG_REFLECTED != 0 }
    }

    /// Writes a SHUTDOWN COMPLETE. Gives false, and writes nothing, if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_of(Self::KIND, u8::from(self.tag_reflected), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{only_chunk, written};

    #[test]
    fn known_bytes() {
        let bytes = [7, 0, 0, 8, 0, 0, 3, 0xe8];
        let shutdown = Shutdown { cumulative_tsn: Tsn(1000) };
        assert_eq!(Shutdown::parse(&only_chunk(&bytes)), Ok(shutdown));
        assert_eq!(written(|packet| assert!(shutdown.write(packet))), bytes);
        assert_eq!(written(|packet| assert!(ShutdownAck.write(packet))), [8, 0, 0, 4]);
        for (tag_reflected, bytes) in [(false, [14, 0, 0, 4]), (true, [14, 1, 0, 4])] {
            let complete = ShutdownComplete { tag_reflected };
            assert_eq!(ShutdownComplete::parse(&only_chunk(&bytes)), complete);
            assert_eq!(written(|packet| assert!(complete.write(packet))), bytes);
        }
    }

    #[test]
    fn a_shutdown_has_one_number() {
        for length in [0, 1, 3, 5, 8] {
            let chunk = RawChunk { kind: Shutdown::KIND, flags: 0, value: &[0; 8][..length] };
            assert!(Shutdown::parse(&chunk).is_err(), "{length}");
        }
    }
}
