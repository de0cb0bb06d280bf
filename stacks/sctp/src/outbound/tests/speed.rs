//! What a message costs: `cargo test --release -p netdyno-sctp speed -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::*;

/// Messages in flight when a SACK comes, and messages that it acknowledges.
const IN_FLIGHT: usize = 1024;
const BATCH: usize = 64;
const ROUNDS: usize = 20_000;

/// Nanoseconds per message of `send`, `write` and SACKs.
fn measure(packet_bytes: usize, message: &[u8], streams: u16, peer: Peer) -> [f64; 3] {
    // Without pacing: all that is taken goes out at once.
    let config = Config { packet_bytes, max_packet_bytes: packet_bytes, ..newreno() };
    let mut rig = Rig::with(&config, FIRST_TSN, Peer { window_bytes: u32::MAX, ..peer });
    rig.widen(1 << 30);
    let mut buffer = vec![0; packet_bytes];
    let (mut acked, mut spent) = (0u32, [const { Vec::new() }; 3]);
    for round in 0..ROUNDS {
        rig.now += Duration::from_micros(20);
        let start = Instant::now();
        for i in 0..BATCH {
            rig.send((i % usize::from(streams)) as u16, black_box(message));
        }
        let sent = Instant::now();
        while rig.out.wants_to_send(rig.now) {
            let mut packet = PacketWriter::new(&mut buffer, HEADER);
            rig.out.write(rig.now, &mut packet);
            black_box(packet.finish(true));
        }
        let written = Instant::now();
        if round >= IN_FLIGHT / BATCH {
            acked += BATCH as u32;
            let packet = receiver::sack(FIRST_TSN.add(acked).previous(), u32::MAX, &[], &[]);
            let (_, mut chunks) = Header::parse(&packet).unwrap();
            let chunk = chunks.next().unwrap().unwrap();
            let start = Instant::now();
            rig.out.handle_sack(rig.now, &Sack::parse(&chunk).unwrap()).unwrap();
            spent[2].push(start.elapsed());
        }
        spent[0].push(sent - start);
        spent[1].push(written - sent);
    }
    spent.map(a_message)
}

/// The median of what the rounds took, a message: other programs may run at the same time.
fn a_message(mut rounds: Vec<Duration>) -> f64 {
    rounds.sort_unstable();
    rounds[rounds.len() / 2].as_nanos() as f64 / BATCH as f64
}

/// Nanoseconds to copy a message in and out, as `send` and `write` have to.
fn copying(message: &[u8]) -> f64 {
    let mut ring = vec![0u8; IN_FLIGHT * message.len()];
    let mut out = vec![0u8; message.len()];
    let rounds = (0..ROUNDS).map(|round| {
        let start = Instant::now();
        for i in 0..BATCH {
            let at = (round * BATCH + i) % IN_FLIGHT * message.len();
            let place = &mut ring[at..][..message.len()];
            place.copy_from_slice(black_box(message));
            out.copy_from_slice(black_box(place));
            black_box(&mut out);
        }
        start.elapsed()
    });
    a_message(rounds.collect())
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let message = vec![7u8; 1024];
    println!("nanoseconds a message of 1 KiB; the two copies take {:.0}", copying(&message));
    for (packet_bytes, streams, peer) in [
        (1163, 1, peer()),
        (1163, 1, interleaving()),
        (16_384, 1, peer()),
        (1163, 10, peer()),
        (1163, 10, interleaving()),
    ] {
        let [send, write, sack] = measure(packet_bytes, &message, streams, peer);
        println!(
            "packets of {packet_bytes}, {streams} streams, I-DATA {}: \
             send {send:.0}, write {write:.0}, SACK {sack:.0}, all {:.0}",
            peer.interleaving,
            send + write + sack
        );
    }
    for length in [16, 100] {
        let [send, write, sack] = measure(1163, &vec![7; length], 1, super::peer());
        println!("{length} bytes: send {send:.0}, write {write:.0}, SACK {sack:.0}");
    }
}

/// A peer that repeatedly acknowledges every other chunk of the longest flight, in the maximum number of gap blocks.
#[test]
#[ignore = "a measurement"]
fn speed_of_hostile_sacks() {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, interleaving());
    rig.widen(1 << 30);
    rig.out.window = usize::MAX;
    (0..65_535).for_each(|_| rig.send(1, &[7; 4]));
    let mut buffer = vec![0; 1163];
    while rig.out.wants_to_send(rig.now) {
        rig.out.write(rig.now, &mut PacketWriter::new(&mut buffer, HEADER));
    }
    assert_eq!(rig.out.flight.len(), 65_535);
    for spread in [2, 255] {
        let gaps: Vec<(u16, u16)> =
            (1..=255).map(|i| (i * spread + 1, i * spread + 1 + spread / 2)).collect();
        let packet = receiver::sack(FIRST_TSN.previous(), u32::MAX, &gaps, &[]);
        let (_, mut chunks) = Header::parse(&packet).unwrap();
        let chunk = chunks.next().unwrap().unwrap();
        for round in 0..3 {
            rig.now += ms(1);
            let start = Instant::now();
            rig.out.handle_sack(rig.now, &Sack::parse(&chunk).unwrap()).unwrap();
            println!("255 blocks, {spread} apart, for the {round}. time: {:?}", start.elapsed());
        }
    }
}
