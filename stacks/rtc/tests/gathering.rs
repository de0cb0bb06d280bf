//! Candidates from servers, in descriptions and events.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::config;
use netdyno_rtc_core::{Arena, Config, Event, PeerConnection, PeerState, RelayProtocol};

const HOST: &str = "192.0.2.1:5000";
const SEEN: &str = "203.0.113.7:7000";
const RELAYED: &str = "198.51.100.9:50000";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn peer(config: Config) -> (PeerConnection, Instant) {
    let now = Instant::now();
    let mut peer = PeerConnection::new(Arc::new(config), [7; 32], now).unwrap();
    peer.add_local_address(now, address(HOST));
    (peer, now)
}

fn told(peer: &mut PeerConnection) -> Vec<Event> {
    std::iter::from_fn(|| peer.poll_event()).collect()
}

#[test]
fn early_candidates_are_in_the_offer_and_later_ones_are_trickled() {
    let (mut peer, now) = peer(config(0));
    peer.set_gathering(now, true);
    peer.add_reflexive_address(now, address(SEEN), address(HOST));
    assert!(told(&mut peer).is_empty(), "nobody knows of us yet");
    let offer = peer.create_offer(now, false).unwrap();
    assert!(offer.contains(" 203.0.113.7 7000 typ srflx raddr 192.0.2.1 rport 5000\r\n"), "{offer}");
    assert!(!offer.contains("end-of-candidates"), "{offer}");

    for _ in 0..2 {
        peer.add_relayed_address(now, address(RELAYED), RelayProtocol::Udp);
        // Neither adds a candidate.
        peer.add_reflexive_address(now, address(HOST), address(HOST));
        peer.add_reflexive_address(now, address("0.0.0.0:1"), address(HOST));
    }
    peer.set_gathering(now, false);
    peer.set_gathering(now, false);
    let events = told(&mut peer);
    let [Event::Candidate(line), Event::Gathered] = &events[..] else { panic!("{events:?}") };
    assert!(line.contains(" 198.51.100.9 50000 typ relay raddr 0.0.0.0 rport 0 ufrag "), "{line}");
    assert_eq!(line, peer.local_candidates().last().unwrap());
    assert!(peer.create_offer(now, false).unwrap().contains("a=end-of-candidates\r\n"));

    // The better the path, the higher the priority; foundations differ.
    let words = |line: &String, at: usize| line.split(' ').nth(at).unwrap().to_owned();
    let lines = peer.local_candidates();
    let priorities: Vec<u32> = lines.iter().map(|line| words(line, 3).parse().unwrap()).collect();
    assert!(priorities.is_sorted_by(|a, b| a > b), "{lines:?}");
    let mut foundations: Vec<_> = lines.iter().map(|line| words(line, 0)).collect();
    foundations.dedup();
    assert_eq!(foundations.len(), 3, "{lines:?}");
}

/// RFC 8445 section 5.1.2.1: the transport to the server determines the order, not the time of discovery.
#[test]
fn relays_over_udp_precede_tcp_and_tls() {
    let (mut peer, now) = peer(config(0));
    let ways = [RelayProtocol::Tls, RelayProtocol::Udp, RelayProtocol::Tcp, RelayProtocol::Udp];
    for (port, way) in (1..).zip(ways) {
        // From one server, so that they differ in nothing else.
        peer.add_relayed_address(now, SocketAddr::new(address(RELAYED).ip(), port), way);
    }
    let mut relays = peer.report().local_candidates;
    assert_eq!(relays.remove(0).relay_protocol, None);
    relays.sort_by_key(|relay| std::cmp::Reverse(relay.priority));
    let told: Vec<_> = relays.iter().map(|relay| (relay.relay_protocol.unwrap(), relay.port)).collect();
    assert_eq!(told, [("udp", 2), ("udp", 4), ("tcp", 3), ("tls", 1)]);
    assert!(relays.is_sorted_by(|a, b| a.priority > b.priority), "{relays:?}");
    // RFC 8445 section 5.1.1.3: from one server, over one transport.
    let foundations: Vec<_> = relays.iter().map(|relay| &relay.foundation).collect();
    assert!(
        foundations[0] == foundations[1] && foundations[1..].is_sorted_by(|a, b| a != b),
        "{foundations:?}"
    );
    assert!(relays.iter().all(|relay| relay.priority >> 24 == 2), "the type's preference: {relays:?}");
}

/// An application that does not trickle waits, and sends the description as it is then.
#[test]
fn the_description_contains_later_candidates() {
    let (mut offerer, now) = peer(config(0));
    let mut answerer = PeerConnection::new(Arc::new(config(1)), [8; 32], now).unwrap();
    answerer.add_local_address(now, address(SEEN));
    assert_eq!(offerer.local_description(), None);
    offerer.create_channel(now, "a", Default::default()).unwrap();
    for peer in [&mut offerer, &mut answerer] {
        peer.set_gathering(now, true);
    }
    let offer = offerer.create_offer(now, false).unwrap();
    assert_eq!(offerer.local_description().as_ref(), Some(&offer));
    let answer = answerer.accept_offer(now, &offer).unwrap();
    for (peer, before) in [(&mut offerer, offer), (&mut answerer, answer)] {
        peer.add_relayed_address(now, address(RELAYED), RelayProtocol::Udp);
        peer.set_gathering(now, false);
        // The same, including its version, except for the candidate and the end.
        let after = peer.local_description().unwrap();
        let news: Vec<_> = after.lines().filter(|line| !before.contains(line)).collect();
        assert!(before.lines().all(|line| after.contains(line)), "{before}{after}");
        assert!(news.len() == 2 && news[0].contains(" typ relay "), "{news:?}");
        assert_eq!(news[1], "a=end-of-candidates");
    }
    offerer.rollback(now).unwrap();
    assert_eq!(offerer.local_description(), None);
}

/// RFC 8445 section 5.2: a lite agent has host candidates only.
#[test]
fn a_lite_side_offers_reflexive_addresses_as_host_candidates() {
    let mut lite = config(0);
    lite.ice_lite = true;
    let (mut peer, now) = peer(lite);
    peer.add_reflexive_address(now, address(SEEN), address(HOST));
    peer.add_relayed_address(now, address(RELAYED), RelayProtocol::Udp);
    let lines = peer.local_candidates();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains(" 203.0.113.7 7000 typ host ufrag "), "{lines:?}");
}

#[test]
fn local_candidates_are_bounded() {
    let (mut peer, now) = peer(config(0));
    for port in 1..=200 {
        peer.add_relayed_address(now, SocketAddr::new(address(RELAYED).ip(), port), RelayProtocol::Udp);
    }
    assert_eq!(peer.local_candidates().len(), 64);
}

/// One side uses a relay, the other does not: each sends to the other's address, also after an ICE restart.
#[test]
fn a_relayed_address_can_carry_the_connection() {
    let (mut near, mut now) = peer(config(0));
    let mut far = PeerConnection::new(Arc::new(config(1)), [8; 32], now).unwrap();
    far.add_local_address(now, address(SEEN));
    near.create_channel(now, "relayed", Default::default()).unwrap();
    let mut arena = Arena::default();
    for restart in [false, true] {
        let offer = near.create_offer(now, restart).unwrap();
        let answer = far.accept_offer(now, &offer).unwrap();
        near.accept_answer(now, &answer).unwrap();
        near.add_relayed_address(now, address(RELAYED), RelayProtocol::Udp);
        for line in near.local_candidates() {
            far.add_remote_candidate(now, &line).unwrap();
        }
        let mut by_relay = 0;
        for _ in 0..2000 {
            now += Duration::from_millis(1);
            let sides = [&mut near, &mut far];
            for side in 0..2 {
                sides[side].handle_timeout(now);
                while let Some(transmit) = sides[side].poll_transmit(now, &mut arena, 64) {
                    // The host address does not work.
                    if [transmit.local, transmit.remote].contains(&address(HOST)) {
                        continue;
                    }
                    by_relay += 1;
                    let mut bytes = arena.filled(&transmit).to_vec();
                    let (local, remote) = (transmit.remote, transmit.local);
                    sides[1 - side].handle_datagrams(now, local, remote, &mut bytes, transmit.segment_bytes);
                }
            }
        }
        assert!(by_relay > 4, "{by_relay}");
        assert_eq!([near.state(), far.state()], [PeerState::Connected; 2]);
    }
}
