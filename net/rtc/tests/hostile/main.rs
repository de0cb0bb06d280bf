//! Abusive peers against an endpoint that serves an honest one, in a network namespace and with an address space
//! limit.
//!
//! The honest peer sends at a fixed rate, so the test does not depend on the speed of the machine. It must get at
//! least half of the answers that it got undisturbed, the memory of the process must stay within a bound, and a
//! counter or an error of the endpoint must name the abuse.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

mod abuse;
#[path = "../../../support/alone.rs"]
mod alone;
#[path = "../nat/bed.rs"]
#[allow(dead_code)]
mod bed;
#[path = "../../../support/hostile.rs"]
mod hostile;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use abuse::Target;
use hostile::{StopOnDrop, limit_address_space, memory_bytes};
use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{
    ChannelOptions, Connection, Event, Handler, Kind, Message, Port, Reactors, Refusals, Settings,
};

/// Messages of the honest peer in one measurement, and the pause between two: 400 a second.
const MESSAGES: usize = 400;
const PAUSE: Duration = Duration::from_micros(2500);
/// Time after the last message in which answers still count.
const TAIL: Duration = Duration::from_secs(2);
/// Most memory that a row may add to the process: all connections, queues and sockets, and the abuser itself.
const GROWTH_BYTES_MAX: u64 = 96 << 20;
/// Address space of the process. Exceeding it fails the allocation, and with it the test.
const ADDRESS_SPACE_BYTES: u64 = 4 << 30;

/// The abuser, and the counter that names it.
type Row = (&'static str, fn(&Target<'_>), fn(&Refusals) -> u64);

const ROWS: [Row; 8] = [
    ("TCP: 16 identified streams of empty and tiny frames", abuse::tiny_frames, |it| it.stream_pauses),
    ("TCP: silent connections", abuse::half_open, |it| it.streams),
    ("TCP: a port scan", abuse::port_scan, |it| it.streams),
    ("TCP: the longest frame is announced and nothing follows", abuse::announced_lengths, |it| it.streams),
    ("TCP: bytes one by one", abuse::slow_writers, |it| it.streams),
    ("TCP: checks whose answers are never read", abuse::slow_readers, |it| it.stream_pauses),
    ("UDP: datagrams from many spoofed sources", abuse::spoofed_sources, |it| it.datagrams),
    ("UDP: checks with invalid integrity", abuse::forged_checks, |it| it.datagrams),
];

/// Answers every message with the same one.
struct Echo;

impl Handler for Echo {
    fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        // A full buffer loses the answer, which the honest peer counts.
        let _ = connection.send(message.channel, message.kind, &message.data);
    }
}

/// A live endpoint and an honest peer of it.
struct Stage {
    server: Reactors<Echo>,
    _client: Endpoint,
    _peer: PeerConnection,
    channel: DataChannel,
}

impl Stage {
    fn new(settings: &Settings) -> Self {
        let server = Reactors::start("127.0.0.1:0".parse().unwrap(), settings, |_| Echo).unwrap();
        let client = Endpoint::bind("127.0.0.2:0".parse().unwrap(), Settings::new().unwrap()).unwrap();
        let peer = PeerConnection::on(&client, Port::Own).unwrap();
        let channel = peer.create_channel("honest", ChannelOptions::default()).unwrap();
        let (_, answer) = server.answer(&peer.create_offer().unwrap()).unwrap();
        peer.accept_answer(&answer).unwrap();
        channel.wait_open().unwrap();
        Self { server, _client: client, _peer: peer, channel }
    }

    /// Answers to messages sent at the fixed rate.
    fn answers(&self) -> usize {
        let mut count = 0;
        let mut take = |wait| {
            while let Ok(Some(_)) = self.channel.recv_timeout(wait) {
                count += 1;
            }
            count
        };
        for _ in 0..MESSAGES {
            self.channel.send_many(Kind::Binary, &[[7_u8; 1000]]).unwrap();
            thread::sleep(PAUSE);
            take(Duration::ZERO);
        }
        let end = Instant::now() + TAIL;
        while take(Duration::from_millis(50)) < MESSAGES && Instant::now() < end {}
        count
    }

    fn refusals(&self) -> Refusals {
        self.server.run(0, |endpoint, _| endpoint.refusals()).unwrap()
    }
}

/// Resident memory of this process.
fn resident_bytes() -> u64 {
    memory_bytes(std::process::id(), "VmRSS")
}

/// The honest peer and memory while an abuser is at work. Returns the answers undisturbed and then.
fn measure(stage: &Stage, name: &str, abuse: impl FnOnce(&AtomicBool) + Send) -> [usize; 2] {
    let undisturbed = stage.answers();
    let (before, is_over) = (resident_bytes(), AtomicBool::new(false));
    let disturbed = thread::scope(|scope| {
        let _end = StopOnDrop(&is_over);
        scope.spawn(|| abuse(&is_over));
        stage.answers()
    });
    let growth = resident_bytes().saturating_sub(before);
    println!("| {name} | {undisturbed} | {disturbed} | {} MiB |", growth >> 20);
    assert!(growth <= GROWTH_BYTES_MAX, "{name}: {} MiB more", growth >> 20);
    assert!(2 * disturbed >= undisturbed && undisturbed > 0, "{name}: {disturbed} of {undisturbed} answers");
    [undisturbed, disturbed]
}

#[test]
fn honest_peers_keep_half_of_their_rate() {
    alone::alone("honest_peers_keep_half_of_their_rate", || {
        limit_address_space(std::process::id(), ADDRESS_SPACE_BYTES);
        println!("| abuser | answers undisturbed | answers | memory |\n|---|---|---|---|");
        for (name, act, counter) in ROWS {
            let mut settings = Settings::new().unwrap();
            settings.tcp_port = Some(0);
            let stage = Stage::new(&settings);
            let before = counter(&stage.refusals());
            measure(&stage, name, |is_over| act(&Target { server: &stage.server, is_over }));
            let after = counter(&stage.refusals());
            assert!(after > before, "{name}: the counter stays at {before}");
        }
    });
}

/// ICMP messages about an authenticated peer whose datagrams have a connected socket of their own.
#[test]
fn icmp_errors_end_nothing() {
    bed::alone("icmp_errors_end_nothing", || {
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        limit_address_space(std::process::id(), ADDRESS_SPACE_BYTES);
        let mut settings = Settings::new().unwrap();
        (settings.reactors, settings.one_port) = (2, true);
        let stage = Stage::new(&settings);
        let victim = Ipv4Addr::new(127, 0, 0, 9);
        // Several peers, so that both reactors have connected sockets.
        let client = Endpoint::bind(SocketAddr::from((victim, 0)), Settings::new().unwrap()).unwrap();
        let peers: Vec<_> = (0..6)
            .map(|_| {
                let peer = PeerConnection::on(&client, Port::Own).unwrap();
                let channel = peer.create_channel("victim", ChannelOptions::default()).unwrap();
                let (_, answer) = stage.server.answer(&peer.create_offer().unwrap()).unwrap();
                peer.accept_answer(&answer).unwrap();
                channel.wait_open().unwrap();
                // Enough hand-overs for a connected socket.
                for _ in 0..100 {
                    channel.send(b"more").unwrap();
                    channel.recv().unwrap();
                }
                (peer, channel)
            })
            .collect();
        for kind in ["host-prohibited", "admin-prohibited", "prot-unreachable", "host-unreachable"] {
            let rules = format!(
                "add table ip refuse
                flush table ip refuse
                table ip refuse {{
                    chain incoming {{
                        type filter hook input priority 0
                        ip daddr {victim} meta l4proto udp reject with icmp type {kind}
                    }}
                }}\n"
            );
            bed::feed(Command::new("nft").args(["-f", "-"]), &rules);
            measure(&stage, kind, |is_over| {
                while !is_over.load(Ordering::Relaxed) {
                    for (_, channel) in &peers {
                        // Dropped on the way back; the server's acknowledgements are rejected.
                        let _ = channel.send_many_timeout(Kind::Binary, &[[7_u8; 100]], Duration::ZERO);
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
            for reactor in 0..2 {
                stage.server.run(reactor, |endpoint, _| endpoint.len()).unwrap();
            }
        }
    });
}

/// Descriptions beyond the limits are errors, at a cost that does not depend on their length.
#[test]
fn oversized_descriptions_are_refused() {
    let server =
        Reactors::start("127.0.0.1:0".parse().unwrap(), &Settings::new().unwrap(), |_| Echo).unwrap();
    let client = Endpoint::bind("127.0.0.1:0".parse().unwrap(), Settings::new().unwrap()).unwrap();
    let peer = PeerConnection::on(&client, Port::Own).unwrap();
    let _channel = peer.create_channel("test", ChannelOptions::default()).unwrap();
    let offer = peer.create_offer().unwrap();
    let candidate = "a=candidate:1 1 udp 1 198.51.100.1 9 typ host\r\n";
    let named = "a=candidate:1 1 udp 1 1f4712db-ea17-4bcf-a596-105139dfd8bf.local 9 typ host\r\n";
    for (name, more) in [
        ("a long line", format!("a=x:{}\r\n", "x".repeat(10 << 20))),
        ("many lines", "a=x\r\n".repeat(1 << 20)),
        ("many candidates", candidate.repeat(100_000)),
        ("many names", named.repeat(100_000)),
    ] {
        assert!(server.answer(&(offer.clone() + &more)).is_err(), "{name}");
        assert_eq!(server.run(0, |endpoint, _| endpoint.len()).unwrap(), 0, "{name}: nothing is kept");
    }
    server.answer(&offer).unwrap();
}
