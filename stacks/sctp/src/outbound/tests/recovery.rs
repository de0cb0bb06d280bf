//! Loss, reordering, timeouts, and windows that stay shut.

use super::*;

/// `count` packets with one message each are in flight; a round trip of `rtt` is known.
fn rig(count: usize, rtt: Duration) -> Rig {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, peer());
    rig.out.handle_rtt(rtt);
    (0..count).for_each(|_| rig.send(1, &[7; 1000]));
    assert_eq!(rig.packets().len(), count);
    rig
}

/// TSNs, counted from the first, that are sent now.
fn sent(rig: &mut Rig) -> Vec<u32> {
    rig.packets().iter().flat_map(|packet| data_of(packet)).map(|(tsn, ..)| tsn).collect()
}

#[test]
fn three_packets_after_it_a_packet_is_lost() {
    let mut rig = rig(8, ms(20));
    rig.wait(ms(20));
    rig.sack(0, &[(2, 2)], BIG_WINDOW).unwrap();
    rig.sack(0, &[(2, 3)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), []);
    let before = rig.out.stats().congestion_window_bytes;
    rig.sack(0, &[(2, 4)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), [0]);
    assert_eq!(rig.out.stats().congestion_window_bytes, before / 2);
    assert_eq!(rig.out.stats().chunks_retransmitted, 1);
    // Not again while it is on its way.
    rig.sack(0, &[(2, 8)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), []);
    rig.wait(ms(20));
    rig.sack(8, &[], BIG_WINDOW).unwrap();
    assert!(rig.out.is_drained());
}

#[test]
fn losses_of_one_round_trip_reduce_the_window_once() {
    let mut rig = rig(10, ms(20));
    rig.wait(ms(20));
    rig.sack(0, &[(2, 4)], BIG_WINDOW).unwrap();
    let window = rig.out.stats().congestion_window_bytes;
    rig.sack(0, &[(2, 4), (6, 6), (8, 10)], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.stats().congestion_window_bytes, window);
    assert_eq!(sent(&mut rig), [0, 4, 6]);
    // What was sent after the reduction, and is lost, reduces it again.
    rig.wait(ms(20));
    rig.sack(10, &[], BIG_WINDOW).unwrap();
    (0..5).for_each(|_| rig.send(1, &[7; 1000]));
    rig.packets();
    rig.wait(ms(20));
    rig.sack(10, &[(2, 5)], BIG_WINDOW).unwrap();
    assert!(rig.out.stats().congestion_window_bytes < window);
}

/// Of 200 packets, every other one of the first 120 is lost, and the peer reports 20 gap blocks at a time. Chunks for which the
/// SACK had no room count neither as lost nor as in flight.
#[test]
fn what_a_full_sack_leaves_out_is_neither_lost_nor_in_flight() {
    let mut rig = Rig::with(&Config { congestion: Congestion::Bbr, ..newreno() }, FIRST_TSN, peer());
    rig.out.handle_rtt(ms(20));
    rig.out.set_window(BIG_WINDOW as usize);
    (0..200).for_each(|_| rig.send(1, &[7; 1000]));
    let mut sent = 0;
    while sent < 200 {
        match rig.packets().len() {
            0 => rig.wait(ms(1)),
            count => sent += count,
        }
        rig.widen(1 << 20);
    }
    rig.wait(ms(25));
    let blocks: Vec<(u16, u16)> = (0..20).map(|n| (2 * n + 2, 2 * n + 2)).collect();
    rig.sack(0, &blocks, BIG_WINDOW).unwrap();
    assert_eq!(rig.out.in_flight_bytes(), rig.out.flight.bytes(), "it may be under way still");
    // The first twenty are retransmitted and arrive; the next twenty are reported.
    let mut again = Vec::new();
    while again.len() < 20 {
        again.extend(rig.packets().iter().flat_map(|packet| data_of(packet)).map(|(tsn, ..)| tsn));
        rig.wait(ms(1));
    }
    assert_eq!(again, (0..20).map(|n| 2 * n).collect::<Vec<_>>());
    rig.wait(ms(25));
    rig.sack(40, &blocks, BIG_WINDOW).unwrap();
    let lost: Vec<u64> = (0..200).filter(|&seq| rig.out.flight.first_lost(seq) == Some(seq)).collect();
    let in_order = |seq: &u64| (40..80).contains(seq) && seq.is_multiple_of(2);
    let bytes = rig.out.flight.bytes();
    assert!(rig.out.in_flight_bytes() < bytes / 10, "{} of {bytes}", rig.out.in_flight_bytes());
    assert!(!lost.is_empty() && lost.iter().all(in_order), "{lost:?}");
    // Once all are reported, all count again.
    rig.sack(120, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.in_flight_bytes(), rig.out.flight.bytes());
}

#[test]
fn a_retransmission_that_is_lost_is_found_without_a_timeout() {
    let mut rig = rig(6, ms(20));
    rig.wait(ms(20));
    rig.sack(0, &[(2, 4)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), [0]);
    rig.wait(ms(1));
    rig.send(1, &[7; 1000]);
    assert_eq!(sent(&mut rig), [6]);
    rig.wait(ms(20));
    rig.sack(0, &[(2, 7)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), [0]);
    assert_eq!(rig.out.stats().retransmission_timeouts, 0);
}

#[test]
fn reordering_is_waited_for_once_it_was_seen() {
    let mut rig = rig(4, ms(20));
    rig.wait(ms(20));
    // The first two packets are overtaken and arrive.
    rig.sack(0, &[(3, 4)], BIG_WINDOW).unwrap();
    rig.sack(4, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.stats().chunks_retransmitted, 0);
    (0..8).for_each(|_| rig.send(1, &[7; 1000]));
    rig.packets();
    rig.wait(ms(20));
    rig.sack(4, &[(2, 8)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), []);
    // A quarter of a round trip.
    assert_eq!(rig.sleep(), Some(ms(5)));
    assert_eq!(sent(&mut rig), [4]);
    // The peer says that this was for nothing: wait longer.
    rig.wait(ms(20));
    let dsack = receiver::sack(FIRST_TSN.add(11), BIG_WINDOW, &[], &[FIRST_TSN.add(4)]);
    rig.sack_packet(&dsack).unwrap();
    (0..4).for_each(|_| rig.send(1, &[7; 1000]));
    rig.packets();
    rig.wait(ms(20));
    rig.sack(12, &[(2, 4)], BIG_WINDOW).unwrap();
    assert_eq!(rig.sleep(), Some(ms(10)));
    assert_eq!(sent(&mut rig), [12]);
}

#[test]
fn the_tail_is_probed() {
    for (rtt, wait) in [(Duration::from_micros(50), 10), (ms(4), 10), (ms(30), 60)] {
        let mut rig = rig(3, rtt);
        assert_eq!(rig.sleep(), Some(ms(wait)), "{rtt:?}");
        assert_eq!(sent(&mut rig), [2]);
        assert_eq!(rig.out.stats().retransmission_timeouts, 0);
        // The peer had it: nothing was lost.
        let window = rig.out.stats().congestion_window_bytes;
        let dsack = receiver::sack(FIRST_TSN.add(2), BIG_WINDOW, &[], &[FIRST_TSN.add(2)]);
        rig.sack_packet(&dsack).unwrap();
        assert_eq!(rig.out.stats().congestion_window_bytes, window);
    }
}

#[test]
fn a_probe_that_repairs_a_loss_reduces_the_window() {
    let mut rig = rig(3, ms(30));
    let window = rig.out.stats().congestion_window_bytes;
    rig.wait(ms(30));
    rig.sack(2, &[], BIG_WINDOW).unwrap();
    rig.sleep();
    assert_eq!(sent(&mut rig), [2]);
    rig.wait(ms(30));
    rig.sack(3, &[], BIG_WINDOW).unwrap();
    assert!(rig.out.stats().congestion_window_bytes < window);
}

#[test]
fn timeouts_back_off_and_begin_with_the_first() {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, peer());
    (0..5).for_each(|_| rig.send(1, &[7; 1000]));
    assert_eq!(rig.packets().len(), 5);
    for (row, timeout) in [(1, 500), (2, 1000), (3, 2000), (4, 4000), (5, 8000), (6, 10_000)] {
        assert_eq!(rig.sleep(), Some(ms(timeout)));
        assert_eq!(sent(&mut rig), [0], "one packet in a window of one");
        assert_eq!(rig.out.stats().congestion_window_bytes, 1163);
        assert_eq!(rig.out.timeouts_in_a_row(), row);
    }
    rig.wait(ms(20));
    rig.sack(1, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.timeouts_in_a_row(), 0);
    // Karn: there is no sample from what was sent twice.
    assert_eq!(rig.out.stats().smoothed_rtt, None);
    assert_eq!(sent(&mut rig), [1, 2]);
    rig.sack(5, &[], BIG_WINDOW).unwrap();
    assert!(rig.out.is_drained());
}

/// An acknowledgement that arrives sooner after a timeout than any round trip belongs to the first transmission. For the last chunk,
/// which was sent twice, the acknowledgement is ambiguous.
#[test]
fn a_timeout_that_was_too_early_is_undone() {
    // answered so many ms after the timeout -> what is sent again
    for (after, expected) in [(19, &[9][..]), (20, &[2, 3, 4, 5, 6, 7, 8, 9])] {
        let config = Config { congestion: Congestion::Bbr, ..newreno() };
        let mut rig = Rig::with(&config, FIRST_TSN, peer());
        rig.out.handle_rtt(ms(20));
        (0..10).for_each(|_| rig.send(1, &[7; 1000]));
        assert_eq!(rig.packets().len(), 10);
        rig.sleep();
        assert_eq!(sent(&mut rig), [9], "the tail is probed");
        rig.sleep();
        assert_eq!((sent(&mut rig), rig.out.stats().retransmission_timeouts), (vec![0], 1));
        rig.wait(ms(after));
        rig.sack(2, &[], BIG_WINDOW).unwrap();
        assert_eq!(sent(&mut rig), expected, "{after} ms");
        // What of it is lost all the same is found by what was sent later.
        rig.wait(ms(20));
        rig.sack(2, &[(8, 8)], BIG_WINDOW).unwrap();
        assert_eq!(sent(&mut rig), [2, 3, 4, 5, 6, 7, 8], "{after} ms");
    }
}

#[test]
fn a_sack_that_is_held_back_is_no_loss() {
    let mut config = newreno();
    (config.rto_min, config.sack_delay) = (ms(1), ms(100));
    let mut rig = Rig::with(&config, FIRST_TSN, peer());
    rig.out.handle_rtt(Duration::from_micros(50));
    for i in 1..20 {
        rig.send(1, b"now and then");
        rig.packets();
        rig.wait(ms(100));
        rig.sack(i, &[], BIG_WINDOW).unwrap();
    }
    assert_eq!(rig.out.stats().retransmission_timeouts, 0);
}

#[test]
fn what_the_peer_drops_again_is_sent_again() {
    let mut rig = rig(4, ms(20));
    rig.sack(0, &[(2, 4)], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), [0]);
    // It kept the first and dropped the rest.
    rig.sack(1, &[], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), []);
    while rig.out.stats().retransmission_timeouts == 0 {
        rig.sleep().unwrap();
    }
    assert_eq!(sent(&mut rig), [1]);
    rig.sack(2, &[], BIG_WINDOW).unwrap();
    assert_eq!(sent(&mut rig), [2, 3]);
    rig.sack(4, &[], BIG_WINDOW).unwrap();
    assert!(rig.out.is_drained());
}

#[test]
fn a_shut_window_is_probed() {
    let mut rig = rig(2, ms(20));
    rig.sack(2, &[], 0).unwrap();
    (0..3).for_each(|_| rig.send(1, &[7; 1000]));
    let window = rig.out.stats().congestion_window_bytes;
    assert_eq!(sent(&mut rig), []);
    // One chunk after a timeout, then again and again, ever more seldom. The peer answers each: it is alive.
    for (timeout, packets) in [(200, 1), (400, 1), (800, 1), (1600, 1), (3200, 1), (6400, 1), (10_000, 1)] {
        assert_eq!(rig.sleep(), Some(ms(timeout)));
        assert_eq!(sent(&mut rig), vec![2; packets]);
        rig.sack(2, &[], 0).unwrap();
        assert_eq!(rig.out.timeouts_in_a_row(), 0);
        assert_eq!(sent(&mut rig), []);
    }
    assert_eq!(rig.out.stats().congestion_window_bytes, window);
    // It opens: the probe was dropped, and goes out again at once.
    rig.sack(2, &[], 10_000).unwrap();
    assert_eq!(sent(&mut rig), [2, 3, 4]);
    rig.sack(5, &[], 10_000).unwrap();
    assert!(rig.out.is_drained());
}

#[test]
fn a_peer_that_is_gone_behind_a_shut_window_is_noticed() {
    let mut rig = rig(1, ms(20));
    rig.sack(1, &[], 0).unwrap();
    rig.send(1, &[7; 1000]);
    for row in 0..10 {
        // The first timeout only sends the probe.
        rig.sleep();
        assert_eq!(rig.out.timeouts_in_a_row(), row);
        assert_eq!(sent(&mut rig), [1]);
    }
}

#[test]
fn a_window_that_opens_before_the_probe_needs_none() {
    let mut rig = rig(1, ms(20));
    rig.sack(1, &[], 500).unwrap();
    rig.send(1, &[7; 1000]);
    assert_eq!(sent(&mut rig), []);
    rig.sack(1, &[], 1000).unwrap();
    assert_eq!(sent(&mut rig), [1]);
}

/// Requests and answers give no information about the capacity of the path. They leave the window unchanged, and the transfer that
/// follows is as fast as on a new connection.
#[test]
fn the_congestion_window_grows_only_when_it_is_the_limit() {
    for congestion in [Congestion::Cubic, Congestion::NewReno, Congestion::Bbr] {
        let mut rig = Rig::with(&Config { congestion, ..Config::default() }, FIRST_TSN, peer());
        let window = rig.out.stats().congestion_window_bytes;
        assert_eq!(window, 10 * 1163);
        for i in 1..100 {
            rig.send(1, &[7; 1000]);
            assert_eq!(rig.packets().len(), 1);
            rig.wait(ms(1));
            rig.sack(i, &[], BIG_WINDOW).unwrap();
        }
        assert_eq!(rig.out.stats().congestion_window_bytes, window, "{congestion:?}");
        (0..100).for_each(|_| rig.send(1, &[7; 1000]));
        // 11 chunks of 1,016 bytes, and a twelfth packet would not fit into 11,630. BBR lets them out one after the other.
        let mut sent = rig.packets().len();
        for _ in 0..12 {
            rig.wait(ms(1) / 2);
            sent += rig.packets().len();
        }
        assert_eq!(sent, 11, "{congestion:?}");
        rig.wait(ms(1));
        rig.sack(99 + 11, &[], BIG_WINDOW).unwrap();
        let after = rig.out.stats().congestion_window_bytes;
        // BBR's is what its model of the path says.
        let grown = if congestion == Congestion::Bbr { after > window } else { after == window + 11 * 1016 };
        assert!(grown, "{congestion:?}: {after} after {window}");
    }
}

/// Thousands in flight, every other packet lost: the whole of it is repaired without a timeout.
#[test]
fn heavy_loss_is_repaired() {
    let mut rig = Rig::wide();
    rig.out.handle_rtt(ms(10));
    for _ in 0..2000 {
        rig.send(1, &[7; 200]);
    }
    let packets = rig.packets();
    packets.iter().step_by(2).for_each(|packet| rig.receiver.take(packet));
    rig.wait(ms(10));
    rig.drain();
    assert_eq!(rig.receiver.ordered[&1].len(), 2000);
    assert!(rig.out.stats().chunks_retransmitted <= 1002, "{}", rig.out.stats().chunks_retransmitted);
}
