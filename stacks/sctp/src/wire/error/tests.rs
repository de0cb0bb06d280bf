use proptest::prelude::*;

use super::*;
use crate::types::{StreamId, Tsn};
use crate::wire::parameter::Parameters;
use crate::wire::testing::{HEADER, only_chunk, written};
use crate::wire::{Init, Malformed};

fn causes_of(bytes: &[u8]) -> Vec<Cause<'_>> {
    OperationError::parse(&only_chunk(bytes)).causes.collect()
}

#[test]
fn known_bytes() {
    let chunk = RawChunk { kind: 0x5a, flags: 3, value: &[1, 2, 3] };
    for (cause, bytes, text) in [
        (Cause::InvalidStream(StreamId(9)), &[0, 1, 0, 8, 0, 9, 0, 0][..], "invalid stream 9"),
        (Cause::MISSING_COOKIE, &[0, 2, 0, 10, 0, 0, 0, 1, 0, 7], "missing parameter 0x7"),
        (Cause::StaleCookie(1000), &[0, 3, 0, 8, 0, 0, 3, 0xe8], "stale cookie (1000 us)"),
        (
            Cause::UnrecognizedChunk(chunk),
            &[0, 6, 0, 11, 0x5a, 3, 0, 7, 1, 2, 3],
            "unrecognized chunk type 90",
        ),
        (Cause::InvalidParameter, &[0, 7, 0, 4], "invalid mandatory parameter"),
        (
            Cause::UnrecognizedParameters(Parameters::new(&[0xc0, 0x99, 0, 5, 1, 0, 0, 0, 0xc0, 0x98, 0, 4])),
            &[0, 8, 0, 16, 0xc0, 0x99, 0, 5, 1, 0, 0, 0, 0xc0, 0x98, 0, 4],
            "unrecognized parameters",
        ),
        (Cause::NoUserData(Tsn(1000)), &[0, 9, 0, 8, 0, 0, 3, 0xe8], "no user data in TSN 1000"),
        (Cause::CookieWhileShuttingDown, &[0, 10, 0, 4], "cookie received while shutting down"),
        (Cause::UserAbort(b"bye"), &[0, 12, 0, 7, b'b', b'y', b'e'], "user-initiated abort: bye"),
        (Cause::ProtocolViolation(b""), &[0, 13, 0, 4], "protocol violation"),
        (Cause::Other { code: 4, information: &[] }, &[0, 4, 0, 4], "cause 4"),
    ] {
        let length = bytes.len() + 4;
        let mut expected = [&[9, 0, 0, length as u8], bytes].concat();
        expected.resize(length.next_multiple_of(4), 0);
        assert_eq!(written(|packet| assert!(OperationError::write(packet, [cause]))), expected);
        assert_eq!(causes_of(&expected), [cause]);
        assert_eq!(cause.to_string(), text);
    }
}

#[test]
fn information_of_the_wrong_form_is_kept_as_it_is() {
    for (code, information) in [
        (1, &[0, 9][..]),
        (2, &[0, 0, 0, 2, 0, 7, 0, 8]),
        (2, &[0, 0, 0, 2, 0, 7]),
        (3, &[]),
        (6, &[1, 2, 0]),
        (6, &[1, 2, 0, 9]),
        (9, &[0; 5]),
        (0, &[]),
        (0xffff, &[1]),
    ] {
        let cause = Cause::Other { code, information };
        let bytes = written(|packet| assert!(OperationError::write(packet, [cause])));
        assert_eq!(causes_of(&bytes), [cause]);
    }
}

#[test]
fn texts_are_cut_and_escaped() {
    let text = |bytes| Cause::UserAbort(bytes).to_string();
    assert_eq!(text("\u{1b}[2J\n猫\u{202e}".as_bytes()), "user-initiated abort: \\u{1b}[2J\\n猫\\u{202e}");
    assert_eq!(text(b"don't"), "user-initiated abort: don't");
    assert_eq!(text(&[b'a', 0xff, 0xfe, b'b']), "user-initiated abort: a\u{fffd}\u{fffd}b");
    assert_eq!(text(&[b'a'; 5000]).len(), "user-initiated abort: ".len() + 200);
}

#[test]
fn causes_that_do_not_fit_are_left_out() {
    let causes = [Cause::UserAbort(b"a long text"), Cause::CookieWhileShuttingDown];
    for (room, expected) in [(0, None), (4, None), (8, Some(1)), (12, Some(1)), (20, Some(1)), (24, Some(2))]
    {
        let mut out = vec![0; super::super::HEADER_BYTES + room];
        let mut packet = PacketWriter::new(&mut out, HEADER);
        assert_eq!(OperationError::write(&mut packet, causes), expected.is_some(), "{room}");
        let length = packet.finish(true);
        let read = expected.map(|_| causes_of(&out[12..length]).len());
        assert_eq!((read, length), (expected, if expected.is_none() { 12 } else { length }), "{room}");
    }
    assert!(written(|packet| assert!(!OperationError::write(packet, []))).is_empty());
}

#[test]
fn parameters_of_an_init_ack_are_reported() -> Result<(), Malformed> {
    let mut value = vec![1; 16];
    value.extend([0xc0, 0x99, 0, 5, 1, 0, 0, 0, 0, 7, 0, 4, 0x80, 0x98, 0, 4, 0x40, 0x97, 0, 4]);
    let init = Init::parse(&RawChunk { kind: Init::KIND_ACK, flags: 0, value: &value })?;
    let bytes = written(|packet| assert!(OperationError::write_unrecognized(packet, init.unrecognized)));
    assert_eq!(bytes, [9, 0, 0, 20, 0, 8, 0, 16, 0xc0, 0x99, 0, 5, 1, 0, 0, 0, 0x40, 0x97, 0, 4]);
    let none = Unrecognized::default();
    assert!(written(|packet| assert!(!OperationError::write_unrecognized(packet, none))).is_empty());
    Ok(())
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read(value in prop::collection::vec(any::<u8>(), 0..100), codes: bool) {
        // Causes of known codes, if wanted: random ones seldom are.
        let mut value = value;
        if codes && value.len() > 8 {
            (value[0], value[1], value[2]) = (0, value[1] % 14, 0);
        }
        let chunk = RawChunk { kind: OperationError::KIND, flags: 0, value: &value };
        let causes: Vec<_> = OperationError::parse(&chunk).causes.collect();
        prop_assert!(causes.len() <= value.len() / 4);
        let texts: Vec<_> = causes.iter().map(ToString::to_string).collect();
        prop_assert_eq!(texts.len(), causes.len());
        let bytes = written(|packet| {
            assert_eq!(OperationError::write(packet, causes.iter().copied()), !causes.is_empty());
        });
        if !causes.is_empty() {
            prop_assert_eq!(causes_of(&bytes), causes);
        }
    }
}
