//! Messages in a TCP stream, and a device with connections.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod common;

use common::{Bench, LIGHT, address, hex, home};
use netdyno_echonet_core::{
    ConnectionId, Decision, DeviceEvent, Eoj, Epc, Esv, FrameError, FrameWriter, Header, MESSAGE_BYTES_MAX,
    Messages, Source, Tid,
};

const GET: &str = "1081 0001 05FF01 029101 62 01 8000";
const SET_GET: &str = "1081 0002 05FF01 029101 6E 01 B00132 02 B000 8000";

/// A name, a stream, and the expected result of [`read`].
type Row = (&'static str, Vec<u8>, &'static [usize], usize, Option<FrameError>);

/// Lengths of the messages, remaining bytes, and the error, if any.
fn read(stream: &[u8]) -> (Vec<usize>, usize, Option<FrameError>) {
    let mut messages = Messages::new(stream);
    let mut found: Vec<_> = messages.by_ref().collect();
    let error = found.pop_if(|found| found.is_err()).and_then(Result::err);
    assert!(messages.next().is_none(), "it is over");
    let lengths: Vec<usize> = found.iter().map(|message| message.unwrap().len()).collect();
    assert_eq!(
        found
            .iter()
            .flat_map(|message| message.unwrap())
            .copied()
            .chain(messages.left().iter().copied())
            .collect::<Vec<u8>>(),
        stream
    );
    (lengths, messages.left().len(), error)
}

fn longest() -> Vec<u8> {
    let header = Header { tid: Tid(7), seoj: Eoj::CONTROLLER, deoj: LIGHT, esv: Esv::SetGet };
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    let mut writer = FrameWriter::new(&mut buffer, header).unwrap();
    (0..255).for_each(|_| writer.property(Epc(0xF0), &[1; 255]).unwrap());
    writer.get_list().unwrap();
    (0..255).for_each(|_| writer.property(Epc(0xF0), &[2; 255]).unwrap());
    assert_eq!(writer.finish().unwrap(), MESSAGE_BYTES_MAX);
    buffer
}

#[test]
fn messages_follow_one_another() {
    let (get, set_get) = (hex(GET), hex(SET_GET));
    const G: usize = 14;
    const S: usize = 20;
    assert_eq!((get.len(), set_get.len()), (G, S));
    let rows: &[Row] = &[
        ("nothing", vec![], &[], 0, None),
        ("one", get.clone(), &[G], 0, None),
        ("several", [&get[..], &set_get, &get].concat(), &[G, S, G], 0, None),
        ("one and a part", [&set_get[..], &get[..G - 1]].concat(), &[S], G - 1, None),
        (
            "another protocol",
            [&get[..], b"GET / HTTP/1.1\r\n"].concat(),
            &[G],
            16,
            Some(FrameError::Protocol(b'G')),
        ),
        ("another format", hex("1082 0001 AABB"), &[], 6, Some(FrameError::ArbitraryFormat)),
        ("no format", hex("10FF"), &[], 2, Some(FrameError::Format(0xFF))),
        (
            "no service, once it is known which",
            hex("1081 0001 05FF01 029101 77 00"),
            &[],
            12,
            Some(FrameError::UnknownEsv(0x77)),
        ),
        ("and before", hex("1081 0001 05FF01 029101 77"), &[], 11, None),
    ];
    for (name, stream, lengths, left, error) in rows {
        assert_eq!(read(stream), (lengths.to_vec(), *left, *error), "{name}");
    }
}

#[test]
fn a_message_may_be_cut_anywhere() {
    let (get, set_get) = (hex(GET), hex(SET_GET));
    let stream = [&set_get[..], &get].concat();
    for end in 0..=stream.len() {
        let whole = usize::from(end >= set_get.len()) + usize::from(end == stream.len());
        let (lengths, left, error) = read(&stream[..end]);
        assert_eq!((lengths.len(), left + lengths.iter().sum::<usize>(), error), (whole, end, None));
    }
}

#[test]
fn messages_have_a_maximum_length() {
    let longest = longest();
    assert_eq!(read(&longest), (vec![MESSAGE_BYTES_MAX], 0, None));
    for cut in [1, 2, 257, 65_536, MESSAGE_BYTES_MAX - 11, MESSAGE_BYTES_MAX - 2] {
        assert_eq!(read(&longest[..MESSAGE_BYTES_MAX - cut]), (vec![], MESSAGE_BYTES_MAX - cut, None));
    }
    let two = [&longest[..], &longest[..MESSAGE_BYTES_MAX - 1]].concat();
    assert_eq!(read(&two), (vec![MESSAGE_BYTES_MAX], MESSAGE_BYTES_MAX - 1, None));
}

#[test]
fn answers_use_the_transport_of_the_request() {
    let by = |number| Source::connection(address(9), ConnectionId(number));
    let rows: &[(&str, &str, &[&str])] = &[
        ("a read", GET, &["tcp3 108100010291010 5FF017201800130"]),
        (
            "all instances",
            "1081 0001 05FF01 029100 62 01 8000",
            &["tcp3 1081000102910105FF017201800130", "tcp3 1081000102910205FF017201800130"],
        ),
        (
            "a refusal of a write without an answer",
            "1081 0001 05FF01 029101 60 01 EE0132",
            &["tcp3 1081000102910105FF015001EE0132"],
        ),
        ("a write without an answer", "1081 0001 05FF01 029101 60 01 B00132", &[]),
        ("an announcement", "1081 0001 05FF01 029101 63 01 8000", &["all 1081000102910105FF017301800130"]),
        (
            "an announced change",
            "1081 0001 05FF01 029101 61 01 800131",
            &["tcp3 1081000102910105FF0171018000", "all 10810001029101 0EF0017301800131"],
        ),
    ];
    for (name, request, expected) in rows {
        let mut bench = Bench::new(&home());
        let shown =
            |text: &str| text.split_once(' ').map(|(to, rest)| (to.to_owned(), rest.replace(' ', "")));
        let answers: Vec<_> = bench.send(&hex(request), by(3)).iter().map(|row| shown(row)).collect();
        assert_eq!(answers, expected.iter().map(|row| shown(row)).collect::<Vec<_>>(), "{name}");
    }
    // Also for writes that wait for a decision; on another connection or as a datagram it is another request.
    let mut bench = Bench::new(&home());
    let ask = hex("1081 0001 05FF01 029101 61 01 B60142");
    for from in [by(3), by(4), Source::unicast(address(9)), by(3)] {
        assert!(bench.send(&ask, from).is_empty());
    }
    let mut answers = Vec::new();
    while let Some(event) = bench.device.poll_event() {
        if let DeviceEvent::WriteRequested { id, .. } = event {
            assert!(bench.device.decide(id, Decision::Refuse));
            answers.extend(bench.poll());
        }
    }
    let to: Vec<_> = answers.iter().map(|answer| answer.split(' ').next().unwrap()).collect();
    assert_eq!(to, ["tcp3", "tcp4", "9"]);
}

#[test]
fn the_longest_request_is_answered() {
    let mut bench = Bench::new(&home());
    bench.out = vec![0; MESSAGE_BYTES_MAX];
    let answer = bench.send(&longest(), Source::connection(address(9), ConnectionId(1)));
    // Each write is refused with its value, each read without one.
    assert_eq!(answer[0].len(), "tcp1 ".len() + 2 * (11 + 1 + 255 * 257 + 1 + 255 * 2));
}
