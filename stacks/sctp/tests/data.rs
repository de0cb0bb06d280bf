//! Messages, both ways.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{A, B, Fate, Pair, RELIABLE, config, payload};
use netdyno_sctp::{Congestion, Event, Ppid, Reliability, SendError, SendOptions, State, StreamId};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn messages_of_every_length_arrive_both_ways_whole_and_in_order() {
    for interleaving in [false, true] {
        for congestion in [Congestion::Cubic, Congestion::NewReno, Congestion::Bbr] {
            let config = config(|c| (c.interleaving, c.congestion) = (interleaving, congestion));
            let mut pair = Pair::connected(config.clone(), config);
            let lengths = [1, 2, 3, 4, 5, 100, 1023, 1024, 1127, 1128, 1129, 1131, 1132, 1133, 5000, 262_144];
            for (salt, length) in lengths.into_iter().enumerate() {
                pair.send(A, 7, &payload(length, salt));
                pair.send(B, 7, &payload(length, salt + 1));
            }
            pair.run(10 * SECOND);
            for end in [A, B] {
                let received = pair.received(end, 7);
                assert_eq!(received.len(), lengths.len());
                for (salt, message) in received.iter().enumerate() {
                    let salt = salt + usize::from(end == A);
                    assert!(*message == payload(message.len(), salt), "{} bytes", message.len());
                }
            }
        }
    }
}

/// More interleaved messages than may be incomplete at a time, with the same limit at both ends. It is lower than the
/// default, which no more messages than the send buffer accepts exceed. Losses make the receiver hold messages that
/// begin beyond a gap.
#[test]
fn more_streams_than_partial_messages_do_not_end_the_association() {
    const STREAMS: u16 = 250;
    let config = config(|c| c.limits.max_partial_messages = 64);
    for loses in [false, true] {
        let mut pair = Pair::connected(config.clone(), config.clone());
        let mut count = 0u32;
        pair.wire = Box::new(move |_| {
            count += 1;
            let is_lost = loses && count.wrapping_mul(2_654_435_761) >> 24 < 8;
            if is_lost { Fate::IsLost } else { Fate::Arrives }
        });
        for stream in 0..STREAMS {
            pair.send(A, stream, &payload(4000, usize::from(stream)));
        }
        pair.run(60 * SECOND);
        assert_eq!(pair.states(), [State::Established; 2], "loses: {loses}");
        for stream in 0..STREAMS {
            assert!(pair.received(B, stream) == [payload(4000, usize::from(stream))], "{loses}, {stream}");
        }
    }
}

#[test]
fn large_messages_arrive_over_a_path_that_loses_and_doubles() {
    for interleaving in [false, true] {
        let config = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::connected(config.clone(), config);
        let mut count = 0u32;
        pair.wire = Box::new(move |_| {
            count += 1;
            match count.wrapping_mul(2_654_435_761) >> 24 {
                0..10 => Fate::IsLost,
                10..15 => Fate::ArrivesTwice,
                _ => Fate::Arrives,
            }
        });
        for salt in 0..8 {
            pair.send_when_writable(A, salt % 3, &payload(262_144, usize::from(salt)));
        }
        pair.run(60 * SECOND);
        assert_eq!(pair.messages[B].len(), 8);
        for stream in 0..3 {
            for (place, message) in pair.received(B, stream).iter().enumerate() {
                assert!(*message == payload(262_144, usize::from(stream) + 3 * place));
            }
        }
        assert!(pair.ends[A].stats().chunks_retransmitted > 0);
    }
}

#[test]
fn a_thousand_streams() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    for stream in 0..1000 {
        pair.send(A, stream * 65, &payload(300, usize::from(stream)));
        pair.send(A, stream * 65, &payload(200, usize::from(stream)));
    }
    pair.run(5 * SECOND);
    assert_eq!(pair.messages[B].len(), 2000);
    for stream in 0..1000 {
        let salt = usize::from(stream);
        assert_eq!(pair.received(B, stream * 65), [payload(300, salt), payload(200, salt)]);
    }
}

#[test]
fn a_message_before_the_association_is_open_goes_with_the_cookie() {
    let mut pair = Pair::plain();
    pair.send(A, 0, b"early");
    pair.ends[A].connect(pair.now);
    pair.run(SECOND);
    assert_eq!(pair.received(B, 0), [b"early"]);
    assert!(pair.sent.iter().any(|sent| common::kinds(&sent.bytes) == [10, 64]));
    // A round trip for INIT, half of one for COOKIE ECHO with the data.
    let arrived = pair.sent.iter().position(|sent| common::kinds(&sent.bytes).starts_with(&[11, 3]));
    assert_eq!(pair.sent[arrived.unwrap()].at, 3 * pair.delay);
}

#[test]
fn what_send_refuses() {
    let few = config(|c| c.limits.max_streams = 10);
    let mut pair = Pair::connected(config(|c| c.limits.send_buffer_bytes = 10_000), few);
    let (now, end) = (pair.now, &mut pair.ends[A]);
    let mut send = |stream, message: &[u8]| end.send(now, StreamId(stream), Ppid::BINARY, message, RELIABLE);
    assert_eq!(send(0, &[]), Err(SendError::Empty));
    assert_eq!(send(10, &[1]), Err(SendError::NoSuchStream(StreamId(10))));
    let too_long = SendError::TooLong { length: 262_145, limit: 262_144 };
    assert_eq!(send(0, &[1; 262_145]), Err(too_long));
    assert_eq!(send(9, &[1; 9_000]), Ok(()));
    assert_eq!(send(9, &[1; 9_000]), Err(SendError::WouldBlock));
    assert_eq!(end.outbound_streams(), 10);
    pair.run(SECOND);
    assert!(pair.events[A].contains(&Event::Writable), "{:?}", pair.events);
    pair.ends[A].set_max_send_message_bytes(5);
    let sent = pair.ends[A].send(pair.now, StreamId(0), Ppid::BINARY, &[1; 6], RELIABLE);
    assert_eq!(sent, Err(SendError::TooLong { length: 6, limit: 5 }));
    pair.ends[A].set_max_send_message_bytes(300_000);
}

#[test]
fn the_buffered_amount_falls_and_tells() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    pair.ends[A].set_buffered_amount_low_threshold(StreamId(3), 1000);
    pair.send(A, 3, &payload(200_000, 1));
    assert_eq!(pair.ends[A].buffered_amount(StreamId(3)), 200_000);
    pair.run(SECOND);
    assert_eq!(pair.ends[A].buffered_amount(StreamId(3)), 0);
    assert_eq!(pair.low[A], [StreamId(3)]);
}

#[test]
fn a_reader_that_does_not_read_holds_the_sender_back() {
    let config = config(|c| {
        c.limits.receive_window_bytes = 100_000;
        c.limits.max_receive_window_bytes = 100_000;
    });
    let mut pair = Pair::connected(config.clone(), config);
    pair.is_reading = false;
    for salt in 0..100 {
        pair.send(A, 0, &payload(10_000, salt));
    }
    pair.run(100 * SECOND);
    let held = pair.ends[B].stats().held_bytes;
    assert!((50_000..=150_000).contains(&held), "{held}");
    assert_eq!(pair.states()[A], netdyno_sctp::State::Established);
    pair.is_reading = true;
    pair.run(20 * SECOND);
    assert_eq!(pair.messages[B].len(), 100);
}

#[test]
fn unreliable_messages_are_given_up_and_the_rest_arrives() {
    for interleaving in [false, true] {
        let config = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::connected(config.clone(), config);
        let mut count = 0;
        pair.wire = Box::new(move |sent| {
            count += usize::from(sent.from == A);
            if sent.from == A && count % 4 == 0 { Fate::IsLost } else { Fate::Arrives }
        });
        let options = SendOptions { unordered: true, reliability: Reliability::MaxRetransmits(0) };
        for salt in 0..100 {
            let message = payload(1000, salt);
            pair.ends[A].send(pair.now, StreamId(1), Ppid::BINARY, &message, options).unwrap();
            pair.send(A, 2, &message);
            pair.run(Duration::from_millis(20));
        }
        pair.run(30 * SECOND);
        assert_eq!(pair.received(B, 2), (0..100).map(|salt| payload(1000, salt)).collect::<Vec<_>>());
        let some = pair.received(B, 1).len();
        assert!((50..100).contains(&some), "{some}");
        assert_eq!(pair.ends[A].stats().messages_abandoned as usize + some, 100);
    }
}
