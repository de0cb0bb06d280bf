//! The end: shutdown (RFC 9260 section 9.2), with each of its packets lost, and ABORT.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{A, B, Fate, Pair, RELIABLE, chunks, config, header, kinds, packet, payload, written};
use netdyno_sctp::wire::{Abort, Cause, Chunk, Header, Shutdown};
use netdyno_sctp::{AssociationError, Event, Ppid, ResetError, SendError, State, StreamId, Tsn};

const SECOND: Duration = Duration::from_secs(1);
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;
const SHUTDOWN_ACK: u8 = 8;
const SHUTDOWN_COMPLETE: u8 = 14;

fn open() -> Pair {
    Pair::connected(config(|_| {}), config(|_| {}))
}

fn lose_first(pair: &mut Pair, kind: u8, count: usize) {
    let mut left = count;
    pair.wire = Box::new(move |sent| {
        let is_hit = kinds(&sent.bytes).contains(&kind) && left > 0;
        left -= usize::from(is_hit);
        if is_hit { Fate::IsLost } else { Fate::Arrives }
    });
}

#[test]
fn a_shutdown_waits_for_all_data_and_survives_losses() {
    for (kind, count) in
        [(255, 0), (SHUTDOWN, 1), (SHUTDOWN, 3), (SHUTDOWN_ACK, 1), (SHUTDOWN_ACK, 3), (SHUTDOWN_COMPLETE, 2)]
    {
        for ends in [&[A][..], &[B], &[A, B]] {
            let mut pair = open();
            lose_first(&mut pair, kind, count);
            for end in [A, B] {
                pair.send(end, 1, &payload(200_000, end));
            }
            for &end in ends {
                pair.ends[end].shutdown(pair.now);
                assert_eq!(pair.ends[end].state(), State::ShuttingDown);
                let refused = pair.ends[end].send(pair.now, StreamId(0), Ppid::BINARY, &[1], RELIABLE);
                assert_eq!(refused, Err(SendError::NotOpen));
                assert_eq!(pair.ends[end].reset_streams(&[StreamId(0)]), Err(ResetError::NotOpen));
            }
            pair.run(60 * SECOND);
            let what = format!("{kind} {count} {ends:?}");
            assert_eq!(pair.states(), [State::Closed; 2], "{what}");
            assert_eq!(pair.events, [vec![Event::Closed(None)], vec![Event::Closed(None)]], "{what}");
            assert!(pair.received(B, 1) == [payload(200_000, A)], "{what}");
            assert!(pair.received(A, 1) == [payload(200_000, B)], "{what}");
            assert_eq!(pair.ends[A].next_deadline(), None);
        }
    }
}

#[test]
fn data_in_both_directions_during_a_shutdown_over_a_bad_path() {
    let mut pair = open();
    let mut count = 0u32;
    pair.wire = Box::new(move |_| {
        count += 1;
        if count.wrapping_mul(2_654_435_761) >> 30 == 0 { Fate::IsLost } else { Fate::Arrives }
    });
    for salt in 0..20 {
        pair.send(A, 1, &payload(20_000, salt));
        pair.send(B, 1, &payload(20_000, salt));
    }
    pair.ends[A].shutdown(pair.now);
    pair.run(120 * SECOND);
    assert_eq!(pair.events, [vec![Event::Closed(None)], vec![Event::Closed(None)]]);
    assert_eq!((pair.received(A, 1).len(), pair.received(B, 1).len()), (20, 20));
}

#[test]
fn a_shutdown_before_the_association_is_open() {
    let mut waiting = Pair::plain();
    waiting.ends[A].shutdown(waiting.now);
    assert_eq!(waiting.ends[A].poll_event(), Some(Event::Closed(None)));
    assert!(waiting.packets(A).is_empty());

    for steps_ms in [0, 7, 12] {
        let mut pair = Pair::plain();
        pair.send(A, 1, b"still to come");
        pair.ends[A].connect(pair.now);
        pair.run(Duration::from_millis(steps_ms));
        pair.ends[A].shutdown(pair.now);
        let refused = pair.ends[A].send(pair.now, StreamId(0), Ppid::BINARY, &[1], RELIABLE);
        assert_eq!(refused, Err(SendError::NotOpen));
        pair.run(5 * SECOND);
        assert_eq!(pair.received(B, 1), [b"still to come"]);
        let both = vec![Event::Connected, Event::Closed(None)];
        assert_eq!(pair.events, [both.clone(), both], "{steps_ms} ms");
    }
}

#[test]
fn a_shutdown_without_an_answer_ends_too() {
    let mut pair = open();
    pair.wire = Box::new(|sent| if sent.from == A { Fate::Arrives } else { Fate::IsLost });
    pair.ends[A].shutdown(pair.now);
    pair.run(300 * SECOND);
    let [Event::Closed(Some(AssociationError::TimedOut(_)))] = pair.events[A][..] else {
        panic!("{:?}", pair.events)
    };
}

#[test]
fn an_abort_ends_both_sides_and_gives_its_reason() {
    let mut pair = open();
    pair.ends[A].abort(pair.now, "enough\n");
    assert_eq!(pair.states()[A], State::Closed);
    pair.run(SECOND);
    assert_eq!(pair.events[A], [Event::Closed(None)]);
    let reason = "user-initiated abort: enough\\n".to_owned();
    assert_eq!(pair.events[B], [Event::Closed(Some(AssociationError::Aborted(reason)))]);
    assert_eq!(pair.sent.iter().filter(|sent| kinds(&sent.bytes) == [ABORT]).count(), 1);

    // Reasons may be long, and need not be ASCII.
    let mut pair = open();
    pair.ends[A].abort(pair.now, &"ä".repeat(5000));
    pair.run(SECOND);
    assert_eq!(pair.states(), [State::Closed; 2]);
}

#[test]
fn an_abort_before_the_association_is_open() {
    for steps_ms in [0, 2, 7, 12, 17] {
        let mut pair = Pair::plain();
        pair.ends[A].connect(pair.now);
        pair.run(Duration::from_millis(steps_ms));
        pair.ends[A].abort(pair.now, "no");
        pair.run(60 * SECOND);
        assert_eq!(pair.events[A].last(), Some(&Event::Closed(None)));
        assert_eq!(pair.states(), [State::Closed; 2], "{steps_ms} ms");
    }
}

#[test]
fn messages_can_be_taken_after_the_end() {
    let mut pair = open();
    pair.is_reading = false;
    pair.send(A, 1, b"last words");
    pair.ends[A].shutdown(pair.now);
    pair.run(5 * SECOND);
    assert_eq!(pair.events[B], [Event::Closed(None)]);
    assert_eq!(pair.ends[B].recv().unwrap().data, b"last words"[..]);
    assert_eq!(pair.ends[B].recv(), None);
}

#[test]
fn tags_of_abort_and_shutdown_complete_are_checked_with_the_t_bit() {
    let reference = open();
    let (ours, theirs) = (reference.header(A), reference.header(B));
    // Packets to B. `ours` has B's tag.
    let peer_tag = theirs.verification_tag;
    for (tag, reflected, ends) in [
        (ours.verification_tag, false, true),
        (peer_tag, true, true),
        (ours.verification_tag, true, false),
        (peer_tag, false, false),
        (0, false, false),
        (0, true, false),
        (12_345, true, false),
    ] {
        let mut pair = open();
        let head = Header { verification_tag: tag, ..ours };
        pair.inject(B, &written(head, |p| assert!(Abort::write(p, reflected, []))));
        let state = if ends { State::Closed } else { State::Established };
        assert_eq!(pair.states()[B], state, "{tag} {reflected}");

        // SHUTDOWN COMPLETE counts only after SHUTDOWN ACK.
        let mut pair = open();
        let bytes = packet(head, &[(SHUTDOWN_COMPLETE, u8::from(reflected), &[])]);
        pair.inject(B, &bytes);
        assert_eq!(pair.states()[B], State::Established);
        let last = Shutdown { cumulative_tsn: Tsn(pair.first_tsn(B).wrapping_sub(1)) };
        let answer = pair.inject(B, &written(ours, |p| assert!(last.write(p))));
        assert!(answer.iter().any(|bytes| kinds(bytes).contains(&SHUTDOWN_ACK)), "{answer:?}");
        pair.inject(B, &bytes);
        let state = if ends { State::Closed } else { State::ShuttingDown };
        assert_eq!(pair.states()[B], state, "{tag} {reflected}");
    }
}

#[test]
fn packets_after_the_end_are_answered_once_and_answers_never() {
    let mut pair = open();
    let head = pair.header(A);
    let data = {
        pair.send(A, 1, b"late");
        pair.packets(A).remove(0)
    };
    pair.ends[B].abort(pair.now, "");
    pair.packets(B);
    let answers = pair.inject(B, &data);
    let [Chunk::Abort(abort)] = chunks(&answers[0])[..] else { panic!("{answers:?}") };
    assert!(abort.tag_reflected && header(&answers[0]).verification_tag == head.verification_tag);
    for (kind, flags) in [(ABORT, 0), (ABORT, 1), (SHUTDOWN_COMPLETE, 1), (9, 0), (11, 0)] {
        assert!(pair.inject(B, &packet(head, &[(kind, flags, &[])])).is_empty(), "{kind}");
    }
    let answer = pair.inject(B, &packet(head, &[(SHUTDOWN_ACK, 0, &[])])).remove(0);
    assert_eq!(kinds(&answer), [SHUTDOWN_COMPLETE]);
    // The answer ends the other side as well.
    pair.inject(A, &answers[0]);
    assert_eq!(pair.states(), [State::Closed; 2]);
}

#[test]
fn a_broken_rule_ends_with_one_abort_that_names_it() {
    let mut pair = open();
    let head = pair.header(A);
    // A SACK for what was never sent.
    let sack = [0x7f, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let tsn = pair.first_tsn(B).wrapping_add(5).to_be_bytes();
    let value = [&tsn[..], &sack[4..]].concat();
    let answers = pair.inject(B, &packet(head, &[(3, 0, &value)]));
    let [Chunk::Abort(abort)] = chunks(&answers[0])[..] else { panic!("{answers:?}") };
    assert!(matches!(abort.causes.clone().next(), Some(Cause::ProtocolViolation(_))));
    assert_eq!(answers.len(), 1);
    assert!(matches!(pair.ends[B].poll_event(), Some(Event::Closed(Some(AssociationError::Violation(_))))));
    assert_eq!(pair.ends[B].poll_event(), None);
}

#[test]
fn a_packet_that_is_late_does_not_spoil_an_orderly_end() {
    let mut pair = open();
    pair.send(A, 1, b"data");
    let late = pair.packets(A).remove(0);
    pair.inject(B, &late);
    pair.run(SECOND);
    lose_first(&mut pair, SHUTDOWN_COMPLETE, 1);
    pair.ends[B].shutdown(pair.now);
    pair.run(Duration::from_millis(25));
    assert_eq!(pair.states(), [State::ShuttingDown, State::Closed]);
    let answer = pair.inject(B, &late).remove(0);
    assert_eq!(kinds(&answer), [ABORT]);
    pair.inject(A, &answer);
    assert_eq!(pair.ends[A].poll_event(), Some(Event::Closed(None)));
}
