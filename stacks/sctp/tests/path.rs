//! The path: HEARTBEATs (RFC 9260 section 8), and the discovery of its MTU (RFC 8899).
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{A, B, Pair, chunks, config, kinds, packet, payload};
use netdyno_sctp::wire::{Chunk, Heartbeat};
use netdyno_sctp::{AssociationError, Congestion, Event, State};

const SECOND: Duration = Duration::from_secs(1);
const HEARTBEAT: u8 = 4;

fn jumbo(max: usize) -> std::sync::Arc<netdyno_sctp::Config> {
    config(|c| c.max_packet_bytes = max)
}

#[test]
fn the_mtu_of_a_path_is_found_in_time_and_never_exceeded() {
    for (mtu, max, found, within) in [
        (65_535, 16_384, 16_384..=16_384, SECOND),
        (16_383, 16_384, 16_350..=16_380, 90 * SECOND),
        (9_000, 16_384, 8_960..=9_000, 90 * SECOND),
        (1_435, 16_384, 1_432..=1_432, 10 * SECOND),
        (1_416, 16_384, 1_408..=1_408, 12 * SECOND),
        (1_163, 16_384, 1_160..=1_160, 60 * SECOND),
        (3_000, 3_000, 3_000..=3_000, SECOND),
        (2_000, 3_000, 1_960..=2_000, 60 * SECOND),
        (65_535, 1_163, 1_160..=1_160, SECOND),
    ] {
        let mut pair = Pair::new(jumbo(max), jumbo(max));
        pair.mtu = mtu;
        pair.ends[A].connect(pair.now);
        pair.run(within);
        for end in [A, B] {
            let bytes = pair.ends[end].stats().packet_bytes;
            assert!(found.contains(&bytes), "{mtu} {max}: {bytes}");
        }
        // What is too long is a probe, and nothing else.
        pair.sent.clear();
        pair.send(A, 1, &payload(200_000, 1));
        pair.run(5 * SECOND);
        assert_eq!(pair.received(B, 1), [payload(200_000, 1)]);
        for sent in pair.sent.iter().filter(|sent| sent.bytes.len() > mtu) {
            assert_eq!(kinds(&sent.bytes), [HEARTBEAT, 132], "{mtu} {max}");
        }
        let longest =
            pair.sent.iter().filter(|s| !kinds(&s.bytes).contains(&132)).map(|s| s.bytes.len()).max();
        let room = pair.ends[A].stats().packet_bytes;
        assert!(longest.unwrap() > room - 40 && longest.unwrap() <= room, "{mtu} {max}: {longest:?}");
        assert_eq!(pair.states(), [State::Established; 2]);
        assert_eq!(pair.ends[A].stats().chunks_retransmitted, 0);
    }
}

#[test]
fn a_black_hole_that_appears_later_is_survived() {
    for stops in [SECOND, 10 * SECOND] {
        let mut pair = Pair::connected(jumbo(16_384), jumbo(16_384));
        assert_eq!(pair.ends[A].stats().packet_bytes, 16_384);
        for salt in 0..5 {
            pair.send(A, 1, &payload(200_000, salt));
        }
        pair.run(Duration::from_millis(15));
        // In the middle of it.
        pair.mtu = 1_435;
        pair.run(stops + 60 * SECOND);
        assert_eq!(pair.received(B, 1).len(), 5);
        for (salt, message) in pair.received(B, 1).iter().enumerate() {
            assert!(*message == payload(200_000, salt));
        }
        assert_eq!(pair.ends[A].stats().packet_bytes, 1_432);
        assert_eq!(pair.states(), [State::Established; 2]);
    }
}

#[test]
fn a_path_that_is_dead_for_a_while_has_its_mtu_back_soon() {
    let mut pair = Pair::connected(jumbo(16_384), jumbo(16_384));
    pair.send(A, 1, &payload(100_000, 1));
    pair.mtu = 0;
    pair.run(15 * SECOND);
    assert_eq!(pair.ends[A].stats().packet_bytes, 1_160);
    pair.mtu = 65_535;
    pair.run(15 * SECOND);
    assert_eq!(pair.ends[A].stats().packet_bytes, 16_384);
    assert_eq!(pair.received(B, 1).len(), 1);
}

/// RFC 9000 section 9.4: nothing measured on the old path counts on the new one, also while data of the old one
/// is still acknowledged.
#[test]
fn another_path_is_measured_anew() {
    for congestion in [Congestion::Bbr, Congestion::Cubic, Congestion::NewReno] {
        let config = config(|c| c.congestion = congestion);
        let mut pair = Pair::connected(config.clone(), config);
        pair.delay = Duration::from_micros(500);
        for salt in 0..40 {
            pair.send_when_writable(A, 1, &payload(200_000, salt));
            pair.run(Duration::from_millis(2));
        }
        let initial = 10 * netdyno_sctp::Config::default().packet_bytes;
        let before = pair.ends[A].stats();
        assert!(before.congestion_window_bytes > 2 * initial, "{congestion:?}: {before:?}");
        assert!(before.smoothed_rtt.unwrap() < Duration::from_millis(20), "{congestion:?}");
        // In flight on the old path; its acknowledgement takes the new one.
        pair.send_when_writable(A, 1, &payload(200_000, 40));
        pair.run(Duration::from_micros(100));
        pair.delay = Duration::from_millis(50);
        pair.ends[A].handle_path_changed(pair.now);
        let after = pair.ends[A].stats();
        assert_eq!(after.congestion_window_bytes, initial, "{congestion:?}");
        assert_eq!(after.smoothed_rtt, None, "{congestion:?}");
        for salt in 41..60 {
            pair.send_when_writable(A, 1, &payload(200_000, salt));
            pair.run(Duration::from_millis(20));
            let rtt = pair.ends[A].stats().smoothed_rtt;
            assert!(rtt.is_none_or(|rtt| rtt >= Duration::from_millis(100)), "{congestion:?}: {rtt:?}");
        }
        pair.run(60 * SECOND);
        assert_eq!(pair.received(B, 1).len(), 60, "{congestion:?}");
    }
}

#[test]
fn an_idle_association_sends_heartbeats_and_lives() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    pair.sent.clear();
    pair.run(600 * SECOND);
    assert_eq!(pair.states(), [State::Established; 2]);
    for end in [A, B] {
        let beats: Vec<_> = pair
            .sent
            .iter()
            .filter(|s| s.from == end && kinds(&s.bytes) == [HEARTBEAT])
            .map(|s| s.at)
            .collect();
        assert!((17..=20).contains(&beats.len()), "{beats:?}");
        for pair in beats.windows(2) {
            let gap = (pair[1] - pair[0]).as_millis();
            assert!((30_000..=30_500).contains(&gap), "{gap}");
        }
    }
}

#[test]
fn a_busy_association_sends_no_heartbeats() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    pair.sent.clear();
    for _ in 0..300 {
        pair.send(A, 1, b"busy");
        pair.run(SECOND);
    }
    let beats =
        pair.sent.iter().filter(|sent| sent.from == A && kinds(&sent.bytes).contains(&HEARTBEAT)).count();
    assert_eq!(beats, 0);
}

#[test]
fn a_peer_that_has_gone_is_found_out_idle_or_not() {
    for is_idle in [true, false] {
        let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
        pair.mtu = 0;
        if !is_idle {
            pair.send(A, 1, b"is anybody there?");
        }
        pair.run(150 * SECOND);
        let what = if is_idle { "HEARTBEAT" } else { "DATA" };
        assert_eq!(pair.events[A], [Event::Closed(Some(AssociationError::TimedOut(what)))]);
        // Not too soon: the path may come back.
        let last = pair.sent.iter().rfind(|sent| sent.from == A).unwrap().at;
        assert!(last > 30 * SECOND, "{last:?}");
    }
}

#[test]
fn a_path_that_comes_back_is_used_again() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    pair.mtu = 0;
    pair.send(A, 1, b"patience");
    pair.run(40 * SECOND);
    pair.mtu = 65_535;
    pair.run(15 * SECOND);
    assert_eq!(pair.received(B, 1), [b"patience"]);
    assert_eq!(pair.states(), [State::Established; 2]);
    assert_eq!(pair.events, [vec![], vec![]]);
}

#[test]
fn a_round_trip_is_known_at_once_on_both_sides() {
    let pair = Pair::connected(config(|_| {}), config(|_| {}));
    for end in [A, B] {
        assert_eq!(pair.ends[end].stats().smoothed_rtt, Some(2 * pair.delay), "{end}");
    }
}

#[test]
fn heartbeats_of_the_peer_are_echoed_if_they_are_short() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    let head = pair.header(A);
    for (length, is_echoed) in [(0, true), (1, true), (100, true), (256, true), (257, false), (10_000, false)]
    {
        let info = payload(length, 5);
        let bytes = common::written(head, |p| assert!((Heartbeat { info: &info }).write(p)));
        let answers = pair.inject(B, &bytes);
        assert_eq!(answers.len(), usize::from(is_echoed), "{length}");
        if is_echoed {
            assert_eq!(chunks(&answers[0]), [Chunk::HeartbeatAck(Heartbeat { info: &info })]);
        }
    }
}

#[test]
fn an_answer_to_a_heartbeat_that_was_not_sent_means_nothing() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    let head = pair.header(A);
    let rtt = pair.ends[B].stats().smoothed_rtt;
    for info in [&[0; 8][..], &[1; 8], &[], &[7; 100]] {
        let bytes = common::written(head, |p| assert!((Heartbeat { info }).write_ack(p)));
        assert!(pair.inject(B, &bytes).is_empty());
    }
    assert!(pair.inject(B, &packet(head, &[(5, 0, &[])])).is_empty());
    assert_eq!(pair.ends[B].stats().smoothed_rtt, rtt);
}

#[test]
fn a_buffer_too_short_for_a_packet_gets_none() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    for length in [0, 1, 12, 507] {
        assert_eq!(pair.ends[A].poll_transmit(pair.now, &mut vec![0; length]), None);
    }
    assert!(pair.ends[A].poll_transmit(pair.now, &mut [0; 508]).is_some());
    let mut pair = Pair::connected(jumbo(16_384), jumbo(16_384));
    pair.send(A, 1, &payload(10_000, 1));
    let mut out = [0; 600];
    while let Some(length) = pair.ends[A].poll_transmit(pair.now, &mut out) {
        pair.ends[B].handle_packet(pair.now, &out[..length]);
    }
    assert!(pair.ends[A].stats().in_flight_bytes > 0);
}

#[test]
fn a_black_hole_is_seen_although_short_packets_pass() {
    let mut pair = Pair::connected(jumbo(16_384), jumbo(16_384));
    pair.mtu = 1_300;
    // The first packet is long, those after it are short: what they bring is acknowledged by gap blocks.
    for salt in 0..100 {
        pair.send(A, salt, &payload(1_000, usize::from(salt)));
        pair.run(Duration::from_millis(if salt < 30 { 0 } else { 100 }));
    }
    pair.run(20 * SECOND);
    assert_eq!(pair.messages[B].len(), 100);
    assert!(pair.ends[A].stats().packet_bytes <= 1_300);
}
