//! Abusive clients against a server process with a memory limit, in a network namespace.
//!
//! Honest clients send small batches of commands at a fixed rate, far below what the server can do. They must keep half of
//! that rate beside an abuser that acts as fast as it can, the memory must stay within a bound, and the server must name
//! the abuser or count what it did.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

mod abuse;
#[path = "../../../support/alone.rs"]
mod alone;
#[path = "../../../support/child.rs"]
mod child;
#[path = "../../../support/hostile.rs"]
mod hostile;
mod server;
mod table;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use abuse::Abuse;
use hostile::{StopOnDrop, memory_bytes};
use server::{CLIENTS_MAX, Crowd, GUARD, TestServer};
use table::ABUSES;

/// Bound on the peak resident memory of the server: three times `maxmemory-clients`.
const PEAK_BYTES: u64 = 192 << 20;
/// Length of a measurement of the honest clients' rate.
const WINDOW: Duration = Duration::from_millis(400);
/// Measurements during an attack; the best one counts, so that other load on the machine does not decide the test.
const MEASUREMENTS: usize = 5;
/// Interval between two rounds of the honest clients.
const ROUND_INTERVAL: Duration = Duration::from_millis(5);
/// Open files of the test.
const FILES: u64 = CLIENTS_MAX as u64 + 1000;

/// Rounds of the honest clients within a window.
fn measure(rounds: &AtomicU64) -> u64 {
    let before = rounds.load(Ordering::Relaxed);
    thread::sleep(WINDOW);
    rounds.load(Ordering::Relaxed) - before
}

/// Lets the honest clients work at their rate until `stop`.
fn work(crowd: &mut Crowd, rounds: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let next = Instant::now() + ROUND_INTERVAL;
        crowd.round();
        rounds.fetch_add(1, Ordering::Relaxed);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn check(Abuse { name, options, start, evidence }: &Abuse) {
    let server = TestServer::start(*options);
    let mut crowd = Crowd::connect(&server);
    let mut observer = server.connect();
    assert_eq!(server.connect().ask(&[b"SET", b"big", &vec![b'x'; 1_000_000]]), "+OK\r\n", "{name}");
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let end = StopOnDrop(&stop);
        scope.spawn(|| work(&mut crowd, &rounds, &stop));
        let expected = measure(&rounds);
        assert!(expected > 0, "{name}: no commands without an attack");
        scope.spawn(|| {
            let mut abuser = start(&server);
            while !stop.load(Ordering::Relaxed) {
                abuser.step();
            }
        });
        let mut best = 0;
        for _ in 0..MEASUREMENTS {
            best = best.max(measure(&rounds));
            if 2 * best >= expected {
                break;
            }
        }
        let begin = Instant::now();
        while !observer.finds(*evidence) {
            assert!(begin.elapsed() < GUARD, "{name}: no {evidence:?}");
            thread::sleep(ROUND_INTERVAL);
        }
        let peak = memory_bytes(server.child.id(), "VmHWM");
        println!("{name}: {best} of {expected} rounds, peak memory {} MiB", peak >> 20);
        assert!(2 * best >= expected, "{name}: at most {best} of {expected} rounds in {WINDOW:?}");
        assert!(peak <= PEAK_BYTES, "{name}: peak memory {} MiB", peak >> 20);
        drop(end);
    });
    // New clients are accepted once the abuser has left.
    let begin = Instant::now();
    while server.connect().ask(&[b"PING"]) != "+PONG\r\n" {
        assert!(begin.elapsed() < GUARD, "{name}: no new clients");
    }
}

/// In a network and with a number of open files of its own.
#[test]
fn honest_clients_keep_half_of_their_rate() {
    alone::alone("honest_clients_keep_half_of_their_rate", || {
        let limit = getrlimit(Resource::Nofile);
        if limit.maximum.is_some_and(|maximum| maximum < FILES) {
            return alone::skip(&format!("{FILES} open files"));
        }
        setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), maximum: limit.maximum }).unwrap();
        // One of them alone, for debugging.
        let only = std::env::var("NETDYNO_ABUSE").unwrap_or_default();
        ABUSES.iter().filter(|abuse| abuse.name.contains(&only)).for_each(check);
    });
}
