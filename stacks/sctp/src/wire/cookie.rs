//! COOKIE ECHO ([RFC 9260 section 3.3.11](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.11)) and COOKIE ACK
//! ([section 3.3.12](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.12)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 10   |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                 cookie of the INIT ACK, padded                |
//! +---------------------------------------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |   type = 11   |   flags = 0   |          length = 4           |
//! +---------------+---------------+-------------------------------+
//! ```

use super::{PacketWriter, RawChunk};

/// Returns the cookie of the INIT ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CookieEcho<'a> {
    /// The cookie, opaque to this side; it may be empty.
    pub cookie: &'a [u8],
}

impl<'a> CookieEcho<'a> {
    /// Chunk type.
    pub const KIND: u8 = 10;

    /// Parses a COOKIE ECHO. Any value is accepted: the issuer validates the cookie.
    pub fn parse(chunk: &RawChunk<'a>) -> Self {
        Self { cookie: chunk.value }
    }

    /// Writes a COOKIE ECHO. Returns false and writes nothing if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_of(Self::KIND, 0, self.cookie)
    }
}

/// The cookie was valid: the association is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CookieAck;

impl CookieAck {
    /// Chunk type.
    pub const KIND: u8 = 11;

    /// Writes a COOKIE ACK. Returns false and writes nothing if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        packet.chunk_of(Self::KIND, 0, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{HEADER, only_chunk, written};

    #[test]
    fn known_bytes() {
        let bytes = [10, 0, 0, 7, 1, 2, 3, 0];
        let echo = CookieEcho { cookie: &[1, 2, 3] };
        assert_eq!(CookieEcho::parse(&only_chunk(&bytes)), echo);
        assert_eq!(written(|packet| assert!(echo.write(packet))), bytes);
        assert_eq!(written(|packet| assert!(CookieAck.write(packet))), [11, 0, 0, 4]);
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut out = [0; 22];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert!(!CookieEcho { cookie: &[0; 5] }.write(&mut packet));
        assert!(packet.is_empty());
        assert!(CookieEcho { cookie: &[0; 4] }.write(&mut packet));
        assert!(!CookieAck.write(&mut packet));
    }
}
