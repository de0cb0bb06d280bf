//! Abusive peers against a server process with a memory limit, in a network namespace. Clients on another host must keep half
//! of their frame rate, the memory must stay within a bound, and the server must name the abuser or count its datagrams.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../../../support/alone.rs"]
mod alone;
mod attacks;
#[path = "../../../support/child.rs"]
mod child;
#[allow(dead_code)]
#[path = "../serving/client.rs"]
mod client;
#[path = "../../../support/hostile.rs"]
mod hostile;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tool.rs"]
mod tool;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use attacks::{ATTACKS, Attack, Evidence, Target};
use client::{Client, ClientEvent};
use hostile::{StopOnDrop, limit_address_space, memory_bytes};
use tool::{Running, TIMEOUT, TOOL};

/// RLIMIT_AS of the server.
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// Bound on the peak resident memory of the server.
const PEAK_BYTES: u64 = 32 << 20;
/// Length of a measurement of the frame rate.
const WINDOW: Duration = Duration::from_secs(1);
/// Measurements during an attack; the best one counts, so that other load on the machine does not decide the test.
const MEASUREMENTS: usize = 3;

/// A server process and its output.
struct TestServer {
    process: Running,
    address: SocketAddr,
    remarks: Arc<Mutex<Vec<String>>>,
    stats: Arc<Mutex<Value>>,
}

impl TestServer {
    fn start(clip: &str) -> Self {
        let arguments = ["--json", "serve", clip, "--loop", "--fps", "20", "--listen", "127.0.0.1:0"];
        let mut command = child::ending_with_test(TOOL);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Running(command.spawn().unwrap());
        limit_address_space(process.0.id(), ADDRESS_SPACE_BYTES);
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        let url = first["serves"].as_str().unwrap();
        let address = url.trim_start_matches("rtsp://").trim_end_matches("/stream").parse().unwrap();
        let (stats, remarks) = (Arc::new(Mutex::new(Value::Null)), Arc::new(Mutex::new(Vec::new())));
        let (last, all) = (stats.clone(), remarks.clone());
        thread::spawn(move || {
            lines.for_each(|line| *last.lock().unwrap() = serde_json::from_str(&line).unwrap())
        });
        let stderr = BufReader::new(process.0.stderr.take().unwrap());
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| all.lock().unwrap().push(line))
        });
        Self { process, address, remarks, stats }
    }

    /// Whether the server has reported the attack.
    fn has_evidence(&self, evidence: Evidence) -> bool {
        match evidence {
            Evidence::Remark(text) => {
                let remarks = self.remarks.lock().unwrap();
                remarks.iter().any(|line| line.contains(attacks::ADDRESS_TEXT) && line.contains(text))
            }
            Evidence::Counter(name) => self.stats.lock().unwrap()[name].as_u64() > Some(0),
        }
    }
}

/// Receives until `stop` and counts complete frames.
fn receive(mut client: Client, frames: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match client.next() {
            ClientEvent::Frame(_) => _ = frames.fetch_add(1, Ordering::Relaxed),
            ClientEvent::Closed => panic!("the server closed the connection of an honest client"),
            _ => {}
        }
    }
}

/// Frames that the slower of the clients receives within a window.
fn measure(frames: &[AtomicU64; 2]) -> u64 {
    let before = [0, 1].map(|client| frames[client].load(Ordering::Relaxed));
    thread::sleep(WINDOW);
    [0, 1].map(|client| frames[client].load(Ordering::Relaxed) - before[client]).into_iter().min().unwrap()
}

fn check(clip: &str, Attack { name, run, evidence }: &Attack) {
    let server = TestServer::start(clip);
    let (mut tcp, mut udp) = (Client::connect(server.address), Client::connect(server.address));
    tcp.play_tcp();
    udp.play_udp();
    let target = Target { rtsp: server.address, rtcp: udp.server_rtcp.unwrap() };
    let (stop, frames) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    thread::scope(|scope| {
        let end = StopOnDrop(&stop);
        scope.spawn(|| receive(tcp, &frames[0], &stop));
        scope.spawn(|| receive(udp, &frames[1], &stop));
        let expected = measure(&frames);
        assert!(expected > 0, "{name}: no frames without an attack");
        scope.spawn(|| run(&target, &stop));
        let actual = (0..MEASUREMENTS).map(|_| measure(&frames)).find(|frames| 2 * frames >= expected);
        assert!(actual.is_some(), "{name}: less than half of {expected} frames in {WINDOW:?}");
        let start = Instant::now();
        while !server.has_evidence(*evidence) {
            assert!(
                start.elapsed() < TIMEOUT,
                "{name}: no {evidence:?} in {:?}",
                server.remarks.lock().unwrap()
            );
            thread::sleep(Duration::from_millis(20));
        }
        let peak = memory_bytes(server.process.0.id(), "VmHWM");
        assert!(peak < PEAK_BYTES, "{name}: peak memory {peak} bytes");
        println!("{name}: {actual:?} of {expected} frames, {peak} bytes");
        drop(end);
    });
}

#[test]
fn attacks_leave_half_of_the_rate_and_are_reported() {
    alone::alone("attacks_leave_half_of_the_rate_and_are_reported", || {
        let folder = tempfile::tempdir().unwrap();
        let clip = folder.path().join("clip.mjpeg");
        let pictures: Vec<_> = (1..4).map(|seed| support::plain(320, 240, seed)).collect();
        std::fs::write(&clip, pictures.concat()).unwrap();
        for attack in ATTACKS {
            check(clip.to_str().unwrap(), attack);
        }
    });
}
