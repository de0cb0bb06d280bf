//! What messages take beside their bytes, from `send` until they are acknowledged.

use super::*;

/// Memory of all that is kept for messages.
fn memory_bytes(out: &Outbound) -> usize {
    let queues: usize = out.streams.iter().map(|stream| stream.queue.memory_bytes()).sum();
    out.store.bytes() + queues + out.flight.memory_bytes()
}

/// A megabyte and a half of messages on so many streams in turn: the most memory, beside what is buffered, while they wait and
/// when as much as the window lets out is on its way, each packet at a time of its own.
fn most(lengths: &[usize], streams: u16) -> f64 {
    let mut rig = Rig::with(&newreno(), FIRST_TSN, Peer { window_bytes: u32::MAX, ..peer() });
    rig.widen(2 << 20);
    for (stream, &length) in (0..streams).cycle().zip(lengths.iter().cycle()) {
        if rig.out.unsent_bytes > 3 << 19 {
            break;
        }
        rig.send(stream, &vec![7; length]);
    }
    let buffered = |out: &Outbound| out.unsent_bytes + out.flight.payload_bytes();
    let mut most = memory_bytes(&rig.out) as f64 / buffered(&rig.out) as f64;
    while rig.packet().is_some() {
        rig.now += Duration::from_micros(1);
        most = most.max(memory_bytes(&rig.out) as f64 / buffered(&rig.out) as f64);
    }
    assert!(rig.out.flight.payload_bytes() > 500_000, "{} in flight", rig.out.flight.payload_bytes());
    most
}

#[test]
fn messages_take_little_beside_their_bytes() {
    let rows: [(&[usize], u16, f64); 8] = [
        (&[16], 1, 1.3),
        (&[64], 1, 1.3),
        (&[64, 61, 70, 3, 120], 1, 1.3),
        (&[200], 1, 1.3),
        (&[1024], 1, 1.3),
        (&[16_384], 1, 1.3),
        // Streams that take turns share the blocks, so that each message has its own place: 12 bytes, and 48 while in flight.
        (&[64], 10, 2.3),
        (&[1024], 10, 1.3),
    ];
    for (lengths, streams, bound) in rows {
        let most = most(lengths, streams);
        println!("{lengths:?} B on {streams} streams: {most:.3}");
        assert!(most < bound, "{lengths:?} B on {streams} streams: {most}");
    }
}
