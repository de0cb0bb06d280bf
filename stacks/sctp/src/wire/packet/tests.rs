use proptest::prelude::*;

use super::*;
use crate::wire::testing::{HEADER, written};

/// A packet with a COOKIE ACK and a DATA chunk of three bytes.
#[rustfmt::skip]
const PACKET: [u8; 36] = [
    0x13, 0x88, 0x13, 0x89, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00,
    0x0b, 0x00, 0x00, 0x04,
    0x00, 0x03, 0x00, 0x13, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x35,
    b'a', b'b', b'c', 0x00,
];

/// CRC32c bit by bit: slow, and too short to be wrong in the same way as the fast one.
fn crc32c_by_bits(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}

fn chunks_of(bytes: &[u8]) -> Vec<Result<(u8, usize), &'static str>> {
    Chunks::new(bytes).map(|chunk| chunk.map(|c| (c.kind, c.value.len())).map_err(|e| e.rule)).collect()
}

#[test]
fn a_packet_is_read() {
    let (header, chunks) = Header::parse(&PACKET).unwrap();
    assert_eq!(header, Header { source_port: 5000, destination_port: 5001, verification_tag: 0x0102_0304 });
    let chunks: Vec<RawChunk<'_>> = chunks.map(Result::unwrap).collect();
    assert_eq!(chunks[0], RawChunk { kind: 11, flags: 0, value: &[] });
    assert_eq!(chunks[1], RawChunk { kind: 0, flags: 3, value: &PACKET[20..35] });
    assert_eq!(chunks[1].header(), PACKET[16..20]);
    assert_eq!(chunks.len(), 2);
}

#[test]
fn a_packet_is_written() {
    let header = Header { source_port: 5000, destination_port: 5001, verification_tag: 0x0102_0304 };
    let mut out = [0xff; 64];
    let mut packet = PacketWriter::new(&mut out, header);
    assert!(packet.is_empty());
    assert_eq!(packet.room(), 52);
    packet.chunk(11, 0, 0, |value| assert!(value.is_empty()));
    assert!(!packet.is_empty());
    packet.chunk(0, 3, 15, |value| value.copy_from_slice(&PACKET[20..35]));
    assert_eq!(packet.room(), 28);
    assert_eq!(packet.finish(true), 36);
    assert_eq!(out[..36], PACKET);
}

#[test]
fn chunks_end_where_they_are_cut_short() {
    const CUT: &str = "must be as long as its length says";
    const NO_HEADER: &str = "must have the 4 bytes of a chunk's header";
    for (bytes, expected) in [
        (&[][..], vec![]),
        (&[1, 0, 0, 4], vec![Ok((1, 0))]),
        // The last chunk's padding is missing, in part or all of it.
        (&[1, 0, 0, 5, 9], vec![Ok((1, 1))]),
        (&[1, 0, 0, 5, 9, 0], vec![Ok((1, 1))]),
        (&[1, 0, 0, 5, 9, 0, 0, 0, 2, 0, 0, 4], vec![Ok((1, 1)), Ok((2, 0))]),
        (&[1, 0, 0, 4, 2], vec![Ok((1, 0)), Err(NO_HEADER)]),
        (&[1, 0, 0, 4, 2, 0, 0], vec![Ok((1, 0)), Err(NO_HEADER)]),
        // A length of zero, or one below that of the header, must not cause an endless loop.
        (&[1, 0, 0, 0, 2, 0, 0, 4], vec![Err(CUT)]),
        (&[1, 0, 0, 3, 2, 0, 0, 4], vec![Err(CUT)]),
        (&[1, 0, 0, 9, 2, 0, 0, 4], vec![Err(CUT)]),
        (&[1, 0, 0xff, 0xff, 2, 0, 0, 4], vec![Err(CUT)]),
    ] {
        assert_eq!(chunks_of(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn short_packets_are_refused() {
    for length in 0..HEADER_BYTES {
        assert!(Header::parse(&PACKET[..length]).is_err());
        assert!(!checksum_holds(&PACKET[..length], true));
    }
}

#[test]
fn the_checksum_is_crc32c_in_little_endian() {
    // RFC 3720 appendix B.4: the same sum, in the order in which it is sent.
    assert_eq!(crc32c::crc32c(&[0; 32]).to_le_bytes(), [0xaa, 0x36, 0x91, 0x8a]);
    assert_eq!(crc32c_by_bits(&[0; 32]), 0x8a91_36aa);

    let mut packet = PACKET;
    let sum = crc32c_by_bits(&packet);
    packet[8..12].copy_from_slice(&sum.to_le_bytes());
    assert!(checksum_holds(&packet, false));
    assert!(checksum_holds(&packet, true));
    packet[8..12].copy_from_slice(&sum.to_be_bytes());
    assert!(!checksum_holds(&packet, false));
}

#[test]
fn a_zero_checksum_holds_only_where_it_is_allowed() {
    assert!(checksum_holds(&PACKET, true));
    assert!(!checksum_holds(&PACKET, false));
}

#[test]
fn a_writer_uses_whole_words_of_its_buffer() {
    for (bytes, room) in [(12, 0), (13, 0), (15, 0), (16, 4), (1163, 1148), (70_000, 65_520)] {
        let mut out = vec![0; bytes];
        assert_eq!(PacketWriter::new(&mut out, HEADER).room(), room, "{bytes}");
    }
}

#[test]
fn the_longest_chunk_fits_its_length() {
    let bytes = written(|packet| packet.chunk(0, 0, packet.room() - 4, |value| value.fill(7)));
    assert_eq!(chunks_of(&bytes), [Ok((0, 65_516))]);
}

#[test]
#[should_panic(expected = "range end index")]
fn a_chunk_that_does_not_fit_is_our_bug() {
    let mut out = [0; 20];
    PacketWriter::new(&mut out, HEADER).chunk(0, 0, 5, |_| ());
}

#[test]
fn a_chunk_of_unknown_length_is_written_or_not() {
    let mut out = [0xff; 20];
    let mut packet = PacketWriter::new(&mut out, HEADER);
    assert!(!packet.chunk_within(1, 0, |_| None));
    assert!(packet.is_empty());
    let wrote = packet.chunk_within(1, 2, |value| {
        assert_eq!(value.len(), 4);
        value[0] = 9;
        Some(1)
    });
    assert!(wrote);
    assert!(!packet.chunk_within(1, 0, |_| Some(0)), "not even a header fits");
    assert_eq!(packet.finish(true), 20);
    assert_eq!(out[12..], [1, 2, 0, 5, 9, 0, 0, 0]);
}

proptest! {
    #[test]
    fn chunks_come_back(
        chunks in prop::collection::vec((any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        zero in any::<bool>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let mut out = [0x55; 512];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        for (kind, flags, value) in &chunks {
            packet.chunk(*kind, *flags, value.len(), |place| place.copy_from_slice(value));
        }
        let length = packet.finish(zero);
        let packet = &mut out[..length];
        prop_assert!(checksum_holds(packet, zero));
        prop_assert_eq!(checksum_holds(packet, false), !zero);

        let (header, read) = Header::parse(packet).unwrap();
        prop_assert_eq!(header, HEADER);
        let read: Vec<_> = read.map(|c| c.unwrap()).map(|c| (c.kind, c.flags, c.value.to_vec())).collect();
        prop_assert_eq!(read, chunks);

        if !zero {
            packet[flip.index(length)] ^= 0x10;
            prop_assert!(!checksum_holds(packet, false));
        }
    }

    #[test]
    fn any_bytes_are_read_in_bounds(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let count = Chunks::new(&bytes).count();
        prop_assert!(count <= bytes.len() / 4 + 1);
        let _ = checksum_holds(&bytes, true);
    }
}
