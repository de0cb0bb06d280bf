//! What a relay carries: our data channels, and nothing but datagrams.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use netdyno_io::{ReceiveBatch, SocketOptions, UdpSocket};
use netdyno_rtc::Settings;
use netdyno_rtc::blocking::PeerConnection;
use turn_client_proto::api::{Transmit, TurnConfig};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant as StunTime;
use turn_client_proto::types::{TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use crate::coturn::Coturn;
use crate::{LONG, connected, endpoint, gathered};

const TIME: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_secs(1);
/// Of a datagram of ours, as it is at first.
const DATAGRAM_BYTES: usize = 1200;

/// Run it alone, with --release and --nocapture: `cargo test --release -p netdyno-rtc --test turn -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn throughput() {
    let Some(server) = Coturn::start(&[]) else { return };
    let plain = plain(&server);
    println!("datagrams alone {plain:.1} MB/s");
    for transport in ["udp", "tcp", "tls"].into_iter().filter(|&it| it != "tls" || cfg!(feature = "tls")) {
        // Each has one for itself.
        let Some(server) = Coturn::start(&[]) else { return };
        let ours = ours(&server, transport);
        println!("data channels by {transport} {ours:.1} MB/s: {:.0} %", 100.0 * ours / plain);
    }
}

/// Payload of messages, from one who goes by the relay to one who does not.
fn ours(server: &Coturn, transport: &str) -> f64 {
    let settings = server.relayed_by(&server.url(transport), "password");
    let (one, other) = (endpoint(settings), endpoint(Settings::new().unwrap()));
    let (offerer, answerer) = (gathered(&one), PeerConnection::new(&other).unwrap());
    let (here, there) = connected(&offerer, &answerer);
    let message = vec![7; 16_384];
    thread::scope(|scope| {
        // Until it is closed.
        let sender = scope.spawn(|| while here.send(&message).is_ok() {});
        let mut bytes = 0;
        let (begin, mut from) = (Instant::now(), None);
        while begin.elapsed() < WARM_UP + TIME {
            if begin.elapsed() >= WARM_UP && from.is_none() {
                (from, bytes) = (Some(Instant::now()), 0);
            }
            bytes += there.recv_timeout(LONG).unwrap().unwrap().data.len();
        }
        offerer.close();
        sender.join().unwrap();
        bytes as f64 / from.unwrap().elapsed().as_secs_f64() / 1e6
    })
}

/// Payload of datagrams by a channel the same way, the most that arrive.
fn plain(server: &Coturn) -> f64 {
    let any = "127.0.0.1:0".parse().unwrap();
    let [socket, sink] = [(); 2].map(|()| UdpSocket::bind(any, &SocketOptions::default()).unwrap());
    let (local, to) = (socket.local_address(), sink.local_address());
    let address = SocketAddr::from(([127, 0, 0, 1], server.port()));
    let begin = Instant::now();
    let time = || StunTime::from_nanos(begin.elapsed().as_nanos() as i64);
    let config = TurnConfig::new(TurnCredentials::new("name", "password"));
    let mut client = TurnClientUdp::allocate(local, address, config);
    let mut batch = ReceiveBatch::default();
    let mut turn = |client: &mut TurnClientUdp| {
        assert!(begin.elapsed() < LONG);
        client.poll(time());
        while let Some(transmit) = client.poll_transmit(time()) {
            socket.send(local, address, &transmit.data, transmit.data.len());
        }
        thread::sleep(Duration::from_millis(5));
        let _ = socket.receive(&mut batch);
        for received in batch.iter() {
            client.recv(Transmit::new(&*received.datagrams, TransportType::Udp, address, local), time());
        }
        client.poll_event();
    };
    while client.relayed_addresses().next().is_none() {
        turn(&mut client);
    }
    client.bind_channel(TransportType::Udp, to, time()).unwrap();
    let datagram = [7; DATAGRAM_BYTES];
    let wrapped = |client: &mut TurnClientUdp| {
        client.send_to(TransportType::Udp, to, &datagram[..], time()).ok().flatten().map(|it| it.build().data)
    };
    let one = loop {
        turn(&mut client);
        if let Some(one) = wrapped(&mut client).filter(|one| one.len() == DATAGRAM_BYTES + 4) {
            break one;
        }
    };
    let batch = one.repeat(16);
    // The most that arrives, of several rates: beyond what the server can do less arrives.
    let rates = (1..=12).map(|step| f64::from(step) * 50e6);
    let carried = rates.map(|bytes_a_second| {
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let (begin, mut sent) = (Instant::now(), 0.0);
                while begin.elapsed() < STEP {
                    if sent < begin.elapsed().as_secs_f64() * bytes_a_second {
                        sent += socket.send(local, address, &batch, one.len()) as f64;
                    } else {
                        thread::sleep(Duration::from_micros(50));
                    }
                }
            });
            let (begin, mut bytes, mut batch) = (Instant::now(), 0, ReceiveBatch::default());
            while begin.elapsed() < STEP {
                if sink.receive(&mut batch).unwrap() == 0 {
                    thread::sleep(Duration::from_micros(50));
                }
                bytes += batch.iter().map(|received| received.datagrams.len()).sum::<usize>();
            }
            sender.join().unwrap();
            bytes as f64 / STEP.as_secs_f64() / 1e6
        })
    });
    carried.fold(0.0, f64::max)
}
