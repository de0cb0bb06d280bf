//! The abusers. Each works until the measurement ends, and pauses so that it does not measure
//! the scheduler.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::core::framing::Framing;
use netdyno_rtc::core::{Arena, PeerConnection as Core};
use netdyno_rtc::{Certificate, ChannelOptions, Config, Reactors};

use super::Echo;

/// Streams that one peer may have.
const STREAMS: usize = 16;
/// Bytes per write of a flood, and the pause after it: 13 MB/s on each stream.
const FLOOD_BYTES: usize = 65_536;
const FLOOD_PAUSE: Duration = Duration::from_millis(5);

/// The endpoint under attack.
pub(crate) struct Target<'a> {
    pub(crate) server: &'a Reactors<Echo>,
    pub(crate) is_over: &'a AtomicBool,
}

impl Target<'_> {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Signals a connection. Returns the TCP address of the answer, the UDP address, and a valid check for it as a
    /// frame.
    fn signal(&self) -> (SocketAddr, SocketAddr, Vec<u8>) {
        let config = Arc::new(Config::new(Arc::new(Certificate::generate().unwrap())));
        let now = Instant::now();
        let mut core = Core::new(config, [7; 32], now).unwrap();
        core.add_local_address(now, "127.0.0.3:9".parse().unwrap());
        core.create_channel(now, "abuse", ChannelOptions::default()).unwrap();
        let (_, answer) = self.server.answer(&core.create_offer(now, false).unwrap()).unwrap();
        let address = |kind: &str| {
            let line =
                answer.lines().find(|line| line.contains("a=candidate") && line.contains(kind)).unwrap();
            let words: Vec<_> = line.split(' ').collect();
            format!("{}:{}", words[4], words[5]).parse().unwrap()
        };
        let (tcp, udp) = (address(" tcp "), address(" udp "));
        core.accept_answer(now, &answer).unwrap();
        core.handle_timeout(now);
        let mut arena = Arena::default();
        let transmit = core.poll_transmit(now, &mut arena, 1).unwrap();
        let mut check = Vec::new();
        Framing::Length.append(arena.filled(&transmit), &mut check);
        (tcp, udp, check)
    }

    /// Streams that a valid check has identified.
    fn identified(&self) -> Vec<TcpStream> {
        let (tcp, _, check) = self.signal();
        let connect = |_| {
            let mut stream = TcpStream::connect(tcp).unwrap();
            stream.write_all(&check).unwrap();
            // The answer: it is identified now.
            stream.read_exact(&mut [0; 2]).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        };
        (0..STREAMS).map(connect).collect()
    }
}

/// Writes the bytes from an offset as far as the socket takes them. Returns the offset after them; `None`: it is
/// closed.
fn write_some(stream: &mut TcpStream, bytes: &[u8], at: usize) -> Option<usize> {
    match stream.write(&bytes[at..]) {
        Ok(count) => Some((at + count) % bytes.len()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(at),
        Err(_) => None,
    }
}

/// Floods with these frames on identified streams, and reads nothing.
fn flood(target: &Target<'_>, frames: &[u8]) {
    let bytes = frames.repeat(FLOOD_BYTES / frames.len());
    let mut streams: Vec<_> = target.identified().into_iter().map(|stream| (stream, 0)).collect();
    while target.goes_on() {
        for (stream, at) in &mut streams {
            *at = write_some(stream, &bytes, *at).unwrap_or(0);
        }
        thread::sleep(FLOOD_PAUSE);
    }
}

pub(crate) fn tiny_frames(target: &Target<'_>) {
    // Lengths 0, 1 and 2, so that no two neighbours can be handled together.
    flood(target, &[0, 0, 0, 1, 7, 0, 2, 7, 7]);
}

pub(crate) fn slow_readers(target: &Target<'_>) {
    let (_, _, check) = target.signal();
    flood(target, &check);
}

pub(crate) fn half_open(target: &Target<'_>) {
    let (tcp, ..) = target.signal();
    let mut silent = Vec::new();
    while target.goes_on() {
        silent.push(TcpStream::connect(tcp).unwrap());
        if silent.len() > 500 {
            silent.remove(0);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn port_scan(target: &Target<'_>) {
    let (tcp, udp, _) = target.signal();
    let socket = UdpSocket::bind("127.0.0.3:0").unwrap();
    while target.goes_on() {
        for port in tcp.port().saturating_sub(20)..tcp.port().saturating_add(20) {
            drop(TcpStream::connect((tcp.ip(), port)));
        }
        socket.send_to(b"", udp).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn announced_lengths(target: &Target<'_>) {
    let (tcp, ..) = target.signal();
    let mut identified = target.identified();
    let mut strangers = Vec::new();
    for stream in &mut identified {
        stream.write_all(&[0xff, 0xff, 7]).unwrap();
    }
    while target.goes_on() {
        let mut stranger = TcpStream::connect(tcp).unwrap();
        let _ = stranger.write_all(&[&[0xff, 0xff][..], &[7; 5000]].concat());
        strangers.push(stranger);
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn slow_writers(target: &Target<'_>) {
    let (tcp, _, check) = target.signal();
    let mut strangers: Vec<_> = (0..100).map(|_| TcpStream::connect(tcp).unwrap()).collect();
    for at in (0..check.len() - 1).cycle() {
        if !target.goes_on() {
            return;
        }
        for stranger in &mut strangers {
            // Some are closed by now.
            let _ = stranger.write_all(&check[at..=at]);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn spoofed_sources(target: &Target<'_>) {
    let (_, udp, _) = target.signal();
    let bind = |number: u8| UdpSocket::bind((Ipv4Addr::new(127, 0, 1, number), 0)).unwrap();
    let sockets: Vec<_> = (1..=200).map(bind).collect();
    // Garbage, a DTLS record, and STUN without attributes.
    let datagrams = [&[0x80; 1200][..], &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0], &[0; 20]];
    while target.goes_on() {
        for socket in &sockets {
            for datagram in datagrams {
                // A full queue loses it.
                let _ = socket.send_to(datagram, udp);
            }
        }
        thread::sleep(FLOOD_PAUSE);
    }
}

pub(crate) fn forged_checks(target: &Target<'_>) {
    let (_, udp, check) = target.signal();
    let mut check = check[2..].to_vec();
    // In MESSAGE-INTEGRITY, which precedes FINGERPRINT.
    let at = check.len() - 12;
    check[at] ^= 1;
    let socket = UdpSocket::bind("127.0.0.3:0").unwrap();
    while target.goes_on() {
        for _ in 0..200 {
            let _ = socket.send_to(&check, udp);
        }
        thread::sleep(FLOOD_PAUSE);
    }
}
