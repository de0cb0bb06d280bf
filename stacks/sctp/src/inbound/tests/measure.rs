//! How long a message takes. Run with `cargo test --release -p netdyno-sctp measure -- --ignored --nocapture`.

use super::*;

const ROUNDS: u32 = 20;
const MESSAGES: u32 = 100_000;
const BATCH: u32 = 64;

/// Prints the time for a message: each of its chunks in a packet of its own, and taken; a SACK for every 64. `next`
/// changes the chunk for the message and its piece.
fn measure(what: &str, pieces: u32, first: Data<'_>, mut next: impl FnMut(&mut Data<'_>, u32, u32)) {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let interleaving = matches!(first.order, Order::Mid(..));
        let mut rig = Rig::new(&Config::default(), Tsn(0), interleaving);
        let started = Instant::now();
        let (now, mut count, mut data) = (rig.now, 0, first);
        for message in 0..MESSAGES / pieces {
            for at in 0..pieces {
                next(&mut data, message, at);
                rig.inbound.handle_data(now, &data).unwrap();
                rig.inbound.end_of_packet(now);
            }
            if message % (BATCH / pieces) != 0 {
                continue;
            }
            count += std::iter::from_fn(|| rig.inbound.recv()).count();
            let mut out = [0; 1200];
            let header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };
            rig.inbound.write_sack(&mut PacketWriter::new(&mut out, header));
        }
        best = best.min(started.elapsed());
        assert!(count as u32 > MESSAGES / pieces - 2 * BATCH, "{what}: {count} came");
    }
    println!("{what}: {:.1} ns a message", best.as_nanos() as f64 / f64::from(MESSAGES / pieces));
}

#[test]
#[ignore = "measures; run in release mode"]
fn measure_messages() {
    let text = "x".repeat(1024);
    let data = piece(Tsn(0), 0, 0, "BE", &text);
    let ordered = |data: &mut Data<'_>, number: u32, _: u32| {
        (data.tsn, data.order) = (Tsn(number), Order::Ssn(Ssn(number as u16)));
    };
    measure("1 KiB in order, DATA", 1, data, ordered);
    measure("16 B in order, DATA", 1, Data { payload: &data.payload[..16], ..data }, ordered);
    measure("1 KiB unordered, DATA", 1, Data { unordered: true, ..data }, ordered);
    measure("1 KiB on 10 streams", 1, data, |data, number, _| {
        (data.tsn, data.stream, data.order) =
            (Tsn(number), StreamId((number % 10) as u16), Order::Ssn(Ssn((number / 10) as u16)));
    });
    measure("1 KiB in pairs the wrong way round", 1, data, |data, number, at| ordered(data, number ^ 1, at));
    measure("1 KiB, one of 64 late by 63", 1, data, |data, number, at| {
        ordered(data, if number % 64 == 63 { number - 63 } else { number + 1 }, at);
    });
    let data = interleaved(Tsn(0), 0, 0, 0, "BE", &text);
    measure("1 KiB in order, I-DATA", 1, data, |data, number, _| {
        (data.tsn, data.order) = (Tsn(number), Order::Mid(Mid(number), Fsn(0)));
    });
    measure("64 KiB in 64 pieces, I-DATA", 64, data, |data, number, at| {
        (data.tsn, data.order) = (Tsn(number * 64 + at), Order::Mid(Mid(number), Fsn(at)));
        (data.begin, data.end) = (at == 0, at == 63);
    });
    let data = piece(Tsn(0), 0, 0, "BE", &text);
    measure("64 KiB in 64 pieces, DATA", 64, data, |data, number, at| {
        (data.tsn, data.order) = (Tsn(number * 64 + at), Order::Ssn(Ssn(number as u16)));
        (data.begin, data.end) = (at == 0, at == 63);
    });
}
