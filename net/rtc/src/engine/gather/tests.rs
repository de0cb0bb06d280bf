use std::net::SocketAddr;

use netdyno_io::{ReceiveBatch, SocketOptions, UdpSocket};
use netdyno_rtc_core::Event;
use turn_client_proto::stun::types::attribute::{ErrorCode, XorMappedAddress};
use turn_client_proto::stun::types::message::{Message, MessageWriteVec};
use turn_client_proto::stun::types::prelude::*;

use super::super::support::{Side, settings, until};
use super::super::{ConnectionId, Port};
use crate::servers::IceServer;
use crate::settings::Settings;
use crate::switch::PortMember;

/// A STUN server on its own socket that answers on request.
struct Server {
    socket: UdpSocket,
    asked: Vec<(Vec<u8>, SocketAddr)>,
}

impl Server {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap();
        Self { socket, asked: Vec::new() }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_address()
    }

    /// Receives requests; returns their number since the last call.
    fn take(&mut self) -> usize {
        let mut batch = ReceiveBatch::default();
        // Nothing may have arrived.
        let _ = self.socket.receive(&mut batch);
        let mut count = 0;
        for received in batch.iter() {
            for datagram in received.datagrams.chunks(received.segment_bytes) {
                self.asked.push((datagram.to_vec(), received.remote));
                count += 1;
            }
        }
        count
    }

    /// Answers the latest request from `socket`, reporting `seen` as its source.
    fn answer(&self, from: &UdpSocket, seen: SocketAddr) {
        self.say(from, |request| {
            let mut answer = Message::builder_success(request, MessageWriteVec::new());
            answer.add_attribute(&XorMappedAddress::new(seen, request.transaction_id())).unwrap();
            answer.finish()
        });
    }

    /// Answers the latest request with an error.
    fn refuse(&self, code: u16) {
        self.say(&self.socket, |request| {
            let mut answer = Message::builder_error(request, MessageWriteVec::new());
            answer.add_attribute(&ErrorCode::new(code, "no").unwrap()).unwrap();
            answer.finish()
        });
    }

    fn say(&self, from: &UdpSocket, answer: impl FnOnce(&Message<'_>) -> Vec<u8>) {
        let (request, asker) = self.asked.last().unwrap();
        let bytes = answer(&Message::from_bytes(request).unwrap());
        assert_eq!(from.send(from.local_address(), *asker, &bytes, bytes.len()), bytes.len());
    }
}

fn asking(servers: &[&Server]) -> Settings {
    let mut settings = settings();
    settings.ice_servers =
        servers.iter().map(|server| IceServer::stun(format!("stun:{}", server.address()))).collect();
    settings
}

fn candidates(side: &mut Side, id: ConnectionId) -> Vec<String> {
    side.engine.connection(id).unwrap().local_candidates()
}

fn is_gathering(side: &mut Side, id: ConnectionId) -> bool {
    side.engine.connection(id).unwrap().is_gathering()
}

#[test]
fn a_server_s_answer_becomes_a_candidate_of_all_that_use_the_port() {
    let seen: SocketAddr = "192.0.2.99:4321".parse().unwrap();
    let mut server = Server::new();
    let mut side = Side::new(asking(&[&server]));
    let first = side.engine.add(Port::Shared).unwrap();
    let own = side.engine.add(Port::Own).unwrap();
    let offer = side.engine.connection(first).unwrap().create_offer(false).unwrap();
    assert!(!offer.contains("srflx") && !offer.contains("end-of-candidates"), "{offer}");
    let from_port = |server: &Server, port| server.asked.iter().rposition(|(_, asker)| asker.port() == port);
    let shared = side.address().port();
    until(|| {
        side.turn();
        server.take();
        server.asked.len() >= 2 && from_port(&server, shared).is_some()
    });
    let at = from_port(&server, shared).unwrap();
    server.asked.drain(at + 1..);
    server.answer(&server.socket, seen);
    until(|| {
        side.turn();
        !is_gathering(&mut side, first)
    });
    let lines = candidates(&mut side, first);
    let base = side.address();
    let reflexive = lines.iter().find(|line| line.contains("typ srflx")).unwrap();
    let text = format!(" {} {} typ srflx raddr {} rport {} ", seen.ip(), seen.port(), base.ip(), base.port());
    assert!(reflexive.contains(&text), "{reflexive}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    // A later connection on the same port has the candidate from the start; one on its own port does not.
    let later = side.engine.add(Port::Shared).unwrap();
    assert!(!is_gathering(&mut side, later) && is_gathering(&mut side, own));
    let offer = side.engine.connection(later).unwrap().create_offer(false).unwrap();
    assert!(offer.contains("typ srflx") && offer.contains("a=end-of-candidates"), "{offer}");
    assert_eq!(candidates(&mut side, own).len(), 1);
}

#[test]
fn an_answer_that_is_not_the_server_s_changes_nothing() {
    let seen: SocketAddr = "192.0.2.99:4321".parse().unwrap();
    let (mut server, other) = (Server::new(), Server::new());
    let mut side = Side::new(asking(&[&server]));
    let id = side.engine.add(Port::Shared).unwrap();
    until(|| {
        side.turn();
        server.take() > 0
    });
    server.answer(&other.socket, seen);
    // From the right address, for another transaction.
    let (request, asker) = server.asked[0].clone();
    let mut forged = request.clone();
    forged[8..20].copy_from_slice(b"transaction!");
    server.asked.push((forged, asker));
    server.answer(&server.socket, seen);
    for _ in 0..20 {
        side.turn();
    }
    assert!(is_gathering(&mut side, id));
    assert_eq!(candidates(&mut side, id).len(), 1);
    server.asked.push((request, asker));
    server.answer(&server.socket, side.address());
    until(|| {
        side.turn();
        !is_gathering(&mut side, id)
    });
    assert_eq!(candidates(&mut side, id).len(), 1, "no NAT, no candidate");
}

#[test]
fn a_failed_server_is_reported_to_each_connection() {
    let (mut server, mut useful) = (Server::new(), Server::new());
    let mut settings = asking(&[&server, &useful]);
    // No DNS label is that long, so no name server is queried.
    let nobody = format!("turn:{}.example.org", "a".repeat(64));
    settings.ice_servers.push(IceServer::turn(&nobody, "name", "password"));
    let url = settings.ice_servers[0].url.clone();
    let mut side = Side::new(settings);
    for _ in 0..2 {
        let id = side.engine.add(Port::Shared).unwrap();
        until(|| {
            side.turn();
            if server.take() > 0 {
                server.refuse(420);
            }
            if useful.take() > 0 {
                useful.answer(&useful.socket, "192.0.2.99:4321".parse().unwrap());
            }
            !is_gathering(&mut side, id)
        });
        // For a second connection nothing is queried again.
        side.turn();
        let told = std::mem::take(&mut side.log.0);
        let told: Vec<_> = told.iter().filter(|(to, _)| *to == id).map(|(_, event)| event).collect();
        let [Event::ServerFailed { url: unknown, why }, refused, Event::Gathered] = told[..] else {
            panic!("{told:?}")
        };
        assert!(*unknown == nobody && why.contains("check the name"), "{told:?}");
        let Event::ServerFailed { url: refused, why } = refused else { panic!("{told:?}") };
        assert!(*refused == url && why.starts_with(&server.address().to_string()), "{told:?}");
        assert!(why.contains("error 420"), "{told:?}");
        assert_eq!(candidates(&mut side, id).len(), 2);
    }
}

#[test]
fn a_request_is_sent_again_after_half_a_second() {
    let mut server = Server::new();
    let mut side = Side::new(asking(&[&server]));
    let began = std::time::Instant::now();
    until(|| {
        side.turn();
        server.take();
        server.asked.len() == 2
    });
    assert!(began.elapsed() >= std::time::Duration::from_millis(400), "{:?}", began.elapsed());
    assert_eq!(server.asked[0], server.asked[1]);
}

#[test]
fn a_stated_address_is_offered_at_once_and_none_of_ours_where_all_is_relayed() {
    let mut settings = settings();
    settings.public_addresses = vec!["203.0.113.5".parse().unwrap(), "2001:db8::5".parse().unwrap()];
    let mut side = Side::new(settings.clone());
    let id = side.engine.add(Port::Shared).unwrap();
    let port = side.address().port();
    let lines = candidates(&mut side, id);
    assert!(lines.len() == 2 && lines[1].contains(&format!(" 203.0.113.5 {port} typ srflx ")), "{lines:?}");
    // The TCP port is offered too, behind it.
    settings.tcp_port = Some(0);
    let mut side = Side::new(settings.clone());
    let id = side.engine.add(Port::Own).unwrap();
    let (port, lines) = (side.engine.tcp_port.unwrap(), candidates(&mut side, id));
    let [_, host, _, seen] = &lines[..] else { panic!("{lines:?}") };
    assert!(host.contains(&format!(" 127.0.0.1 {port} typ host tcptype passive ")), "{host}");
    let end = format!(" 203.0.113.5 {port} typ srflx raddr 127.0.0.1 rport {port} tcptype passive ");
    assert!(seen.contains(" tcp ") && seen.contains(&end), "{seen}, not {end}");
    settings.relay_only = true;
    let mut side = Side::new(settings);
    let id = side.engine.add(Port::Shared).unwrap();
    assert!(candidates(&mut side, id).is_empty());
}

#[test]
fn own_ports_are_those_of_the_range_as_long_as_there_are_any() {
    let free = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap();
    let taken = free.local_address().port();
    // Ports used by other programs are skipped like this one.
    let first = taken.min(u16::MAX - 8);
    let mut settings = settings();
    settings.ports = Some(first..=first + 8);
    let mut side = Side::new(settings);
    let mut opened = 0;
    let error = loop {
        match side.engine.add(Port::Own) {
            Ok(id) => {
                let line = candidates(&mut side, id).remove(0);
                let port: u16 = line.split(' ').nth(5).unwrap().parse().unwrap();
                assert!((first..=first + 8).contains(&port) && port != taken, "{line}");
                opened += 1;
            }
            Err(error) => break error.to_string(),
        }
    };
    assert!(opened <= 8 && error.contains("allow more with `ports`"), "{opened}: {error}");
}

/// Both query from one address, and the kernel delivers all responses to one of them.
#[test]
fn each_of_several_reactors_at_one_port_has_its_answer() {
    let seen: SocketAddr = "192.0.2.99:4321".parse().unwrap();
    let mut server = Server::new();
    let members = PortMember::group(2).into_iter();
    let mut sides: Vec<Side> = members.map(|member| Side::at(asking(&[&server]), Some(member))).collect();
    let ids: Vec<_> = sides.iter_mut().map(|side| side.engine.add(Port::Shared).unwrap()).collect();
    until(|| {
        for side in &mut sides {
            side.turn();
        }
        for _ in 0..server.take() {
            let last = server.asked.len() - 1;
            (0..=last).for_each(|_| {
                server.asked.rotate_left(1);
                server.answer(&server.socket, seen);
            });
        }
        sides.iter_mut().zip(&ids).all(|(side, &id)| !is_gathering(side, id))
    });
    for (side, &id) in sides.iter_mut().zip(&ids) {
        assert!(candidates(side, id).iter().any(|line| line.contains("typ srflx")));
    }
}

/// Debug output of an endpoint contains no server password.
#[test]
fn debug_output_contains_no_password() {
    let server = Server::new();
    let mut settings = settings();
    settings.ice_servers = vec![IceServer::turn(format!("turn:{}", server.address()), "a name", "a secret")];
    let mut side = Side::new(settings);
    let id = side.engine.add(Port::Shared).unwrap();
    until(|| {
        side.turn();
        side.engine.gathering.relays.len() == 1
    });
    assert!(is_gathering(&mut side, id));
    let text = format!("{:?}", side.engine);
    assert!(!text.contains("a secret"), "{text}");
}
