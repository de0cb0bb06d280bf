//! The record header of DTLS 1.2, RFC 6347 section 4.1, and alerts, RFC 5246 section 7.2.
//!
//! ```text
//!  0      1         3       5                  11       13
//! +------+---------+-------+------------------+--------+----------
//! | type | version | epoch | sequence number  | length | fragment
//! +------+---------+-------+------------------+--------+----------
//! ```

use super::DtlsEvent;
use crate::error::Error;

/// Length of a record header in bytes.
pub(super) const HEADER_BYTES: usize = 13;
/// "The length MUST NOT exceed 2^14" bytes of plaintext (RFC 5246 section 6.2.1).
/// Plaintext encrypted with one key at most: 2^24.5 records of full length with AES-GCM (RFC 8446 section 5.5).
pub(super) const KEY_BYTES_MAX: u64 = 23_726_566 * PLAINTEXT_BYTES_MAX as u64;
pub(super) const PLAINTEXT_BYTES_MAX: usize = 1 << 14;
/// DTLS 1.2, as encoded.
pub(super) const VERSION: [u8; 2] = [254, 253];
/// DTLS 1.0, which many clients use in the header of their first ClientHello.
const VERSION_1_0: [u8; 2] = [254, 255];
/// The last sequence number, of 48 bits.
pub(super) const SEQUENCE_MAX: u64 = (1 << 48) - 1;

/// Content types (RFC 5246 section 6.2.1).
pub(super) mod content {
    pub(in crate::dtls) const CHANGE_CIPHER_SPEC: u8 = 20;
    pub(in crate::dtls) const ALERT: u8 = 21;
    pub(in crate::dtls) const HANDSHAKE: u8 = 22;
    pub(in crate::dtls) const APPLICATION_DATA: u8 = 23;
    /// DTLS 1.3 (RFC 9147 section 7).
    pub(in crate::dtls) const ACK: u8 = 26;
}

/// An alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alert {
    /// Whether it ends the connection.
    pub fatal: bool,
    /// Its description code.
    pub description: u8,
}

impl Alert {
    pub(super) const CLOSE_NOTIFY: Self = Self { fatal: false, description: 0 };
    pub(super) const HANDSHAKE_FAILURE: Self = Self { fatal: true, description: 40 };
    pub(super) const BAD_CERTIFICATE: Self = Self { fatal: true, description: 42 };
    pub(super) const ILLEGAL_PARAMETER: Self = Self { fatal: true, description: 47 };
    pub(super) const DECRYPT_ERROR: Self = Self { fatal: true, description: 51 };

    pub(super) fn parse(fragment: &[u8]) -> Option<Self> {
        let &[level @ 1..=2, description] = fragment else { return None };
        Some(Self { fatal: level == 2, description })
    }

    pub(super) fn to_bytes(self) -> [u8; 2] {
        [if self.fatal { 2 } else { 1 }, self.description]
    }

    /// The reason of the connection's end, as text.
    pub(super) fn reason(self) -> String {
        format!("the peer sent alert {} ({})", self.description, self.name())
    }

    /// Its name, for alerts that a peer can plausibly send (RFC 8446 section 6, RFC 5246 section 7.2).
    fn name(self) -> &'static str {
        match self.description {
            0 => "close_notify",
            10 => "unexpected_message",
            20 => "bad_record_mac",
            40 => "handshake_failure",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            109 => "missing_extension",
            116 => "certificate_required",
            _ => "of another kind",
        }
    }

    /// The event that it causes: close_notify and fatal alerts end the connection.
    pub(super) fn event(self) -> Option<DtlsEvent> {
        match self {
            // Of either level.
            Self { description: 0, .. } => Some(DtlsEvent::Closed),
            Self { fatal: true, .. } => Some(DtlsEvent::Failed(Error::Dtls(self.reason()))),
            _ => None,
        }
    }

    /// The same in DTLS 1.3, where the level is ignored (RFC 8446 section 6).
    pub(super) fn event_13(self) -> Option<DtlsEvent> {
        // user_canceled is followed by close_notify.
        if self.description == 90 { None } else { Self { fatal: true, ..self }.event() }
    }
}

/// The header of a complete record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Content type.
    pub content: u8,
    /// Version, as encoded.
    pub version: [u8; 2],
    /// Epoch (16 bits) and sequence number (48 bits), as required by the cipher.
    pub stamp: u64,
}

impl Header {
    pub(super) fn epoch(self) -> u16 {
        // Fits: 64 - 48 bits.
        (self.stamp >> 48) as u16
    }

    pub(super) fn sequence(self) -> u64 {
        self.stamp & SEQUENCE_MAX
    }

    /// Writes the header of a DTLS 1.2 record.
    pub(super) fn write(out: &mut [u8; HEADER_BYTES], content: u8, stamp: u64, fragment_bytes: u16) {
        out[0] = content;
        out[1..3].copy_from_slice(&VERSION);
        out[3..11].copy_from_slice(&stamp.to_be_bytes());
        out[11..13].copy_from_slice(&fragment_bytes.to_be_bytes());
    }
}

/// Splits off the first record of a datagram: its header, the record, and the remaining bytes. `None`: there
/// is not a complete DTLS record, and the rest of the datagram is ignored.
#[inline]
pub(super) fn split(datagram: &mut [u8]) -> Option<(Header, &mut [u8], &mut [u8])> {
    let head: &[u8; HEADER_BYTES] = datagram.first_chunk()?;
    let &[content, v0, v1, s0, s1, s2, s3, s4, s5, s6, s7, l0, l1] = head;
    let version = [v0, v1];
    if version != VERSION && version != VERSION_1_0 {
        return None;
    }
    let stamp = u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
    let end = HEADER_BYTES + usize::from(u16::from_be_bytes([l0, l1]));
    let (record, rest) = datagram.split_at_mut_checked(end)?;
    Some((Header { content, version, stamp }, record, rest))
}

/// An unprotected record of epoch 0.
pub(super) fn plain(content: u8, sequence: u64, fragment: &[u8]) -> Vec<u8> {
    let mut head = [0; HEADER_BYTES];
    let length =
        u16::try_from(fragment.len()).expect("only alerts and ChangeCipherSpec are sent unprotected");
    Header::write(&mut head, content, sequence & SEQUENCE_MAX, length);
    [&head, fragment].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_accepts_only_complete_records() {
        let mut datagram = plain(content::ALERT, 7, &[2, 40]);
        datagram.extend(plain(content::HANDSHAKE, SEQUENCE_MAX, &[9; 30]));
        let (header, record, rest) = split(&mut datagram).unwrap();
        assert_eq!((header.content, header.epoch(), header.sequence()), (content::ALERT, 0, 7));
        assert_eq!(Alert::parse(&record[HEADER_BYTES..]), Some(Alert::HANDSHAKE_FAILURE));
        let (header, record, rest) = split(rest).unwrap();
        assert_eq!((header.content, header.sequence()), (content::HANDSHAKE, SEQUENCE_MAX));
        assert_eq!((record.len(), rest.len()), (43, 0));
        for length in 0..43 {
            assert_eq!(split(&mut datagram[15..15 + length]), None);
        }
        datagram[1] = 3;
        assert_eq!(split(&mut datagram), None);
    }

    #[test]
    fn alerts() {
        for (bytes, alert) in [
            (&[1, 0][..], Some(Alert::CLOSE_NOTIFY)),
            (&[2, 42], Some(Alert::BAD_CERTIFICATE)),
            (&[0, 0], None),
            (&[3, 40], None),
            (&[2], None),
            (&[2, 40, 0], None),
        ] {
            assert_eq!(Alert::parse(bytes), alert, "{bytes:?}");
            assert!(alert.is_none_or(|alert| alert.to_bytes() == bytes));
        }
        for (description, expected) in [(0, Some(true)), (90, None), (80, Some(false))] {
            for fatal in [false, true] {
                let event = Alert { fatal, description }.event_13();
                assert_eq!(event.map(|event| event == DtlsEvent::Closed), expected, "{description}");
            }
        }
    }
}
