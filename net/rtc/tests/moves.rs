//! A NAT gives a client another port, on the loopback interface: the server follows the client's data.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "support/mod.rs"]
mod support;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::ChannelOptions;
use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use support::{PATIENCE, settings};

/// Peers of the server, among which it must find the right one.
const OTHERS: usize = 8;

fn socket() -> Arc<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    socket.into()
}

/// A NAT between a client and a server, each of which sees it as the other.
struct Nat {
    inside: Arc<UdpSocket>,
    outside: Mutex<Arc<UdpSocket>>,
    client: Mutex<Option<SocketAddr>>,
    server: SocketAddr,
    delay: Duration,
    /// Drops the client's checks.
    shuts_checks: AtomicBool,
    is_over: AtomicBool,
}

impl Nat {
    fn start(server: SocketAddr, delay: Duration) -> Arc<Self> {
        let nat = Arc::new(Self {
            inside: socket(),
            outside: Mutex::new(socket()),
            client: Mutex::default(),
            server,
            delay,
            shuts_checks: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        for inwards in [false, true] {
            let nat = Arc::clone(&nat);
            thread::spawn(move || nat.carry(inwards));
        }
        nat
    }

    /// Uses another port; datagrams to the old one are lost.
    fn rebind(&self) {
        *self.outside.lock().unwrap() = socket();
    }

    /// Receives from one side and forwards to the other when due.
    fn carry(self: &Arc<Self>, inwards: bool) {
        let (queue, due) = channel::<(Instant, Vec<u8>)>();
        let nat = Arc::clone(self);
        thread::spawn(move || {
            for (at, bytes) in due {
                thread::sleep(at.saturating_duration_since(Instant::now()));
                if !inwards {
                    let _ = nat.outside.lock().unwrap().send_to(&bytes, nat.server);
                } else if let Some(client) = *nat.client.lock().unwrap() {
                    // A NAT drops what arrives before the client has sent anything: the server may check first.
                    let _ = nat.inside.send_to(&bytes, client);
                }
            }
        });
        let mut bytes = vec![0; 65_536];
        while !self.is_over.load(Ordering::Relaxed) {
            let from =
                if inwards { Arc::clone(&self.outside.lock().unwrap()) } else { Arc::clone(&self.inside) };
            let Ok((length, source)) = from.recv_from(&mut bytes) else { continue };
            let at = Instant::now() + self.delay;
            if !inwards {
                *self.client.lock().unwrap() = Some(source);
                if bytes[..2] == [0, 1] && self.shuts_checks.load(Ordering::Relaxed) {
                    continue;
                }
            }
            queue.send((at, bytes[..length].to_vec())).unwrap();
        }
    }

    /// A description with this address only.
    fn stands_in(&self, description: &str, at: SocketAddr) -> String {
        let lines = description.lines().filter(|line| !line.starts_with("a=candidate"));
        let lines: String = lines.map(|line| format!("{line}\r\n")).collect();
        format!("{lines}a=candidate:1 1 udp 2130706431 127.0.0.1 {} typ host\r\n", at.port())
    }
}

struct Pair {
    _peers: [PeerConnection; 2],
    channels: [DataChannel; 2],
}

fn connect(client: &Endpoint, server: &Endpoint, nat: Option<&Nat>) -> Pair {
    let [near, far] = [client, server].map(|endpoint| PeerConnection::new(endpoint).unwrap());
    let here = near.create_channel("moves", ChannelOptions::default()).unwrap();
    let mut offer = near.create_offer().unwrap();
    if let Some(nat) = nat {
        offer = nat.stands_in(&offer, nat.outside.lock().unwrap().local_addr().unwrap());
    }
    let mut answer = far.accept_offer(&offer).unwrap();
    if let Some(nat) = nat {
        answer = nat.stands_in(&answer, nat.inside.local_addr().unwrap());
    }
    near.accept_answer(&answer).unwrap();
    assert!(near.wait_connected_timeout(PATIENCE).unwrap());
    let there = far.accept_channel_timeout(PATIENCE).unwrap().unwrap();
    Pair { _peers: [near, far], channels: [here, there] }
}

fn carry(from: &DataChannel, to: &DataChannel, text: &str) {
    from.send_text(text).unwrap();
    assert_eq!(to.recv_timeout(PATIENCE).unwrap().unwrap().text(), Some(text));
}

/// No check of the client reaches the server after the change: only its data shows the new address.
#[test]
fn a_client_is_followed_by_its_data() {
    let server = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    let client = || Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    let clients: Vec<Endpoint> = (0..OTHERS).map(|_| client()).collect();
    let others: Vec<Pair> = clients.iter().map(|client| connect(client, &server, None)).collect();
    for round_trip_ms in [1, 20, 100] {
        let round_trip = Duration::from_millis(round_trip_ms);
        let nat = Nat::start(server.local_address(), round_trip / 2);
        let client = client();
        let pair = connect(&client, &server, Some(&nat));
        let [here, there] = &pair.channels;
        carry(here, there, "before");
        nat.shuts_checks.store(true, Ordering::Relaxed);
        let mut times: Vec<Duration> = (0..5)
            .map(|_| {
                nat.rebind();
                let begun = Instant::now();
                carry(here, there, "from another port");
                carry(there, here, "to another port");
                begun.elapsed().saturating_sub(round_trip)
            })
            .collect();
        times.sort_unstable();
        println!("round trip {round_trip:?}: followed within {:?}, of five {times:?}", times[2]);
        nat.is_over.store(true, Ordering::Relaxed);
    }
    for pair in &others {
        let [here, there] = &pair.channels;
        carry(here, there, "still there");
        carry(there, here, "still here");
    }
}
