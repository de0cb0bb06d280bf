//! FORWARD-TSN and I-FORWARD-TSN.

use super::*;

fn forward(rig: &mut Rig, tsn: Tsn, skipped: &[Skipped]) {
    rig.inbound.handle_forward_tsn(rig.now, tsn, skipped.iter().copied()).unwrap();
    rig.inbound.audit();
}

fn skip(stream: u16, ssn: u16) -> Skipped {
    Skipped::Ssn(StreamId(stream), Ssn(ssn))
}

#[test]
fn what_waited_for_the_skipped_is_delivered() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    let at = |tsn: u32, ssn, text| piece(Tsn(tsn), 0, ssn, "BE", text);
    rig.packet(&[at(1, 1, "b"), at(3, 3, "d"), at(5, 5, "f"), at(6, 6, "g"), at(8, 8, "i")]);
    assert_eq!(rig.taken(), 0);
    rig.sack();
    // TSN 2 was part of what is given up, as 0 and 4.
    forward(&mut rig, Tsn(4), &[skip(0, 4), skip(1000, 3)]);
    assert!(rig.inbound.wants_to_send());
    assert_eq!(rig.texts(), ["b", "d", "f", "g"]);
    assert_eq!((rig.sack().cumulative, rig.sack().gaps), (Tsn(6), vec![(2, 2)]));
    rig.packet(&[at(7, 7, "h")]);
    assert_eq!(rig.texts(), ["h", "i"]);
}

#[test]
fn one_out_of_date_is_answered_and_ignored() {
    let mut rig = Rig::usual();
    rig.packet(&[chunk(rig.tsn, 0, 0)]);
    rig.sack();
    for back in [0, 1, 1000, 1 << 31] {
        let tsn = Tsn(rig.tsn.0.wrapping_sub(back));
        forward(&mut rig, tsn, &[skip(0, 7)]);
        assert!(rig.inbound.wants_to_send());
        assert_eq!(rig.sack().cumulative, rig.tsn);
    }
    rig.packet(&[chunk(rig.tsn.next(), 0, 1)]);
    assert_eq!(rig.taken(), 2, "stream 0 is where it was");
}

#[test]
fn a_message_in_pieces_is_given_up_whole() {
    // (received chunks, the TSN up to which chunks are abandoned, later chunks, delivered messages)
    type Row<'a> = (&'a [(u32, &'a str)], u32, &'a [(u32, &'a str)], &'a [&'a str]);
    let rows: [Row<'_>; 8] = [
        // Open at the edge.
        (&[(0, "B"), (1, "")], 2, &[(3, "BE")], &["3"]),
        // Its rest comes late.
        (&[(0, "B"), (1, "")], 2, &[(3, ""), (4, "E"), (5, "BE")], &["5"]),
        // Its rest came before.
        (&[(0, "B"), (2, ""), (3, ""), (4, "E")], 2, &[(5, "BE")], &["5"]),
        // Held whole runs before and after.
        (&[(1, "B"), (2, "E"), (4, "B"), (5, "")], 3, &[(6, "E")], &["12", "456"]),
        // Given up to the middle of what is held.
        (&[(2, ""), (3, ""), (4, ""), (7, "BE")], 3, &[(5, "E"), (6, "BE")], &["7", "6"]),
        // What was not given up is kept, although its beginning is skipped over.
        (&[(2, "B"), (3, "")], 3, &[(4, ""), (5, "E")], &["2345"]),
        (&[(2, "B"), (3, ""), (4, "")], 3, &[(5, "E")], &["2345"]),
        // Beyond all.
        (&[(0, "B"), (3, "B"), (5, "")], 9, &[(10, "BE")], &["10"]),
    ];
    for (row, (before, to, after, delivered)) in rows.into_iter().enumerate() {
        let mut rig = Rig::new(&Config::default(), Tsn(0), false);
        let names: Vec<String> = (0..20).map(|tsn| tsn.to_string()).collect();
        let make = |&(tsn, flags): &(u32, &str)| {
            let flags = format!("{flags}U");
            piece(Tsn(tsn), 0, 0, &flags, &names[tsn as usize])
        };
        rig.packet(&before.iter().map(make).collect::<Vec<_>>());
        forward(&mut rig, Tsn(to), &[]);
        rig.packet(&after.iter().map(make).collect::<Vec<_>>());
        assert_eq!(rig.texts(), delivered, "row {row}");
        assert_eq!(rig.inbound.stats().held_bytes, 0, "row {row}");
    }
}

#[test]
fn interleaved_messages_are_given_up_by_number() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), true);
    let at = |tsn: u32, mid, fsn, flags, text| interleaved(Tsn(tsn), 0, mid, fsn, flags, text);
    rig.packet(&[at(0, 0, 0, "B", "a"), at(1, 0, 0, "BU", "u"), at(2, 1, 0, "BU", "v")]);
    rig.packet(&[at(4, 1, 0, "BE", "b"), at(9, 2, 1, "E", "d"), at(6, 2, 0, "BU", "w")]);
    let skipped = |mid, unordered| Skipped::Mid(StreamId(0), Mid(mid), unordered);
    forward(&mut rig, Tsn(3), &[skipped(0, false), skipped(1, true)]);
    assert_eq!(rig.texts(), ["b"]);
    // A late fragment of an abandoned message is dropped.
    rig.packet(&[at(7, 0, 1, "E", "late")]);
    rig.packet(&[at(5, 2, 0, "B", "c"), at(8, 2, 1, "EU", "x")]);
    assert_eq!(rig.texts(), ["cd", "wx"]);
    assert_eq!((rig.inbound.cumulative_tsn(), rig.inbound.stats().held_bytes), (Tsn(9), 0));
    // So is one of an unordered message, once nothing before it can still come.
    rig.packet(&[at(11, 1, 1, "U", "late"), at(12, 1, 3, "U", "late")]);
    assert_ne!(rig.inbound.stats().held_bytes, 0);
    rig.packet(&[at(10, 3, 0, "BE", "e")]);
    assert_eq!((rig.texts(), rig.inbound.stats().held_bytes), (vec!["e".into()], 0));
}

#[test]
fn the_kind_must_be_the_one_negotiated() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let wrong = if interleaving { skip(0, 0) } else { Skipped::Mid(StreamId(0), Mid(0), false) };
        assert!(rig.inbound.handle_forward_tsn(rig.now, Tsn(1), std::iter::once(wrong)).is_err());
    }
}

#[test]
fn a_leap_costs_what_is_held_and_no_more() {
    for interleaving in [false, true] {
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let mut tsn = Tsn(0);
        for round in 0..1000 {
            for at in [2u32, 4, 60_000] {
                let data = match interleaving {
                    true => interleaved(tsn.add(at), 0, round, at, "", "x"),
                    false => piece(tsn.add(at), 0, 0, "", "x"),
                };
                rig.packet(&[data]);
            }
            tsn = tsn.add(i32::MAX as u32 - 1);
            let skipped = match interleaving {
                true => Skipped::Mid(StreamId(0), Mid(round), false),
                false => skip(0, round as u16),
            };
            forward(&mut rig, tsn, &[skipped]);
            assert_eq!(rig.sack().gaps, []);
            assert_eq!((rig.inbound.cumulative_tsn(), rig.inbound.stats().held_bytes), (tsn, 0));
            tsn = tsn.next();
        }
    }
}
