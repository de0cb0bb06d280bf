//! The server's answers, with any segmentation of requests.

use netdyno_contender::kv::{GET_SETUP, Values, append_command, append_get, append_set};

use crate::requests::{Answer, Reader};
use crate::table::{Slot, Table, number};

const VALUE_BYTES: usize = 20;

fn table() -> Table {
    Table::new(1000, 2, 3, VALUE_BYTES).unwrap()
}

#[test]
fn every_key_has_its_own_slot() {
    let table = table();
    let rows = [
        ("key:000000000000", Some(0)),
        ("key:000000000999", Some(999)),
        ("key:000000001000", None),
        ("verify:0:0", Some(1000)),
        ("verify:1:2", Some(1005)),
        ("verify:1:3", None),
        ("verify:2:0", None),
        ("verify:2", None),
        ("verify::0", None),
        ("other", None),
    ];
    for (key, wanted) in rows {
        assert_eq!(table.slot(key.as_bytes()), wanted.map(Slot), "{key}");
    }
    assert_eq!(
        [number(b"12"), number(b""), number(b"1x"), number(&[b'1'; 20])],
        [Some(12), None, None, None]
    );
}

#[test]
fn requests_are_parsed_wherever_they_are_split() {
    let values = Values::new(1, VALUE_BYTES);
    let mut stream = GET_SETUP.to_vec();
    append_get(&mut stream, 7);
    append_set(&mut stream, 7, &values);
    append_get(&mut stream, 7);
    append_command(&mut stream, &[b"SET", b"verify:1:2", &[b'\r'; VALUE_BYTES]]);
    append_command(&mut stream, &[b"GET", b"verify:1:2"]);
    let wanted = [
        Answer::Null,
        Answer::Value(Slot(7)),
        Answer::Ok,
        Answer::Value(Slot(7)),
        Answer::Ok,
        Answer::Value(Slot(1005)),
    ];
    let mut value = Vec::new();
    values.append(&mut value, 7);
    for first in 0..=stream.len() {
        for second in (first..=stream.len()).step_by(7) {
            let (mut table, mut reader, mut answers) = (table(), Reader::default(), Vec::new());
            for piece in [&stream[..first], &stream[first..second], &stream[second..]] {
                reader.take(&mut table, piece, |answer| answers.push(answer)).unwrap();
            }
            assert_eq!(answers, wanted, "{first} {second}");
            assert_eq!(table.get(Slot(7)), Some(value.as_slice()));
            assert_eq!(table.get(Slot(1005)), Some([b'\r'; VALUE_BYTES].as_slice()));
            assert_eq!(table.get(Slot(8)), None);
        }
    }
}

#[test]
fn unsupported_requests_are_errors() {
    let long = [b"*2\r\n$3\r\nGET\r\n$".as_slice(), &[b'1'; 400]].concat();
    let rows: [&[u8]; 7] = [
        b"*1\r\n$7\r\nCOMMAND\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"*2\r\n$3\r\nGET\r\n$5\r\nother\r\n",
        b"*3\r\n$3\r\nSET\r\n$5\r\nsetup\r\n$1\r\na\r\n",
        b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$2\r\nab\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &long,
    ];
    for bytes in rows {
        let (mut table, mut reader) = (table(), Reader::default());
        let message = bytes.chunks(16).try_for_each(|piece| reader.take(&mut table, piece, |_| {}));
        assert!(message.is_err(), "{}", bytes.escape_ascii());
    }
}
