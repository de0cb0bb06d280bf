//! Whose turn it is, and how packets are filled.

use super::*;
use crate::Schedule;

fn rig(schedule: Schedule, peer: Peer) -> Rig {
    Rig::with(&Config { schedule, ..Config::default() }, FIRST_TSN, peer)
}

/// The streams of the chunks in the order of their TSNs, without repeats if `runs`.
fn streams(packets: &[Vec<u8>]) -> Vec<u16> {
    packets.iter().flat_map(|packet| data_of(packet)).map(|(_, stream, ..)| stream).collect()
}

#[test]
fn messages_take_turns() {
    let mut rig = rig(Schedule::RoundRobin, peer());
    for stream in [3, 1, 2] {
        (0..3).for_each(|_| rig.send(stream, &[7; 100]));
    }
    assert_eq!(streams(&rig.packets()), [3, 1, 2, 3, 1, 2, 3, 1, 2]);
}

#[test]
fn a_message_of_many_chunks_is_not_interrupted() {
    let mut rig = rig(Schedule::RoundRobin, peer());
    rig.send(1, &[7; 3000]);
    rig.send(2, &[7; 3000]);
    // The second fills what the first leaves of a packet.
    assert_eq!(streams(&rig.packets()), [1, 1, 1, 2, 2, 2, 2]);
}

#[test]
fn chunks_take_turns_if_they_may() {
    let mut rig = rig(Schedule::RoundRobin, interleaving());
    rig.send(1, &[7; 3000]);
    rig.send(2, &[7; 3000]);
    rig.send(3, &[7; 10]);
    assert_eq!(streams(&rig.packets())[..6], [1, 2, 3, 1, 2, 1]);
    rig.receiver = Receiver::new(FIRST_TSN, BIG_WINDOW);
}

/// The peer's limit of incomplete messages is the same by default. `Rig::check` compares the count.
#[test]
fn few_messages_are_begun_at_a_time() {
    for schedule in [Schedule::RoundRobin, Schedule::WeightedFair] {
        let mut config = Config { schedule, ..Config::default() };
        config.limits.max_partial_messages = 3;
        let mut rig = Rig::with(&config, FIRST_TSN, interleaving());
        (1..=5).for_each(|stream| rig.send(stream, &[7; 3000]));
        assert_eq!(streams(&rig.packets())[..5], [1, 2, 3, 3, 3], "{schedule:?}");
        // Abandoned messages no longer count.
        let mut rig = Rig::with(&config, FIRST_TSN, interleaving());
        let options = SendOptions { reliability: Reliability::MaxLifetime(ms(5)), ..SendOptions::default() };
        (1..=5).for_each(|stream| rig.send_with(stream, &[7; 30_000], options));
        rig.packets();
        assert_eq!(rig.out.begun, 3, "{schedule:?}");
        rig.wait(ms(10));
        assert_eq!(rig.out.begun, 0, "{schedule:?}");
    }
}

#[test]
fn weights_share_the_bytes() {
    for peer in [peer(), interleaving()] {
        let mut rig = rig(Schedule::WeightedFair, peer);
        for (stream, weight) in [(1, 128), (2, 256), (3, 512), (4, 1024)] {
            rig.out.set_priority(StreamId(stream), weight);
            (0..300).for_each(|_| rig.send(stream, &[7; 700]));
        }
        let mut counts = [0; 5];
        let mut order = Vec::new();
        while order.len() < 450 {
            let packets = rig.packets();
            order.extend(streams(&packets));
            packets.iter().for_each(|packet| rig.receiver.take(packet));
            rig.answer();
        }
        order[..450].iter().for_each(|&stream| counts[usize::from(stream)] += 1);
        for (stream, expected) in [(1, 30), (2, 60), (3, 120), (4, 240)] {
            let count: i32 = counts[stream];
            assert!((count - expected).abs() <= 2, "stream {stream}: {counts:?}");
        }
    }
}

#[test]
fn equal_weights_share_bytes_and_not_messages() {
    let mut rig = rig(Schedule::WeightedFair, peer());
    (0..100).for_each(|_| rig.send(1, &[7; 1000]));
    (0..1000).for_each(|_| rig.send(2, &[7; 100]));
    let mut bytes = [0; 3];
    while bytes[1] + bytes[2] < 60_000 {
        let packets = rig.packets();
        packets.iter().for_each(|packet| rig.receiver.take(packet));
        for (_, stream, _, length) in packets.iter().flat_map(|packet| data_of(packet)) {
            bytes[usize::from(stream)] += length;
        }
        rig.answer();
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 3000, "{bytes:?}");
}

#[test]
fn a_pause_saves_up_no_turns() {
    let mut rig = rig(Schedule::WeightedFair, peer());
    for _ in 0..50 {
        (0..5).for_each(|_| rig.send(1, &[7; 1000]));
        rig.drain();
    }
    (0..4).for_each(|_| rig.send(1, &[7; 1000]));
    (0..4).for_each(|_| rig.send(2, &[7; 1000]));
    assert_eq!(streams(&rig.packets()), [1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_weight_of_nothing_is_the_least() {
    let mut rig = rig(Schedule::WeightedFair, peer());
    rig.out.set_priority(StreamId(1), 0);
    (0..3).for_each(|_| rig.send(1, &[7; 1000]));
    rig.drain();
}

/// Messages of one length, and the lengths of the packets and the messages in each.
#[test]
fn equal_messages_make_equal_packets() {
    for (packet_bytes, length, packet, count) in
        [(1163, 1024, 1052, 1), (1163, 100, 1056, 9), (1163, 1, 1152, 57), (16_384, 1024, 15_612, 15)]
    {
        let config = Config { packet_bytes, max_packet_bytes: packet_bytes, ..Config::default() };
        let mut rig = Rig::with(&config, FIRST_TSN, peer());
        (0..5 * count).for_each(|_| rig.send(1, &vec![7; length]));
        let packets = rig.packets();
        assert_eq!(packets.len(), 5, "{length}");
        assert!(packets.iter().all(|bytes| bytes.len() == packet), "{length}: {}", packets[0].len());
        assert!(packets.iter().all(|bytes| data_of(bytes).len() == count));
    }
}

#[test]
fn long_messages_fill_all_packets_but_the_last() {
    let mut rig = Rig::wide();
    (0..10).for_each(|_| rig.send(1, &[7; 16_384]));
    let packets = rig.packets();
    let (last, others) = packets.split_last().unwrap();
    // What is left of a packet is not filled if it takes no more than a header and 31 bytes.
    assert!(others.iter().all(|packet| packet.len() > 1160 - 16 - 32), "{:?}", lengths(others));
    assert!(last.len() <= 1160);
    rig.drain();
}

fn lengths(packets: &[Vec<u8>]) -> Vec<usize> {
    packets.iter().map(Vec::len).collect()
}

#[test]
fn fragments_and_their_flags() {
    for (peer, first) in [(peer(), 1160 - 12 - 16), (interleaving(), 1160 - 12 - 20)] {
        let mut rig = Rig::with(&Config::default(), FIRST_TSN, peer);
        rig.send(1, &[7; 2500]);
        let packets = rig.packets();
        let chunks: Vec<_> = packets.iter().flat_map(|packet| receiver::data(packet)).collect();
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.payload.len()).collect();
        assert_eq!(lengths, [first, first, 2500 - 2 * first]);
        assert_eq!(chunks.iter().map(|chunk| chunk.begin).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(chunks.iter().map(|chunk| chunk.end).collect::<Vec<_>>(), [false, false, true]);
    }
}
