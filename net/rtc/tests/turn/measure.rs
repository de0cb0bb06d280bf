//! The throughput of a relay: data channels and plain datagrams, alternating.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_io::{ReceiveBatch, SocketOptions, UdpSocket};
use netdyno_rtc::core::sctp::Stats;
use netdyno_rtc::{ChannelId, ChannelOptions, Connection, ConnectionId, Endpoint, Event, Message, Port};
use turn_client_proto::api::{Transmit, TurnConfig};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant as StunTime;
use turn_client_proto::types::{TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use crate::LONG;
use crate::coturn::Coturn;
use crate::support::{On, Source, number, processor_seconds, tuned};

/// The initial datagram size of data channels.
const DATAGRAM_BYTES: usize = 1200;
/// Bytes kept buffered in each channel.
const HIGH_BYTES: usize = 256 << 10;
const WARM_UP: Duration = Duration::from_millis(300);
/// Pause between loads, so that data in flight is not counted for the next.
const REST: Duration = Duration::from_millis(100);
/// Datagrams in flight; the best of these is used, beyond which the server drops.
const WINDOWS: [u64; 4] = [64, 128, 256, 512];

/// Run it alone: `cargo test --release -p netdyno-rtc --all-features --test turn -- --ignored --nocapture`.
/// `TRANSPORTS`, `PAIRS` and `MESSAGE_BYTES` are lists ("udp,tcp"); `ROUNDS` is the number of repetitions and
/// `MILLISECONDS` their duration.
#[test]
#[ignore = "a measurement"]
fn throughput() {
    let time = Duration::from_millis(number("MILLISECONDS", 1000) as u64);
    let rounds = number("ROUNDS", 5);
    for pairs in list("PAIRS", "1") {
        for message_bytes in list("MESSAGE_BYTES", "16384") {
            for transport in
                list("TRANSPORTS", "udp,tcp,tls").filter(|it| it != "tls" || cfg!(feature = "tls"))
            {
                // Each has its own.
                let Some(server) = Coturn::start(&[]) else { return };
                beside(
                    &server,
                    &transport,
                    pairs.parse().unwrap(),
                    message_bytes.parse().unwrap(),
                    rounds,
                    time,
                );
            }
        }
    }
}

fn list(name: &str, default: &str) -> impl Iterator<Item = String> {
    let list = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    list.split(',').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Alternates plain and ours; each of ours is compared with the mean of the plain ones before and after it.
fn beside(
    server: &Coturn,
    transport: &str,
    pairs: usize,
    message_bytes: usize,
    rounds: usize,
    time: Duration,
) {
    let (plain, ours, window) = (Load::default(), Load::default(), AtomicU64::new(0));
    thread::scope(|scope| {
        let flows = (0..pairs).map(|_| Flow::open(server)).collect();
        scope.spawn(|| send_plainly(&plain, flows, &window));
        let stats = start(scope, &ours, server, transport, pairs, message_bytes);
        let processes = ["self", &server.process()];
        let with = |datagrams| {
            window.store(datagrams, Ordering::Relaxed);
            (plain.measure(time, processes), datagrams)
        };
        let best = WINDOWS.map(with).into_iter().max_by(|one, other| one.0[0].total_cmp(&other.0[0]));
        let best = best.unwrap().1;
        let (mut plains, mut all) = (vec![with(best).0], Vec::new());
        for _ in 0..rounds {
            all.push(ours.measure(time, processes));
            plains.push(with(best).0);
        }
        for load in [&plain, &ours] {
            load.is_over.store(true, Ordering::Relaxed);
        }
        let Stats { packets_sent, packets_received, chunks_retransmitted, .. } = stats.join().unwrap();
        let beside = all.iter().zip(plains.windows(2));
        let mut ratios: Vec<f64> =
            beside.map(|(it, around)| 200.0 * it[0] / (around[0][0] + around[1][0])).collect();
        ratios.sort_by(f64::total_cmp);
        let mean = |of: &[[f64; 3]], what: usize| of.iter().map(|it| it[what]).sum::<f64>() / of.len() as f64;
        println!(
            "{transport}, {pairs} pairs, {message_bytes} B: {:.0} % ({:.0} to {:.0}), {:.0} of {:.0} MB/s; {:.1} packets a SACK, {chunks_retransmitted} \
             chunks sent again; cores of both ends {:.2} (plain {:.2}), of the server {:.2} ({:.2})",
            ratios[rounds / 2],
            ratios[0],
            ratios[rounds - 1],
            mean(&all, 0),
            mean(&plains, 0),
            packets_sent as f64 / packets_received as f64,
            mean(&all, 1),
            mean(&plains, 1),
            mean(&all, 2),
            mean(&plains, 2),
        );
    });
}

/// A load at full speed while it runs.
#[derive(Default)]
struct Load {
    runs: AtomicBool,
    is_over: AtomicBool,
    /// Payload received.
    bytes: AtomicU64,
}

impl Load {
    fn runs(&self) -> bool {
        self.runs.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// MB received per second, and the cores used by these processes meanwhile.
    fn measure(&self, time: Duration, processes: [&str; 2]) -> [f64; 3] {
        let at = || {
            [
                self.bytes.load(Ordering::Relaxed) as f64 / 1e6,
                processor_seconds(processes[0]),
                processor_seconds(processes[1]),
            ]
        };
        self.runs.store(true, Ordering::Relaxed);
        thread::sleep(WARM_UP);
        let (from, before) = (Instant::now(), at());
        thread::sleep(time);
        let (after, spent) = (at(), from.elapsed().as_secs_f64());
        self.runs.store(false, Ordering::Relaxed);
        thread::sleep(REST);
        [0, 1, 2].map(|which| (after[which] - before[which]) / spent)
    }
}

/// Pairs of peers, each with one relayed side; returns the bytes counted there.
fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    load: &'scope Load,
    server: &Coturn,
    transport: &str,
    pairs: usize,
    message_bytes: usize,
) -> thread::ScopedJoinHandle<'scope, Stats> {
    let (offers, incoming) = mpsc::channel::<String>();
    let (answers, outgoing) = mpsc::channel::<String>();
    let bind = |settings| Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
    let settings = server.relayed_by(&server.url(transport), "password");
    let (mut here, mut there) = (bind(settings), bind(tuned()));
    thread::Builder::new()
        .name("sink".to_owned())
        .spawn_scoped(scope, move || {
            let mut handler = On(
                |_: &mut Connection<'_>, _| {},
                |_: &mut Connection<'_>, message: Message| {
                    load.bytes.fetch_add(message.data.len() as u64, Ordering::Relaxed);
                },
            );
            loop {
                match incoming.try_recv() {
                    Ok(offer) => answers.send(there.answer(&offer).unwrap().1).unwrap(),
                    // The other end has finished.
                    Err(TryRecvError::Disconnected) => break,
                    Err(TryRecvError::Empty) => {}
                }
                there.poll(Some(Duration::from_millis(10)), &mut handler).unwrap();
            }
        })
        .unwrap();
    let mut source = Source { message: vec![7; message_bytes], high_bytes: HIGH_BYTES };
    let all: Vec<ConnectionId> = (0..pairs).map(|_| here.add(Port::Own).unwrap()).collect();
    let (mut opened, begin) = (0, Instant::now());
    for &id in &all {
        here.connection(id).unwrap().create_channel("relayed", ChannelOptions::default()).unwrap();
        while here.connection(id).unwrap().is_gathering() {
            assert!(begin.elapsed() < LONG);
            here.poll(Some(Duration::from_millis(10)), &mut crate::support::Ignore).unwrap();
        }
        offers.send(here.connection(id).unwrap().create_offer(false).unwrap()).unwrap();
        let answer = outgoing.recv().unwrap();
        here.connection(id).unwrap().accept_answer(&answer).unwrap();
    }
    while opened < pairs {
        assert!(begin.elapsed() < LONG);
        let mut count = On(
            |connection: &mut Connection<'_>, event| {
                if let Event::Open(channel) = event {
                    connection.set_buffered_amount_low_threshold(channel, HIGH_BYTES / 2);
                    opened += 1;
                }
            },
            |_: &mut Connection<'_>, _| {},
        );
        here.poll(Some(Duration::from_millis(10)), &mut count).unwrap();
    }
    let run = move || {
        // The other end finishes with this one.
        let _offers = offers;
        let mut ran = false;
        while !load.is_over() {
            let runs = load.runs();
            source.high_bytes = if runs { HIGH_BYTES } else { 0 };
            for &id in all.iter().filter(|_| runs && !ran) {
                source.fill(&mut here.connection(id).unwrap(), ChannelId(0));
            }
            ran = runs;
            here.poll(Some(Duration::from_millis(10)), &mut source).unwrap();
        }
        let each = all.iter().map(|&id| here.connection(id).unwrap().stats().sctp);
        each.reduce(|mut sum, one| {
            sum.packets_sent += one.packets_sent;
            sum.packets_received += one.packets_received;
            sum.chunks_retransmitted += one.chunks_retransmitted;
            sum
        })
        .unwrap()
    };
    thread::Builder::new().name("source".to_owned()).spawn_scoped(scope, run).unwrap()
}

/// A channel at the server towards a local socket.
struct Flow {
    socket: UdpSocket,
    sink: UdpSocket,
    server: SocketAddr,
    /// One that uses it.
    datagram: Vec<u8>,
}

impl Flow {
    fn open(server: &Coturn) -> Self {
        let any = "127.0.0.1:0".parse().unwrap();
        let [socket, sink] = [(); 2].map(|()| UdpSocket::bind(any, &SocketOptions::default()).unwrap());
        let (local, to) = (socket.local_address(), sink.local_address());
        let server = SocketAddr::from(([127, 0, 0, 1], server.port()));
        let begin = Instant::now();
        let time = || StunTime::from_nanos(begin.elapsed().as_nanos() as i64);
        let config = TurnConfig::new(TurnCredentials::new("name", "password"));
        let mut client = TurnClientUdp::allocate(local, server, config);
        let (mut batch, mut has_asked) = (ReceiveBatch::default(), false);
        loop {
            assert!(begin.elapsed() < LONG);
            client.poll(time());
            while let Some(transmit) = client.poll_transmit(time()) {
                socket.send(local, server, &transmit.data, transmit.data.len());
            }
            thread::sleep(Duration::from_millis(5));
            let _ = socket.receive(&mut batch);
            for received in batch.iter() {
                client.recv(Transmit::new(&*received.datagrams, TransportType::Udp, server, local), time());
            }
            client.poll_event();
            if !has_asked && client.relayed_addresses().next().is_some() {
                client.bind_channel(TransportType::Udp, to, time()).unwrap();
                has_asked = true;
            }
            let one = client.send_to(TransportType::Udp, to, [7; DATAGRAM_BYTES], time());
            let one = one.ok().flatten().map(|it| it.build().data);
            if let Some(datagram) = one.filter(|one| one.len() == DATAGRAM_BYTES + 4) {
                return Self { socket, sink, server, datagram };
            }
        }
    }
}

/// Datagrams on channels, at most `window` in flight, so that the server drops none.
fn send_plainly(load: &Load, flows: Vec<Flow>, window: &AtomicU64) {
    const AT_ONCE: usize = 16;
    let pause = || thread::sleep(Duration::from_micros(20));
    let is_over = || load.is_over();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = ReceiveBatch::default();
            while !is_over() {
                let mut arrived = 0;
                for flow in &flows {
                    flow.sink.receive(&mut batch).unwrap();
                    arrived += batch.iter().map(|received| received.datagrams.len() as u64).sum::<u64>();
                }
                match arrived {
                    0 if load.runs() => pause(),
                    0 => thread::sleep(Duration::from_millis(1)),
                    _ => drop(load.bytes.fetch_add(arrived, Ordering::Relaxed)),
                }
            }
        });
        let batches: Vec<Vec<u8>> = flows.iter().map(|flow| flow.datagram.repeat(AT_ONCE)).collect();
        let (mut sent, mut lost, mut moved) = (0, 0, (Instant::now(), 0));
        for (flow, batch) in flows.iter().zip(&batches).cycle() {
            while !is_over() {
                let arrived = load.bytes.load(Ordering::Relaxed) / DATAGRAM_BYTES as u64;
                if moved.1 != sent + arrived {
                    moved = (Instant::now(), sent + arrived);
                } else if moved.0.elapsed() > Duration::from_millis(10) {
                    lost = sent - arrived;
                }
                if load.runs() && sent - arrived - lost.min(sent - arrived) < window.load(Ordering::Relaxed) {
                    break;
                }
                pause();
            }
            if is_over() {
                break;
            }
            let taken =
                flow.socket.send(flow.socket.local_address(), flow.server, batch, flow.datagram.len());
            sent += (taken / flow.datagram.len()) as u64;
        }
    });
}
