//! HEARTBEAT ([RFC 9260 section 3.3.5](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.5)) and HEARTBEAT ACK
//! ([section 3.3.6](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.6)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 4, 5  |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |      heartbeat info = 1       |            length             |
//! +-------------------------------+-------------------------------+
//! |                        info, padded                           |
//! +---------------------------------------------------------------+
//! ```

use super::cursor::Cursor;
use super::parameter::Parameters;
use super::{Malformed, PacketWriter, RawChunk};

/// The one parameter of both chunks.
const INFO: u16 = 1;

/// A reachability check, or its answer with the same info.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// Opaque data that the answer returns; it may be empty.
    pub info: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    /// Chunk type HEARTBEAT.
    pub const KIND: u8 = 4;
    /// Chunk type HEARTBEAT ACK.
    pub const KIND_ACK: u8 = 5;
    /// Bytes of a chunk without info.
    pub const OVERHEAD: usize = 8;

    /// Parses a chunk of either type.
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        match Parameters::new(chunk.value).next() {
            Some(parameter) if parameter.kind == INFO => Ok(Self { info: parameter.value }),
            _ => Err(Malformed { what: "HEARTBEAT", rule: "must begin with its info" }),
        }
    }

    /// Writes a HEARTBEAT. Returns false and writes nothing if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        self.write_as(Self::KIND, packet)
    }

    /// Writes a HEARTBEAT ACK. Returns false and writes nothing if it does not fit.
    #[must_use]
    pub fn write_ack(&self, packet: &mut PacketWriter<'_>) -> bool {
        self.write_as(Self::KIND_ACK, packet)
    }

    fn write_as(&self, kind: u8, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_within(kind, 0, |value| {
            let mut cursor = Cursor::new(value);
            cursor.parameter(INFO, |value| value.bytes(self.info))?;
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
        let heartbeat = Heartbeat { info: &[9, 8, 7, 6, 5] };
        let bytes = [4, 0, 0, 13, 0, 1, 0, 9, 9, 8, 7, 6, 5, 0, 0, 0];
        assert_eq!(Heartbeat::parse(&only_chunk(&bytes)), Ok(heartbeat));
        assert_eq!(written(|packet| assert!(heartbeat.write(packet))), bytes);
        let answer = written(|packet| assert!(heartbeat.write_ack(packet)));
        assert_eq!((answer[0], &answer[1..]), (Heartbeat::KIND_ACK, &bytes[1..]));
    }

    #[test]
    fn a_chunk_without_info_is_refused() {
        for value in [&[][..], &[0], &[0, 1, 0, 3], &[0, 1, 0, 5], &[0, 2, 0, 4], &[0, 2, 0, 4, 0, 1, 0, 4]] {
            let chunk = RawChunk { kind: Heartbeat::KIND, flags: 0, value };
            assert!(Heartbeat::parse(&chunk).is_err(), "{value:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut out = [0; 24];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert!(!Heartbeat { info: &[0; 5] }.write(&mut packet));
        assert!(packet.is_empty());
        assert!(Heartbeat { info: &[0; 4] }.write(&mut packet));
    }
}
