//! What is delivered, when, and what contradicts itself.

use super::*;

#[test]
fn one_stream_does_not_hold_up_another() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    let at = |tsn: u32, stream, ssn, flags, text| piece(Tsn(tsn), stream, ssn, flags, text);
    rig.packet(&[at(1, 1, 0, "BE", "other stream")]);
    assert_eq!(rig.texts(), ["other stream"]);
    rig.packet(&[at(3, 2, 0, "E", "two"), at(2, 2, 0, "B", "in ")]);
    assert_eq!(rig.texts(), ["in two"]);
    rig.packet(&[at(4, 0, 1, "BE", "waits"), at(5, 0, 9, "BEU", "unordered")]);
    assert_eq!(rig.texts(), ["unordered"]);
    rig.packet(&[at(6, 0, 0, "BU", "c"), at(8, 0, 0, "EU", "e"), at(7, 0, 0, "U", "d")]);
    assert_eq!(rig.texts(), ["cde"]);
    assert_eq!(rig.inbound.cumulative_tsn(), Tsn(u32::MAX));
    rig.packet(&[at(0, 0, 0, "BE", "first")]);
    assert_eq!(rig.texts(), ["first", "waits"]);
    assert_eq!(rig.inbound.cumulative_tsn(), Tsn(8));
    assert_eq!(rig.inbound.stats().held_bytes, 0);
}

#[test]
fn interleaved_messages_are_put_together_each_on_its_own() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), true);
    let at = |tsn: u32, stream, mid, fsn, flags, text| interleaved(Tsn(tsn), stream, mid, fsn, flags, text);
    rig.packet(&[at(0, 0, 0, 0, "B", "a"), at(1, 1, 0, 0, "B", "x"), at(2, 0, 0, 0, "BU", "u")]);
    rig.packet(&[at(3, 2, 0, 0, "BE", "short")]);
    assert_eq!(rig.texts(), ["short"]);
    // The last comes before the one in the middle, beyond a gap.
    rig.packet(&[at(6, 0, 0, 2, "E", "c"), at(5, 1, 0, 1, "E", "y")]);
    assert_eq!(rig.texts(), ["xy"]);
    rig.packet(&[at(7, 0, 1, 0, "B", "1"), at(8, 0, 1, 1, "E", "2"), at(9, 0, 0, 1, "EU", "v")]);
    assert_eq!(rig.texts(), ["uv"]);
    rig.packet(&[at(4, 0, 0, 1, "", "b")]);
    assert_eq!(rig.texts(), ["abc", "12"]);
    assert_eq!((rig.inbound.cumulative_tsn(), rig.inbound.stats().held_bytes), (Tsn(9), 0));
}

#[test]
fn a_large_message_is_one_piece_and_buffers_are_used_again() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(u32::MAX - 100), interleaving);
        let text = "0123456789abcdef".repeat(64);
        let mut addresses = Vec::new();
        for number in 0..8 {
            for fsn in 0..256 {
                let flags = ["", "B", "E"][usize::from(fsn == 0) + 2 * usize::from(fsn == 255)];
                let data = match interleaving {
                    true => interleaved(rig.tsn, 0, number, fsn, flags, &text),
                    false => piece(rig.tsn, 0, number as u16, flags, &text),
                };
                rig.packet(&[data]);
                rig.tsn = rig.tsn.next();
            }
            let message = rig.inbound.recv().unwrap();
            assert_eq!((message.data.len(), message.ppid), (262_144, Ppid::BINARY));
            assert!(message.data.chunks(1024).all(|part| part == text.as_bytes()));
            addresses.push(message.data.as_ptr());
        }
        assert_eq!(addresses[2..].iter().max(), addresses[2..].iter().min(), "the same buffer");
    }
}

#[test]
fn numbers_wrap() {
    let mut rig = Rig::new(&Config::default(), Tsn(u32::MAX - 70_000), false);
    for number in 0..140_000u32 {
        // Every second pair comes in the wrong order.
        let swapped = if number / 2 % 2 == 0 { number } else { number ^ 1 };
        let tsn = Tsn((u32::MAX - 70_000).wrapping_add(swapped));
        rig.inbound.handle_data(rig.now, &chunk(tsn, 0, swapped as u16)).unwrap();
        if number % 2 == 1 {
            assert!(rig.inbound.recv().is_some() && rig.inbound.recv().is_some());
        }
    }
    assert_eq!(rig.inbound.cumulative_tsn(), Tsn(69_998));
    rig.inbound.audit();
}

#[test]
fn fragments_must_agree() {
    let at = |tsn: u32, stream, ssn, flags| piece(Tsn(tsn), stream, ssn, flags, "x");
    let ppid = Data { ppid: Ppid(77), ..at(1, 0, 0, "E") };
    for (case, chunks) in [
        ("no beginning", vec![at(0, 0, 0, "E")]),
        ("two beginnings", vec![at(0, 0, 0, "B"), at(1, 0, 0, "B")]),
        ("two beginnings, the second whole", vec![at(0, 0, 0, "B"), at(1, 0, 1, "BE")]),
        ("another stream", vec![at(0, 0, 0, "B"), at(1, 1, 0, "E")]),
        ("another number", vec![at(0, 0, 0, "B"), at(1, 0, 1, "E")]),
        ("another order", vec![at(0, 0, 0, "B"), at(1, 0, 0, "EU")]),
        ("another PPID", vec![at(0, 0, 0, "B"), ppid]),
        ("a stream that does not exist", vec![at(0, 0, 0, "B"), at(1, 1000, 0, "E")]),
        ("held: two beginnings", vec![at(5, 0, 0, "B"), at(6, 0, 0, "B")]),
        ("held: two beginnings, backwards", vec![at(6, 0, 0, "B"), at(5, 0, 0, "B")]),
        ("held: two ends", vec![at(5, 0, 0, "E"), at(6, 0, 0, "E")]),
        ("held: two ends, backwards", vec![at(6, 0, 0, "E"), at(5, 0, 0, "E")]),
        ("held: another stream", vec![at(6, 0, 0, "E"), at(5, 1, 0, "")]),
        ("held: another number", vec![at(5, 0, 0, "B"), at(7, 0, 1, "E"), at(6, 0, 0, "")]),
        ("held: a whole one within", vec![at(5, 0, 0, "B"), at(6, 0, 1, "BE")]),
        ("held: a whole one within, backwards", vec![at(6, 0, 1, "BE"), at(5, 0, 0, "B"), at(0, 9, 0, "B")]),
        ("joined: two beginnings", vec![at(1, 0, 0, "B"), at(0, 0, 0, "B")]),
        ("joined: no beginning", vec![at(1, 0, 0, "E"), at(0, 0, 0, "BE")]),
        ("joined: another stream", vec![at(1, 0, 0, ""), at(0, 1, 0, "B")]),
        ("one number twice", vec![at(1, 0, 1, "BE"), at(2, 0, 1, "BE")]),
    ] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), false);
        let result = rig.try_packet(&chunks);
        // A whole message is delivered as it comes: that it stood within another shows when the gap is filled.
        let filled = (0..5).filter(|tsn| chunks.iter().all(|data| data.tsn.0 != *tsn));
        let result = result.and_then(|()| {
            rig.try_packet(&filled.map(|tsn| at(tsn, 8, tsn as u16, "BE")).collect::<Vec<_>>())
        });
        assert!(result.is_err(), "{case}");
    }
}

#[test]
fn interleaved_fragments_must_agree() {
    let at = |tsn: u32, fsn, flags| interleaved(Tsn(tsn), 0, 0, fsn, flags, "x");
    for (case, chunks) in [
        ("two beginnings", vec![at(0, 0, "B"), at(1, 0, "B")]),
        ("two beginnings, the second whole", vec![at(0, 0, "B"), at(1, 0, "BE")]),
        ("two beginnings, backwards", vec![at(1, 1, ""), at(2, 0, "BE")]),
        ("number 0 without B", vec![at(0, 0, "")]),
        ("B with another number", vec![at(0, 1, "B")]),
        ("a number twice", vec![at(0, 0, "B"), at(1, 1, ""), at(2, 1, "")]),
        ("a number twice, held", vec![at(1, 2, ""), at(2, 2, "")]),
        ("one after the last", vec![at(1, 3, "E"), at(2, 4, "")]),
        ("a last before another", vec![at(1, 4, ""), at(2, 3, "E")]),
        ("two lasts", vec![at(1, 3, "E"), at(2, 2, "E")]),
        ("a last among those that have come", vec![at(0, 0, "B"), at(1, 1, ""), at(2, 0, "E")]),
    ] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), true);
        assert!(rig.try_packet(&chunks).is_err(), "{case}");
    }
}

#[test]
fn the_kind_of_chunk_must_be_the_one_negotiated() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    assert!(rig.try_packet(&[interleaved(Tsn(0), 0, 0, 0, "BE", "x")]).is_err());
    let mut rig = Rig::new(&Config::default(), Tsn(0), true);
    assert!(rig.try_packet(&[chunk(Tsn(0), 0, 0)]).is_err());
}

#[test]
fn messages_have_a_longest() {
    let mut config = Config::default();
    config.limits.max_message_bytes = 10;
    let at = |tsn: u32, flags, text| piece(Tsn(tsn), 0, 0, flags, text);
    let fragment = |tsn: u32, fsn, flags, text| interleaved(Tsn(tsn), 0, 0, fsn, flags, text);
    for (interleaving, chunks) in [
        (false, vec![at(0, "BE", "0123456789a")]),
        (false, vec![at(1, "BE", "0123456789a")]),
        (false, vec![at(0, "B", "0123456"), at(1, "E", "0123")]),
        (false, vec![at(1, "B", "0123456"), at(2, "E", "0123")]),
        (false, vec![at(1, "", "0123456"), at(0, "B", "0123")]),
        (true, vec![fragment(0, 0, "BE", "0123456789a")]),
        (true, vec![fragment(0, 0, "B", "0123456"), fragment(1, 1, "E", "0123")]),
        (true, vec![fragment(1, 2, "", "0123456"), fragment(2, 4, "", "0123")]),
    ] {
        let mut rig = Rig::new(&config, Tsn(0), interleaving);
        assert!(rig.try_packet(&chunks).is_err(), "{chunks:?}");
    }
    let mut rig = Rig::new(&config, Tsn(0), false);
    rig.packet(&[at(0, "B", "01234"), at(1, "E", "56789")]);
    assert_eq!(rig.texts(), ["0123456789"]);
}

#[test]
fn a_stream_that_does_not_exist_is_reported_and_acknowledged() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    rig.packet(&[chunk(Tsn(0), 1000, 0), chunk(Tsn(2), 1001, 0), chunk(Tsn(1), 0, 0)]);
    assert_eq!((rig.taken(), rig.sack().cumulative), (1, Tsn(2)));
    assert_eq!(rig.inbound.poll_invalid_stream(), Some(StreamId(1000)));
    assert_eq!(rig.inbound.poll_invalid_stream(), Some(StreamId(1001)));
    assert_eq!((rig.inbound.poll_invalid_stream(), rig.inbound.stats().dropped_chunks), (None, 2));
    // In pieces too.
    rig.packet(&[piece(Tsn(3), 1000, 0, "B", "x"), piece(Tsn(4), 1000, 0, "E", "x"), chunk(Tsn(5), 0, 1)]);
    assert_eq!((rig.taken(), rig.inbound.cumulative_tsn()), (1, Tsn(5)));
    for tsn in 6..1000 {
        rig.packet(&[chunk(Tsn(tsn), 1000, 0)]);
    }
    assert_eq!(std::iter::from_fn(|| rig.inbound.poll_invalid_stream()).count(), INVALID_STREAMS_MAX);
}

#[test]
fn reset_streams_begin_anew() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let mut tsn = 0;
        let mut send = |rig: &mut Rig, stream, number: u16, flags: &str| {
            let data = match interleaving {
                true => interleaved(Tsn(tsn), stream, u32::from(number), 0, flags, "x"),
                false => piece(Tsn(tsn), stream, number, flags, "x"),
            };
            rig.packet(&[data]);
            tsn += 1;
            rig.taken()
        };
        for stream in [0, 1, 500] {
            assert_eq!((0..3).map(|number| send(&mut rig, stream, number, "BE")).sum::<usize>(), 3);
            assert_eq!(send(&mut rig, stream, 4, "BE"), 0, "3 is missing");
        }
        rig.inbound.reset_streams(&[StreamId(1), StreamId(7)]);
        rig.inbound.audit();
        assert_eq!(send(&mut rig, 0, 0, "BE"), 0);
        assert_eq!((send(&mut rig, 1, 0, "BE"), send(&mut rig, 1, 4, "BE")), (1, 0));
        rig.inbound.reset_streams(&[]);
        assert_eq!(rig.inbound.stats().held_bytes, 0);
        for stream in [0, 1, 500] {
            assert_eq!(send(&mut rig, stream, 0, "BE"), 1);
        }
        if interleaving {
            assert_eq!((send(&mut rig, 9, 0, "B"), send(&mut rig, 9, 1, "BU")), (0, 0));
            rig.inbound.reset_streams(&[StreamId(9)]);
            assert_eq!(rig.inbound.stats().held_bytes, 0);
        }
    }
}
