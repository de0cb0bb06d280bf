//! A node under abuse: an honest controller keeps its rate, memory is bounded, and the abuser is reported.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../support/child.rs"]
mod child;
#[path = "../../support/hostile.rs"]
mod hostile;
mod support;
mod tool;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hostile::{StopOnDrop, limit_address_space, memory_bytes};
use netdyno_echonet::core::Epc;
use netdyno_echonet::{Controller, Settings};
use support::peer::{HERE, PeerNetwork, THERE};
use support::{GET_80, GOT_80, GUARD, LIGHT, alone, config, patience, read};
use tool::{Running, TOOL};

/// The abuser's address. The honest controller has [`THERE`].
const ABUSER: &str = "198.18.0.66";
/// Beyond the link; all of its addresses send.
const BEYOND: [u8; 3] = [203, 0, 113];

/// The address space of the node.
const ADDRESS_SPACE_BYTES: u64 = 512 << 20;
/// The most private memory that it may use: 64 connections with the longest incomplete message and 256 KiB of
/// unread answers each take less than half of it.
const PRIVATE_BYTES_MAX: u64 = 64 << 20;

/// The least part of its undisturbed rate that the honest controller keeps.
const RATE_KEPT_MIN: f64 = 0.5;
/// Pairs of measurements: without abuse and with it, alternately. The best of each are compared: many short
/// ones, so that both include some that other programs do not disturb.
const ROUNDS: usize = 20;
const MEASURED: Duration = Duration::from_millis(50);
/// Datagrams that are sent together, with a pause after them: a flood, but not one that takes the processor
/// from the node.
const BURST: usize = 10;
const PAUSE: Duration = Duration::from_millis(4);
/// Requests of an honest source beside a flood without pauses, which overflows receive buffers, and the pause after each.
const HONEST_REQUESTS: usize = 100;
const HONEST_PAUSE: Duration = Duration::from_millis(2);
/// Repetitions, until this share of the requests is answered: other programs may take the processor from the node. Without
/// the limit of each source, about half are answered in every repetition.
const HONEST_ROUNDS_MAX: usize = 20;
const ANSWERED_MIN: f64 = 0.9;

/// One kind of abuse.
struct Row {
    name: &'static str,
    /// Abuses the node until the flag is set.
    abuse: fn(&AtomicBool),
    /// The kind and the source in the report; the source is a prefix.
    reported: (&'static str, &'static str),
}

const ROWS: [Row; 7] = [
    Row { name: "a flood of tiny frames", abuse: tiny_frames, reported: ("flood", ABUSER) },
    // Nothing listens at the abuser's port 3610: answers cause ICMP errors.
    Row { name: "a flood of reads and ICMP errors", abuse: reads, reported: ("flood", ABUSER) },
    Row { name: "huge declared lengths", abuse: declared_lengths, reported: ("flood", ABUSER) },
    Row { name: "oversized property maps", abuse: property_maps, reported: ("flood", ABUSER) },
    Row { name: "repeated properties", abuse: repeated_properties, reported: ("flood", ABUSER) },
    Row { name: "sources beyond the link", abuse: sources_beyond, reported: ("off_link", "203.0.113.") },
    Row { name: "half-open TCP connections", abuse: half_open, reported: ("connections", ABUSER) },
];

fn node_address() -> SocketAddr {
    (HERE.parse::<Ipv4Addr>().unwrap(), 3610).into()
}

/// Sends bursts of what `datagram` writes, until `end`.
fn flood(end: &AtomicBool, sources: &[Ipv4Addr], mut datagram: impl FnMut(usize, &mut Vec<u8>)) {
    let bind = |source: &Ipv4Addr| UdpSocket::bind((*source, 0)).unwrap();
    let sockets: Vec<_> = sources.iter().map(bind).collect();
    let (mut bytes, mut number) = (Vec::new(), 0);
    while !end.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            number += 1;
            bytes.clear();
            datagram(number, &mut bytes);
            // A full buffer drops it.
            let _ = sockets[number % sockets.len()].send_to(&bytes, node_address());
        }
        std::thread::sleep(PAUSE);
    }
}

fn flood_from_abuser(end: &AtomicBool, datagram: impl FnMut(usize, &mut Vec<u8>)) {
    flood(end, &[ABUSER.parse().unwrap()], datagram);
}

fn tiny_frames(end: &AtomicBool) {
    flood_from_abuser(end, |number, bytes| bytes.extend(&GET_80[..number % 12]));
}

fn reads(end: &AtomicBool) {
    flood_from_abuser(end, |_, bytes| bytes.extend(GET_80));
}

fn declared_lengths(end: &AtomicBool) {
    flood_from_abuser(end, |number, bytes| {
        bytes.extend(&GET_80[..11]);
        // OPC or PDC declare more than follows.
        bytes.extend(if number % 2 == 0 { [255, 0x80, 0] } else { [1, 0x80, 255] });
    });
}

fn property_maps(end: &AtomicBool) {
    flood_from_abuser(end, |number, bytes| {
        bytes.extend(&GET_80[..10]);
        // An answer or a notification with a map (9F) that counts more properties than there are.
        bytes.extend([if number % 2 == 0 { 0x72 } else { 0x73 }, 1, 0x9F, 255]);
        bytes.extend([0xFF; 255]);
    });
}

fn repeated_properties(end: &AtomicBool) {
    flood_from_abuser(end, |_, bytes| {
        bytes.extend(&GET_80[..11]);
        bytes.push(255);
        bytes.extend([0x9F, 0].repeat(255));
    });
}

fn sources_beyond(end: &AtomicBool) {
    let [a, b, c] = BEYOND;
    let sources: Vec<_> = (1..=200).map(|last| Ipv4Addr::new(a, b, c, last)).collect();
    flood(end, &sources, |_, bytes| bytes.extend(GET_80));
}

fn half_open(end: &AtomicBool) {
    let mut held = Vec::new();
    while !end.load(Ordering::Relaxed) {
        for _ in 0..4 {
            let mut stream = connect_from(ABUSER);
            // The start of a message that never ends.
            stream.write_all(&[&GET_80[..11], &[255, 0x80, 255]].concat()).unwrap();
            held.push(stream);
        }
        let excess = held.len().saturating_sub(200);
        held.drain(..excess);
        std::thread::sleep(PAUSE);
    }
}

fn connect_from(source: &str) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source.parse::<Ipv4Addr>().unwrap(), 0)).into()).unwrap();
    socket.connect(&node_address().into()).unwrap();
    socket.into()
}

/// Requests answered per second.
fn rate(controller: &mut Controller) -> f64 {
    let (begin, mut answers) = (Instant::now(), 0);
    while begin.elapsed() < MEASURED {
        let node = HERE.parse::<std::net::IpAddr>().unwrap();
        controller.get(node, LIGHT, &[Epc(0x80)]).unwrap();
        answers += 1;
    }
    f64::from(answers) / begin.elapsed().as_secs_f64()
}

fn start_node(folder: &tempfile::TempDir) -> Running {
    let file = folder.path().join("home.toml");
    std::fs::write(
        &file,
        r#"
        [[nodes]]
        manufacturer = "00000B"
        unique = "light"
        [[nodes.objects]]
        class = "0291"
        properties.operation_status = "on"
        "#,
    )
    .unwrap();
    let mut command = child::ending_with_test(TOOL);
    command.args(["--interface", "ours", "--tcp", "--json", "simulate"]).arg(&file);
    let mut node = Running::spawn(&mut command);
    limit_address_space(node.child.id(), ADDRESS_SPACE_BYTES);
    assert_eq!(node.line()["nodes"], 1);
    node
}

/// Runs a closure while the node is abused.
fn with_abuse(row: &Row, peer: &PeerNetwork, run: impl FnOnce()) {
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = StopOnDrop(&end);
        scope.spawn(|| peer.run(|| (row.abuse)(&end)));
        run();
    });
}

fn check(row: &Row, peer: &PeerNetwork, node: &mut Running, controller: &mut Controller) {
    let name = row.name;
    let (mut best, mut best_abused) = (0.0, 0.0);
    let mut honest = peer.run(|| connect_from(THERE));
    honest.set_read_timeout(Some(GUARD)).unwrap();
    for _ in 0..ROUNDS {
        best = rate(controller).max(best);
        with_abuse(row, peer, || {
            best_abused = rate(controller).max(best_abused);
            // A connection that was there before is not displaced.
            honest.write_all(GET_80).unwrap();
            assert_eq!(read(&mut honest, GOT_80.len()), GOT_80, "{name}");
        });
        let private_bytes = memory_bytes(node.child.id(), "RssAnon");
        assert!(private_bytes < PRIVATE_BYTES_MAX, "{name}: {private_bytes} bytes");
    }
    let kept = best_abused / best;
    println!("{name}: {best:.0}/s without, {best_abused:.0}/s with abuse: {kept:.2}");
    assert!(kept >= RATE_KEPT_MIN, "{name}: the honest controller keeps {kept:.2} of its rate");
    await_report(row, peer, node);
}

/// Waits until the node reports the abuse with its source.
fn await_report(row: &Row, peer: &PeerNetwork, node: &mut Running) {
    let (kind, from) = row.reported;
    let is_report = |line: &serde_json::Value| {
        line["event"] == "abuse" && line["kind"] == kind && line["from"].as_str().unwrap().starts_with(from)
    };
    with_abuse(row, peer, || while !is_report(&node.line()) {});
}

#[test]
fn a_node_withstands_abuse() {
    alone("a_node_withstands_abuse", || {
        let peer = PeerNetwork::new();
        let [a, b, c] = BEYOND;
        // All addresses of a network on loopback are local.
        peer.sh(&format!("ip addr add {ABUSER}/24 dev theirs && ip addr add {a}.{b}.{c}.1/24 dev lo"));
        let folder = tempfile::tempdir().unwrap();
        let mut node = start_node(&folder);
        let mut settings = Settings::on("theirs");
        settings.address = Some(THERE.parse().unwrap());
        let mut config = config();
        config.defaults = patience(GUARD, 0);
        let mut controller = peer.run(|| Controller::open(&settings, config).unwrap());
        for row in &ROWS {
            check(row, &peer, &mut node, &mut controller);
        }
        assert_eq!(node.interrupt(), Some(0));
    });
}

/// Sends as fast as the system permits.
fn flood_without_pauses(end: &AtomicBool) {
    // The answers are not read.
    let socket = UdpSocket::bind((ABUSER.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap();
    while !end.load(Ordering::Relaxed) {
        let _ = socket.send_to(GET_80, node_address());
    }
}

/// The share of an honest source's requests that are answered.
fn answered_share(socket: &UdpSocket) -> f64 {
    let mut answer = [0; 100];
    for _ in 0..HONEST_REQUESTS {
        socket.send(GET_80).unwrap();
        std::thread::sleep(HONEST_PAUSE);
    }
    let answered = std::iter::from_fn(|| socket.recv(&mut answer).ok()).count();
    answered as f64 / HONEST_REQUESTS as f64
}

#[test]
fn requests_beside_a_flood_without_pauses_are_answered() {
    alone("requests_beside_a_flood_without_pauses_are_answered", || {
        let peer = PeerNetwork::new();
        peer.sh(&format!("ip addr add {ABUSER}/24 dev theirs"));
        let folder = tempfile::tempdir().unwrap();
        let mut node = start_node(&folder);
        let honest = peer.run(|| UdpSocket::bind((THERE.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap());
        honest.connect(node_address()).unwrap();
        honest.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let row = Row {
            name: "a flood without pauses",
            abuse: flood_without_pauses,
            reported: ("limited", ABUSER),
        };
        let mut best = 0.0;
        with_abuse(&row, &peer, || {
            // Meanwhile, the flood fills the receive buffer.
            answered_share(&honest);
            for _ in 0..HONEST_ROUNDS_MAX {
                best = answered_share(&honest).max(best);
                if best >= ANSWERED_MIN {
                    break;
                }
            }
        });
        println!("{}: {best:.2} of the requests answered", row.name);
        assert!(best >= ANSWERED_MIN, "{}: {best:.2} of the requests answered", row.name);
        await_report(&row, &peer, &mut node);
        assert_eq!(node.interrupt(), Some(0));
    });
}
