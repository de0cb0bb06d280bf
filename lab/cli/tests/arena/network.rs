//! Private networks: addresses, counters, rates.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use netdyno_lab_arena::meter::Reading;
use netdyno_lab_arena::{AgentEvent, Arena, ArenaSpec, LinkEnd};
use netdyno_lab_manifest::{Link, Net};
use nix::sys::socket::{setsockopt, sockopt};

use super::trial::*;

/// The difference between two readings of a counter.
fn more(now: &Reading, before: &Reading) -> Option<u64> {
    now.value?.checked_sub(before.value?)
}

#[test]
fn the_loopback_has_a_second_address_and_its_own_counters() {
    if as_root().is_none() {
        return;
    }
    let Some(arena) = open(Net::Loopback) else { return };
    let (local, peer) = arena.addresses(LinkEnd::A);
    assert_eq!((local, local), (peer, arena.addresses(LinkEnd::B).0));
    let script = "cat /proc/net/fib_trie | grep -c 198.18.0.1; cat /proc/net/if_inet6 | wc -l; read x";
    let mut trial = Trial::new(arena, script);
    assert_ne!(trial.line(), "0");
    assert_eq!(trial.line(), "0", "IPv6 addresses");
    let net = trial.arena.net_path(LinkEnd::A).unwrap();
    let bytes = |trial: &mut Trial| {
        trial.role().meter(9, false).unwrap();
        match trial.next() {
            AgentEvent::Meter { id: 9, snapshot } => snapshot.net,
            other => panic!("{other:?}"),
        }
    };
    let before = bytes(&mut trial);
    in_net(&net, || {
        let receiver = std::net::UdpSocket::bind("198.18.0.1:0").unwrap();
        let sender = std::net::UdpSocket::bind("198.18.0.1:0").unwrap();
        assert_eq!(sender.send_to(&[7; 1000], receiver.local_addr().unwrap()).unwrap(), 1000);
        assert_eq!(receiver.recv(&mut [0; 2000]).unwrap(), 1000);
    });
    let after = bytes(&mut trial);
    assert_eq!(more(&after.bytes, &before.bytes), Some(1000 + 8 + 20), "{after:?}");
    assert_eq!(more(&after.packets, &before.packets), Some(1));
    assert_eq!(more(&after.ip_packets, &before.ip_packets), Some(1));
    assert_eq!(after.udp_drops.value, Some(0));
    // Four packets in one segmented send.
    in_net(&net, || {
        let receiver = std::net::UdpSocket::bind("198.18.0.1:0").unwrap();
        let sender = std::net::UdpSocket::bind("198.18.0.1:0").unwrap();
        setsockopt(&receiver, sockopt::UdpGroSegment, &true).unwrap();
        setsockopt(&sender, sockopt::UdpGsoSegment, &1000).unwrap();
        assert_eq!(sender.send_to(&[7; 3500], receiver.local_addr().unwrap()).unwrap(), 3500);
        assert_eq!(receiver.recv(&mut [0; 4000]).unwrap(), 3500);
    });
    let last = bytes(&mut trial);
    assert_eq!(more(&last.packets, &after.packets), Some(1));
    assert_eq!(more(&last.udp_datagrams, &after.udp_datagrams), Some(1));
    assert_eq!(more(&last.ip_packets, &after.ip_packets), Some(4), "{last:?}");
    trial.finish();
}

/// Runs a function in its own thread inside a network namespace.
fn in_net(net: &Path, work: impl FnOnce() + Send) {
    let net = fs::File::open(net).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            nix::sched::setns(net, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            work();
        });
    });
}

#[test]
fn a_veth_pair_connects_both_sides() {
    if as_root().is_none() {
        return;
    }
    let Some(arena) =
        open(Net::Veth(Link { mtu: 1400, rate_bits_per_s: Some(8_000_000), ..Link::default() }))
    else {
        return;
    };
    println!("{}", arena.describe());
    let ((a, b), (b2, a2)) = (arena.addresses(LinkEnd::A), arena.addresses(LinkEnd::B));
    assert_eq!((a, b), (a2, b2));
    let (net_a, net_b) = (arena.net_path(LinkEnd::A).unwrap(), arena.net_path(LinkEnd::B).unwrap());
    let mut trial =
        Trial::with(arena, "cat /sys/class/net/lo/mtu >/dev/null; read x", |launch| launch.side = LinkEnd::B);
    let mut receiver = None;
    in_net(&net_b, || receiver = Some(std::net::UdpSocket::bind((b, 7000)).unwrap()));
    let receiver = receiver.unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut sender = None;
    in_net(&net_a, || sender = Some(std::net::UdpSocket::bind((a, 7001)).unwrap()));
    let sender = sender.unwrap();
    sender.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 2000];
    sender.send_to(b"ping", (b, 7000)).unwrap();
    let (_, from) = receiver.recv_from(&mut buffer).unwrap();
    assert_eq!(from.ip(), a);
    receiver.send_to(b"pong", from).unwrap();
    assert_eq!(sender.recv(&mut buffer).unwrap(), 4);
    // 1 MB/s, a bucket of 4 packets, and a queue of 50 KB, which takes about 40 ms to drain.
    const PACKETS: u64 = 34;
    let start = Instant::now();
    for _ in 0..PACKETS {
        sender.send_to(&[0; 1300], (b, 7000)).unwrap();
    }
    for _ in 0..PACKETS {
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1300);
    }
    let took = start.elapsed();
    assert!(took > Duration::from_millis(30), "{took:?}");
    trial.role().meter(1, false).unwrap();
    match trial.next() {
        AgentEvent::Meter { snapshot, .. } => {
            assert!(!snapshot.net.shared_by_roles);
            println!("{snapshot:#?}");
            let bytes = snapshot.net.bytes.value.unwrap();
            assert!((PACKETS * 1342..PACKETS * 1342 + 1000).contains(&bytes), "{bytes}");
        }
        other => panic!("{other:?}"),
    }
    trial.finish();
}

#[test]
fn multicast_reaches_the_other_side_without_naming_an_interface() {
    if as_root().is_none() {
        return;
    }
    for net in [Net::Loopback, Net::Veth(Link::default())] {
        let Some(arena) = open(net) else { return };
        let (net_a, net_b) = (arena.net_path(LinkEnd::A).unwrap(), arena.net_path(LinkEnd::B).unwrap());
        let any = std::net::Ipv4Addr::UNSPECIFIED;
        in_net(&net_b, || {
            let receiver = std::net::UdpSocket::bind((any, 3610)).unwrap();
            receiver.join_multicast_v4(&"224.0.23.0".parse().unwrap(), &any).unwrap();
            receiver.set_read_timeout(Some(PATIENCE)).unwrap();
            in_net(&net_a, || {
                let sender = std::net::UdpSocket::bind((any, 0)).unwrap();
                sender.send_to(b"all", "224.0.23.0:3610").unwrap();
            });
            let (count, from) = receiver.recv_from(&mut [0; 100]).unwrap();
            assert_eq!((count, from.ip()), (3, arena.addresses(LinkEnd::A).0));
        });
    }
}

#[test]
fn a_link_delays_and_drops_packets() {
    const PACKETS: u32 = 2_000;
    let delay = Duration::from_millis(20);
    if as_root().is_none() {
        return;
    }
    let link = Link { delay, loss_ppm: 100_000, ..Link::default() };
    let Some(arena) = open(Net::Veth(link)) else { return };
    println!("{}", arena.describe());
    let (a, b) = arena.addresses(LinkEnd::A);
    let (net_a, net_b) = (arena.net_path(LinkEnd::A).unwrap(), arena.net_path(LinkEnd::B).unwrap());
    let (mut receiver, mut sender) = (None, None);
    in_net(&net_b, || receiver = Some(std::net::UdpSocket::bind((b, 7000)).unwrap()));
    in_net(&net_a, || sender = Some(std::net::UdpSocket::bind((a, 7001)).unwrap()));
    let (receiver, sender) = (receiver.unwrap(), sender.unwrap());
    // Space for all of them, however late they are read.
    nix::sys::socket::setsockopt(&receiver, nix::sys::socket::sockopt::RcvBufForce, &(8 << 20)).unwrap();
    let (mut arrived, mut fastest, mut last) = (0, Duration::MAX, None);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for number in 0..PACKETS {
                let sent_at = begun.elapsed().as_nanos() as u64;
                let packet = [u64::from(number).to_be_bytes(), sent_at.to_be_bytes()].concat();
                sender.send_to(&packet, (b, 7000)).unwrap();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut packet = [0; 16];
        loop {
            match receiver.recv(&mut packet) {
                Ok(_) => {}
                Err(_) if sending.is_finished() => break,
                Err(_) => continue,
            }
            let number = u64::from_be_bytes(packet[..8].try_into().unwrap());
            let sent_at = Duration::from_nanos(u64::from_be_bytes(packet[8..].try_into().unwrap()));
            assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
            (arrived, fastest, last) = (arrived + 1, fastest.min(begun.elapsed() - sent_at), Some(number));
        }
    });
    // The number of losses follows from the seed and has its own test. The additional delay depends on the machine.
    assert!(0 < arrived && arrived < PACKETS, "{arrived} arrived");
    assert!(fastest >= delay, "{fastest:?}");
    let mut trial = Trial::with(arena, "read x", |launch| launch.side = LinkEnd::B);
    trial.role().meter(1, false).unwrap();
    let AgentEvent::Meter { snapshot, .. } = trial.next() else { panic!() };
    let bytes = snapshot.net.bytes;
    assert_eq!(bytes.value, Some(u64::from(arrived) * (16 + 8 + 20)), "{bytes:?}");
    assert!(bytes.source.contains("including IP headers"), "{bytes:?}");
    trial.finish();
}

/// Packets for one mebibyte over TCP on a link, with and without segmentation offload.
#[test]
fn without_offload_the_kernel_splits_segmented_sends() {
    if as_root().is_none() {
        return;
    }
    const BYTES: usize = 1 << 20;
    let packets = |no_gso: bool| {
        let arena = Arena::open(&ArenaSpec { no_gso, ..spec(Net::Veth(Link::default())) }).unwrap();
        assert_eq!(arena.describe().contains("gso_max_segs 1"), no_gso, "{}", arena.describe());
        let (a, b) = arena.addresses(LinkEnd::A);
        let (net_a, net_b) = (arena.net_path(LinkEnd::A).unwrap(), arena.net_path(LinkEnd::B).unwrap());
        let mut trial = Trial::new(arena, "read x");
        let mut listener = None;
        in_net(&net_b, || listener = Some(TcpListener::bind((b, 7000)).unwrap()));
        let mut stream = None;
        in_net(&net_a, || stream = Some(TcpStream::connect((b, 7000)).unwrap()));
        let (mut receiver, from) = listener.unwrap().accept().unwrap();
        assert_eq!(from.ip(), a);
        std::thread::scope(|scope| {
            scope.spawn(|| stream.take().unwrap().write_all(&vec![7; BYTES]).unwrap());
            let mut bytes = Vec::new();
            assert_eq!(receiver.read_to_end(&mut bytes).unwrap(), BYTES);
        });
        trial.role().meter(1, false).unwrap();
        let packets = match trial.next() {
            AgentEvent::Meter { snapshot, .. } => snapshot.net.packets.value.unwrap(),
            other => panic!("{other:?}"),
        };
        trial.finish();
        packets
    };
    let each = (BYTES / 1460) as u64;
    let (with, without) = (packets(false), packets(true));
    assert!(
        without >= each && with < without,
        "{with} with segments, {without} without, {each} at the least"
    );
}
