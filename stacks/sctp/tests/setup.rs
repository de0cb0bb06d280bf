//! Set-up (RFC 9260 section 5): each packet of it lost or doubled, from one side or both, and restarts.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{A, B, Fate, Pair, chunks, config, header, kinds, packet, raw_chunks, written};
use netdyno_sctp::wire::{Cause, Chunk, CookieEcho, Header, Init};
use netdyno_sctp::{
    Association, AssociationError, ConfigError, Event, Ppid, Reliability, SendOptions, State, StreamId,
};

const SECOND: Duration = Duration::from_secs(1);
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const ABORT: u8 = 6;
const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;

/// A pair where the first `count` packets that begin with a chunk of this type meet this fate.
fn troubled(kind: u8, count: usize, fate: Fate) -> Pair {
    let mut pair = Pair::plain();
    let mut left = count;
    pair.wire = Box::new(move |sent| {
        let is_hit = kinds(&sent.bytes)[0] == kind && left > 0;
        left -= usize::from(is_hit);
        if is_hit { fate } else { Fate::Arrives }
    });
    pair
}

fn check(mut pair: Pair, connect: &[usize], what: &str) {
    for &end in connect {
        pair.send(end, 5, b"early");
        pair.ends[end].connect(pair.now);
    }
    pair.run(60 * SECOND);
    assert_eq!(pair.states(), [State::Established; 2], "{what}");
    assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]], "{what}");
    for &end in connect {
        assert_eq!(pair.received(1 - end, 5), [b"early"], "{what}");
    }
    pair.send(A, 1, b"ping");
    pair.send(B, 2, b"pong");
    pair.run(SECOND);
    assert_eq!(
        (pair.received(B, 1), pair.received(A, 2)),
        (vec![b"ping".into()], vec![b"pong".into()]),
        "{what}"
    );
}

#[test]
fn every_packet_of_the_set_up_may_be_lost_or_doubled() {
    for kind in [INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK] {
        for connect in [&[A][..], &[B], &[A, B]] {
            for (count, fate) in [
                (0, Fate::Arrives),
                (1, Fate::IsLost),
                (2, Fate::IsLost),
                (3, Fate::IsLost),
                (9, Fate::ArrivesTwice),
            ] {
                check(troubled(kind, count, fate), connect, &format!("{kind} {count} {fate:?} {connect:?}"));
            }
        }
    }
}

#[test]
fn every_subset_of_the_first_packets_may_be_lost() {
    for connect in [&[A][..], &[A, B]] {
        for lost in 0..256u32 {
            let mut pair = Pair::plain();
            let mut place = 0;
            pair.wire = Box::new(move |_| {
                place += 1;
                if place <= 8 && lost >> (place - 1) & 1 == 1 { Fate::IsLost } else { Fate::Arrives }
            });
            check(pair, connect, &format!("{lost:08b} {connect:?}"));
        }
    }
}

#[test]
fn one_side_connects_a_little_later_than_the_other() {
    for delay_ms in 0..30 {
        let mut pair = Pair::plain();
        pair.ends[A].connect(pair.now);
        pair.run(Duration::from_millis(delay_ms));
        check(pair, &[B], &format!("{delay_ms} ms"));
    }
}

#[test]
fn packets_of_the_set_up_that_come_late_change_nothing() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    let early: Vec<_> = pair.sent.iter().map(|sent| (1 - sent.from, sent.bytes.clone())).collect();
    for _ in 0..3 {
        for (to, bytes) in &early {
            pair.inject(*to, bytes);
        }
    }
    check_open(&mut pair);
}

fn check_open(pair: &mut Pair) {
    assert_eq!(pair.states(), [State::Established; 2]);
    pair.send(A, 1, b"ping");
    pair.send(B, 2, b"pong");
    pair.run(SECOND);
    assert_eq!((pair.received(B, 1), pair.received(A, 2)), (vec![b"ping".into()], vec![b"pong".into()]));
    assert_eq!(pair.events, [vec![], vec![]]);
}

#[test]
fn a_peer_that_is_not_there_is_given_up() {
    for (kind, what) in [(INIT, "INIT"), (COOKIE_ECHO, "COOKIE ECHO")] {
        let mut pair = troubled(kind, usize::MAX, Fate::IsLost);
        pair.ends[A].connect(pair.now);
        pair.run(200 * SECOND);
        let closed = Event::Closed(Some(AssociationError::TimedOut(what)));
        assert_eq!((pair.states()[A], &pair.events[A]), (State::Closed, &vec![closed]));
        let sent: Vec<_> =
            pair.sent.iter().filter(|sent| kinds(&sent.bytes)[0] == kind).map(|s| s.at).collect();
        assert_eq!(sent.len(), 9, "{sent:?}");
        let waits: Vec<_> = sent.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
        assert_eq!(pair.ends[A].next_deadline(), None);
    }
}

#[test]
fn a_side_that_waits_keeps_nothing_of_an_init_but_the_cookie() {
    let mut pair = Pair::plain();
    let before = format!("{:?}", pair.ends[B]);
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let answer = pair.inject(B, &init).remove(0);
    assert_eq!(kinds(&answer), [INIT_ACK]);
    // Except the counters, and a queue that was used.
    let after = format!("{:?}", pair.ends[B]);
    let stable = |text: &str| text.split("packets_sent").next().unwrap().to_owned();
    assert_eq!(stable(&before), stable(&after));
    assert_eq!(pair.ends[B].next_deadline(), None);
}

#[test]
fn what_an_init_and_its_answer_say() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let answer = pair.inject(B, &init).remove(0);
    for (bytes, is_answer) in [(&init, false), (&answer, true)] {
        let (Chunk::Init(init) | Chunk::InitAck(init)) = chunks(bytes)[0] else { panic!("{bytes:?}") };
        assert_eq!(
            (init.outbound_streams, init.inbound_streams, init.window_bytes),
            (65_535, 65_535, 256 << 10)
        );
        let can = init.extensions;
        assert!(can.re_config && can.forward_tsn && can.interleaving && can.interleaved_forward_tsn);
        assert!(can.zero_checksum);
        assert_eq!(init.cookie.is_some(), is_answer);
    }
    let (Chunk::Init(first), head) = (chunks(&init)[0], header(&answer)) else { panic!() };
    assert_eq!((header(&init).verification_tag, head.verification_tag), (0, first.initiate_tag));
}

#[test]
fn an_init_that_is_not_alone_or_has_a_tag_is_dropped() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let chunk = raw_chunks(&init)[0];
    let tagged = Header { verification_tag: 1, ..header(&init) };
    for bytes in [
        packet(tagged, &[(INIT, 0, chunk.value)]),
        packet(header(&init), &[(INIT, 0, chunk.value), (INIT, 0, chunk.value)]),
        packet(header(&init), &[(COOKIE_ACK, 0, &[]), (INIT, 0, chunk.value)]),
        packet(Header { source_port: 4999, ..header(&init) }, &[(INIT, 0, chunk.value)]),
        packet(Header { destination_port: 4999, ..header(&init) }, &[(INIT, 0, chunk.value)]),
        packet(header(&init), &[(INIT, 0, &chunk.value[..15])]),
        packet(header(&init), &[]),
        init[..11].to_vec(),
        Vec::new(),
    ] {
        assert_eq!(pair.inject(B, &bytes), Vec::<Vec<u8>>::new(), "{bytes:?}");
    }
    assert_eq!(pair.inject(B, &init).len(), 1);
}

#[test]
fn an_init_with_impossible_numbers_is_answered_with_an_abort() {
    let good = {
        let mut pair = Pair::plain();
        pair.ends[A].connect(pair.now);
        pair.packets(A).remove(0)
    };
    let Chunk::Init(init) = chunks(&good)[0] else { panic!() };
    for bad in [
        Init { outbound_streams: 0, ..init },
        Init { inbound_streams: 0, ..init },
        Init { window_bytes: 1499, ..init },
    ] {
        let mut pair = Pair::plain();
        let bytes = written(header(&good), |packet| assert!(bad.write(packet)));
        let answer = pair.inject(B, &bytes).remove(0);
        assert_eq!((kinds(&answer), header(&answer).verification_tag), (vec![ABORT], init.initiate_tag));
        assert_eq!(pair.states()[B], State::Closed);
        assert_eq!(pair.ends[B].poll_event(), None);
    }
}

/// An INIT ACK for an INIT of A, made by hand.
fn answer_init(change: impl FnOnce(Init<'_>) -> Init<'static>) -> (Pair, Vec<Vec<u8>>) {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let Chunk::Init(ours) = chunks(&init)[0] else { panic!() };
    let answer = change(Init { cookie: Some(b"cookie"), initiate_tag: 99, ..ours });
    let head = Header { verification_tag: ours.initiate_tag, ..header(&init) };
    let bytes = written(head, |packet| assert!(answer.write_ack(packet, answer.unrecognized)));
    let answers = pair.inject(A, &bytes);
    (pair, answers)
}

fn fixed(init: Init<'_>, cookie: Option<&'static [u8]>) -> Init<'static> {
    Init {
        initiate_tag: init.initiate_tag,
        window_bytes: init.window_bytes,
        outbound_streams: init.outbound_streams,
        inbound_streams: init.inbound_streams,
        initial_tsn: init.initial_tsn,
        extensions: init.extensions,
        cookie,
        unrecognized: Default::default(),
    }
}

#[test]
fn init_acks_that_cannot_be_used_end_the_set_up() {
    static LONG: [u8; 1200] = [7; 1200];
    let good = answer_init(|init| fixed(init, Some(b"cookie")));
    assert_eq!((kinds(&good.1[0]), good.0.states()[A]), (vec![COOKIE_ECHO], State::CookieEchoed));
    for (what, change) in [
        ("no cookie", Box::new(|i: Init<'_>| fixed(i, None)) as Box<dyn FnOnce(Init<'_>) -> Init<'static>>),
        ("no streams", Box::new(|i: Init<'_>| fixed(Init { inbound_streams: 0, ..i }, Some(b"c")))),
        ("no window", Box::new(|i: Init<'_>| fixed(Init { window_bytes: 0, ..i }, Some(b"c")))),
        ("a cookie without end", Box::new(|i: Init<'_>| fixed(i, Some(&LONG)))),
    ] {
        let (mut pair, answers) = answer_init(change);
        assert_eq!((kinds(&answers[0]), header(&answers[0]).verification_tag), (vec![ABORT], 99), "{what}");
        assert_eq!(pair.states()[A], State::Closed, "{what}");
        assert!(matches!(pair.ends[A].poll_event(), Some(Event::Closed(Some(_)))), "{what}");
    }
}

#[test]
fn unknown_parameters_are_reported_as_their_types_ask() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    // One to skip and report, one to skip, one to stop at and report, one that is not looked at any more.
    let unknown = [0xc0, 0x77, 0, 5, 1, 0, 0, 0, 0x80, 0x78, 0, 4, 0x40, 0x79, 0, 4, 0xc0, 0x7a, 0, 4];
    let value = [&raw_chunks(&init)[0].value[..16], &unknown].concat();
    let answer = pair.inject(B, &packet(header(&init), &[(INIT, 0, &value)])).remove(0);
    let text = raw_chunks(&answer)[0].value;
    let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    assert!(has(&[0, 8, 0, 9, 0xc0, 0x77, 0, 5, 1]) && has(&[0, 8, 0, 8, 0x40, 0x79, 0, 4]));
    assert!(!has(&[0x80, 0x78]) && !has(&[0xc0, 0x7a]));

    // In an INIT ACK they are reported by an ERROR that goes with the COOKIE ECHO.
    let head = header(&answer);
    let value = [text, &[0; 3][..text.len().wrapping_neg() % 4], &unknown].concat();
    let echo = pair.inject(A, &packet(head, &[(INIT_ACK, 0, &value)])).remove(0);
    assert_eq!(kinds(&echo), [COOKIE_ECHO, 9]);
    let Chunk::Error(error) = chunks(&echo)[1] else { panic!() };
    assert!(matches!(error.causes.clone().next(), Some(Cause::UnrecognizedParameters(_))));
    assert_eq!(kinds(&pair.inject(B, &echo)[0])[0], COOKIE_ACK);
}

/// The COOKIE ECHO that A would send to B now.
fn cookie_echo(pair: &mut Pair) -> Vec<u8> {
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let answer = pair.inject(B, &init).remove(0);
    pair.inject(A, &answer).remove(0)
}

#[test]
fn cookies_are_signed_and_have_their_time() {
    let mut pair = Pair::plain();
    let echo = cookie_echo(&mut pair);
    let head = header(&echo);
    let cookie = raw_chunks(&echo)[0].value;
    for bit in (0..8 * cookie.len()).step_by(7) {
        let mut forged = cookie.to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(pair.inject(B, &packet(head, &[(COOKIE_ECHO, 0, &forged)])).is_empty(), "bit {bit}");
    }
    for wrong in [&cookie[1..], &[], &[0; 3000]] {
        assert!(pair.inject(B, &packet(head, &[(COOKIE_ECHO, 0, wrong)])).is_empty());
    }
    let other = Header { verification_tag: head.verification_tag ^ 1, ..head };
    assert!(pair.inject(B, &packet(other, &[(COOKIE_ECHO, 0, cookie)])).is_empty());

    pair.now += 61 * SECOND;
    let answer = pair.inject(B, &echo).remove(0);
    let Chunk::Error(error) = chunks(&answer)[0] else { panic!() };
    assert_eq!(error.causes.clone().next(), Some(Cause::StaleCookie(1_000_000)));
    assert_eq!(pair.states()[B], State::Closed);

    // Whose cookie was stale begins again.
    let init = pair.inject(A, &answer).remove(0);
    assert_eq!((kinds(&init), pair.states()[A]), (vec![INIT], State::CookieWait));
    let answer = pair.inject(B, &init).remove(0);
    let echo = pair.inject(A, &answer).remove(0);
    assert_eq!(kinds(&pair.inject(B, &echo)[0])[0], COOKIE_ACK);
}

#[test]
fn a_peer_whose_cookies_are_always_stale_is_given_up() {
    let mut pair = Pair::plain();
    pair.ends[A].connect(pair.now);
    let init = pair.packets(A).remove(0);
    let answer = pair.inject(B, &init).remove(0);
    pair.inject(A, &answer);
    let head = header(&answer);
    // The answers say "stale", whatever comes.
    for round in 0..100 {
        let stale = written(head, |p| {
            assert!(netdyno_sctp::wire::OperationError::write(p, [Cause::StaleCookie(1)]));
        });
        let inits = pair.inject(A, &stale);
        if pair.states()[A] == State::Closed {
            assert_eq!((round, inits.len()), (8, 0));
            return;
        }
        let init = &inits[0];
        let answer = pair.inject(B, init).remove(0);
        pair.inject(A, &answer);
    }
    panic!("it never ends");
}

#[test]
fn the_side_that_begins_anew_is_recognised() {
    for crashed in [A, B] {
        let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
        pair.send(A, 1, b"before");
        pair.send(B, 1, b"before");
        pair.run(SECOND);
        pair.ends[crashed] = Association::new(config(|_| {}), [77; 32], pair.now).unwrap();
        // The other one is in the middle of something.
        let other = 1 - crashed;
        pair.send(other, 3, &common::payload(100_000, 3));
        pair.ends[crashed].connect(pair.now);
        pair.run(5 * SECOND);
        assert_eq!(pair.states(), [State::Established; 2]);
        assert_eq!(pair.events[crashed], [Event::Connected]);
        assert_eq!(pair.events[other], [Event::Restarted]);
        pair.messages = Default::default();
        for end in [A, B] {
            pair.send(end, 1, b"after");
        }
        pair.run(SECOND);
        assert_eq!(
            (pair.received(A, 1), pair.received(B, 1)),
            (vec![b"after".into()], vec![b"after".into()])
        );
    }
}

#[test]
fn a_shutdown_goes_on_after_the_peer_has_begun_anew() {
    let mut pair = Pair::connected(config(|_| {}), config(|_| {}));
    pair.send(A, 1, &common::payload(100_000, 1));
    pair.ends[A].shutdown(pair.now);
    pair.ends[B] = Association::new(config(|_| {}), [77; 32], pair.now).unwrap();
    pair.ends[B].connect(pair.now);
    pair.run(5 * SECOND);
    assert_eq!(pair.events[A], [Event::Restarted, Event::Closed(None)]);
    assert_eq!(pair.events[B], [Event::Connected, Event::Closed(None)]);
}

#[test]
fn the_same_seed_and_inputs_give_the_same_bytes() {
    let trace = |seed| {
        let config = config(|c| c.max_packet_bytes = 9000);
        let mut pair = Pair::seeded(config.clone(), config, seed);
        let mut count = 0u32;
        pair.wire = Box::new(move |_| {
            count += 1;
            if count.is_multiple_of(7) { Fate::IsLost } else { Fate::Arrives }
        });
        pair.ends[A].connect(pair.now);
        for stream in 0..50 {
            pair.send(A, stream, &common::payload(3000, 1));
        }
        pair.run(SECOND);
        pair.ends[A].reset_streams(&[netdyno_sctp::StreamId(3)]).unwrap();
        pair.run(100 * SECOND);
        pair.ends[B].shutdown(pair.now);
        pair.run(10 * SECOND);
        pair.sent
    };
    let (first, second) = (trace(1), trace(1));
    assert!(first.len() > 50, "{}", first.len());
    let differs = first.iter().zip(&second).position(|(a, b)| a != b);
    assert_eq!((differs, first.len()), (None, second.len()));
    assert_ne!(first, trace(2));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let broken = config(|c| c.packet_bytes = 100);
    let error = Association::new(broken, [0; 32], Instant::now()).map(|_| ()).unwrap_err();
    assert_eq!(error, ConfigError { field: "packet_bytes", rule: "508 to 16,384" });
}

#[test]
fn an_echoed_cookie_may_come_with_data() {
    let mut pair = Pair::plain();
    pair.send(A, 4, b"first");
    let echo = cookie_echo(&mut pair);
    assert_eq!(kinds(&echo), [COOKIE_ECHO, 64]);
    assert!(matches!(chunks(&echo)[0], Chunk::CookieEcho(CookieEcho { .. })));
    let answer = pair.inject(B, &echo).remove(0);
    assert_eq!(kinds(&answer)[..2], [COOKIE_ACK, 3]);
    assert_eq!(pair.ends[B].recv().unwrap().data, b"first"[..]);
}

/// What went out beside a COOKIE ECHO has its form; a peer that then wants another one is left.
#[test]
fn terms_that_change_during_the_set_up_end_it() {
    let others = [config(|c| c.interleaving = false), config(|c| c.limits.max_streams = 2)];
    for (other, again) in others.iter().flat_map(|other| [(other, false), (other, true)]) {
        let mut pair = Pair::plain();
        pair.ends[A].connect(pair.now);
        let limited = SendOptions { reliability: Reliability::MaxRetransmits(3), ..SendOptions::default() };
        pair.ends[A].send(pair.now, StreamId(1), Ppid::BINARY, b"early", limited).unwrap();
        let init = pair.packets(A).remove(0);
        let answer = pair.inject(B, &init).remove(0);
        let echo = pair.inject(A, &answer).remove(0);
        assert!(kinds(&echo).len() > 1, "data beside the COOKIE ECHO: {:?}", kinds(&echo));
        // Another peer takes over: by an INIT ACK after a stale cookie, or by an INIT and its cookie.
        pair.ends[B] = Association::new(other.clone(), [99; 32], pair.now).unwrap();
        if again {
            let stale = written(header(&answer), |p| {
                assert!(netdyno_sctp::wire::OperationError::write(p, [Cause::StaleCookie(1)]));
            });
            let init = pair.inject(A, &stale).remove(0);
            let answer = pair.inject(B, &init).remove(0);
            pair.inject(A, &answer);
        } else {
            pair.ends[B].connect(pair.now);
            let init = pair.packets(B).remove(0);
            let answer = pair.inject(A, &init).remove(0);
            let echo = pair.inject(B, &answer).remove(0);
            pair.inject(A, &echo);
        }
        assert_eq!(pair.states()[A], State::Closed, "{again}");
        pair.run(30 * SECOND);
    }
}
