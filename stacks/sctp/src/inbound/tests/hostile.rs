//! A peer that wants us to hold, or to work, as much as it can.

use proptest::prelude::*;

use super::*;

/// What a peer may make us hold with the usual limits: the largest window, its quarter, and one message.
const HELD_MAX: usize = (16 << 20) / 4 * 5 + 262_144 + (1 << 16);
/// Besides: pages of the streams, the ring, blocks and buffers that are about to be used.
const BESIDES: usize = 264 * 1024 + 8192 + (2 << 20);

#[test]
fn floods_are_bounded() {
    type Flood = fn(u32) -> Data<'static>;
    let floods: [(&str, bool, Flood); 9] = [
        ("whole, out of order", false, |i| chunk(Tsn(1 + i % 60_000), 0, 1 + (i % 60_000) as u16)),
        ("whole, out of order, every second", false, |i| {
            chunk(Tsn(1 + (2 * i) % 60_000), (i % 1000) as u16, 1 + (i / 1000) as u16)
        }),
        ("pieces", false, |i| piece(Tsn(1 + i % 60_000), 0, 0, "U", "x")),
        ("pieces apart", false, |i| piece(Tsn(1 + 2 * i % 60_000), 0, 0, "", "x")),
        ("in order, but for the stream", false, |i| {
            piece(Tsn(i), (i % 1000) as u16, 7 + (i / 1000) as u16, "BE", "x")
        }),
        ("tiny and not taken", false, |i| piece(Tsn(i), 0, i as u16, "BE", "x")),
        ("messages begun beyond a gap", true, |i| {
            interleaved(Tsn(1 + i % 60_000), (i % 1000) as u16, i % 60_000, 0, "B", "x")
        }),
        ("second pieces", true, |i| interleaved(Tsn(1 + i % 60_000), 0, i % 60_000, 1, "", "x")),
        ("every second piece", true, |i| {
            interleaved(Tsn(1 + i % 60_000), 0, i / 1000 % 60, 1 + 2 * (i % 1000), "U", "x")
        }),
    ];
    for (case, interleaving, flood) in floods {
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let mut most = (0, 0);
        for at in 0..120_000 {
            let result = rig.inbound.handle_data(rig.now, &flood(at));
            rig.inbound.end_of_packet(rig.now);
            if result.is_ok() && at % 1000 == 0 {
                rig.inbound.audit();
                let held = (rig.inbound.heap_bytes(), rig.inbound.stats().held_bytes);
                most = (most.0.max(held.0), most.1.max(held.1));
            }
            if let Err(violation) = result {
                assert_eq!(violation.section, "RFC 9260 section 6.2", "{case}");
                break;
            }
        }
        let (heap, charged) = most;
        assert!(charged <= HELD_MAX, "{case}: {charged} bytes charged");
        assert!(heap <= charged + BESIDES, "{case}: {heap} bytes on the heap, {charged} charged");
        let chunks = rig.inbound.streams.parked_count()
            + match &rig.inbound.pieces {
                Pieces::Serial(pieces) => pieces.held_count(),
                Pieces::Interleaved(pieces) => pieces.held_count(),
            };
        let limits = Config::default().limits;
        assert!(chunks <= 2 * limits.max_held_chunks, "{case}: {chunks} chunks");
        assert!(rig.inbound.waiting.len() <= limits.max_waiting_messages, "{case}");
    }
}

#[test]
fn short_messages_that_wait_pin_no_blocks() {
    // Between two that wait forever, a block full of others passes.
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let text = "x".repeat(1000);
        let mut kept = Vec::new();
        for round in 0..200u32 {
            for at in 0..70 {
                let (stream, number) = if at < 2 { (1, 1 + round) } else { (0, round * 68 + at - 2) };
                let (flags, text) = match at {
                    0 => ("B", "x"),
                    1 => ("E", "y"),
                    _ => ("BE", &text[..]),
                };
                let data = match interleaving {
                    true => interleaved(rig.tsn, stream, number, at.min(1) * u32::from(at < 2), flags, text),
                    false => piece(rig.tsn, stream, number as u16, flags, text),
                };
                rig.packet(&[data]);
                rig.tsn = rig.tsn.next();
            }
            assert_eq!(rig.taken(), 68);
        }
        assert_eq!(rig.inbound.streams.parked_count(), 200);
        // Were they in blocks, what the application got of the missing first would pin them.
        let first = match interleaving {
            true => interleaved(rig.tsn, 1, 0, 0, "BE", "x"),
            false => piece(rig.tsn, 1, 0, "BE", "x"),
        };
        rig.packet(&[first]);
        kept.extend(std::iter::from_fn(|| rig.inbound.recv()));
        assert_eq!(kept.len(), 201);
        assert!(rig.inbound.heap_bytes() < 1 << 20, "{}", rig.inbound.heap_bytes());
    }
}

#[test]
fn messages_in_pieces_without_end_are_the_peers_fault() {
    // In the order of TSNs, on ever more streams and numbers, and none is ever completed.
    let mut rig = Rig::new(&Config::default(), Tsn(0), true);
    let result = (0..1_000_000).try_for_each(|at| {
        rig.inbound.handle_data(rig.now, &interleaved(Tsn(at), (at % 1000) as u16, at, 0, "B", "x"))?;
        rig.inbound.end_of_packet(rig.now);
        Ok::<_, ProtocolViolation>(())
    });
    assert_eq!(result.unwrap_err().section, "RFC 9260 section 6.2");
    // As many more as may be held beyond a gap.
    assert_eq!(rig.inbound.cumulative_tsn(), Tsn(2 * 1024 - 1));
    // The same with messages that wait for one that never comes.
    let text = "x".repeat(1000);
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    let result = (0..1_000_000).try_for_each(|at| {
        rig.inbound.handle_data(
            rig.now,
            &piece(Tsn(at), (at / 10_000) as u16, 1 + (at % 10_000) as u16, "BE", &text),
        )?;
        rig.inbound.end_of_packet(rig.now);
        Ok::<_, ProtocolViolation>(())
    });
    assert!(result.is_err());
    assert!(rig.inbound.stats().held_bytes <= HELD_MAX);
}

#[test]
fn a_message_of_tiny_pieces_in_the_worst_order_is_no_work() {
    // First every second, then those between: each of them joins two stretches.
    let mut config = Config::default();
    config.limits.max_partial_messages = 16_000;
    let mut rig = Rig::new(&config, Tsn(0), false);
    let text = "x";
    let at = |tsn: u32| piece(Tsn(tsn), 0, 0, ["", "E"][usize::from(tsn == 15_999)], text);
    let started = Instant::now();
    let backwards = (1..16_000).rev();
    for tsn in backwards.clone().filter(|tsn| tsn % 2 == 1).chain(backwards.filter(|tsn| tsn % 2 == 0)) {
        rig.inbound.handle_data(rig.now, &at(tsn)).unwrap();
        rig.inbound.end_of_packet(rig.now);
    }
    rig.packet(&[piece(Tsn(0), 0, 0, "B", text)]);
    assert!(rig.texts() == [text.repeat(16_000)]);
    // A guard against work without end; how long it takes, `measure.rs` says.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Happening {
    Data { ahead: i32, stream: u16, number: u32, fsn: u32, flags: u8, length: usize },
    Forward { ahead: i32, stream: u16, number: u32, unordered: bool },
    Recv,
    Sack,
    Pass(u64),
    Reset(Vec<u16>),
}

fn happening() -> impl Strategy<Value = Happening> {
    let ahead = || prop_oneof![8 => -2..12i32, 1 => 60_000..70_000i32, 1 => any::<i32>()];
    prop_oneof![
        20 => (ahead(), 0..4u16, 0..4u32, 0..4u32, any::<u8>(), 1..300usize).prop_map(
            |(ahead, stream, number, fsn, flags, length)| Happening::Data { ahead, stream, number, fsn, flags, length }
        ),
        2 => (ahead(), 0..4u16, 0..4u32, any::<bool>()).prop_map(
            |(ahead, stream, number, unordered)| Happening::Forward { ahead, stream, number, unordered }
        ),
        3 => Just(Happening::Recv),
        1 => Just(Happening::Sack),
        1 => (0..3000u64).prop_map(Happening::Pass),
        1 => prop::collection::vec(0..4u16, 0..3).prop_map(Happening::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing panics, not even after the peer was found at fault; and until then, what is charged is what is held.
    #[test]
    fn any_order_of_anything(
        initial: u32,
        interleaving: bool,
        happenings in prop::collection::vec(happening(), 1..200),
    ) {
        let mut config = Config::default();
        config.limits.receive_window_bytes = 5000;
        config.limits.max_receive_window_bytes = 10_000;
        config.limits.max_message_bytes = 800;
        config.limits.max_held_chunks = 8;
        config.limits.max_partial_messages = 4;
        config.limits.max_waiting_messages = 8;
        let mut rig = Rig::new(&config, Tsn(initial), interleaving);
        rig.inbound.stream_count = 3;
        let (payload, mut is_at_fault) = ([7; 300], false);
        for happening in happenings {
            let from = rig.inbound.cumulative_tsn();
            let result = match happening {
                Happening::Data { ahead, stream, number, fsn, flags, length } => {
                    let fsn = if flags & 1 != 0 { 0 } else { fsn };
                    let order = match interleaving {
                        true => Order::Mid(Mid(number.wrapping_sub(1)), Fsn(fsn)),
                        false => Order::Ssn(Ssn((number as u16).wrapping_sub(1))),
                    };
                    let data = Data {
                        tsn: from.add(ahead as u32),
                        stream: StreamId(stream),
                        order,
                        ppid: Ppid(0),
                        begin: flags & 1 != 0,
                        end: flags & 2 != 0,
                        unordered: flags & 4 != 0,
                        immediate: flags & 8 != 0,
                        payload: &payload[..length],
                    };
                    let result = rig.inbound.handle_data(rig.now, &data);
                    rig.inbound.end_of_packet(rig.now);
                    result
                }
                Happening::Forward { ahead, stream, number, unordered } => {
                    let stream = StreamId(stream);
                    let skipped = match interleaving {
                        true => Skipped::Mid(stream, Mid(number.wrapping_sub(1)), unordered),
                        false => Skipped::Ssn(stream, Ssn((number as u16).wrapping_sub(1))),
                    };
                    rig.inbound.handle_forward_tsn(rig.now, from.add(ahead as u32), std::iter::once(skipped))
                }
                Happening::Recv => {
                    rig.inbound.recv();
                    Ok(())
                }
                Happening::Sack => {
                    let seen = rig.sack();
                    prop_assert!(seen.window <= 10_000 && seen.cumulative == from);
                    Ok(())
                }
                Happening::Pass(milliseconds) => {
                    rig.pass(Duration::from_millis(milliseconds));
                    Ok(())
                }
                Happening::Reset(streams) => {
                    rig.inbound.reset_streams(&streams.into_iter().map(StreamId).collect::<Vec<_>>());
                    Ok(())
                }
            };
            is_at_fault |= result.is_err();
            if !is_at_fault {
                rig.inbound.audit();
            }
        }
    }
}
