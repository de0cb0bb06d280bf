//! Stream resets (RFC 6525), from both sides, over bad paths, and with requests made by hand.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{A, B, Fate, Pair, RELIABLE, chunks, config, kinds, payload, written};
use netdyno_sctp::wire::{Chunk, Init, ReConfig, ReConfigItem, ReConfigResult, ReConfigSeq, Streams};
use netdyno_sctp::{Event, Ppid, ResetError, SendError, StreamId, Tsn};

const SECOND: Duration = Duration::from_secs(1);
const RE_CONFIG: u8 = 130;

fn open() -> Pair {
    Pair::connected(config(|_| {}), config(|_| {}))
}

fn ids(ids: impl IntoIterator<Item = u16>) -> Vec<StreamId> {
    ids.into_iter().map(StreamId).collect()
}

#[test]
fn a_reset_comes_after_the_data_and_the_numbers_begin_anew() {
    for interleaving in [false, true] {
        let config = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::connected(config.clone(), config);
        for round in 0..3 {
            for salt in 0..5 {
                pair.send(A, 9, &payload(50_000, salt + round));
            }
            pair.ends[A].reset_streams(&ids([9])).unwrap();
            let refused = pair.ends[A].send(pair.now, StreamId(9), Ppid::BINARY, &[1], RELIABLE);
            assert_eq!(refused, Err(SendError::NoSuchStream(StreamId(9))));
            pair.run(5 * SECOND);
            assert_eq!(pair.events[B], [Event::StreamsReset(ids([9]))]);
            assert_eq!(pair.events[A], [Event::StreamResetDone(ids([9]))]);
            let expected: Vec<_> = (0..5).map(|salt| payload(50_000, salt + round)).collect();
            assert!(pair.received(B, 9) == expected);
            (pair.events, pair.messages) = Default::default();
        }
    }
}

#[test]
fn resets_survive_losses_and_doubles_while_other_streams_are_busy() {
    for seed in 0..10u32 {
        let mut pair = open();
        let mut count = seed;
        pair.wire = Box::new(move |_| {
            count += 1;
            match count.wrapping_mul(2_654_435_761) >> 28 {
                0 => Fate::IsLost,
                1 => Fate::ArrivesTwice,
                _ => Fate::Arrives,
            }
        });
        for round in 0..20 {
            pair.send(A, 1, &payload(30_000, round));
            pair.send(A, 2, b"short");
            pair.send(B, 2, b"short");
            pair.ends[A].reset_streams(&ids([2])).unwrap();
            pair.ends[B].reset_streams(&ids([2, 3])).unwrap();
            pair.run(10 * SECOND);
            for end in [A, B] {
                let (mut done, mut told): (Vec<StreamId>, Vec<StreamId>) = Default::default();
                for event in &pair.events[end] {
                    match event {
                        Event::StreamResetDone(streams) => done.extend(streams),
                        Event::StreamsReset(streams) => told.extend(streams),
                        event => panic!("{event:?}"),
                    }
                }
                done.sort();
                told.sort();
                let (ours, theirs) = if end == A { (ids([2]), ids([2, 3])) } else { (ids([2, 3]), ids([2])) };
                assert_eq!((done, told), (ours, theirs), "seed {seed} round {round} side {end}");
            }
            pair.events = Default::default();
        }
        assert_eq!((pair.received(B, 1).len(), pair.received(B, 2).len()), (20, 20), "seed {seed}");
        assert_eq!(pair.received(A, 2).len(), 20, "seed {seed}");
    }
}

#[test]
fn the_event_waits_until_the_messages_before_it_were_taken() {
    let mut pair = open();
    pair.is_reading = false;
    pair.send(A, 4, b"one");
    pair.ends[A].reset_streams(&ids([4])).unwrap();
    pair.run(SECOND);
    assert_eq!(pair.events[B], []);
    assert_eq!(pair.ends[B].recv().unwrap().data, b"one"[..]);
    assert_eq!(pair.ends[B].poll_event(), Some(Event::StreamsReset(ids([4]))));
}

#[test]
fn a_thousand_streams_at_once() {
    let mut pair = open();
    for stream in 0..1000 {
        pair.send(A, stream, b"x");
    }
    pair.ends[A].reset_streams(&ids(0..1000)).unwrap();
    pair.run(20 * SECOND);
    let mut reset: Vec<StreamId> = Vec::new();
    for event in &pair.events[B] {
        let Event::StreamsReset(streams) = event else { panic!("{event:?}") };
        reset.extend(streams);
    }
    reset.sort();
    assert_eq!(reset, ids(0..1000));
    assert_eq!(pair.messages[B].len(), 1000);
}

#[test]
fn when_a_reset_is_not_possible() {
    let mut pair = Pair::plain();
    assert_eq!(pair.ends[A].reset_streams(&ids([1])), Err(ResetError::NotOpen));
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let answer = pair.inject(B, &init).remove(0);
    // The peer does not know RE-CONFIG.
    let Chunk::InitAck(answered) = chunks(&answer)[0] else { panic!() };
    let mut changed = Init { unrecognized: Default::default(), ..answered };
    changed.extensions.re_config = false;
    let bytes = written(common::header(&answer), |p| assert!(changed.write_ack(p, Default::default())));
    let echo = pair.inject(A, &bytes).remove(0);
    let ack = pair.inject(B, &echo).remove(0);
    pair.inject(A, &ack);
    assert_eq!(pair.ends[A].reset_streams(&ids([1])), Err(ResetError::Unsupported));
    assert_eq!(pair.ends[B].reset_streams(&ids([])), Ok(()));
}

#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut pair = open();
    pair.wire = Box::new(|sent| match kinds(&sent.bytes).contains(&RE_CONFIG) {
        true => Fate::IsLost,
        false => Fate::Arrives,
    });
    pair.ends[A].reset_streams(&ids([1])).unwrap();
    pair.run(200 * SECOND);
    assert!(matches!(pair.events[A][..], [Event::Closed(Some(_))]), "{:?}", pair.events[A]);
}

/// B, and the number that A's next request would have.
fn peer() -> (Pair, u32) {
    let pair = open();
    let tsn = pair.first_tsn(A);
    (pair, tsn)
}

/// The answers to a request made by hand.
fn ask(pair: &mut Pair, item: ReConfigItem<'_>) -> Vec<(u32, ReConfigResult)> {
    let bytes = written(pair.header(A), |p| assert!(ReConfig::write(p, &[item])));
    let mut answers = Vec::new();
    for packet in pair.inject(B, &bytes) {
        for chunk in chunks(&packet) {
            let Chunk::ReConfig(chunk) = chunk else { continue };
            answers.extend(chunk.items().filter_map(|item| match item {
                ReConfigItem::Response { response, result, .. } => Some((response.0, result)),
                _ => None,
            }));
        }
    }
    answers
}

fn reset(number: u32, last_tsn: u32, streams: &[StreamId]) -> ReConfigItem<'_> {
    let request = ReConfigSeq(number);
    let streams = Streams::from(streams);
    ReConfigItem::OutgoingReset { request, response: ReConfigSeq(0), last_tsn: Tsn(last_tsn), streams }
}

#[test]
fn numbers_of_requests_are_checked() {
    let (mut pair, first) = peer();
    let last_tsn = first.wrapping_sub(1);
    for wrong in [first.wrapping_sub(2), first.wrapping_add(1), first.wrapping_add(1 << 31)] {
        let answer = ask(&mut pair, reset(wrong, last_tsn, &ids([1])));
        assert_eq!(answer, [(wrong, ReConfigResult::BadSequenceNumber)]);
    }
    for _ in 0..3 {
        let answer = ask(&mut pair, reset(first, last_tsn, &ids([1])));
        assert_eq!(answer, [(first, ReConfigResult::Performed)]);
    }
    assert_eq!(pair.ends[B].poll_event(), Some(Event::StreamsReset(ids([1]))));
    assert_eq!(pair.ends[B].poll_event(), None);
    // None named: all of them.
    let next = first.wrapping_add(1);
    assert_eq!(ask(&mut pair, reset(next, last_tsn, &[])), [(next, ReConfigResult::Performed)]);
    assert_eq!(pair.ends[B].poll_event(), Some(Event::StreamsReset(vec![])));
}

#[test]
fn a_reset_waits_for_the_last_tsn_and_is_done_when_it_comes() {
    let (mut pair, first) = peer();
    let ask_for = |pair: &mut Pair| ask(pair, reset(first, first, &ids([1])));
    for _ in 0..3 {
        assert_eq!(ask_for(&mut pair), [(first, ReConfigResult::InProgress)]);
    }
    assert_eq!(pair.ends[B].poll_event(), None);
    pair.send(A, 1, b"the last");
    let data = pair.packets(A).remove(0);
    let answers = pair.inject(B, &data);
    assert!(answers.iter().any(|packet| kinds(packet).contains(&RE_CONFIG)), "told unasked");
    assert_eq!(ask_for(&mut pair), [(first, ReConfigResult::Performed)]);
    assert_eq!(pair.ends[B].poll_event(), None);
    assert!(pair.ends[B].recv().is_some());
    assert_eq!(pair.ends[B].poll_event(), Some(Event::StreamsReset(ids([1]))));
}

#[test]
fn what_is_refused() {
    let (mut pair, first) = peer();
    let next = |place: u32| ReConfigSeq(first.wrapping_add(place));
    let (used, unused) = (ids([0; 5]), ids([7]));
    pair.send(B, 0, b"used");
    for (place, item, result) in [
        (0, ReConfigItem::TsnReset { request: next(0) }, ReConfigResult::Denied),
        (1, ReConfigItem::AddOutgoing { request: next(1), streams: 5 }, ReConfigResult::Denied),
        (2, ReConfigItem::AddIncoming { request: next(2), streams: 5 }, ReConfigResult::Denied),
        (
            3,
            ReConfigItem::IncomingReset { request: next(3), streams: Streams::from(&[][..]) },
            ReConfigResult::WrongStream,
        ),
        (4, reset(next(4).0, 0, &ids([65_535])), ReConfigResult::WrongStream),
        (
            5,
            ReConfigItem::IncomingReset { request: next(5), streams: Streams::from(&used[..]) },
            ReConfigResult::InProgress,
        ),
        (
            6,
            ReConfigItem::IncomingReset { request: next(6), streams: Streams::from(&unused[..]) },
            ReConfigResult::NothingToDo,
        ),
    ] {
        assert_eq!(ask(&mut pair, item), [(next(place).0, result)], "{item:?}");
    }
}

#[test]
fn a_peer_may_ask_us_to_reset_a_stream_of_ours() {
    let (mut pair, first) = peer();
    pair.send(B, 6, &payload(20_000, 1));
    let streams = ids([6]);
    let item =
        ReConfigItem::IncomingReset { request: ReConfigSeq(first), streams: Streams::from(&streams[..]) };
    let bytes = written(pair.header(A), |p| assert!(ReConfig::write(p, &[item])));
    pair.ends[B].handle_packet(pair.now, &bytes);
    pair.run(SECOND);
    assert_eq!(pair.events, [vec![Event::StreamsReset(ids([6]))], vec![Event::StreamResetDone(ids([6]))]]);
    assert_eq!(pair.received(A, 6), [payload(20_000, 1)]);
}

#[test]
fn a_peer_that_resets_and_resets_fills_no_memory() {
    let few = config(|c| c.limits.max_events = 100);
    let mut pair = Pair::connected(config(|_| {}), few);
    let first = pair.first_tsn(A);
    let mut performed = 0;
    for place in 0..1000 {
        let number = first.wrapping_add(place);
        let answer = ask(&mut pair, reset(number, first.wrapping_sub(1), &ids([1, place as u16])));
        performed += usize::from(answer == [(number, ReConfigResult::Performed)]);
    }
    assert_eq!(performed, 100);
    let mut told = 0;
    while pair.ends[B].poll_event().is_some() {
        told += 1;
    }
    assert_eq!(told, 100);
}
