use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use super::{DatagramBatch, DatagramOptions, DatagramSocket, SendBatch};
use crate::{Interface, ReceiveBatch, SocketOptions, UdpSocket};

/// A group from the range reserved for documentation (RFC 6676).
const GROUP: Ipv4Addr = Ipv4Addr::new(233, 252, 0, 18);

fn waiting() -> DatagramOptions {
    DatagramOptions { wait: Some(Duration::from_secs(60)), reuse_address: true, ..DatagramOptions::default() }
}

fn loopback() -> Interface {
    Interface::list().unwrap().into_iter().find(|one| one.is_loopback).expect("there is a loopback interface")
}

#[test]
fn each_datagram_reaches_its_socket() {
    let (lo, mut buffer) = (loopback(), [0; 64]);
    let unicast = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &waiting()).unwrap();
    let port = unicast.local_address().port();
    let all = DatagramSocket::bind((Ipv4Addr::UNSPECIFIED, port).into(), &waiting()).unwrap();
    let group: SocketAddr = (GROUP, port).into();
    let joined: Vec<_> = (0..2).map(|_| DatagramSocket::join(group, &lo, &waiting()).unwrap()).collect();

    joined[0].send(group, b"to the group").unwrap();
    for socket in &joined {
        let (length, sender) = socket.receive(&mut buffer).unwrap().unwrap();
        assert_eq!((&buffer[..length], sender.port()), (&b"to the group"[..], port));
        assert!(!sender.ip().is_multicast(), "{sender}");
        assert_eq!(socket.receive_now(&mut buffer).unwrap(), None, "once");
    }
    for socket in [&unicast, &all] {
        assert_eq!(socket.receive_now(&mut buffer).unwrap(), None, "no multicast without joining");
    }

    // The most specific binding receives it.
    joined[1].send(unicast.local_address(), b"to one").unwrap();
    assert_eq!(unicast.receive(&mut buffer).unwrap().unwrap().0, 6);
    unicast.send((Ipv4Addr::new(127, 0, 0, 2), port).into(), b"to another").unwrap();
    let received = all.receive(&mut buffer).unwrap().unwrap();
    assert_eq!(received, (10, unicast.local_address()));
    for socket in [&unicast, &all, &joined[0], &joined[1]] {
        assert_eq!(socket.receive_now(&mut buffer).unwrap(), None);
    }
}

#[test]
fn multicast_loopback_can_be_disabled() {
    let (lo, mut buffer) = (loopback(), [0; 8]);
    let listener = DatagramSocket::join((GROUP, 0).into(), &lo, &waiting()).unwrap();
    let quiet = DatagramOptions { multicast_loop: false, ..waiting() };
    let sender = DatagramSocket::join((GROUP, 0).into(), &lo, &quiet).unwrap();
    sender.send(listener.local_address(), b"quiet").unwrap();
    let loud = DatagramSocket::join((GROUP, 0).into(), &lo, &waiting()).unwrap();
    loud.send(listener.local_address(), b"loud").unwrap();
    let mut received = Vec::new();
    while !received.contains(&b"loud".to_vec()) {
        let (length, _) = listener.receive(&mut buffer).unwrap().unwrap();
        received.push(buffer[..length].to_vec());
    }
    // Only this machine is on loopback, and the kernel may deliver there what it would not loop back
    // elsewhere.
    assert!(received.len() <= 2, "{received:?}");
}

#[test]
fn a_receive_times_out_and_ignores_unreachable_ports() {
    let wait = Duration::from_millis(20);
    let options = DatagramOptions { wait: Some(wait), ..DatagramOptions::default() };
    let socket = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let gone = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap().local_address();
    let begin = Instant::now();
    assert_eq!(socket.receive(&mut [0; 8]).unwrap(), None);
    assert!(begin.elapsed() >= wait);
    for _ in 0..3 {
        socket.send(gone, b"anybody?").unwrap();
        assert_eq!(socket.receive(&mut [0; 8]).unwrap(), None);
    }
}

#[test]
fn wait_any_reports_a_ready_socket() {
    let sockets = [(); 3].map(|()| DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &waiting()).unwrap());
    assert_eq!(DatagramSocket::wait_any(&sockets, Duration::from_millis(1)).unwrap(), None);
    for at in [2, 0, 1] {
        sockets[1].send(sockets[at].local_address(), b"you").unwrap();
        assert_eq!(DatagramSocket::wait_any(&sockets, Duration::from_secs(60)).unwrap(), Some(at));
        assert!(sockets[at].receive(&mut [0; 8]).unwrap().is_some());
    }
}

#[test]
fn one_socket_answers_from_many_addresses() {
    let options = SocketOptions { reuse_address: true, only_unicast: true, ..SocketOptions::default() };
    let many = UdpSocket::bind("0.0.0.0:0".parse().unwrap(), &options).unwrap();
    let port = many.local_address().port();
    let asking = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &waiting()).unwrap();
    let (mut batch, mut buffer) = (ReceiveBatch::new(1), [0; 8]);
    for last in 1..=20 {
        let node: SocketAddr = ([127, 9, 9, last], port).into();
        asking.send(node, b"ask").unwrap();
        while many.receive(&mut batch).unwrap() == 0 {
            std::thread::yield_now();
        }
        let local = batch.iter().next().unwrap().local;
        assert_eq!(local, node);
        many.send(local, asking.local_address(), b"answer", 6);
        assert_eq!(asking.receive(&mut buffer).unwrap(), Some((6, node)));
    }
}

#[test]
fn an_unknown_interface_is_reported_with_the_active_ones() {
    let lo = loopback();
    for known in [lo.name.as_str(), "127.0.0.1"] {
        assert_eq!(Interface::find(known).unwrap().index, lo.index);
    }
    for unknown in ["nothing0", "192.0.2.77"] {
        let error = Interface::find(unknown).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(unknown) && text.contains("lo (127.0.0.1)"), "{text}");
    }
}

#[test]
fn a_batch_receives_all_pending_datagrams() {
    let mut batch = DatagramBatch::default();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(socket) = DatagramSocket::bind(address.parse().unwrap(), &waiting()) else {
            continue; // No IPv6 here.
        };
        let short = DatagramOptions { wait: Some(Duration::from_millis(1)), ..waiting() };
        let sender = DatagramSocket::bind(address.parse().unwrap(), &short).unwrap();
        let send = |numbers: std::ops::Range<u8>| {
            numbers.for_each(|number| {
                sender.send(socket.local_address(), &[number; 100][..usize::from(number)]).unwrap()
            });
        };
        let check = |batch: &DatagramBatch, numbers: std::ops::Range<u8>| {
            assert_eq!(batch.len(), numbers.len());
            for ((datagram, from), number) in batch.iter().zip(numbers) {
                assert_eq!((datagram, from), (&[number; 100][..usize::from(number)], sender.local_address()));
            }
        };
        // More than one batch holds, including an empty datagram.
        send(0..40);
        for numbers in [0..16, 16..32, 32..40] {
            assert_eq!(socket.receive_batch_now(&mut batch).unwrap(), numbers.len());
            assert_eq!(batch.is_full(), numbers.len() == 16);
            check(&batch, numbers);
        }
        assert_eq!(socket.receive_batch_now(&mut batch).unwrap(), 0);
        assert!(batch.is_empty());
        // Single datagrams, then many: nothing is lost, and batches soon fill again.
        let mut calls = Vec::new();
        for round in 0..60 {
            let count = if round < 40 { 1 } else { 10 };
            send(0..count);
            let mut seen = 0;
            while seen < count {
                let got = socket.receive_batch(&mut batch).unwrap() as u8;
                check(&batch, seen..seen + got);
                calls.push(got);
                seen += got;
            }
        }
        assert!(calls.len() < 40 + 20 + 2 * 16, "{calls:?}");
        // Nothing arrives.
        assert_eq!(sender.receive_batch(&mut DatagramBatch::default()).unwrap(), 0);
        assert_eq!(sender.receive_batch(&mut batch).unwrap(), 0);
    }
}

#[test]
fn a_batch_arrives_except_for_failed_datagrams() {
    let to = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &waiting()).unwrap();
    let from = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &waiting()).unwrap();
    // Broadcast needs a socket option that is not set.
    let nowhere: SocketAddr = "255.255.255.255:9".parse().unwrap();
    assert!(from.send(nowhere, b"x").is_err());
    let (mut together, mut buffer) = (SendBatch::default(), [0; 64]);
    for (count, lost) in
        [(1, &[][..]), (16, &[]), (16, &[0, 1, 7, 15]), (2, &[1]), (1, &[0]), (3, &[0, 1, 2])]
    {
        assert_eq!(together.first(), None);
        for number in 0..count {
            let remote = if lost.contains(&number) { nowhere } else { to.local_address() };
            together.push(remote, &[number; 32][..usize::from(number)]);
        }
        assert_eq!(together.is_full(), count == 16);
        let mut failed = 0;
        from.send_batch(&mut together, |remote, error| {
            assert_eq!((remote, error.kind()), (nowhere, std::io::ErrorKind::PermissionDenied));
            failed += 1;
        });
        assert_eq!(failed, lost.len());
        for number in (0..count).filter(|number| !lost.contains(number)) {
            let (length, sender) = to.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(
                (&buffer[..length], sender),
                (&[number; 32][..usize::from(number)], from.local_address())
            );
        }
        assert_eq!(to.receive_now(&mut buffer).unwrap(), None);
    }
}
