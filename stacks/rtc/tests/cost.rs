//! Costs of a peer connection: allocations, memory, time. The last two are measurements and run on request:
//! `cargo test --release -p netdyno-rtc-core --test cost -- --ignored --nocapture --test-threads 1`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use common::{Net, address, config};
use netdyno_rtc_core::{Arena, ChannelId, ChannelOptions, Event, Kind, PeerConnection};

struct Counting;

thread_local! {
    /// Per thread, since tests run in parallel.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn counted(count: usize, bytes: isize) {
    // Threads free memory after their thread-local values were dropped.
    let _ = COUNT.try_with(|cell| cell.set(cell.get() + count));
    let _ = LIVE.try_with(|cell| cell.set(cell.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        counted(1, layout.size() as isize);
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        counted(0, -(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        counted(1, size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two peers without a network: output of one is passed to the other at once.
struct Wire {
    peers: [PeerConnection; 2],
    channel: ChannelId,
    arena: Arena,
    buffer: Vec<u8>,
    now: Instant,
    received: usize,
    bytes: usize,
    datagrams: [usize; 2],
    batches: [usize; 2],
}

impl Wire {
    fn new(max_datagram_bytes: usize) -> Self {
        let mut configs = [config(0), config(1)];
        for config in &mut configs {
            config.max_datagram_bytes = max_datagram_bytes;
        }
        let (mut net, [channel, _]) = Net::connected_with(configs, ChannelOptions::default());
        // Path MTU discovery completes meanwhile.
        net.delay = Duration::from_micros(50);
        for _ in 0..100 {
            net.send(0, channel, Kind::Binary, &[0; 20_000]);
            net.run(Duration::from_millis(20));
        }
        let (peers, arena, now) = (net.peers, net.arena, net.now);
        let buffer = vec![0; 65_536];
        let (received, bytes, datagrams, batches) = (0, 0, [0; 2], [0; 2]);
        Self { peers, channel, arena, buffer, now, received, bytes, datagrams, batches }
    }

    /// Sends this many messages, and transfers datagrams until they have arrived.
    fn send(&mut self, count: usize, message: &[u8]) {
        let (mut sent, goal) = (0, self.received + count);
        while self.received < goal {
            self.now += Duration::from_micros(20);
            while sent < count && self.peers[0].send(self.now, self.channel, Kind::Binary, message).is_ok() {
                sent += 1;
                if sent.is_multiple_of(64) {
                    break;
                }
            }
            for side in 0..2 {
                self.hand_over(side);
            }
            for side in 0..2 {
                if self.peers[side].next_deadline().is_some_and(|at| at <= self.now) {
                    self.peers[side].handle_timeout(self.now);
                }
            }
        }
    }

    fn hand_over(&mut self, side: usize) {
        while let Some(transmit) = self.peers[side].poll_transmit(self.now, &mut self.arena, 64) {
            let filled = self.arena.filled(&transmit);
            let datagrams = &mut self.buffer[..filled.len()];
            datagrams.copy_from_slice(filled);
            self.datagrams[side] += datagrams.len().div_ceil(transmit.segment_bytes);
            self.batches[side] += 1;
            let other = &mut self.peers[1 - side];
            let (local, remote) = (transmit.remote, transmit.local);
            other.handle_datagrams(self.now, local, remote, datagrams, transmit.segment_bytes);
            while let Some(message) = other.recv() {
                self.received += 1;
                self.bytes += message.data.len();
            }
            while let Some(event) = other.poll_event() {
                assert!(!matches!(event, Event::Failed(_)));
            }
        }
    }
}

/// CPU time of this thread, if the system provides it: the machine may be busy.
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

#[test]
fn a_steady_flow_allocates_next_to_nothing() {
    let mut wire = Wire::new(1200);
    let message = [7; 1024];
    wire.send(20_000, &message);
    let before = COUNT.get();
    wire.send(10_000, &message);
    let count = COUNT.get() - before;
    println!("{count} allocations for 10,000 messages of 1 KiB, both sides");
    // Blocks are shared by received messages; there is no allocation for each message.
    assert!(count < 300, "{count}");
}

#[test]
#[ignore = "prints a measurement"]
fn throughput_in_memory() {
    for max_datagram_bytes in [1200, 16_384] {
        let mut wire = Wire::new(max_datagram_bytes);
        let message = [7; 1024];
        wire.send(50_000, &message);
        (wire.datagrams, wire.batches) = ([0; 2], [0; 2]);
        for _ in 0..5 {
            let (start, count) = (cpu_time(), 100_000);
            wire.send(count, &message);
            let time = cpu_time() - start;
            let rate = (count * message.len()) as f64 / time.as_secs_f64() / 1e6;
            let [datagrams, acknowledgements] =
                wire.datagrams.map(|datagrams| datagrams as f64 / count as f64);
            println!(
                "datagrams of up to {max_datagram_bytes}: {:.0} ns a message, {rate:.0} MB/s; {datagrams:.2} datagrams \
                 and {acknowledgements:.3} back a message; {:.1} and {:.1} datagrams a batch; {} B of packet",
                time.as_nanos() as f64 / count as f64,
                wire.datagrams[0] as f64 / wire.batches[0] as f64,
                wire.datagrams[1] as f64 / wire.batches[1] as f64,
                wire.peers[0].stats().sctp.packet_bytes,
            );
            (wire.datagrams, wire.batches) = ([0; 2], [0; 2]);
        }
    }
}

#[test]
fn an_idle_connection_is_small() {
    // One-time allocations are made before.
    drop(Net::connected(ChannelOptions::default()));
    let mut rows = Vec::new();
    let mut at = |what: &'static str, net: &Net| {
        // The test network's own records do not count.
        let notes: usize = net.events.iter().map(|events| events.capacity() * size_of::<Event>()).sum();
        rows.push((what, LIVE.get() - notes as isize));
    };
    let before = LIVE.get();
    let mut net = Net::new();
    let empty = LIVE.get() - before;
    at("made", &net);
    net.peers[0].create_channel(net.now, "test", ChannelOptions::default()).unwrap();
    net.signal();
    at("signalled", &net);
    net.run_until(|net| net.incoming(1).len() == 1);
    at("connected", &net);
    net.run(Duration::from_secs(1));
    at("settled", &net);
    for _ in 0..1000 {
        let channel = net.incoming(1)[0];
        net.send(1, channel, Kind::Binary, &[0; 1024]);
    }
    net.run(Duration::from_secs(2));
    net.messages = [vec![], vec![]];
    at("after 1,000 messages", &net);
    net.run(Duration::from_secs(60));
    at("idle for a minute", &net);
    println!("struct: {} B; an empty pair of peers and network: {empty} B", size_of::<PeerConnection>());
    let arena = 65_507;
    for (what, live) in &rows {
        println!("{what}: {} B a peer", (live - before - arena) / 2);
    }
    let settled = (rows[3].1 - before - arena) / 2;
    assert!(settled < 40_000, "{settled}");
    assert_ne!(address(0), address(1));
}
