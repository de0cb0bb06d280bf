use proptest::prelude::*;

use super::*;
use crate::wire::testing::{HEADER, only_chunk, written};

/// What a browser might send.
#[rustfmt::skip]
const INIT: [u8; 44] = [
    1, 0, 0, 44,
    0xde, 0xad, 0xbe, 0xef, 0x00, 0x10, 0x00, 0x00, 0xff, 0xff, 0x08, 0x00, 0x00, 0x00, 0x00, 0x07,
    0x80, 0x08, 0, 8, 130, 192, 64, 194,
    0xc0, 0x00, 0, 4,
    0x80, 0x01, 0, 8, 0, 0, 0, 1,
    0x80, 0x00, 0, 4, // ECN, which is ignored.
];

const ALL: Extensions = Extensions {
    re_config: true,
    forward_tsn: true,
    interleaving: true,
    interleaved_forward_tsn: true,
    zero_checksum: true,
};

fn init<'a>(extensions: Extensions, cookie: Option<&'a [u8]>) -> Init<'a> {
    Init {
        initiate_tag: 0xdead_beef,
        window_bytes: 1 << 20,
        outbound_streams: 65_535,
        inbound_streams: 2048,
        initial_tsn: Tsn(7),
        extensions,
        cookie,
        unrecognized: Unrecognized::default(),
    }
}

/// A chunk with these parameters.
fn with_parameters(parameters: &[u8]) -> Vec<u8> {
    [&INIT[4..20], parameters].concat()
}

fn parse(value: &[u8]) -> Init<'_> {
    Init::parse(&RawChunk { kind: Init::KIND, flags: 0, value }).unwrap()
}

fn reported(init: &Init<'_>) -> Vec<u16> {
    init.unrecognized.map(|parameter| parameter.kind).collect()
}

#[test]
fn known_bytes() {
    let read = Init::parse(&only_chunk(&INIT)).unwrap();
    assert_eq!(Init { unrecognized: Unrecognized::default(), ..read }, init(ALL, None));
    assert_eq!(read.unrecognized.count(), 0);
    assert_eq!(read.broken_rule(), None);
    let mut without_ecn = INIT[..40].to_vec();
    without_ecn[3] = 40;
    assert_eq!(written(|packet| assert!(init(ALL, None).write(packet))), without_ecn);
}

#[test]
fn known_bytes_of_an_ack() {
    let unknown = with_parameters(&[0xc0, 0x99, 0, 7, 1, 2, 3, 0, 0x40, 0x99, 0, 4, 0xc0, 0x98, 0, 4]);
    let reports = parse(&unknown).unrecognized;
    let ack = init(Extensions::default(), Some(&[9; 5]));
    let bytes = written(|packet| assert!(ack.write_ack(packet, reports)));
    #[rustfmt::skip]
    assert_eq!(bytes[20..], [
        0, 7, 0, 9, 9, 9, 9, 9, 9, 0, 0, 0,
        0, 8, 0, 11, 0xc0, 0x99, 0, 7, 1, 2, 3, 0,
        0, 8, 0, 8, 0x40, 0x99, 0, 4,
    ]);
    assert_eq!(bytes[..4], [2, 0, 0, 52]);
    let read = Init::parse(&only_chunk(&bytes)).unwrap();
    assert_eq!(read.cookie, Some(&[9; 5][..]));
    assert_eq!(read.unrecognized.count(), 0, "reports are not reported");
}

#[test]
fn unknown_parameters() {
    const COOKIE: [u8; 8] = [0, 7, 0, 8, 1, 2, 3, 4];
    for (kind, goes_on, reports) in [
        (0x0099_u16, false, false),
        (0x4099, false, true),
        (0x8099, true, false),
        (0xc099, true, true),
        (0x0005, true, false),
        (0x000b, true, false),
        (0x8003, true, false),
    ] {
        let unknown = [&kind.to_be_bytes()[..], &[0, 6, 0xff, 0xff, 0, 0]].concat();
        let value = with_parameters(&[&unknown[..], &COOKIE, &[0xc0, 0x98, 0, 4]].concat());
        let read = parse(&value);
        assert_eq!(read.cookie.is_some(), goes_on, "{kind:#x}");
        let mut expected = vec![];
        expected.extend(reports.then_some(kind));
        expected.extend(goes_on.then_some(0xc098));
        assert_eq!(reported(&read), expected, "{kind:#x}");
    }
}

#[test]
fn parameters_of_odd_values() {
    for (parameters, expected) in [
        (&[][..], Extensions::default()),
        // Another method of error detection than ours, none, and ours after another.
        (&[0x80, 1, 0, 8, 0, 0, 0, 2], Extensions::default()),
        (&[0x80, 1, 0, 4], Extensions::default()),
        (&[0x80, 1, 0, 5, 1], Extensions::default()),
        (
            &[0x80, 1, 0, 8, 0, 0, 0, 2, 0x80, 1, 0, 8, 0, 0, 0, 1],
            Extensions { zero_checksum: true, ..Extensions::default() },
        ),
        // FORWARD-TSN told in one of the two ways.
        (&[0xc0, 0, 0, 4], Extensions { forward_tsn: true, ..Extensions::default() }),
        (&[0x80, 8, 0, 5, 192, 0, 0, 0], Extensions { forward_tsn: true, ..Extensions::default() }),
        // Chunks that are not known, and no chunk.
        (&[0x80, 8, 0, 8, 15, 128, 193, 0], Extensions::default()),
        (&[0x80, 8, 0, 4], Extensions::default()),
        // Cut short: what came before counts.
        (
            &[0x80, 8, 0, 5, 130, 0, 0, 0, 0xc0, 0, 0, 9],
            Extensions { re_config: true, ..Extensions::default() },
        ),
    ] {
        assert_eq!(parse(&with_parameters(parameters)).extensions, expected, "{parameters:?}");
    }
}

#[test]
fn the_first_cookie_counts() {
    let value = with_parameters(&[0, 7, 0, 5, 1, 0, 0, 0, 0, 7, 0, 5, 2, 0, 0, 0]);
    assert_eq!(parse(&value).cookie, Some(&[1][..]));
}

#[test]
fn broken_rules() {
    let good = init(ALL, None);
    for (init, broken) in [
        (good, false),
        (Init { outbound_streams: 0, ..good }, true),
        (Init { inbound_streams: 0, ..good }, true),
        (Init { window_bytes: 1499, ..good }, true),
        (Init { window_bytes: 1500, outbound_streams: 1, inbound_streams: 1, ..good }, false),
    ] {
        assert_eq!(init.broken_rule().is_some(), broken, "{init:?}");
    }
    let mut value = INIT[4..].to_vec();
    value[..4].fill(0);
    assert!(Init::parse(&RawChunk { kind: Init::KIND, flags: 0, value: &value }).is_err());
}

#[test]
fn at_any_length() {
    let whole = only_chunk(&INIT);
    for length in 0..whole.value.len() {
        let chunk = RawChunk { value: &whole.value[..length], ..whole };
        let read = Init::parse(&chunk);
        assert_eq!(read.is_ok(), length >= FIELD_BYTES, "{length}");
        if let Ok(read) = read {
            assert_eq!(read.unrecognized.count(), 0);
        }
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let unknown = with_parameters(&[0xc0, 0x99, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 0xc0, 0x98, 0, 4]);
    let reports = parse(&unknown).unrecognized;
    let ack = init(Extensions::default(), Some(&[9; 4]));
    // Room for the fields, the cookie, and a short report, but not for a long one.
    for (room, fits, reported) in [(24, false, 0), (28, true, 0), (36, true, 1), (44, true, 1), (52, true, 2)]
    {
        let mut out = vec![0; super::super::HEADER_BYTES + room];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert_eq!(ack.write_ack(&mut packet, reports), fits, "{room}");
        let length = packet.finish(true);
        if fits {
            let value = only_chunk(&out[12..length]).value;
            let parameters = Parameters::new(&value[FIELD_BYTES..]);
            assert_eq!(parameters.filter(|p| p.kind == UNRECOGNIZED).count(), reported, "{room}");
        } else {
            assert_eq!(length, super::super::HEADER_BYTES);
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        numbers in any::<(u32, u32, u16, u16, u32)>(),
        can in any::<[bool; 5]>(),
        cookie in prop::option::of(prop::collection::vec(any::<u8>(), 0..80)),
    ) {
        let (tag, window_bytes, outbound_streams, inbound_streams, tsn) = numbers;
        let [re_config, forward_tsn, interleaving, interleaved_forward_tsn, zero_checksum] = can;
        let init = Init {
            initiate_tag: tag.max(1),
            window_bytes,
            outbound_streams,
            inbound_streams,
            initial_tsn: Tsn(tsn),
            extensions: Extensions { re_config, forward_tsn, interleaving, interleaved_forward_tsn, zero_checksum },
            cookie: cookie.as_deref(),
            unrecognized: Unrecognized::default(),
        };
        let bytes = written(|packet| assert!(init.write(packet)));
        let read = Init::parse(&only_chunk(&bytes)).unwrap();
        prop_assert_eq!(read.unrecognized.count(), 0);
        prop_assert_eq!(Init { unrecognized: Unrecognized::default(), ..read }, init);
    }

    #[test]
    fn any_parameters_are_read_in_bounds(parameters in prop::collection::vec(any::<u8>(), 0..200)) {
        let value = with_parameters(&parameters);
        prop_assert!(parse(&value).unrecognized.count() <= parameters.len() / 4);
    }
}
