//! How fast two associations are, back to back in memory, and how much memory one has that is idle. Measured on demand:
//! `cargo test --release -p netdyno-sctp --test speed -- --ignored --nocapture --test-threads 1`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{A, B, Pair, RELIABLE, config};
use netdyno_sctp::{Association, Ppid, StreamId};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go on to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sends `messages` of `length` bytes from A to B. Time is simulated: packets go over in batches of 64 as those of a
/// driver would, and are there at once.
fn run(pair: &mut Pair, messages: usize, length: usize) -> Duration {
    let message = vec![7; length];
    let mut out = vec![vec![0; 16_384]; 64];
    let (mut sent, mut received) = (0, 0);
    let begin = Instant::now();
    while received < messages {
        while sent < messages
            && pair.ends[A].send(pair.now, StreamId(1), Ppid::BINARY, &message, RELIABLE).is_ok()
        {
            sent += 1;
        }
        let mut is_quiet = true;
        for from in [A, B] {
            let mut lengths = [0; 64];
            let count = out
                .iter_mut()
                .zip(&mut lengths)
                .map_while(|(out, length)| {
                    *length = pair.ends[from].poll_transmit(pair.now, out)?;
                    Some(())
                })
                .count();
            is_quiet &= count == 0;
            pair.now += Duration::from_micros(10);
            for (packet, length) in out[..count].iter().zip(lengths) {
                pair.ends[1 - from].handle_packet(pair.now, &packet[..length]);
            }
            while pair.ends[1 - from].recv().is_some() {
                received += 1;
            }
        }
        if is_quiet {
            let next = pair.ends.iter().filter_map(Association::next_deadline).min().unwrap();
            pair.now = pair.now.max(next);
            pair.ends.iter_mut().for_each(|end| end.handle_timeout(pair.now));
        }
    }
    begin.elapsed()
}

#[test]
#[ignore = "measures; run in release mode"]
fn measure_messages() {
    for (interleaving, zero_checksum, max_packet_bytes, length) in [
        (true, true, 1_163, 1024),
        (false, true, 1_163, 1024),
        (true, true, 16_384, 1024),
        (false, true, 16_384, 1024),
        (true, false, 1_163, 1024),
        (true, true, 16_384, 100),
        (true, true, 16_384, 65_536),
    ] {
        let settings = config(|c| {
            (c.interleaving, c.zero_checksum) = (interleaving, zero_checksum);
            c.max_packet_bytes = max_packet_bytes;
            c.limits.send_buffer_bytes = 1 << 20;
        });
        let mut pair = Pair::connected(settings.clone(), settings);
        let messages = (1 << 30) / (length + 50);
        run(&mut pair, messages / 10, length);
        let (before, calls) = (pair.ends[A].stats(), CALLS.load(Ordering::Relaxed));
        let time = (0..3).map(|_| run(&mut pair, messages / 3, length)).min().unwrap();
        let calls = CALLS.load(Ordering::Relaxed) - calls;
        let stats = pair.ends[A].stats();
        println!(
            "{length:6} B, i-data {interleaving:5}, zero checksum {zero_checksum:5}, {:5} B packets: {:6.1} ns a message, \
             {:.2} GB/s, {:.4} allocations a message, {:.2} packets a message, {} sent again, window {} KiB",
            stats.packet_bytes,
            time.as_nanos() as f64 / (messages / 3) as f64,
            (messages / 3 * length) as f64 / time.as_secs_f64() / 1e9,
            calls as f64 / messages as f64,
            (stats.packets_sent - before.packets_sent) as f64 / messages as f64,
            stats.chunks_retransmitted,
            stats.congestion_window_bytes >> 10,
        );
    }
}

#[test]
#[ignore = "measures"]
fn measure_memory() {
    let settings = config(|_| {});
    let now = Instant::now();
    let new = |seed| Association::new(settings.clone(), [seed; 32], now).unwrap();
    let before = HELD.load(Ordering::Relaxed);
    let waiting: Vec<_> = (0..100).map(|seed| Box::new(new(seed))).collect();
    let each = (HELD.load(Ordering::Relaxed) - before) / 100;
    println!("an association has {} B; one that waits holds {each} B", size_of::<Association>());
    drop(waiting);

    for (streams, length) in [(0, 0), (1, 100), (1, 100_000), (10, 10_000)] {
        let mut pair = Pair::connected(settings.clone(), settings.clone());
        for stream in 0..streams {
            pair.send(A, stream, &vec![1; length]);
            pair.send(B, stream, &vec![1; length]);
        }
        pair.run(Duration::from_secs(20));
        pair.messages = Default::default();
        let [a, b] = pair.ends;
        let before = HELD.load(Ordering::Relaxed);
        drop(a);
        let held = before - HELD.load(Ordering::Relaxed) + size_of::<Association>();
        println!("idle after {length} B on each of {streams} streams: {held} B");
        assert!(held < 6 << 10, "{held}");
        drop(b);
    }
}
