//! The cost of GET and SET in process by the number of keys, one at a time and prefetched in groups of
//! sixteen: `cargo run --release --example lookup`.

#![allow(clippy::disallowed_methods)] // It measures.

use std::time::Instant;

use netdyno_kv_core::{Config, Engine, Timestamp};

const OPERATIONS: usize = 1 << 20;

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    let text = number.to_string();
    key[16 - text.len()..].copy_from_slice(text.as_bytes());
    key
}

fn main() {
    for keys in [1u64, 10_000, 100_000, 1_000_000] {
        let mut engine = Engine::new(Config::default(), 1);
        let now = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };
        let session = engine.open(now, "example");
        let mut out = Vec::new();
        for number in 0..keys {
            engine.execute(now, session, &[b"SET", &key(number), b"abc"], &mut out);
            out.clear();
        }
        // Random keys, generated before the measurement.
        let mut state = 7u64;
        let drawn = (0..OPERATIONS).map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            key((state >> 33) % keys)
        });
        let drawn: Vec<[u8; 16]> = drawn.collect();
        let mut costs = [0.0; 4];
        for (cost, (set, warm)) in
            costs.iter_mut().zip([(false, false), (true, false), (false, true), (true, true)])
        {
            let begun = Instant::now();
            for batch in drawn.chunks(16) {
                if warm && engine.prefetch_pays(session) {
                    batch.iter().for_each(|key| engine.prefetch(session, key));
                }
                for key in batch {
                    if set {
                        engine.execute(now, session, &[b"SET", key, b"xyz"], &mut out);
                    } else {
                        engine.execute(now, session, &[b"GET", key], &mut out);
                    }
                }
                out.clear();
            }
            *cost = begun.elapsed().as_nanos() as f64 / OPERATIONS as f64;
        }
        let [get, set, warm_get, warm_set] = costs;
        println!(
            "{keys:>8} keys: GET {get:.0} ns, SET {set:.0} ns; 16 at once: {warm_get:.0} ns, {warm_set:.0} ns"
        );
    }
}
