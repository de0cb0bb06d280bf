use proptest::prelude::*;

use super::*;
use crate::wire::testing::{only_chunk, written};

/// "abc" as binary on stream 1, and as the second message of stream 1.
#[rustfmt::skip]
const DATA: [u8; 20] = [
    0x00, 0x0b, 0x00, 0x13, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x35,
    b'a', b'b', b'c', 0x00,
];

/// The same as the first fragment of an unordered message.
#[rustfmt::skip]
const FIRST_FRAGMENT: [u8; 24] = [
    0x40, 0x06, 0x00, 0x17, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x35, b'a', b'b', b'c', 0x00,
];

/// And as the fourth and last fragment.
#[rustfmt::skip]
const LAST_FRAGMENT: [u8; 24] = [
    0x40, 0x05, 0x00, 0x17, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x03, b'a', b'b', b'c', 0x00,
];

fn abc(order: Order) -> Data<'static> {
    Data {
        tsn: Tsn(7),
        stream: StreamId(1),
        order,
        ppid: Ppid::BINARY,
        unordered: false,
        begin: true,
        end: true,
        immediate: true,
        payload: b"abc",
    }
}

#[test]
fn known_bytes() {
    let whole = abc(Order::Ssn(Ssn(2)));
    let fragment = Data { unordered: true, immediate: false, ..abc(Order::Mid(Mid(0x1_0002), Fsn(0))) };
    let first = Data { end: false, ..fragment };
    let last = Data { order: Order::Mid(Mid(0x1_0002), Fsn(3)), ppid: Ppid(0), begin: false, ..fragment };
    for (bytes, data) in [(&DATA[..], whole), (&FIRST_FRAGMENT, first), (&LAST_FRAGMENT, last)] {
        assert_eq!(Data::parse(&only_chunk(bytes)), Ok(data));
        assert_eq!(written(|packet| data.write(packet)), bytes);
    }
    assert_eq!(DATA.len() - 4, Data::OVERHEAD);
    assert_eq!(LAST_FRAGMENT.len() - 4, Data::OVERHEAD_INTERLEAVED);
}

#[test]
fn a_chunk_of_another_type_is_refused() {
    let chunk = RawChunk { kind: 1, ..only_chunk(&DATA) };
    assert!(Data::parse(&chunk).is_err());
    assert_eq!(Data::tsn_without_payload(&chunk), None);
}

#[test]
fn a_chunk_cut_short_is_refused_and_one_without_payload_told_apart() {
    for (bytes, fields) in [(&DATA[..], 12), (&FIRST_FRAGMENT, 16)] {
        let whole = only_chunk(bytes);
        for length in 0..=fields {
            let chunk = RawChunk { value: &whole.value[..length], ..whole };
            assert!(Data::parse(&chunk).is_err(), "{length}");
            assert_eq!(Data::tsn_without_payload(&chunk), (length == fields).then_some(Tsn(7)), "{length}");
        }
        assert_eq!(Data::tsn_without_payload(&whole), None);
    }
}

prop_compose! {
    fn any_data()(
        numbers in any::<(u32, u16, u16, u32, u32, u32)>(),
        flags in any::<[bool; 5]>(),
        payload in prop::collection::vec(any::<u8>(), 1..50),
    ) -> (Data<'static>, Vec<u8>) {
        let (tsn, stream, ssn, mid, fsn, ppid) = numbers;
        let [interleaved, unordered, begin, end, immediate] = flags;
        let order = match interleaved {
            false => Order::Ssn(Ssn(ssn)),
            true => Order::Mid(Mid(mid), Fsn(if begin { 0 } else { fsn })),
        };
        let ppid = Ppid(if interleaved && !begin { 0 } else { ppid });
        let data = Data {
            tsn: Tsn(tsn), stream: StreamId(stream), order, ppid, unordered, begin, end, immediate, payload: &[],
        };
        (data, payload)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read((data, payload) in any_data()) {
        let data = Data { payload: &payload, ..data };
        let bytes = written(|packet| data.write(packet));
        prop_assert_eq!(Data::parse(&only_chunk(&bytes)), Ok(data));
    }
}
