//! Giving up on messages.

use super::*;
use crate::wire::{ForwardTsn, Skipped};

/// FORWARD-TSNs of what is sent now: the TSN after the last that is skipped, counted from the first, and the streams.
fn forwards(rig: &mut Rig) -> Vec<(u32, Vec<Skipped>)> {
    let mut all = Vec::new();
    for packet in rig.packets() {
        let (_, chunks) = Header::parse(&packet).unwrap();
        for chunk in chunks.map(Result::unwrap) {
            if let Ok(forward) = ForwardTsn::parse(&chunk) {
                let end = forward.new_cumulative_tsn.next().since(FIRST_TSN) as u32;
                all.push((end, forward.skipped.collect()));
            }
        }
    }
    all
}

fn ssn(stream: u16, number: u16) -> Skipped {
    Skipped::Ssn(StreamId(stream), Ssn(number))
}

fn mid(stream: u16, number: u32, unordered: bool) -> Skipped {
    Skipped::Mid(StreamId(stream), crate::Mid(number), unordered)
}

/// Waits until the retransmission timer has expired.
fn time_out(rig: &mut Rig) {
    let before = rig.out.stats().retransmission_timeouts;
    while rig.out.stats().retransmission_timeouts == before {
        rig.sleep().unwrap();
    }
}

fn until(options: SendOptions, unordered: bool) -> SendOptions {
    SendOptions { unordered, ..options }
}

/// The FORWARD-TSN for messages of one chunk that are all lost.
#[test]
fn what_the_peer_is_told() {
    let none = retransmits(0);
    for (peer, messages, end, told) in [
        (peer(), &[(1, none)][..], 1, vec![ssn(1, 0)]),
        // The last of each stream.
        (peer(), &[(1, none), (2, none), (1, none)], 3, vec![ssn(1, 1), ssn(2, 0)]),
        // Unordered ones are not named.
        (peer(), &[(1, until(none, true)), (2, none)], 2, vec![ssn(2, 0)]),
        (peer(), &[(1, until(none, true))], 1, vec![]),
        (interleaving(), &[(1, until(none, true)), (1, none)], 2, vec![mid(1, 0, false), mid(1, 0, true)]),
        // Not past one that is reliable.
        (peer(), &[(1, none), (2, SendOptions::default()), (1, none)], 1, vec![ssn(1, 0)]),
    ] {
        let mut rig = Rig::with(&Config::default(), FIRST_TSN, peer);
        for &(stream, options) in messages {
            rig.send_with(stream, &[7; 1000], options);
        }
        rig.packets();
        time_out(&mut rig);
        assert_eq!(forwards(&mut rig), [(end, told)], "{messages:?}");
        rig.drain();
    }
}

#[test]
fn retransmissions_are_counted() {
    for max in 0..4 {
        let mut rig = Rig::new();
        rig.send_with(1, b"try", retransmits(max));
        for round in 0..=u64::from(max) {
            assert_eq!(rig.packets().len(), 1);
            assert_eq!(rig.out.stats().chunks_retransmitted, round);
            time_out(&mut rig);
        }
        assert_eq!(rig.out.stats().messages_abandoned, 1);
        assert_eq!(forwards(&mut rig), [(1, vec![ssn(1, 0)])]);
    }
}

#[test]
fn all_chunks_of_a_message_are_given_up_and_the_unsent_rest() {
    for peer in [peer(), interleaving()] {
        let mut rig = Rig::with(&newreno(), FIRST_TSN, peer);
        rig.send_with(1, &[7; 100_000], retransmits(0));
        rig.send(2, b"after");
        let sent = rig.packets().len() as u32;
        assert!(rig.out.buffered_amount(StreamId(1)) > 50_000);
        time_out(&mut rig);
        assert_eq!(rig.out.buffered_amount(StreamId(1)), 0);
        let skipped = if peer.interleaving { mid(1, 0, false) } else { ssn(1, 0) };
        let end = forwards(&mut rig)[0].clone();
        if peer.interleaving {
            // The chunk of the other stream lies between.
            assert_eq!(end, (1, vec![skipped]));
        } else {
            // One TSN stands for the rest.
            assert_eq!(end, (sent + 1, vec![skipped]));
        }
        rig.drain();
        assert_eq!(rig.receiver.ordered[&2], [b"after"]);
        assert_eq!(rig.receiver.stuck(), 0);
    }
}

/// Everything sent of a message has arrived when the rest of it expires: there has to be a TSN to move on to.
#[test]
fn a_message_that_expires_between_its_chunks() {
    for peer in [peer(), interleaving()] {
        let mut rig = Rig::with(&Config::default(), FIRST_TSN, peer);
        rig.send_with(1, &[7; 100_000], lifetime(ms(50)));
        let sent = rig.deliver() as u32;
        rig.receiver.window = 0;
        rig.answer();
        rig.send(1, b"next");
        rig.wait(ms(50));
        assert_eq!(rig.out.buffered_amount(StreamId(1)), 4);
        let skipped = if peer.interleaving { mid(1, 0, false) } else { ssn(1, 0) };
        assert_eq!(forwards(&mut rig), [(sent + 1, vec![skipped])]);
        rig.receiver.window = BIG_WINDOW;
        time_out(&mut rig);
        rig.drain();
        assert_eq!(rig.receiver.ordered[&1], [b"next"]);
    }
}

#[test]
fn what_expires_in_the_queue_is_never_sent() {
    let mut rig = Rig::with(&Config::default(), FIRST_TSN, Peer { window_bytes: 0, ..peer() });
    rig.send_with(1, &[7; 1000], lifetime(ms(300)));
    rig.send_with(1, &[7; 1000], lifetime(ms(100)));
    rig.send_with(1, &[7; 1000], lifetime(ms(200)));
    rig.send_with(2, &[7; 1000], SendOptions::default());
    for (at, left) in [(99, 3000), (1, 2000), (99, 2000), (1, 1000), (100, 0)] {
        rig.wait(ms(at));
        assert_eq!(rig.out.buffered_amount(StreamId(1)), left);
    }
    assert_eq!(rig.out.stats().messages_abandoned, 3);
    assert_eq!(rig.out.poll_event(), Some(OutboundEvent::BufferedAmountLow(StreamId(1))));
    // No number was spent on them, and nothing has to be skipped.
    rig.send(1, b"x");
    rig.sack(0, &[], BIG_WINDOW).unwrap();
    let packets = rig.packets();
    let chunks: Vec<_> = packets.iter().flat_map(|packet| data_of(packet)).collect();
    assert_eq!(chunks, [(0, 2, 0, 1000), (1, 1, 0, 1)]);
}

#[test]
fn a_message_with_no_lifetime_is_sent_if_it_can_be_at_once() {
    let mut rig = Rig::new();
    rig.send_with(1, b"now", lifetime(Duration::ZERO));
    rig.out.handle_timeout(rig.now);
    assert_eq!(rig.packets().len(), 1);
    rig.wait(ms(1));
    // On its way: it may still arrive.
    assert_eq!(rig.out.stats().messages_abandoned, 0);
    time_out(&mut rig);
    assert_eq!(rig.out.stats().messages_abandoned, 1);
}

#[test]
fn what_waits_to_be_sent_again_expires() {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, peer());
    (0..8).for_each(|_| rig.send_with(1, &[7; 1000], lifetime(ms(600))));
    rig.packets();
    time_out(&mut rig);
    // A window of one packet: seven wait.
    assert_eq!(rig.packets().len(), 1);
    rig.wait(ms(100));
    assert_eq!(rig.out.stats().messages_abandoned, 7);
    rig.drain();
}

#[test]
fn a_peer_without_forward_tsn_gets_everything() {
    let mut rig = Rig::with(&Config::default(), FIRST_TSN, Peer { forward_tsn: false, ..peer() });
    rig.send_with(1, b"once", retransmits(0));
    rig.send_with(1, b"soon", lifetime(ms(1)));
    rig.packets();
    time_out(&mut rig);
    time_out(&mut rig);
    rig.drain();
    assert_eq!(rig.receiver.ordered[&1].len(), 2);
    assert_eq!(rig.out.stats().messages_abandoned, 0);
}

#[test]
fn the_peer_is_told_again_until_it_follows() {
    let mut rig = Rig::new();
    rig.out.handle_rtt(ms(20));
    rig.send_with(1, b"once", retransmits(0));
    rig.packets();
    time_out(&mut rig);
    assert_eq!(forwards(&mut rig).len(), 1);
    // A SACK that lags, within a round trip and after one.
    rig.sack(0, &[], BIG_WINDOW).unwrap();
    assert_eq!(forwards(&mut rig).len(), 0);
    rig.wait(ms(20));
    rig.sack(0, &[], BIG_WINDOW).unwrap();
    assert_eq!(forwards(&mut rig).len(), 1);
    // No SACK at all.
    assert!(!rig.out.is_drained());
    time_out(&mut rig);
    assert_eq!(forwards(&mut rig).len(), 1);
    assert_eq!(rig.out.timeouts_in_a_row(), 2);
    rig.sack(1, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.timeouts_in_a_row(), 0);
    assert!(rig.out.is_drained());
}

/// Every other message is lost, and none is sent again: one FORWARD-TSN a round trip does for all of them.
#[test]
fn holes_between_messages_that_have_arrived_are_passed_together() {
    let mut rig = Rig::wide();
    rig.out.handle_rtt(ms(10));
    (0..100).for_each(|_| rig.send_with(1, &[7; 1000], until(retransmits(0), true)));
    let packets = rig.packets();
    packets.iter().skip(1).step_by(2).for_each(|packet| rig.receiver.take(packet));
    rig.wait(ms(10));
    rig.answer();
    assert_eq!(forwards(&mut rig), [(100, vec![])]);
}

#[test]
fn more_streams_than_a_packet_can_name() {
    for peer in [peer(), interleaving()] {
        let mut rig = Rig::with(&Config::default(), FIRST_TSN, peer);
        for stream in 0..1000 {
            rig.send_with(stream, b"x", retransmits(0));
        }
        // Small ones: many fit into the initial window.
        rig.packets();
        while rig.out.stats().messages_abandoned < 300 {
            time_out(&mut rig);
            rig.packets();
        }
        rig.drain();
        assert_eq!(rig.receiver.stuck(), 0);
        // Their streams go on.
        (0..1000).for_each(|stream| rig.send(stream, b"next"));
        rig.drain();
        assert!((0..1000).all(|stream| rig.receiver.ordered[&stream].last().unwrap() == b"next"));
    }
}

#[test]
fn the_buffer_is_bounded_also_while_messages_expire() {
    let mut config = Config::default();
    config.limits.send_buffer_bytes = 100_000;
    let mut rig = Rig::with(&config, FIRST_TSN, Peer { window_bytes: 0, ..peer() });
    rig.send(1, &[7; 1000]);
    let mut taken = 0;
    for _ in 0..100 {
        while rig.out.send(rig.now, StreamId(1), Ppid::BINARY, &[7; 1000], lifetime(ms(10))).is_ok() {
            taken += 1;
        }
        rig.wait(ms(10));
    }
    // What has expired behind the first message keeps its place, and is charged for it.
    assert!(rig.out.streams.find(StreamId(1)).unwrap().queue.len() * MESSAGE_BYTES <= 100_000);
    assert!(taken > 500);
    rig.receiver.window = BIG_WINDOW;
    rig.answer();
    rig.drain();
}
