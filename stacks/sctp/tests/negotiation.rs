//! What both sides agree on: I-DATA (RFC 8260), zero checksums (RFC 9653), streams.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{A, B, Pair, config, header, kinds, payload, raw_chunks, written};
use netdyno_sctp::State;
use netdyno_sctp::wire::checksum_holds;

const SECOND: Duration = Duration::from_secs(1);
const DATA: u8 = 0;
const I_DATA: u8 = 64;

/// A pair of these settings in the middle of a conversation, from the side that connects.
fn talk(a: [bool; 2], b: [bool; 2], connect: &[usize]) -> Pair {
    let config = |[interleaving, zero]: [bool; 2]| {
        config(|c| (c.interleaving, c.zero_checksum) = (interleaving, zero))
    };
    let mut pair = Pair::new(config(a), config(b));
    for &end in connect {
        pair.send(end, 3, &payload(10, 3));
        pair.ends[end].connect(pair.now);
    }
    pair.run(SECOND);
    for end in [A, B] {
        pair.send(end, 1, &payload(50_000, end));
        pair.send(end, 2, &payload(50_000, end));
    }
    pair.run(SECOND);
    assert_eq!(pair.states(), [State::Established; 2]);
    for end in [A, B] {
        assert!(pair.received(1 - end, 1) == [payload(50_000, end)]);
        assert!(pair.received(1 - end, 2) == [payload(50_000, end)]);
    }
    pair
}

fn each_way(mut check: impl FnMut(bool, bool, &[usize])) {
    for a in [false, true] {
        for b in [false, true] {
            for connect in [&[A][..], &[B], &[A, B]] {
                check(a, b, connect);
            }
        }
    }
}

#[test]
fn i_data_is_used_if_both_can() {
    each_way(|a, b, connect| {
        let pair = talk([a, false], [b, false], connect);
        let (expected, other) = if a && b { (I_DATA, DATA) } else { (DATA, I_DATA) };
        let has = |kind| pair.sent.iter().any(|sent| kinds(&sent.bytes).contains(&kind));
        assert!(has(expected) && !has(other), "{a} {b} {connect:?}");
    });
}

#[test]
fn a_checksum_is_left_out_if_the_peer_takes_that_and_we_want_it() {
    each_way(|a, b, connect| {
        let pair = talk([true, a], [true, b], connect);
        for sent in &pair.sent {
            let is_zero = sent.bytes[8..12] == [0; 4];
            let kind = kinds(&sent.bytes)[0];
            // INIT, INIT ACK and COOKIE ECHO have one in any case.
            let is_bare = a && b && ![1, 2, 10].contains(&kind);
            assert_eq!(is_zero, is_bare, "{a} {b} {connect:?} {kind}");
            assert!(is_zero || checksum_holds(&sent.bytes, false));
        }
    });
}

#[test]
fn wrong_checksums_are_dropped_and_zero_is_one_unless_offered() {
    for is_offered in [false, true] {
        let settings = config(|c| c.zero_checksum = is_offered);
        let pair = Pair::connected(config(|_| {}), settings.clone());
        let head = pair.header(A);
        let heartbeat =
            written(head, |p| p.chunk(4, 0, 8, |value| value.copy_from_slice(&[0, 1, 0, 8, 1, 2, 3, 4])));
        for (checksum, passes) in [
            (<[u8; 4]>::try_from(&heartbeat[8..12]).unwrap(), true),
            ([0; 4], is_offered),
            ([1, 2, 3, 4], false),
            ([0, 0, 0, 1], false),
        ] {
            let mut pair = Pair::connected(config(|_| {}), settings.clone());
            let mut bytes = heartbeat.clone();
            bytes[8..12].copy_from_slice(&checksum);
            let answers = pair.inject(B, &bytes);
            assert_eq!(answers.len(), usize::from(passes), "{is_offered} {checksum:?}");
        }
    }
}

#[test]
fn an_init_or_a_cookie_without_a_checksum_is_dropped() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    // B has offered to take zeros by now.
    pair.ends[B].connect(pair.now);
    pair.packets(B);
    let init = pair.packets(A).remove(0);
    let bare = |bytes: &[u8]| [&bytes[..8], &[0; 4], &bytes[12..]].concat();
    assert!(pair.inject(B, &bare(&init)).is_empty());
    let answer = pair.inject(B, &init).remove(0);
    let echo = pair.inject(A, &answer).remove(0);
    assert_eq!(kinds(&echo), [10]);
    assert!(pair.inject(B, &bare(&echo)).is_empty());
    assert_eq!(kinds(&pair.inject(B, &echo)[0])[0], 11);
}

#[test]
fn streams_are_what_both_have() {
    for (a, b) in [(65_535, 65_535), (65_535, 1), (3, 4), (1, 65_535)] {
        let config = |streams| config(|c| c.limits.max_streams = streams);
        let pair = Pair::connected(config(a), config(b));
        for end in [A, B] {
            assert_eq!(pair.ends[end].outbound_streams(), a.min(b));
        }
    }
}

#[test]
fn the_other_kind_of_data_ends_the_association() {
    for interleaving in [false, true] {
        let settings = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::connected(settings.clone(), settings);
        let tsn = pair.first_tsn(A).to_be_bytes();
        let kind = if interleaving { DATA } else { I_DATA };
        let bytes = written(pair.header(A), |p| {
            p.chunk(kind, 3, 20, |value| value[..4].copy_from_slice(&tsn));
        });
        let answers = pair.inject(B, &bytes);
        assert_eq!((kinds(&answers[0]), pair.states()[B]), (vec![6], State::Closed));

        // FORWARD-TSN goes with DATA, I-FORWARD-TSN with I-DATA.
        let settings = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::connected(settings.clone(), settings);
        let kind = if interleaving { 192 } else { 194 };
        let bytes = written(pair.header(A), |p| p.chunk(kind, 0, 4, |value| value.copy_from_slice(&tsn)));
        let answers = pair.inject(B, &bytes);
        assert_eq!((kinds(&answers[0]), pair.states()[B]), (vec![6], State::Closed));
    }
}

#[test]
fn packets_have_the_ports_of_the_settings() {
    let a = config(|c| (c.local_port, c.remote_port) = (1, 2));
    let b = config(|c| (c.local_port, c.remote_port) = (2, 1));
    let pair = Pair::connected(a, b);
    for sent in &pair.sent {
        let ports = if sent.from == A { (1, 2) } else { (2, 1) };
        let head = header(&sent.bytes);
        assert_eq!((head.source_port, head.destination_port), ports);
        assert!(!raw_chunks(&sent.bytes).is_empty());
    }
}
