//! When a SACK is due, and what it says.

use super::*;

#[test]
fn every_second_packet_is_answered_at_once_and_one_alone_after_a_delay() {
    let mut rig = Rig::usual();
    let mut ssn = 0;
    let mut next = |rig: &mut Rig| {
        rig.packet(&[chunk(rig.tsn, 0, ssn), chunk(rig.tsn.next(), 0, ssn + 1)]);
        (rig.tsn, ssn) = (rig.tsn.add(2), ssn + 2);
    };
    assert!(!rig.inbound.has_news());
    next(&mut rig);
    assert!(!rig.inbound.wants_to_send() && rig.inbound.has_news());
    assert_eq!(rig.inbound.next_deadline(), Some(rig.now + Config::default().sack_delay));
    next(&mut rig);
    assert!(rig.inbound.wants_to_send());
    rig.sack();
    assert!(!rig.inbound.wants_to_send() && !rig.inbound.has_news());
    next(&mut rig);
    rig.pass(Config::default().sack_delay / 2);
    assert!(!rig.inbound.wants_to_send());
    rig.pass(Config::default().sack_delay / 2);
    assert!(rig.inbound.wants_to_send());
    let before = rig.tsn.previous();
    assert_eq!(rig.sack().cumulative, before);
    // Data that rides along answers too.
    next(&mut rig);
    rig.sack();
    next(&mut rig);
    assert!(!rig.inbound.wants_to_send());
}

/// RFC 9260 section 6.2 requires a SACK for every second packet. More than four per round trip, or one each 150 us, do not help.
#[test]
fn a_fast_flow_has_fewer_sacks_and_none_waits_longer_than_they_are_apart() {
    let micros = Duration::from_micros;
    // Round trip, if it is known, and the time between packets, in microseconds -> packets a SACK.
    for (rtt, gap, expected) in [
        (None, 1, 2),
        (Some(50_000), 100, 2),
        (Some(50_000), 76, 2),
        (Some(50_000), 74, 3),
        (Some(50_000), 10, 15),
        (Some(50_000), 3, 50),
        (Some(50_000), 1, 64),
        (Some(100), 20, 2),
        (Some(100), 10, 3),
        (Some(100), 1, 25),
    ] {
        let mut rig = Rig::usual();
        rtt.into_iter().for_each(|rtt| rig.inbound.set_rtt(micros(rtt)));
        let (mut sacks, mut since) = (0, 0);
        for number in 0..3000 {
            // The timer is no sooner than the packet.
            rig.now += micros(gap);
            rig.packet(&[chunk(rig.tsn, 0, number as u16)]);
            (rig.tsn, since) = (rig.tsn.next(), since + 1);
            rig.taken();
            if rig.inbound.wants_to_send() {
                rig.sack();
                assert!(sacks == 0 || since == expected, "{rtt:?}, {gap}: {since}");
                (sacks, since) = (sacks + 1, 0);
            }
        }
        assert!(sacks >= 3000 / expected - 1, "{rtt:?}, {gap}: {sacks}");
    }
    let mut rig = Rig::usual();
    rig.inbound.set_rtt(micros(50_000));
    (0..3).for_each(|number| rig.packet(&[chunk(rig.tsn.add(number), 0, number as u16)]));
    assert!(!rig.inbound.wants_to_send());
    rig.pass(micros(149));
    assert!(!rig.inbound.wants_to_send());
    rig.pass(micros(1));
    assert!(rig.inbound.wants_to_send(), "no more came");
    rig.sack();
    // What asks for an answer has it.
    rig.packet(&[chunk(rig.tsn.add(3), 0, 3)]);
    rig.packet(&[Data { immediate: true, ..chunk(rig.tsn.add(4), 0, 4) }]);
    assert!(rig.inbound.wants_to_send());
}

#[test]
fn what_comes_fast_may_wait_to_be_taken_unless_there_is_an_answer() {
    let micros = Duration::from_micros;
    for (gap, expected) in [(10, 150), (90, 0), (1000, 0)] {
        let mut rig = Rig::usual();
        rig.inbound.set_rtt(micros(50_000));
        assert_eq!(rig.inbound.max_receive_delay(), Duration::ZERO);
        for number in 0..100 {
            rig.now += micros(gap);
            rig.packet(&[chunk(rig.tsn, 0, number)]);
            (rig.tsn, _) = (rig.tsn.next(), rig.taken());
            if rig.inbound.wants_to_send() {
                rig.sack();
            }
        }
        assert_eq!(rig.inbound.max_receive_delay(), micros(expected), "{gap}");
        rig.inbound.answers();
        assert_eq!(rig.inbound.max_receive_delay(), Duration::ZERO);
    }
}

#[test]
fn the_first_data_is_answered_at_once() {
    let mut rig = Rig::new(&Config::default(), Tsn(0), false);
    assert!(!rig.inbound.wants_to_send());
    rig.inbound.end_of_packet(rig.now);
    assert!(!rig.inbound.wants_to_send(), "a packet without data");
    rig.packet(&[chunk(Tsn(0), 0, 0)]);
    assert!(rig.inbound.wants_to_send());
}

#[test]
fn what_is_answered_at_once() {
    let text = "x".repeat(1000);
    let tsn = Rig::usual().tsn;
    for (case, data, at_once) in [
        ("in order", chunk(tsn, 0, 0), false),
        ("a fragment in order", piece(tsn, 0, 0, "B", &text), false),
        ("the I bit", Data { immediate: true, ..chunk(tsn, 0, 0) }, true),
        ("the I bit of a fragment", Data { immediate: true, ..piece(tsn, 0, 0, "B", &text) }, true),
        ("a gap", chunk(tsn.next(), 0, 1), true),
        ("a duplicate", chunk(tsn.previous(), 999, 0), true),
        ("too far", chunk(tsn.add(70_000), 0, 1), true),
    ] {
        let mut rig = Rig::usual();
        rig.packet(&[data]);
        assert_eq!(rig.inbound.wants_to_send(), at_once, "{case}");
    }
    let mut rig = Rig::usual();
    rig.packet(&[chunk(tsn.next(), 0, 1)]);
    rig.sack();
    rig.packet(&[chunk(tsn, 0, 0)]);
    assert!(rig.inbound.wants_to_send(), "a gap is filled");
}

#[test]
fn duplicates_are_reported_once_and_not_without_end() {
    let mut rig = Rig::usual();
    let tsn = rig.tsn;
    rig.packet(&[chunk(tsn.add(3), 0, 0), chunk(tsn.add(3), 0, 0), chunk(tsn.previous(), 0, 0)]);
    let seen = rig.sack();
    assert_eq!((seen.duplicates, seen.gaps), (2, vec![(4, 4)]));
    assert_eq!(rig.sack().duplicates, 0);
    (0..1000).for_each(|_| rig.packet(&[chunk(tsn.previous(), 0, 0)]));
    assert_eq!((rig.sack().duplicates, rig.inbound.stats().duplicate_chunks), (32, 1002));
}

#[test]
fn a_sack_takes_the_room_it_gets() {
    let mut config = Config::default();
    config.limits.max_gap_blocks = 100;
    let mut rig = Rig::new(&config, Tsn(0), false);
    (0..200).for_each(|at| rig.packet(&[chunk(Tsn(1 + 2 * at), 0, 1 + at as u16)]));
    let seen = rig.sack();
    assert_eq!((seen.gaps.len(), seen.gaps[0], seen.gaps[99]), (100, (2, 2), (200, 200)));
    let header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };
    rig.packet(&[chunk(Tsn(401), 0, 201)]);
    let mut out = [0; 12 + 12];
    assert!(!rig.inbound.write_sack(&mut PacketWriter::new(&mut out, header)));
    assert!(rig.inbound.wants_to_send(), "still");
    let mut out = [0; 12 + 16 + 8];
    let mut packet = PacketWriter::new(&mut out, header);
    assert!(rig.inbound.write_sack(&mut packet) && packet.room() == 0);
    assert!(!rig.inbound.wants_to_send());
}

#[test]
fn chunks_too_far_ahead_are_dropped() {
    let mut rig = Rig::usual();
    let base = rig.tsn.previous();
    // Farther ahead, an SSN would seem to be one of before.
    let far = u32::try_from(crate::types::SSN_REACH).unwrap();
    rig.packet(&[chunk(base.add(far + 1), 0, 1), chunk(base.add(far), 0, 2)]);
    let seen = rig.sack();
    assert_eq!(seen.gaps, [(far as u16, far as u16)]);
    assert_eq!(rig.inbound.stats().dropped_chunks, 1);
}
