use proptest::prelude::*;

use super::*;
use crate::types::StreamId;
use crate::wire::testing::{HEADER, only_chunk, written};

const SEQ: ReConfigSeq = ReConfigSeq(10);

fn items_of(bytes: &[u8]) -> Vec<ReConfigItem<'_>> {
    ReConfig::parse(&only_chunk(bytes)).unwrap().items().collect()
}

#[test]
fn known_bytes() {
    let streams = [StreamId(1), StreamId(2), StreamId(3)];
    let response = |result| ReConfigItem::Response { response: SEQ, result, next_tsns: None };
    #[rustfmt::skip]
    let rows: [(&[ReConfigItem<'_>], &[u8]); 7] = [
        (
            &[ReConfigItem::OutgoingReset {
                request: SEQ, response: SEQ.previous(), last_tsn: Tsn(1000), streams: Streams::from(&streams[..]),
            }],
            &[
                130, 0, 0, 26, 0, 13, 0, 22, 0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 3, 0xe8,
                0, 1, 0, 2, 0, 3, 0, 0,
            ],
        ),
        (
            &[ReConfigItem::IncomingReset { request: SEQ, streams: Streams::from(&[][..]) }],
            &[130, 0, 0, 12, 0, 14, 0, 8, 0, 0, 0, 10],
        ),
        (&[ReConfigItem::TsnReset { request: SEQ }], &[130, 0, 0, 12, 0, 15, 0, 8, 0, 0, 0, 10]),
        (
            &[response(ReConfigResult::InProgress)],
            &[130, 0, 0, 16, 0, 16, 0, 12, 0, 0, 0, 10, 0, 0, 0, 6],
        ),
        (
            &[ReConfigItem::Response {
                response: SEQ, result: ReConfigResult::Performed, next_tsns: Some((Tsn(1), Tsn(2))),
            }],
            &[130, 0, 0, 24, 0, 16, 0, 20, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2],
        ),
        (
            &[
                ReConfigItem::AddOutgoing { request: SEQ, streams: 5 },
                ReConfigItem::AddIncoming { request: SEQ.next(), streams: 6 },
            ],
            &[
                130, 0, 0, 28, 0, 17, 0, 12, 0, 0, 0, 10, 0, 5, 0, 0,
                0, 18, 0, 12, 0, 0, 0, 11, 0, 6, 0, 0,
            ],
        ),
        // The padding of the first belongs to the value, that of the last does not.
        (
            &[
                ReConfigItem::IncomingReset { request: SEQ, streams: Streams::from(&streams[..1]) },
                ReConfigItem::IncomingReset { request: SEQ, streams: Streams::from(&streams[..1]) },
            ],
            &[
                130, 0, 0, 26, 0, 14, 0, 10, 0, 0, 0, 10, 0, 1, 0, 0,
                0, 14, 0, 10, 0, 0, 0, 10, 0, 1, 0, 0,
            ],
        ),
    ];
    for (items, bytes) in rows {
        assert_eq!(written(|packet| assert!(ReConfig::write(packet, items))), bytes);
        assert_eq!(items_of(bytes), items);
    }
}

#[test]
fn result_codes() {
    for (code, result) in ReConfigResult::ALL.into_iter().enumerate() {
        assert_eq!(result.code(), code as u32);
    }
    for code in [0, 6, 7, u32::MAX] {
        assert_eq!(ReConfigResult::from_code(code).code(), code);
    }
    assert_eq!(ReConfigResult::from_code(7), ReConfigResult::Other(7));
}

/// What comes of a chunk of one parameter, and of one with a good parameter before it.
#[test]
fn malformed_parameters() {
    const GOOD: [u8; 8] = [0, 15, 0, 8, 0, 0, 0, 10];
    for parameter in [
        &[0, 13, 0, 15, 0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 3][..],
        &[0, 13, 0, 17, 0, 0, 0, 10, 0, 0, 0, 9, 0, 0, 3, 0xe8, 1],
        &[0, 14, 0, 4],
        &[0, 14, 0, 9, 0, 0, 0, 10, 1],
        &[0, 15, 0, 7, 0, 0, 0],
        &[0, 15, 0, 9, 0, 0, 0, 10, 0],
        &[0, 16, 0, 8, 0, 0, 0, 10],
        &[0, 16, 0, 16, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 1],
        &[0, 17, 0, 10, 0, 0, 0, 10, 0, 5],
        &[0, 18, 0, 16, 0, 0, 0, 10, 0, 5, 0, 0, 0, 0, 0, 0],
        &[0, 19, 0, 8, 0, 0, 0, 10],
        &[0, 12, 0, 8, 0, 0, 0, 10],
        &[0, 15, 0, 0, 0, 0, 0, 10],
        &[0, 15, 0, 20, 0, 0, 0, 10],
        &[],
    ] {
        let chunk = RawChunk { kind: ReConfig::KIND, flags: 0, value: parameter };
        assert!(ReConfig::parse(&chunk).is_err(), "{parameter:?}");
        let value = [&GOOD, parameter].concat();
        let read = ReConfig::parse(&RawChunk { value: &value, ..chunk }).unwrap();
        assert!(read.items().eq([ReConfigItem::TsnReset { request: SEQ }]), "{parameter:?}");
    }
    let three = GOOD.repeat(3);
    let chunk = RawChunk { kind: ReConfig::KIND, flags: 0, value: &three };
    assert_eq!(ReConfig::parse(&chunk).unwrap().items().count(), 2);
}

#[test]
fn all_or_nothing_is_written() {
    let streams = [StreamId(1), StreamId(2), StreamId(3)];
    let item = ReConfigItem::IncomingReset { request: SEQ, streams: Streams::from(&streams[..]) };
    let mut out = [0; 12 + 16];
    let mut packet = PacketWriter::new(&mut out, HEADER);
    assert!(!ReConfig::write(&mut packet, &[item]));
    assert!(!ReConfig::write(&mut packet, &[]));
    assert!(packet.is_empty());
    let fewer = ReConfigItem::IncomingReset { request: SEQ, streams: Streams::from(&streams[..2]) };
    assert!(ReConfig::write(&mut packet, &[fewer]));
}

fn any_item(streams: &[StreamId], kind: u8, numbers: [u32; 4]) -> ReConfigItem<'_> {
    let [request, response, first, second] = numbers;
    let (request, response) = (ReConfigSeq(request), ReConfigSeq(response));
    let streams = Streams::from(streams);
    match kind % 7 {
        0 => ReConfigItem::OutgoingReset { request, response, last_tsn: Tsn(first), streams },
        1 => ReConfigItem::IncomingReset { request, streams },
        2 => ReConfigItem::TsnReset { request },
        3 => {
            let result = ReConfigResult::from_code(first % 9);
            ReConfigItem::Response { response, result, next_tsns: None }
        }
        4 => {
            let next_tsns = Some((Tsn(first), Tsn(second)));
            ReConfigItem::Response { response, result: ReConfigResult::Performed, next_tsns }
        }
        5 => ReConfigItem::AddOutgoing { request, streams: first as u16 },
        _ => ReConfigItem::AddIncoming { request, streams: first as u16 },
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        streams in prop::collection::vec(any::<u16>().prop_map(StreamId), 0..20),
        items in prop::collection::vec(any::<(u8, [u32; 4])>(), 1..=2),
    ) {
        let items: Vec<_> = items.into_iter().map(|(kind, numbers)| any_item(&streams, kind, numbers)).collect();
        let bytes = written(|packet| assert!(ReConfig::write(packet, &items)));
        prop_assert_eq!(items_of(&bytes), items);
    }
}
