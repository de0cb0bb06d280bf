//! What a peer must not be able to do, point by point.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{A, B, Pair, RELIABLE, chunks, config, kinds, packet, payload, written};
use netdyno_sctp::wire::{Cause, Chunk, Data, ForwardTsn, Header, OperationError, Order};
use netdyno_sctp::{AssociationError, Config, Event, Mid, Ppid, SendError, Ssn, State, StreamId, Tsn};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
const ABORT: u8 = 6;

fn open() -> Pair {
    open_with(config(|_| {}))
}

fn open_with(b: Arc<Config>) -> Pair {
    Pair::connected(config(|_| {}), b)
}

/// I-DATA by hand, in a packet to B; the message `mid` of stream 1.
fn i_data(pair: &Pair, tsn: u32, mid: u32, change: impl FnOnce(&mut Data<'_>)) -> Vec<u8> {
    let mut data = Data {
        tsn: Tsn(pair.first_tsn(A).wrapping_add(tsn)),
        stream: StreamId(1),
        order: Order::Mid(Mid(mid), netdyno_sctp::Fsn(0)),
        ppid: Ppid::BINARY,
        unordered: false,
        begin: true,
        end: true,
        immediate: true,
        payload: &[7; 1000],
    };
    change(&mut data);
    written(pair.header(A), |p| data.write(p))
}

fn is_open(pair: &Pair) -> bool {
    pair.states()[B] == State::Established
}

#[test]
fn verification_tags_and_ports_are_checked() {
    let mut pair = open();
    let head = pair.header(A);
    let bytes = |head| packet(head, &[(4, 0, &[0, 1, 0, 4])]);
    assert_eq!(pair.inject(B, &bytes(head)).len(), 1);
    for wrong in [
        Header { verification_tag: 0, ..head },
        Header { verification_tag: head.verification_tag ^ 1, ..head },
        Header { verification_tag: pair.header(B).verification_tag, ..head },
        Header { source_port: 5001, ..head },
        Header { destination_port: 5001, ..head },
    ] {
        let before = pair.ends[B].stats();
        assert!(pair.inject(B, &bytes(wrong)).is_empty(), "{wrong:?}");
        assert_eq!(pair.ends[B].stats(), before);
    }
}

#[test]
fn chunks_of_length_zero_to_three_end_the_packet() {
    for length in 0..4u8 {
        let mut pair = open();
        let head = pair.header(A);
        for kind in [0, 1, 3, 4, 6, 7, 10, 14, 64, 130, 192, 255] {
            // A good HEARTBEAT, the bad chunk, and one more that must not be looked at.
            let mut bytes = packet(head, &[(4, 0, &[0, 1, 0, 4]), (kind, 0, &[0; 4]), (6, 0, &[])]);
            bytes[22..24].copy_from_slice(&[0, length]);
            let checksum = crc(&bytes);
            bytes[8..12].copy_from_slice(&checksum);
            assert_eq!(kinds(&pair.inject(B, &bytes)[0]), [5]);
            assert!(is_open(&pair), "{kind} {length}");
        }
    }
}

/// CRC32c, bit by bit, as the packet has it.
fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for (place, byte) in bytes.iter().enumerate() {
        crc ^= u32::from(if (8..12).contains(&place) { 0 } else { *byte });
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    (!crc).to_le_bytes()
}

#[test]
fn chunks_that_are_cut_short_are_dropped() {
    for kind in [1u8, 2, 3, 4, 5, 7, 10, 130, 192, 194, 0, 64] {
        for length in 0..24 {
            let mut pair = open();
            let bytes = packet(pair.header(A), &[(kind, 0, &vec![0xff; length])]);
            pair.inject(B, &bytes);
            assert!(pair.ends[B].stats().held_bytes == 0);
        }
    }
}

#[test]
fn sacks_that_lie_end_the_association_or_mean_nothing() {
    // Cumulative TSN as an offset from B's first, gap blocks, and whether it is a lie.
    for (cumulative, gaps, is_lie) in [
        (9, &[][..], false),
        (10, &[], true),
        (u32::MAX, &[(2, 2)], false),
        (u32::MAX, &[(1, 1)], false),
        (u32::MAX, &[(5, 2)], false),
        (u32::MAX, &[(3, 4), (2, 2)], false),
        (u32::MAX, &[(2, 4), (2, 4), (2, 4)], false),
        (u32::MAX, &[(2, 11)], true),
        (u32::MAX, &[(65_535, 65_535)], true),
        (1 << 30, &[], true),
        // So old that it does not count.
        (1 << 31, &[(2, 9)], false),
        (u32::MAX - 1, &[(2, 2)], false),
    ] {
        let mut pair = open();
        for salt in 0..10 {
            pair.send(B, 1, &payload(1100, salt));
        }
        assert!(pair.packets(B).len() >= 10);
        let tsn = pair.first_tsn(B).wrapping_add(cumulative);
        let count = (gaps.len() as u16).to_be_bytes();
        let mut value = [&tsn.to_be_bytes()[..], &[0, 1, 0, 0], &count, &[0, 0]].concat();
        for (first, last) in gaps {
            value.extend([*first as u16, *last as u16].iter().flat_map(|n| n.to_be_bytes()));
        }
        pair.inject(B, &packet(pair.header(A), &[(3, 0, &value)]));
        assert_eq!(is_open(&pair), !is_lie, "{cumulative} {gaps:?}");
        if !is_lie {
            pair.run(10 * SECOND);
            assert_eq!(pair.received(A, 1).len() + usize::from(cumulative == 9) * 10, 10);
        }
    }
    // Counts that do not fit the length.
    let mut pair = open();
    let value = [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    pair.inject(B, &packet(pair.header(A), &[(3, 0, &value)]));
    assert!(is_open(&pair));
}

#[test]
fn a_message_without_end_is_cut_off() {
    for interleaving in [false, true] {
        let small = config(|c| {
            c.limits.max_message_bytes = 100_000;
            c.interleaving = interleaving;
        });
        let mut pair = open_with(small);
        let mut count = 0;
        while is_open(&pair) {
            let order = match interleaving {
                true => Order::Mid(Mid(0), netdyno_sctp::Fsn(count)),
                false => Order::Ssn(Ssn(0)),
            };
            let bytes = i_data(&pair, count, 0, |data| {
                (data.order, data.begin, data.end) = (order, count == 0, false);
            });
            let answers = pair.inject(B, &bytes);
            assert!(pair.ends[B].stats().held_bytes < 300_000);
            if !is_open(&pair) {
                assert_eq!(kinds(&answers[0]), [ABORT]);
            }
            count += 1;
            assert!(count < 1000, "it never ends");
        }
        assert!(count >= 99, "{count}");
    }
}

#[test]
fn what_is_held_has_bounds_in_bytes_pieces_and_streams() {
    // Out of order, in pieces of one byte, in pieces on as many streams as there are.
    for (what, unordered, spread, length) in
        [("gaps", false, 2, 1000), ("bytes", true, 1, 1), ("pieces", false, 1, 1), ("many", true, 3, 900)]
    {
        let mut pair = open();
        for count in 0..60_000u32 {
            let bytes = i_data(&pair, 1 + count * spread, count, |data| {
                data.stream = StreamId(if what == "pieces" { (count % 65_535) as u16 } else { 1 });
                (data.unordered, data.end, data.immediate) = (unordered, what == "gaps", false);
                data.payload = &data.payload[..length];
            });
            pair.ends[B].handle_packet(pair.now, &bytes);
            if count % 1000 == 0 {
                pair.packets(B);
            }
        }
        let stats = pair.ends[B].stats();
        assert!(stats.held_bytes <= stats.window_bytes + 300_000, "{what}: {stats:?}");
        assert!(stats.window_bytes <= 16 << 20);
    }
}

#[test]
fn tiny_messages_that_nobody_takes_are_bounded() {
    let few = config(|c| c.limits.max_waiting_messages = 1000);
    let mut pair = open_with(few);
    pair.is_reading = false;
    for _ in 0..5000 {
        pair.send(A, 1, b"x");
    }
    pair.run(5 * SECOND);
    let waiting = pair.ends[B].stats().messages_received;
    assert!(waiting <= 5000, "{waiting}");
    assert!(pair.ends[B].stats().held_bytes <= 1 << 20);
    pair.is_reading = true;
    pair.run(60 * SECOND);
    assert_eq!(pair.messages[B].len(), 5000);
}

#[test]
fn data_on_a_stream_that_does_not_exist_is_reported_and_dropped() {
    let mut pair = open_with(config(|c| c.limits.max_streams = 10));
    let bytes = i_data(&pair, 0, 0, |data| data.stream = StreamId(10));
    let answers = pair.inject(B, &bytes);
    let errors: Vec<_> = answers.iter().flat_map(|bytes| chunks(bytes)).collect();
    let told = errors.iter().any(|chunk| {
        matches!(chunk, Chunk::Error(OperationError { causes })
            if { *causes }.eq([Cause::InvalidStream(StreamId(10))]))
    });
    assert!(told && errors.iter().any(|chunk| matches!(chunk, Chunk::Sack(_))), "{errors:?}");
    assert!(is_open(&pair) && pair.ends[B].recv().is_none());
}

#[test]
fn data_without_data_ends_the_association() {
    for (kind, length) in [(0, 12), (64, 16)] {
        let mut pair = open_with(config(|c| c.interleaving = kind == 64));
        let answers = pair.inject(B, &packet(pair.header(A), &[(kind, 3, &vec![0; length])]));
        let [Chunk::Abort(abort)] = chunks(&answers[0])[..] else { panic!("{answers:?}") };
        assert!(matches!(abort.causes.clone().next(), Some(Cause::NoUserData(_))));
        assert!(matches!(
            pair.ends[B].poll_event(),
            Some(Event::Closed(Some(AssociationError::Violation(_))))
        ));
    }
}

#[test]
fn forward_tsns_that_lie_do_not_stall_or_crash() {
    for offset in [0, 1, 1000, 65_535, 65_536, 1 << 30, 1 << 31, u32::MAX] {
        let mut pair = open();
        let tsn = Tsn(pair.first_tsn(A).wrapping_add(offset));
        let streams = (0..100).map(|stream| (StreamId(stream * 655), Mid(u32::MAX), stream % 2 == 0));
        let bytes = written(pair.header(A), |p| {
            ForwardTsn::write_interleaved(p, tsn, streams);
        });
        for _ in 0..10 {
            pair.inject(B, &bytes);
        }
        assert!(pair.ends[B].stats().held_bytes < 100_000, "{offset}");
    }
}

#[test]
fn unknown_chunks_are_skipped_or_end_the_packet_and_are_reported_as_they_ask() {
    for (kind, goes_on, reports) in
        [(0x3f, false, false), (0x7f, false, true), (0xbf, true, false), (0xff, true, true)]
    {
        let mut pair = open();
        let answers = pair.inject(B, &packet(pair.header(A), &[(kind, 5, b"what?"), (4, 0, &[0, 1, 0, 4])]));
        let all: Vec<u8> = answers.iter().flat_map(|bytes| kinds(bytes)).collect();
        let expected: Vec<u8> =
            [(reports, 9), (goes_on, 5)].iter().filter(|(is, _)| *is).map(|(_, k)| *k).collect();
        assert_eq!(all, expected, "{kind:#x}");
    }
}

#[test]
fn a_flood_of_what_wants_answers_is_answered_in_bounds() {
    let mut pair = open();
    let head = pair.header(A);
    let unknown: Vec<(u8, u8, &[u8])> = (0..1000).map(|_| (0xff, 0, &b""[..])).collect();
    let heartbeats: Vec<(u8, u8, &[u8])> = (0..1000).map(|_| (4, 0, &[0, 1, 0, 4][..])).collect();
    for _ in 0..100 {
        pair.ends[B].handle_packet(pair.now, &packet(head, &unknown));
        pair.ends[B].handle_packet(pair.now, &packet(head, &heartbeats));
    }
    let answers = pair.packets(B);
    assert!(answers.len() <= 4, "{}", answers.len());
}

#[test]
fn chunks_beyond_the_limit_of_a_packet_are_not_looked_at() {
    let mut pair = open_with(config(|c| c.limits.max_chunks_per_packet = 10));
    let mut many: Vec<(u8, u8, &[u8])> = vec![(132, 0, &b""[..]); 10];
    many.push((6, 0, &[]));
    pair.inject(B, &packet(pair.header(A), &many));
    assert!(is_open(&pair));
    pair.inject(B, &packet(pair.header(A), &many[1..]));
    assert!(!is_open(&pair));
}

#[test]
fn message_sizes_are_those_of_the_peer() {
    let mut pair = open();
    pair.ends[A].set_max_send_message_bytes(1000);
    let sent = pair.ends[A].send(pair.now, StreamId(1), Ppid::BINARY, &[1; 1001], RELIABLE);
    assert_eq!(sent, Err(SendError::TooLong { length: 1001, limit: 1000 }));
    pair.send(A, 1, &[1; 1000]);
    pair.ends[A].set_max_send_message_bytes(500_000);
    // More than the peer puts together: it says so with an ABORT.
    let sent = pair.ends[A].send(pair.now, StreamId(1), Ppid::BINARY, &[1; 400_000], RELIABLE);
    assert_eq!(sent, Ok(()));
    pair.run(5 * SECOND);
    assert_eq!(pair.states(), [State::Closed; 2]);
    assert_eq!(pair.received(B, 1), [[1; 1000]]);
}

#[test]
fn ppids_come_out_as_they_went_in() {
    let mut pair = open();
    for ppid in [50, 51, 53, 56, 57, 0, u32::MAX] {
        for length in [1, 5000] {
            let message = payload(length, ppid as usize);
            pair.ends[A].send(pair.now, StreamId(1), Ppid(ppid), &message, RELIABLE).unwrap();
        }
    }
    pair.run(SECOND);
    let ppids: Vec<u32> = pair.messages[B].iter().map(|message| message.ppid.0).collect();
    assert_eq!(ppids, [50, 50, 51, 51, 53, 53, 56, 56, 57, 57, 0, 0, u32::MAX, u32::MAX]);
}

#[test]
fn a_window_that_is_shut_is_probed_until_it_opens() {
    let small = config(|c| {
        c.limits.receive_window_bytes = 20_000;
        c.limits.max_receive_window_bytes = 20_000;
    });
    let mut pair = open_with(small);
    pair.is_reading = false;
    for salt in 0..50 {
        pair.send(A, 1, &payload(1000, salt));
    }
    pair.run(5 * SECOND);
    // The SACK that says that there is room again gets lost.
    while pair.ends[B].recv().is_some() {}
    pair.packets(B);
    pair.is_reading = true;
    pair.run(120 * SECOND);
    assert_eq!(pair.ends[B].stats().messages_received, 50);
    assert_eq!(pair.states(), [State::Established; 2]);
}

#[test]
fn any_order_of_calls_is_legal_on_an_association_that_was_not_begun() {
    let mut pair = Pair::plain();
    let (now, end) = (pair.now, &mut pair.ends[A]);
    end.handle_timeout(now);
    assert_eq!((end.recv(), end.poll_event(), end.next_deadline()), (None, None, None));
    assert_eq!((end.outbound_streams(), end.buffered_amount(StreamId(7))), (0, 0));
    end.set_priority(StreamId(65_535), 0);
    end.set_buffered_amount_low_threshold(StreamId(65_535), usize::MAX);
    end.handle_packet(now, &[0; 12]);
    end.abort(now, "never mind");
    end.shutdown(now);
    end.connect(now);
    assert_eq!(end.poll_transmit(now, &mut [0; 2000]), None);
    assert_eq!((end.poll_event(), end.poll_event()), (Some(Event::Closed(None)), None));
}

#[test]
fn a_clock_that_runs_backwards_does_no_harm() {
    let mut pair = open();
    pair.send(A, 1, &payload(10_000, 1));
    pair.flush();
    pair.now -= Duration::from_millis(50);
    pair.send(A, 1, &payload(10_000, 2));
    pair.ends[A].handle_timeout(pair.now);
    pair.flush();
    pair.now += SECOND;
    pair.run(5 * SECOND);
    assert_eq!(pair.received(B, 1).len(), 2);
}

/// What of the packets of an honest conversation is changed.
#[derive(Debug, Clone)]
struct Change {
    packet: usize,
    place: usize,
    byte: u8,
    times: u8,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0..60usize, 0..2000usize, any::<u8>(), 0..3u8)
        .prop_map(|(packet, place, byte, times)| Change { packet, place, byte, times });
    prop::collection::vec(change, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_that_were_changed_under_way_do_no_harm(changes in changes(), interleaving: bool) {
        let settings = config(|c| c.interleaving = interleaving);
        let mut pair = Pair::new(settings.clone(), settings);
        pair.ends[A].connect(pair.now);
        let mut place = 0;
        for round in 0..6 {
            for from in [A, B] {
                let _ = pair.ends[from].send(pair.now, StreamId(1), Ppid::BINARY, &payload(3000, round), RELIABLE);
                if round == 3 {
                    let _ = pair.ends[from].reset_streams(&[StreamId(1)]);
                }
                for mut bytes in pair.packets(from) {
                    for change in changes.iter().filter(|change| change.packet == place) {
                        let at = 12 + change.place % (bytes.len() - 12);
                        bytes[at] = change.byte;
                    }
                    let checksum = crc(&bytes);
                    bytes[8..12].copy_from_slice(&checksum);
                    let times = changes.iter().find(|change| change.packet == place).map_or(1, |c| c.times);
                    for _ in 0..times {
                        pair.ends[1 - from].handle_packet(pair.now, &bytes);
                    }
                    place += 1;
                }
            }
            pair.now += Duration::from_millis(300);
            for end in &mut pair.ends {
                end.handle_timeout(pair.now);
                while end.recv().is_some() || end.poll_event().is_some() {}
                prop_assert!(end.stats().held_bytes < 2 << 20);
            }
        }
    }
}
