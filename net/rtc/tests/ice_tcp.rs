//! ICE over TCP: a peer that connects through the core's own ICE over a stream of this test; and strangers of
//! all kinds.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::core::framing::Framing;
use netdyno_rtc::core::{Arena, PeerConnection as Core};
use netdyno_rtc::{Certificate, ChannelId, ChannelOptions, Config, Event, Kind, PeerState, Settings};

const LONG: Duration = Duration::from_secs(60);

fn endpoint() -> Endpoint {
    let mut settings = Settings::new().unwrap();
    settings.tcp_port = Some(0);
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap()
}

/// The address of the passive candidate in these lines.
fn passive(lines: &[String]) -> SocketAddr {
    let line = lines.iter().find(|line| line.contains(" tcp ") && line.contains(" tcptype passive")).unwrap();
    let words: Vec<_> = line.split(' ').collect();
    format!("{}:{}", words[4], words[5]).parse().unwrap()
}

/// A peer that uses one TCP connection, which its core takes for UDP.
struct Client {
    core: Core,
    arena: Arena,
    stream: TcpStream,
    held: Vec<u8>,
    channel: ChannelId,
    is_open: bool,
    /// Bytes per write.
    pieces: usize,
    /// The first frame sent: a check.
    check: Vec<u8>,
}

impl Client {
    fn new(address: SocketAddr, pieces: usize) -> Self {
        let stream = connected(address);
        let config = Arc::new(Config::new(Arc::new(Certificate::generate().unwrap())));
        let now = Instant::now();
        let mut core = Core::new(config, [7; 32], now).unwrap();
        core.add_local_address(now, stream.local_addr().unwrap());
        let channel = core.create_channel(now, "by tcp", ChannelOptions::default()).unwrap();
        let (arena, held, check) = (Arena::default(), Vec::new(), Vec::new());
        Self { core, arena, stream, held, channel, is_open: false, pieces, check }
    }

    /// Through another connection, and so from another local address.
    fn reconnect(&mut self) {
        let remote = self.stream.peer_addr().unwrap();
        self.stream = connected(remote);
        self.held.clear();
        self.core.add_local_address(Instant::now(), self.stream.local_addr().unwrap());
    }

    /// The answer with its passive candidate presented as UDP.
    fn signal(&mut self, server: &PeerConnection, restart: bool) {
        let now = Instant::now();
        let offer = self.core.create_offer(now, restart).unwrap();
        // Its UDP candidates are removed.
        let offer = offer.lines().filter(|line| !line.starts_with("a=candidate:")).collect::<Vec<_>>();
        let answer = server.accept_offer(&(offer.join("\r\n") + "\r\n")).unwrap();
        let lines = answer.lines().filter(|line| !line.contains(" udp ")).map(|line| match line {
            line if line.contains(" tcptype passive") => {
                line.replace(" tcp ", " udp ").replace(" tcptype passive", "")
            }
            line => line.to_owned(),
        });
        let answer: Vec<_> = lines.collect();
        self.core.accept_answer(now, &(answer.join("\r\n") + "\r\n")).unwrap();
    }

    fn turn(&mut self) {
        let now = Instant::now();
        self.core.handle_timeout(now);
        while let Some(transmit) = self.core.poll_transmit(now, &mut self.arena, 64) {
            let mut frames = Vec::new();
            for datagram in self.arena.filled(&transmit).chunks(transmit.segment_bytes) {
                Framing::Length.append(datagram, &mut frames);
            }
            if self.check.is_empty() {
                self.check.clone_from(&frames);
            }
            frames.chunks(self.pieces).for_each(|piece| self.stream.write_all(piece).unwrap());
        }
        let mut bytes = [0; 65_536];
        match self.stream.read(&mut bytes) {
            Ok(count) => self.held.extend_from_slice(&bytes[..count]),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)),
        }
        let (local, remote) = (self.stream.local_addr().unwrap(), self.stream.peer_addr().unwrap());
        let mut datagrams = Vec::new();
        let whole = Framing::Length.datagrams(&self.held, usize::MAX, &mut datagrams).unwrap();
        for datagram in datagrams {
            let mut datagram = self.held[datagram].to_vec();
            let length = datagram.len();
            self.core.handle_datagrams(now, local, remote, &mut datagram, length);
        }
        self.held.drain(..whole);
        while let Some(event) = self.core.poll_event() {
            self.is_open |= event == Event::Open(self.channel);
        }
    }

    fn until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + LONG;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "nothing came of it in time");
            self.turn();
        }
    }
}

/// A peer connected to the endpoint over TCP, and their channel.
fn peers(endpoint: &Endpoint, pieces: usize) -> (PeerConnection, Client, DataChannel) {
    let server = PeerConnection::new(endpoint).unwrap();
    let mut client = Client::new(passive(&server.local_candidates()), pieces);
    client.signal(&server, false);
    client.until(|client| client.is_open);
    let mut accepted = None;
    client.until(|_| {
        accepted = server.accept_channel_timeout(Duration::ZERO).unwrap();
        accepted.is_some()
    });
    (server, client, accepted.unwrap())
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    stream
}

/// Messages of all lengths in both directions.
fn exchange(client: &mut Client, channel: &DataChannel) {
    for length in [0, 1, 1200, 100_000] {
        let message: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
        let (now, id) = (Instant::now(), client.channel);
        client.core.send(now, id, Kind::Binary, &message).unwrap();
        let mut seen = None;
        client.until(|_| {
            seen = channel.recv_timeout(Duration::ZERO).unwrap();
            seen.is_some()
        });
        assert_eq!(seen.unwrap().data, message);
        channel.send(&message).unwrap();
        let mut back = None;
        client.until(|client| {
            back = client.core.recv();
            back.is_some()
        });
        assert_eq!(back.unwrap().data, message);
    }
}

#[test]
fn a_peer_that_connects_is_found_wherever_its_frames_are_cut() {
    for pieces in [usize::MAX, 700, 1] {
        let endpoint = endpoint();
        let (server, mut client, channel) = peers(&endpoint, pieces);
        let (address, udp) = (client.stream.peer_addr().unwrap(), endpoint.local_address());
        assert!(address.ip() == udp.ip() && address.port() != udp.port());
        exchange(&mut client, &channel);
        let pair = server.selected_pair().unwrap();
        assert_eq!((pair.local.protocol, pair.remote.protocol), ("tcp", "tcp"));
        assert_eq!(pair.remote.socket_address(), client.stream.local_addr().unwrap());
        // A lost TCP connection is replaced, and data in flight is sent again.
        let message = vec![7; 250_000];
        channel.send(&message).unwrap();
        client.turn();
        client.reconnect();
        client.signal(&server, true);
        let mut seen = None;
        client.until(|client| {
            seen = client.core.recv();
            seen.is_some()
        });
        assert_eq!(seen.unwrap().data, message);
        exchange(&mut client, &channel);
        let remote = server.selected_pair().unwrap().remote;
        assert_eq!(remote.socket_address(), client.stream.local_addr().unwrap());
        server.close();
        client.until(|client| client.core.state() == PeerState::Closed);
    }
}

/// Whether the remote end closes the stream, at once or within a time.
fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

#[test]
fn strangers_are_sent_away() {
    let endpoint = endpoint();
    let server = PeerConnection::new(&endpoint).unwrap();
    let address = passive(&server.local_candidates());
    let offer = server.create_offer().unwrap();
    let ufrag = offer.lines().find_map(|line| line.strip_prefix("a=ice-ufrag:")).unwrap();
    // A check for this connection with invalid integrity.
    let name = format!("{ufrag}:them");
    let mut attributes =
        [&6_u16.to_be_bytes()[..], &(name.len() as u16).to_be_bytes(), name.as_bytes()].concat();
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    let length = (attributes.len() as u16).to_be_bytes();
    let check = [&[0, 1][..], &length, &[0x21, 0x12, 0xa4, 0x42], b"transaction!", &attributes].concat();
    let mut forged = Vec::new();
    Framing::Length.append(&check, &mut forged);
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".repeat(200),
        [&[0, 4][..], b"what"].concat(),
        [&[0xff, 0xff][..], &[0; 9000]].concat(),
        vec![0, 0],
        forged,
    ] {
        let mut stranger = TcpStream::connect(address).unwrap();
        // The stream may be closed before everything is written.
        let _ = stranger.write_all(&bytes);
        assert!(is_closed(&mut stranger, LONG), "{:?}", &bytes[..bytes.len().min(20)]);
    }
    // More silent streams than the limit: the oldest are closed; the latest may still identify itself until
    // its time is over.
    let began = Instant::now();
    let mut silent: Vec<_> = (0..140).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert!(is_closed(&mut silent[0], LONG) && is_closed(&mut silent[11], LONG));
    let last = silent.last_mut().unwrap();
    assert!(!is_closed(last, Duration::from_millis(50)));
    assert!(is_closed(last, LONG) && began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    // Strangers do not block a peer.
    let server = PeerConnection::new(&endpoint).unwrap();
    let mut client = Client::new(address, usize::MAX);
    client.signal(&server, false);
    client.until(|client| client.is_open);
}

/// Browsers connect from each of their networks to each local address. Empty frames are ignored.
#[test]
fn however_many_streams_a_peer_makes_the_one_in_use_stays() {
    let endpoint = endpoint();
    let (server, mut client, channel) = peers(&endpoint, usize::MAX);
    let address = client.stream.peer_addr().unwrap();
    let mut others = Vec::new();
    for _ in 0..40 {
        let mut other = connected(address);
        other.write_all(&client.check).unwrap();
        others.push(other);
        client.turn();
    }
    client.stream.write_all(&[0; 20_000]).unwrap();
    exchange(&mut client, &channel);
    let remote = server.selected_pair().unwrap().remote;
    assert_eq!(remote.socket_address(), client.stream.local_addr().unwrap());
    let mut is_gone = |at: usize| {
        let _ = others[at].read_to_end(&mut Vec::new());
        is_closed(&mut others[at], Duration::from_millis(50))
    };
    assert!(is_gone(0) && !is_gone(39), "the oldest give way");
}

/// Relay-only endpoints do not listen.
#[test]
fn relay_only_endpoints_do_not_listen() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut settings = Settings::new().unwrap();
    (settings.tcp_port, settings.relay_only) = (Some(free.port()), true);
    let _endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
    assert_eq!(TcpStream::connect(free).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_port_that_cannot_be_had_is_named() {
    let endpoint = endpoint();
    let taken = passive(&PeerConnection::new(&endpoint).unwrap().local_candidates());
    let mut settings = Settings::new().unwrap();
    settings.tcp_port = Some(taken.port());
    let error = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings.clone()).unwrap_err().to_string();
    assert!(error.contains(&format!("TCP port {taken}")) && error.contains("tcp_port"), "{error}");
    // The two ports could not be distinguished.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    settings.tcp_port = Some(free.port());
    let error = Endpoint::bind(free, settings).unwrap_err().to_string();
    assert!(error.contains("different from the UDP port"), "{error}");
}
