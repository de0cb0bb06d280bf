use proptest::prelude::*;

use super::*;

/// A packet of payload type 26 with two CSRCs, an extension of one word, payload and padding, byte by byte.
const FULL: [u8; 36] = [
    0xb2, 0x9a, 0x12, 0x34, 0, 0, 0x0b, 0xb8, 0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 1, 0, 0, 0, 2, 0xbe, 0xde, 0,
    1, 0x31, 7, 8, 0, b'a', b'b', b'c', b'd', b'e', 0, 0, 3,
];

#[test]
fn fields_are_encoded_as_specified() {
    let packet = Packet::parse(&FULL).unwrap();
    let header = Header {
        marker: true,
        payload_type: 26,
        sequence: Sequence(0x1234),
        timestamp: Timestamp(3000),
        ssrc: Ssrc(0xcafe_babe),
    };
    assert_eq!(packet.header, header);
    assert_eq!(packet.csrcs.collect::<Vec<_>>(), [Ssrc(1), Ssrc(2)]);
    assert_eq!(packet.extension.elements().collect::<Vec<_>>(), [Element { id: 3, data: &[7, 8] }]);
    assert_eq!((packet.payload, packet.padding_bytes), (&b"abcde"[..], 3));

    let outgoing = Outgoing {
        header,
        csrcs: &[Ssrc(1), Ssrc(2)],
        elements: &[Element { id: 3, data: &[7, 8] }],
        payload: b"abcde",
        padding_bytes: 3,
    };
    let mut out = [0xff; 64];
    assert_eq!(outgoing.write(&mut out), Ok(36));
    assert_eq!(out[..36], FULL);
    assert_eq!(outgoing.write(&mut out[..35]), Err(WriteError::NoRoom { needed_bytes: 36, given_bytes: 35 }));
}

#[test]
fn malformed_packets_are_rejected() {
    let edit = |at: usize, value: u8| {
        let mut bytes = FULL;
        bytes[at] = value;
        Packet::parse(&bytes).map_err(|error| error.rule).err()
    };
    for (at, value, rule) in [
        (0, 0x72, "the version is not 2"),
        (0, 0xbf, "the CSRC list is truncated"),
        (23, 4, "the data are truncated"),
        (35, 0, "the padding count is 0 or exceeds the payload"),
        (35, 9, "the padding count is 0 or exceeds the payload"),
    ] {
        assert_eq!(edit(at, value), Some(rule), "byte {at} = {value:#x}");
    }
    assert_eq!(edit(35, 8), None);
    for length in 0..FULL.len() {
        // Padding is counted by the last byte, whatever that now is: either an error, or a shorter packet.
        if let Ok(packet) = Packet::parse(&FULL[..length]) {
            assert!(packet.payload.len() + usize::from(packet.padding_bytes) + 28 == length);
        }
    }
    // No payload at all, but the bit.
    assert!(Packet::parse(&[0xa0, 26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
}

#[test]
fn values_beyond_the_fields_are_rejected() {
    let mut out = vec![0; 300_000];
    let many = vec![Element { id: 16, data: &[0; 255] }; 1100];
    for (outgoing, error) in [
        (Outgoing { csrcs: &[Ssrc(0); 16], ..Outgoing::default() }, WriteError::TooManyCsrcs(16)),
        (
            Outgoing { elements: &[Element { id: 0, data: &[] }], ..Outgoing::default() },
            WriteError::BadElement { id: 0, bytes: 0 },
        ),
        (
            Outgoing { elements: &[Element { id: 1, data: &[0; 256] }], ..Outgoing::default() },
            WriteError::BadElement { id: 1, bytes: 256 },
        ),
        (Outgoing { elements: &many, ..Outgoing::default() }, WriteError::ExtensionTooLong),
        (
            Outgoing { header: Header { payload_type: 128, ..Header::default() }, ..Outgoing::default() },
            WriteError::BadPayloadType(128),
        ),
    ] {
        assert_eq!(outgoing.write(&mut out), Err(error));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        fields: (bool, u16, u32, u32),
        payload_type in 0u8..128,
        csrcs in prop::collection::vec(any::<u32>().prop_map(Ssrc), 0..=15),
        elements in prop::collection::vec((1u8..=255, prop::collection::vec(any::<u8>(), 0..=40)), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        padding_bytes: u8,
    ) {
        let header = Header {
            marker: fields.0,
            payload_type,
            sequence: Sequence(fields.1),
            timestamp: Timestamp(fields.2),
            ssrc: Ssrc(fields.3),
        };
        let elements: Vec<_> = elements.iter().map(|(id, data)| Element { id: *id, data }).collect();
        let outgoing = Outgoing { header, csrcs: &csrcs, elements: &elements, payload: &payload, padding_bytes };
        let mut out = [0xff; 1000];
        let length = outgoing.write(&mut out).unwrap();
        prop_assert_eq!(length, outgoing.length());
        let packet = Packet::parse(&out[..length]).unwrap();
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!(packet.csrcs.collect::<Vec<_>>(), csrcs);
        prop_assert_eq!(packet.extension.elements().collect::<Vec<_>>(), elements);
        prop_assert_eq!(packet.payload, &payload[..]);
        prop_assert_eq!(packet.padding_bytes, padding_bytes);
    }
}
