use proptest::prelude::*;

use super::*;
use crate::wire::testing::{HEADER, only_chunk, written};

/// 1,000 and two gap blocks beyond, one duplicate.
#[rustfmt::skip]
const SACK: [u8; 28] = [
    0x03, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x03, 0xe8, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01,
    0x00, 0x02, 0x00, 0x03, 0x00, 0x05, 0x00, 0x05,
    0x00, 0x00, 0x03, 0xe7,
];

fn write(packet: &mut PacketWriter<'_>, gaps: &[(u16, u16)], duplicates: &[Tsn]) -> bool {
    Sack::write(packet, Tsn(1000), 131_072, gaps.iter().copied(), duplicates)
}

fn gaps_of(bytes: &[u8]) -> Vec<(u16, u16)> {
    Sack::parse(&only_chunk(bytes)).unwrap().gaps.collect()
}

#[test]
fn known_bytes() {
    let sack = Sack::parse(&only_chunk(&SACK)).unwrap();
    assert_eq!((sack.cumulative_tsn, sack.window_bytes, sack.duplicates), (Tsn(1000), 131_072, 1));
    assert_eq!(sack.gaps.collect::<Vec<_>>(), [(2, 3), (5, 5)]);
    assert_eq!(written(|packet| assert!(write(packet, &[(2, 3), (5, 5)], &[Tsn(999)]))), SACK);
}

#[test]
fn gap_blocks_that_break_a_rule_are_left_out() {
    for (blocks, given) in [
        (&[][..], &[][..]),
        (&[(2, 2)], &[(2, 2)]),
        (&[(2, 65_535)], &[(2, 65_535)]),
        // Offsets 0 and 1 stand for what has come, and for what has not.
        (&[(0, 5)], &[]),
        (&[(1, 5), (7, 8)], &[(7, 8)]),
        (&[(0, 0), (0, 0)], &[]),
        // The end before the beginning.
        (&[(5, 4), (6, 7)], &[(6, 7)]),
        // In no order, the same twice, and one in the other.
        (&[(10, 12), (4, 5), (14, 14)], &[(10, 12), (14, 14)]),
        (&[(4, 5), (4, 5)], &[(4, 5)]),
        (&[(4, 9), (6, 20), (21, 22)], &[(4, 9), (21, 22)]),
        // Two that could be one are clear enough.
        (&[(4, 5), (6, 7)], &[(4, 5), (6, 7)]),
        (&[(2, 65_535), (3, 65_535)], &[(2, 65_535)]),
    ] {
        assert_eq!(gaps_of(&written(|packet| assert!(write(packet, blocks, &[])))), given, "{blocks:?}");
    }
}

#[test]
fn a_length_that_does_not_fit_the_counts_is_refused() {
    let whole = only_chunk(&SACK);
    for length in 0..whole.value.len() {
        assert!(Sack::parse(&RawChunk { value: &whole.value[..length], ..whole }).is_err(), "{length}");
    }
    for (at, count) in [(10, 0xffff), (8, 0xffff), (8, 0)] {
        let mut value = whole.value.to_vec();
        value[at..at + 2].copy_from_slice(&u16::to_be_bytes(count));
        assert!(Sack::parse(&RawChunk { value: &value, ..whole }).is_err(), "{count} at {at}");
    }
}

#[test]
fn what_does_not_fit_is_left_out_from_the_end() {
    let gaps = [(2, 3), (5, 5)];
    for (room, written, expected) in [
        (0, false, (0, 0)),
        (12, false, (0, 0)),
        (16, true, (0, 0)),
        (20, true, (1, 0)),
        (24, true, (2, 0)),
        (28, true, (2, 1)),
        (32, true, (2, 2)),
        (36, true, (2, 2)),
    ] {
        let mut out = vec![0; super::super::HEADER_BYTES + room];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert_eq!(write(&mut packet, &gaps, &[Tsn(1), Tsn(2)]), written, "{room}");
        let length = packet.finish(true);
        if !written {
            assert_eq!(length, super::super::HEADER_BYTES, "{room}");
            continue;
        }
        let sack = Sack::parse(&only_chunk(&out[12..length])).unwrap();
        assert_eq!((sack.gaps.count(), sack.duplicates), expected, "{room}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        tsn in any::<u32>(),
        window_bytes in any::<u32>(),
        steps in prop::collection::vec((1u16..200, 0u16..200), 0..100),
        duplicates in prop::collection::vec(any::<u32>().prop_map(Tsn), 0..20),
    ) {
        let mut last = 1;
        let gaps: Vec<(u16, u16)> = steps.into_iter().map(|(hole, length)| {
            let first = last + hole;
            last = first + length;
            (first, last)
        }).collect();
        let bytes = written(|packet| {
            assert!(Sack::write(packet, Tsn(tsn), window_bytes, gaps.iter().copied(), &duplicates));
        });
        let sack = Sack::parse(&only_chunk(&bytes)).unwrap();
        prop_assert_eq!((sack.cumulative_tsn, sack.window_bytes), (Tsn(tsn), window_bytes));
        prop_assert_eq!(sack.duplicates, duplicates.len());
        prop_assert_eq!(sack.gaps.collect::<Vec<_>>(), gaps);
    }

    #[test]
    fn whatever_the_blocks_no_offset_is_given_twice(blocks in prop::collection::vec(any::<(u16, u16)>(), 0..50)) {
        let bytes = written(|packet| assert!(write(packet, &blocks, &[])));
        let mut before = 1;
        for (first, last) in gaps_of(&bytes) {
            prop_assert!(before < first && first <= last);
            before = last;
        }
    }
}
