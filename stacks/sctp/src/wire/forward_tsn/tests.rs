use proptest::prelude::*;

use super::*;
use crate::wire::testing::{HEADER, only_chunk, written};

#[test]
fn known_bytes() {
    let bytes = [192, 0, 0, 16, 0, 0, 3, 0xe8, 0, 1, 0, 7, 0, 2, 0, 8];
    let streams = [(StreamId(1), Ssn(7)), (StreamId(2), Ssn(8))];
    assert_eq!(written(|packet| assert!(ForwardTsn::write(packet, Tsn(1000), streams))), bytes);
    let read = ForwardTsn::parse(&only_chunk(&bytes)).unwrap();
    assert_eq!(read.new_cumulative_tsn, Tsn(1000));
    assert_eq!(read.skipped.collect::<Vec<_>>(), streams.map(|(stream, ssn)| Skipped::Ssn(stream, ssn)));
}

#[test]
fn known_bytes_interleaved() {
    #[rustfmt::skip]
    let bytes = [
        194, 0, 0, 24, 0, 0, 3, 0xe8,
        0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 0, 1, 0, 0, 0, 9,
    ];
    let streams = [(StreamId(1), Mid(65_536), false), (StreamId(1), Mid(9), true)];
    assert_eq!(written(|packet| assert!(ForwardTsn::write_interleaved(packet, Tsn(1000), streams))), bytes);
    let read = ForwardTsn::parse(&only_chunk(&bytes)).unwrap();
    assert_eq!(read.new_cumulative_tsn, Tsn(1000));
    assert_eq!(read.skipped.collect::<Vec<_>>(), streams.map(|(s, mid, u)| Skipped::Mid(s, mid, u)));
}

#[test]
fn only_whole_entries_are_taken() {
    let value = [0; 24];
    for (kind, entry_bytes) in [(ForwardTsn::KIND, 4), (ForwardTsn::KIND_INTERLEAVED, 8)] {
        for length in 0..=value.len() {
            let read = ForwardTsn::parse(&RawChunk { kind, flags: 0, value: &value[..length] });
            let whole = length >= 4 && (length - 4) % entry_bytes == 0;
            assert_eq!(read.is_ok(), whole, "{kind} {length}");
            if let Ok(read) = read {
                assert_eq!(read.skipped.count(), (length - 4) / entry_bytes);
            }
        }
    }
    assert!(ForwardTsn::parse(&RawChunk { kind: 193, flags: 0, value: &value[..4] }).is_err());
}

#[test]
fn all_or_nothing_is_written() {
    let mut out = [0; 12 + 15];
    let mut packet = PacketWriter::new(&mut out, HEADER);
    assert!(!ForwardTsn::write(&mut packet, Tsn(1), [(StreamId(1), Ssn(1)), (StreamId(2), Ssn(2))]));
    assert!(!ForwardTsn::write_interleaved(&mut packet, Tsn(1), [(StreamId(1), Mid(1), false)]));
    assert!(packet.is_empty());
    assert!(ForwardTsn::write(&mut packet, Tsn(1), [(StreamId(1), Ssn(1))]));
    assert!(!ForwardTsn::write(&mut packet, Tsn(1), []));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        tsn in any::<u32>().prop_map(Tsn),
        streams in prop::collection::vec(any::<(u16, u32, bool)>(), 0..30),
    ) {
        let plain: Vec<_> = streams.iter().map(|&(id, n, _)| (StreamId(id), Ssn(n as u16))).collect();
        let bytes = written(|packet| assert!(ForwardTsn::write(packet, tsn, plain.iter().copied())));
        let read = ForwardTsn::parse(&only_chunk(&bytes)).unwrap();
        prop_assert_eq!(read.new_cumulative_tsn, tsn);
        prop_assert!(read.skipped.eq(plain.iter().map(|&(stream, ssn)| Skipped::Ssn(stream, ssn))));

        let mids: Vec<_> = streams.iter().map(|&(id, n, u)| (StreamId(id), Mid(n), u)).collect();
        let bytes = written(|packet| {
            assert!(ForwardTsn::write_interleaved(packet, tsn, mids.iter().copied()));
        });
        let read = ForwardTsn::parse(&only_chunk(&bytes)).unwrap();
        prop_assert_eq!(read.new_cumulative_tsn, tsn);
        prop_assert!(read.skipped.eq(mids.iter().map(|&(stream, mid, u)| Skipped::Mid(stream, mid, u))));
    }
}
