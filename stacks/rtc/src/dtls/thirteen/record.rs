//! Protected records, RFC 9147 section 4: a unified header and, once decrypted, DTLSInnerPlaintext.
//!
//! ```text
//!  0 1 2 3 4 5 6 7
//! +-+-+-+-+-+-+-+-+------------------+-----------------+-----------
//! |0|0|1|C|S|L|E E| sequence, masked | length, if L is | ciphertext
//! +-+-+-+-+-+-+-+-+------------------+-----------------+-----------
//! ```
//!
//! C: a connection id, which is never negotiated. S: two bytes of the sequence number instead of one. E: low
//! bits of the epoch.

use crate::dtls::record::{PLAINTEXT_BYTES_MAX, SEQUENCE_MAX};

/// Length of our headers in bytes: with a two-byte number, and a length, so that more records can follow.
pub(in crate::dtls) const HEADER_BYTES: usize = 5;
/// Bytes of the ciphertext from which the mask is computed (section 4.2.3). A shorter record is invalid.
pub(in crate::dtls) const SAMPLE_BYTES: usize = 16;
/// The longest ciphertext: content, its type, and the tag (section 4: "the length MUST NOT exceed 2^14 + 256").
const CIPHERTEXT_BYTES_MAX: usize = PLAINTEXT_BYTES_MAX + 256;

const CONNECTION_ID: u8 = 0x10;
const TWO_BYTES: u8 = 0x08;
const LENGTH: u8 = 0x04;
const EPOCH: u8 = 0x03;

/// The positions of a record's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dtls) struct Unified {
    /// The low two bits of the epoch.
    pub epoch_bits: u8,
    /// Length of the sequence number, which starts at the second byte.
    pub sequence_bytes: usize,
    /// Bytes before the ciphertext.
    pub header_bytes: usize,
}

/// Whether a record that starts with this byte has a unified header (section 4.1).
#[inline]
pub(in crate::dtls) fn is_unified(first: u8) -> bool {
    first & 0xE0 == 0x20
}

/// Splits off the first record of a datagram: the positions of its fields, the record, and the remaining
/// bytes. `None`: there is no complete record of this connection, and the rest of the datagram is ignored.
#[inline]
pub(in crate::dtls) fn split(datagram: &mut [u8]) -> Option<(Unified, &mut [u8], &mut [u8])> {
    let flags = *datagram.first()?;
    if !is_unified(flags) || flags & CONNECTION_ID != 0 {
        return None;
    }
    let sequence_bytes = if flags & TWO_BYTES != 0 { 2 } else { 1 };
    let mut header_bytes = 1 + sequence_bytes;
    let mut end = datagram.len();
    if flags & LENGTH != 0 {
        let length = datagram.get(header_bytes..)?.first_chunk()?;
        header_bytes += 2;
        end = header_bytes + usize::from(u16::from_be_bytes(*length));
    }
    let (record, rest) = datagram.split_at_mut_checked(end).filter(|_| header_bytes <= end)?;
    Some((Unified { epoch_bits: flags & EPOCH, sequence_bytes, header_bytes }, record, rest))
}

impl Unified {
    /// Whether the length of the ciphertext is valid.
    #[inline]
    pub(in crate::dtls) fn fits(&self, record: &[u8]) -> bool {
        let bytes = record.len().saturating_sub(self.header_bytes);
        (SAMPLE_BYTES + 1..=CIPHERTEXT_BYTES_MAX).contains(&bytes)
    }

    /// Whether it can belong to this epoch.
    #[inline]
    pub(in crate::dtls) fn is_of(&self, epoch: u64) -> bool {
        u64::from(self.epoch_bits) == epoch & u64::from(EPOCH)
    }
}

/// The header of a record that we send, with an unmasked number.
#[inline]
pub(in crate::dtls) fn header(epoch: u64, sequence: u64, ciphertext_bytes: u16) -> [u8; HEADER_BYTES] {
    let [_, _, _, _, _, _, s0, s1] = sequence.to_be_bytes();
    let [l0, l1] = ciphertext_bytes.to_be_bytes();
    // Two bits.
    [0x20 | TWO_BYTES | LENGTH | (epoch as u8 & EPOCH), s0, s1, l0, l1]
}

/// Reconstructs a number from its low bits: the one nearest to the expected number (section 4.2.2).
#[inline]
pub(in crate::dtls) fn reconstruct(partial: u64, bits: u32, expected: u64) -> u64 {
    let window = 1u64 << bits;
    let near = expected & !(window - 1) | partial & (window - 1);
    if near + window / 2 < expected && near + window <= SEQUENCE_MAX {
        near + window
    } else if near > expected + window / 2 && near >= window {
        near - window
    } else {
        near
    }
}

/// Content type and content of a DTLSInnerPlaintext: trailing zeros are padding. `None`: there is no content.
#[inline]
pub(in crate::dtls) fn inner(text: &mut [u8]) -> Option<(u8, &mut [u8])> {
    let at = text.iter().rposition(|&byte| byte != 0)?;
    let (content, rest) = text.split_at_mut(at);
    (content.len() <= PLAINTEXT_BYTES_MAX).then_some((rest[0], content))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_of_every_form() {
        for (flags, header, expected) in [
            (0x20, &[7][..], Some((1, 2))),
            (0x28, &[7, 8], Some((2, 3))),
            (0x24, &[7, 0, 20], Some((1, 4))),
            (0x2C, &[7, 8, 0, 20], Some((2, 5))),
            // A connection id.
            (0x3C, &[7, 8, 0, 20], None),
            (0x30, &[7], None),
            // DTLS 1.2, STUN, unassigned.
            (0x17, &[7], None),
            (0x00, &[7], None),
            (0x40, &[7], None),
            (0xE0, &[7], None),
        ] {
            for epoch in 0..4 {
                let mut datagram = [&[flags | epoch], header, &[9; 20]].concat();
                let (length, all) = (datagram.len(), datagram.clone());
                let split = split(&mut datagram).map(|(unified, record, rest)| {
                    assert_eq!((unified.epoch_bits, &record[..], rest.len()), (epoch, &all[..], 0));
                    assert!(unified.fits(record) && unified.header_bytes + 20 == length);
                    (unified.sequence_bytes, unified.header_bytes)
                });
                assert_eq!(split, expected, "{flags:x}");
            }
        }
    }

    #[test]
    fn records_with_a_length_may_be_followed_by_others() {
        let mut datagram = [&[0x2D, 1, 2, 0, 18][..], &[5; 18], &[0x23, 4], &[6; 17]].concat();
        let (_, record, rest) = split(&mut datagram).unwrap();
        assert_eq!((record.len(), rest.len()), (23, 19));
        let (unified, record, rest) = split(rest).unwrap();
        assert_eq!((unified.epoch_bits, record.len(), rest.len()), (3, 19, 0));
        for length in 0..23 {
            assert_eq!(split(&mut datagram[..length]), None, "{length}");
        }
    }

    #[test]
    fn too_short_and_too_long() {
        let unified = Unified { epoch_bits: 3, sequence_bytes: 2, header_bytes: 5 };
        for (length, expected) in
            [(0, false), (5, false), (21, false), (22, true), (5 + 16_640, true), (5 + 16_641, false)]
        {
            assert_eq!(unified.fits(&vec![0; length]), expected, "{length}");
        }
    }

    #[test]
    fn padding() {
        for (text, expected) in [
            (&[1, 2, 23][..], Some((23, &[1, 2][..]))),
            (&[1, 0, 23, 0, 0], Some((23, &[1, 0]))),
            (&[22], Some((22, &[]))),
            (&[0, 0], None),
            (&[], None),
        ] {
            let mut text = text.to_vec();
            assert_eq!(inner(&mut text).map(|(content, text)| (content, &*text)), expected);
        }
        let mut text = vec![1; PLAINTEXT_BYTES_MAX + 2];
        assert_eq!(inner(&mut text), None);
        assert!(inner(&mut text[1..]).is_some());
    }

    #[test]
    fn numbers_near_the_ends() {
        for (partial, bits, expected, number) in [
            (0, 16, 0, 0),
            (5, 8, 250, 261),
            (250, 8, 261, 250),
            (255, 8, 0, 255),
            (0xFFFF, 16, 0x1_0000, 0xFFFF),
            (0, 16, 0xFFFF, 0x1_0000),
            (0xFFFF, 16, SEQUENCE_MAX, SEQUENCE_MAX),
            (0, 16, SEQUENCE_MAX, SEQUENCE_MAX - 0xFFFF),
        ] {
            assert_eq!(reconstruct(partial, bits, expected), number, "{partial} {expected}");
        }
    }

    proptest! {
        /// Numbers within half of the window are reconstructed.
        #[test]
        fn near_numbers_are_reconstructed(expected in 0..=SEQUENCE_MAX, away in -127i64..=127, two in any::<bool>()) {
            let number = expected.saturating_add_signed(away).min(SEQUENCE_MAX);
            let bits = if two { 16 } else { 8 };
            prop_assert_eq!(reconstruct(number & ((1 << bits) - 1), bits, expected), number);
        }

        #[test]
        fn any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let length = bytes.len();
            if let Some((unified, record, rest)) = split(&mut bytes) {
                prop_assert!(unified.header_bytes <= record.len() && record.len() + rest.len() == length);
            }
        }
    }
}
