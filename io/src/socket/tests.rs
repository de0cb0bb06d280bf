use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::{EINVAL, EIO, MAX_SEGMENTS, SocketOptions, UdpSocket, refuses_segments};
use crate::options::set_largest_size;
use crate::{DatagramBatch, ReceiveBatch};

/// Sends ICMP "destination unreachable" messages that quote a datagram from `local` to `remote`. `None`: this
/// process may not.
fn unreachable(local: SocketAddr, remote: SocketAddr) -> Option<impl Fn(u8)> {
    use socket2::{Domain, Protocol, Socket, Type};
    let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).ok()?;
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (local, remote) else { return None };
    Some(move |code: u8| {
        // Version and header length, total length; TTL, protocol; addresses.
        let mut quoted = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
        quoted.extend(from.ip().octets().into_iter().chain(to.ip().octets()));
        quoted.extend([from.port().to_be_bytes(), to.port().to_be_bytes(), [0, 8], [0, 0]].concat());
        // Type, code, checksum, unused, next-hop MTU.
        let mut message = [&[3, code, 0, 0, 0, 0, 0x05, 0x00][..], &quoted].concat();
        let words = message.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum = words.sum::<u32>();
        let sum = !(((sum >> 16) + (sum & 0xffff)) as u16);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        raw.send_to(&message, &local.into()).unwrap();
    })
}

/// Every code that Linux reports as an error of the socket. Needs CAP_NET_RAW.
#[test]
fn icmp_messages_do_not_fail_a_receive() {
    let peer = bound("127.0.0.1:0");
    let shared = bound("127.0.0.1:0");
    shared.share_port().unwrap();
    let local = shared.local_address();
    let socket = UdpSocket::for_peer(local, peer.local_address(), &SocketOptions::default()).unwrap();
    let datagrams = socket.datagram_socket();
    let Some(unreachable) = unreachable(local, peer.local_address()) else {
        return eprintln!("not tested: sending ICMP needs CAP_NET_RAW");
    };
    let (mut batch, mut several, mut buffer) = (ReceiveBatch::new(4), DatagramBatch::default(), [0; 100]);
    for code in 0..16 {
        for call in 0..3 {
            unreachable(code);
            match call {
                0 => assert_eq!(socket.receive(&mut batch).unwrap(), 0, "code {code}"),
                1 => assert_eq!(datagrams.receive_now(&mut buffer).unwrap(), None, "code {code}"),
                _ => assert_eq!(datagrams.receive_batch_now(&mut several).unwrap(), 0, "code {code}"),
            }
            // Later datagrams are received.
            assert_eq!(peer.send(peer.local_address(), local, b"later", 5), 5);
            assert_eq!(take(&socket, &mut batch, 1)[0].2, b"later", "code {code}");
        }
    }
}

fn bound(address: &str) -> UdpSocket {
    UdpSocket::bind(address.parse().unwrap(), &SocketOptions::default()).unwrap()
}

/// A datagram of `length` bytes that differs from its neighbours.
fn datagram(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (number * 31 + at) as u8).collect()
}

fn side_by_side(segment_bytes: usize, total: usize) -> Vec<u8> {
    let whole = (0..total.div_ceil(segment_bytes)).flat_map(|number| datagram(number, segment_bytes));
    whole.take(total).collect()
}

/// Receives datagrams, with their addresses, until there are `count`.
fn take(
    socket: &UdpSocket,
    batch: &mut ReceiveBatch,
    count: usize,
) -> Vec<(SocketAddr, SocketAddr, Vec<u8>)> {
    let mut taken = Vec::new();
    // Guards against hanging.
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        socket.receive(batch).unwrap();
        for received in batch.iter() {
            let datagrams = received.datagrams.chunks(received.segment_bytes);
            taken.extend(datagrams.map(|bytes| (received.local, received.remote, bytes.to_vec())));
        }
        if taken.len() >= count {
            return taken;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{} datagrams of {count} arrived", taken.len());
}

#[test]
fn datagram_boundaries_are_preserved() {
    for segmentation in [true, false] {
        for (segment_bytes, total) in [
            (1, 1),
            (1200, 1200),
            (1200, 1201),
            (1200, 12_345),
            (1200, 65_507),
            (16_000, 64_000),
            (100, 20_000),
        ] {
            let (here, there) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
            if !segmentation {
                here.disable_segmentation();
            }
            let bytes = side_by_side(segment_bytes, total);
            let sent = here.send(here.local_address(), there.local_address(), &bytes, segment_bytes);
            assert_eq!(sent, total);
            let expected: Vec<_> = bytes
                .chunks(segment_bytes)
                .map(|datagram| (there.local_address(), here.local_address(), datagram.to_vec()))
                .collect();
            let taken = take(&there, &mut ReceiveBatch::default(), expected.len());
            assert!(taken == expected, "{segment_bytes} of {total}, segmentation {segmentation}");
            assert_eq!(here.send_errors(), 0);
        }
    }
}

#[test]
fn an_idle_socket_is_writable() {
    assert!(bound("127.0.0.1:0").wait_writable(Duration::from_secs(9)).unwrap());
}

#[test]
fn a_group_is_joined() {
    let lo = crate::Interface::find("lo").unwrap();
    let group: SocketAddr = "239.255.77.3:0".parse().unwrap();
    let there =
        UdpSocket::bind(group, &SocketOptions { reuse_address: true, ..SocketOptions::default() }).unwrap();
    there.join(group.ip(), Some(&lo)).unwrap();
    let here = bound("127.0.0.1:0");
    here.set_multicast_interface(&lo).unwrap();
    here.set_multicast_hops(1).unwrap();
    here.send(here.local_address(), there.local_address(), b"hello", 5);
    assert_eq!(take(&there, &mut ReceiveBatch::default(), 1)[0].2, b"hello");
}

#[test]
fn one_call_receives_from_many_peers() {
    let there = bound("127.0.0.1:0");
    let peers: Vec<_> = (0..8).map(|_| bound("127.0.0.1:0")).collect();
    for (number, peer) in peers.iter().enumerate() {
        let bytes: Vec<_> = (0..10).flat_map(|_| datagram(number, 1000)).collect();
        peer.send(peer.local_address(), there.local_address(), &bytes, 1000);
    }
    let mut batch = ReceiveBatch::new(32);
    let taken = take(&there, &mut batch, 80);
    for (number, peer) in peers.iter().enumerate() {
        let of_peer = taken
            .iter()
            .filter(|(_, remote, bytes)| *remote == peer.local_address() && *bytes == datagram(number, 1000));
        assert_eq!(of_peer.count(), 10);
    }
    assert_eq!(there.receive(&mut batch).unwrap(), 0);
    assert!(batch.is_empty() && batch.iter().next().is_none());
}

#[test]
fn a_full_batch_is_reported() {
    let (here, there) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
    let mut batch = ReceiveBatch::new(2);
    // Repeated until two are waiting at once: on a busy machine they may arrive one by one.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !batch.is_full() {
        assert!(Instant::now() < deadline, "never two at once");
        for length in [10, 20, 30] {
            here.send(here.local_address(), there.local_address(), &vec![0; length], length);
        }
        there.receive(&mut batch).unwrap();
        assert_eq!(batch.is_full(), batch.len() == 2);
    }
}

#[test]
fn a_refused_segmented_send_falls_back_to_single_sends() {
    // The kernel refuses segmented sends that the device cannot carry as a whole. Here it refuses more
    // segments than it supports, which the socket is made to attempt.
    let (here, there) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
    let bytes = side_by_side(50, 50 * 200);
    let route = super::Route { source: None, destination: there.local_address() };
    let refused = here.send_once(&route, &bytes, 50).unwrap_err();
    assert!(refuses_segments(&refused), "{refused}");
    let each = |run: Range<usize>| here.send_once(&route, &bytes[run.start * 50..run.end * 50], 50);
    assert_eq!(here.send_singly(0..200, &each), 200);
    assert_eq!(here.max_segments(), 1, "not tried again");
    assert_eq!(take(&there, &mut ReceiveBatch::default(), 200).len(), 200);
}

#[test]
fn a_short_last_datagram_does_not_count_against_segmentation() {
    let (here, there) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
    let segments = here.max_segments();
    let route = super::Route { source: None, destination: there.local_address() };
    // All but the last are longer than a datagram can be.
    let bytes = side_by_side(66_000, 70_000);
    let each =
        |run: Range<usize>| here.send_once(&route, bytes.chunks(66_000).nth(run.start).unwrap(), 66_000);
    assert_eq!(here.send_singly(0..2, &each), 2);
    assert_eq!((here.max_segments(), here.send_errors()), (segments, 1));
    assert_eq!(take(&there, &mut ReceiveBatch::default(), 1)[0].2.len(), 4_000);
}

#[test]
fn unsendable_datagrams_are_dropped_and_counted() {
    // An IPv4 socket cannot reach IPv6.
    let here = bound("127.0.0.1:0");
    let segments = here.max_segments();
    let sent = here.send(here.local_address(), "[::1]:9".parse().unwrap(), &[0; 3000], 1000);
    assert_eq!((sent, here.max_segments()), (3000, segments));
    assert!(here.send_errors() >= 1);
}

#[test]
fn every_address_of_a_wildcard_socket_is_reported() {
    let there = bound("0.0.0.0:0");
    let port = there.local_address().port();
    let here = bound("127.0.0.1:0");
    let (one, two) = (SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([127, 0, 0, 2], port)));
    for to in [one, two] {
        here.send(here.local_address(), to, b"hello", 5);
    }
    let taken = take(&there, &mut ReceiveBatch::default(), 2);
    assert_eq!(taken.iter().map(|(local, ..)| *local).collect::<Vec<_>>(), [one, two]);
    // Answers leave from the address that the request was sent to.
    there.send(two, here.local_address(), b"hello", 5);
    assert_eq!(take(&here, &mut ReceiveBatch::default(), 1)[0].1, two);
}

#[test]
fn an_ipv6_socket_also_supports_ipv4() {
    let Ok(there) = UdpSocket::bind("[::]:0".parse().unwrap(), &SocketOptions::default()) else {
        return; // A machine without IPv6.
    };
    let here = bound("127.0.0.1:0");
    let to = SocketAddr::from(([127, 0, 0, 1], there.local_address().port()));
    here.send(here.local_address(), to, b"hello", 5);
    let (local, remote, _) = take(&there, &mut ReceiveBatch::default(), 1).remove(0);
    assert_eq!((local, remote), (to, here.local_address()));
    assert_eq!(there.send(local, remote, b"back", 4), 4);
    assert_eq!(take(&here, &mut ReceiveBatch::default(), 1)[0].1, to);
}

#[test]
fn buffers_are_as_large_as_the_system_grants() {
    let socket = bound("127.0.0.1:0");
    assert!(socket.receive_buffer_bytes().unwrap() >= 65_536);
    assert!(socket.send_buffer_bytes().unwrap() >= 65_536);
    assert!((1..=MAX_SEGMENTS).contains(&socket.max_segments()));
    let asked = std::cell::RefCell::new(Vec::new());
    set_largest_size(1 << 20, |bytes| {
        asked.borrow_mut().push(bytes);
        if bytes > 300_000 { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
    })
    .unwrap();
    assert_eq!(asked.into_inner(), [1 << 20, 1 << 19, 1 << 18]);
}

#[test]
fn only_two_errors_disable_segmentation() {
    for (code, refuses) in [(EIO, true), (EINVAL, true), (90, false), (101, false)] {
        assert_eq!(refuses_segments(&io::Error::from_raw_os_error(code)), refuses);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_is_shared_and_a_peer_steered() {
    for (bind, host) in
        [("127.0.0.1:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.1"), ("[::]:0", "127.0.0.1"), ("[::]:0", "::1")]
    {
        let first = bound(bind);
        let beside = SocketOptions { reuse_port: true, ..SocketOptions::default() };
        let refused = |options| UdpSocket::bind(first.local_address(), options).is_err();
        assert!(refused(&beside), "the port is not shared");
        first.share_port().unwrap();
        assert!(refused(&SocketOptions::default()), "not shared with sockets without the option");
        let second = UdpSocket::bind(first.local_address(), &beside).unwrap();
        assert_eq!(second.local_address(), first.local_address());

        let address = SocketAddr::new(host.parse().unwrap(), first.local_address().port());
        let peers: Vec<UdpSocket> =
            (0..32).map(|_| bound(&SocketAddr::new(address.ip(), 0).to_string())).collect();
        let one = peers[0].local_address();
        let steered = UdpSocket::for_peer(address, one, &SocketOptions::default()).unwrap();
        let mut batch = ReceiveBatch::default();
        for round in 0..3 {
            for peer in &peers {
                peer.send(peer.local_address(), address, &[round], 1);
            }
            assert_eq!(
                take(&steered, &mut batch, 1),
                [(address, one, vec![round])],
                "delivered only to the steered socket"
            );
        }
        let mut others = Vec::new();
        while others.len() < 3 * 31 {
            for socket in [&first, &second] {
                socket.receive(&mut batch).unwrap();
                others.extend(batch.iter().map(|received| (received.local, received.remote)));
            }
        }
        assert!(others.iter().all(|&(local, remote)| local == address && remote != one));

        drop(steered);
        peers[0].send(one, address, &[9], 1);
        while [&first, &second].iter().all(|socket| socket.receive(&mut batch).unwrap() == 0) {
            thread::yield_now();
        }
        assert_eq!(batch.iter().next().unwrap().remote, one);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn steering_requires_the_address_that_answers() {
    let (socket, peer) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
    socket.share_port().unwrap();
    let other = SocketAddr::from(([127, 0, 0, 2], socket.local_address().port()));
    let error = UdpSocket::for_peer(other, peer.local_address(), &SocketOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not from 127.0.0.2"), "{error}");
}
