//! The attacks. All use one address that differs from that of the honest clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use netdyno_mjpeg::rtp::Ssrc;
use netdyno_mjpeg::rtp::rtcp::CompoundWriter;

use crate::client::{Client, stream_from};

const ADDRESS: [u8; 4] = [127, 0, 0, 66];
pub(crate) const ADDRESS_TEXT: &str = "127.0.0.66:";
/// More connections than the server accepts from one host.
const MANY: usize = 40;
/// Pause between the steps of an attack that is not a flood.
const PAUSE: Duration = Duration::from_millis(10);

/// The addresses of the server.
pub(crate) struct Target {
    pub(crate) rtsp: SocketAddr,
    pub(crate) rtcp: SocketAddr,
}

/// The server's report of an attack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Evidence {
    /// A message with the attacker's address and this text.
    Remark(&'static str),
    /// A counter above 0.
    Counter(&'static str),
}

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Target, &AtomicBool),
    pub(crate) evidence: Evidence,
}

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "flood of empty interleaved packets",
        run: packet_flood,
        evidence: Evidence::Remark("message flood"),
    },
    Attack { name: "flood of requests", run: request_flood, evidence: Evidence::Remark("message flood") },
    Attack {
        name: "flood of requests without reading",
        run: unread_flood,
        evidence: Evidence::Remark("accepted no data"),
    },
    Attack { name: "slow writers", run: slow_writers, evidence: Evidence::Remark("too many connections") },
    Attack { name: "slow readers", run: slow_readers, evidence: Evidence::Remark("accepted no data") },
    Attack { name: "huge Content-Length", run: huge_body, evidence: Evidence::Remark("status 413") },
    Attack { name: "oversized request", run: oversized_request, evidence: Evidence::Remark("status 400") },
    Attack { name: "half-open connections", run: half_open, evidence: Evidence::Remark("without a request") },
    Attack { name: "port scan", run: port_scan, evidence: Evidence::Remark("without a request") },
    Attack {
        name: "RTCP of another source",
        run: spoofed_rtcp,
        evidence: Evidence::Counter("foreign_datagrams"),
    },
    Attack { name: "closed UDP ports", run: closed_ports, evidence: Evidence::Remark("started over UDP") },
];

const OPTIONS: &[u8] = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n";

fn is_stopped(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

fn connect(target: &Target) -> TcpStream {
    stream_from(ADDRESS, target.rtsp)
}

/// Writes without blocking and returns whether the connection is open.
fn write_some(stream: &mut TcpStream, bytes: &[u8], offset: &mut usize) -> bool {
    match stream.write(&bytes[*offset..]) {
        Ok(count) => *offset = (*offset + count) % bytes.len(),
        Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
        Err(_) => return false,
    }
    true
}

/// Writes a message repeatedly on several connections, and reads responses if `reads`.
fn flood(target: &Target, stop: &AtomicBool, message: &[u8], reads: bool) {
    let bytes = message.repeat(1024);
    let mut streams: Vec<_> = (0..8).map(|_| (connect(target), 0)).collect();
    let mut sink = vec![0; 64 << 10];
    for (stream, _) in &streams {
        stream.set_nonblocking(true).unwrap();
    }
    while !is_stopped(stop) {
        for (stream, offset) in &mut streams {
            if reads {
                while stream.read(&mut sink).is_ok_and(|count| count > 0) {}
            }
            if !write_some(stream, &bytes, offset) {
                thread::sleep(PAUSE);
            }
        }
    }
}

fn packet_flood(target: &Target, stop: &AtomicBool) {
    flood(target, stop, b"$\0\0\0", false);
}

fn request_flood(target: &Target, stop: &AtomicBool) {
    flood(target, stop, OPTIONS, true);
}

fn unread_flood(target: &Target, stop: &AtomicBool) {
    flood(target, stop, OPTIONS, false);
}

fn slow_writers(target: &Target, stop: &AtomicBool) {
    let mut streams: Vec<_> = (0..MANY).map(|_| connect(target)).collect();
    let mut bytes = OPTIONS.iter().take(OPTIONS.len() - 2).chain(std::iter::repeat(&b'a'));
    while !is_stopped(stop) {
        let byte = *bytes.next().unwrap();
        // The server closes the connections beyond the limit.
        streams.retain_mut(|stream| stream.write_all(&[byte]).is_ok());
        thread::sleep(10 * PAUSE);
    }
}

fn slow_readers(target: &Target, stop: &AtomicBool) {
    let play = |_| {
        let mut client = Client::connect_from(ADDRESS, target.rtsp);
        client.play_tcp();
        client
    };
    let clients: Vec<_> = (0..20).map(play).collect();
    while !is_stopped(stop) {
        thread::sleep(PAUSE);
    }
    drop(clients);
}

/// Sends bytes on a new connection and waits until the server has closed it.
fn send_and_wait(target: &Target, stop: &AtomicBool, bytes: &[u8]) {
    while !is_stopped(stop) {
        let mut stream = connect(target);
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.read_to_end(&mut Vec::new());
        thread::sleep(PAUSE);
    }
}

fn huge_body(target: &Target, stop: &AtomicBool) {
    let head = b"SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4294967295\r\n\r\n";
    send_and_wait(target, stop, &[head, &[b'a'; 64 << 10][..]].concat());
}

fn oversized_request(target: &Target, stop: &AtomicBool) {
    send_and_wait(target, stop, &[&OPTIONS[..OPTIONS.len() - 2], b"X: ", &[b'a'; 64 << 10][..]].concat());
}

fn half_open(target: &Target, stop: &AtomicBool) {
    let mut streams = Vec::new();
    while !is_stopped(stop) {
        let stream = connect(target);
        let _ = stream.shutdown(Shutdown::Write);
        streams.push(stream);
        if streams.len() > MANY {
            streams.remove(0);
        }
        thread::sleep(PAUSE);
    }
}

fn port_scan(target: &Target, stop: &AtomicBool) {
    let socket = UdpSocket::bind((std::net::Ipv4Addr::from(ADDRESS), 0)).unwrap();
    while !is_stopped(stop) {
        drop(connect(target));
        for port in target.rtcp.port() - 1..=target.rtcp.port() {
            let _ = socket.send_to(&[], (target.rtcp.ip(), port));
        }
        thread::sleep(PAUSE / 10);
    }
}

/// BYE and reports of total loss from an address without a session.
fn spoofed_rtcp(target: &Target, stop: &AtomicBool) {
    let socket = UdpSocket::bind((std::net::Ipv4Addr::from(ADDRESS), 0)).unwrap();
    let mut datagram = [0; 64];
    let mut writer = CompoundWriter::new(&mut datagram);
    writer.receiver_report(Ssrc(1), &[]);
    writer.bye(&[Ssrc(1)], None);
    let length = writer.finish();
    while !is_stopped(stop) {
        for _ in 0..100 {
            let _ = socket.send_to(&datagram[..length], target.rtcp);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// UDP sessions whose ports are closed: the server's packets cause ICMP errors.
fn closed_ports(target: &Target, stop: &AtomicBool) {
    let play = |_| {
        let mut client = Client::connect_from(ADDRESS, target.rtsp);
        client.play_udp();
        client.close_ports();
        client
    };
    let clients: Vec<_> = (0..20).map(play).collect();
    while !is_stopped(stop) {
        thread::sleep(PAUSE);
    }
    drop(clients);
}
