//! Demultiplexing of RTP and RTCP on one port ([RFC 5761](https://www.rfc-editor.org/rfc/rfc5761)), also with DTLS and STUN
//! (RFC 7983).

/// The kind of a datagram according to its first two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An RTP packet.
    Rtp,
    /// RTCP packets.
    Rtcp,
    /// Neither: its first byte is not 128 to 191 (RFC 7983 section 7), or it has fewer than two bytes.
    Other,
}

/// Classifies a datagram.
///
/// > payload type values in the range 64-95 MUST NOT be used (RFC 5761 section 4)
///
/// With the marker bit, these equal the RTCP packet types 192 to 223.
pub fn kind(datagram: &[u8]) -> Kind {
    match datagram {
        [128..=191, 192..=223, ..] => Kind::Rtcp,
        [128..=191, _, ..] => Kind::Rtp,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_classified() {
        for (bytes, expected) in [
            (&[0x80, 26][..], Kind::Rtp),
            (&[0x80, 26 | 0x80], Kind::Rtp),
            (&[0x80, 63 | 0x80], Kind::Rtp),
            (&[0x80, 96 | 0x80], Kind::Rtp),
            (&[0x80, 64], Kind::Rtp),
            (&[0xbf, 127], Kind::Rtp),
            (&[0x80, 200], Kind::Rtcp),
            (&[0x81, 206], Kind::Rtcp),
            (&[0x80, 192], Kind::Rtcp),
            (&[0x80, 223], Kind::Rtcp),
            // STUN and DTLS.
            (&[0, 1], Kind::Other),
            (&[22, 254], Kind::Other),
            (&[192, 200], Kind::Other),
            (&[0x80], Kind::Other),
            (&[], Kind::Other),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:?}");
        }
    }
}
