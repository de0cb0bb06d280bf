//! Connections through a TURN server: coturn, if installed.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../support/coturn.rs"]
mod coturn;
mod measure;
mod streams;
#[path = "../support/mod.rs"]
mod support;

use std::thread;
use std::time::{Duration, Instant};

use coturn::Coturn;
use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, IceServer, Settings};

/// Time limit of every wait.
const LONG: Duration = Duration::from_secs(60);

fn endpoint(settings: Settings) -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap()
}

fn gathered(endpoint: &Endpoint) -> PeerConnection {
    let peer = PeerConnection::new(endpoint).unwrap();
    assert!(peer.wait_gathered(LONG));
    peer
}

/// The channel at both ends.
fn connected(offerer: &PeerConnection, answerer: &PeerConnection) -> (DataChannel, DataChannel) {
    let channel = offerer.create_channel("relayed", ChannelOptions::default()).unwrap();
    let offer = offerer.create_offer().unwrap();
    offerer.accept_answer(&answerer.accept_offer(&offer).unwrap()).unwrap();
    assert!(offerer.wait_connected_timeout(LONG).unwrap());
    (channel, answerer.accept_channel_timeout(LONG).unwrap().unwrap())
}

/// Messages of all lengths, which the other end returns in order.
fn exchange(here: &DataChannel, there: &DataChannel, count: usize) {
    let message = |number: usize| vec![number as u8; number * 37 % 5000];
    thread::scope(|scope| {
        scope.spawn(|| (0..count).for_each(|number| here.send(&message(number)).unwrap()));
        scope.spawn(|| {
            for _ in 0..count {
                let message = there.recv_timeout(LONG).unwrap().unwrap();
                there.send(&message.data).unwrap();
            }
        });
        for number in 0..count {
            assert_eq!(here.recv_timeout(LONG).unwrap().unwrap().data, message(number), "{number}");
        }
    });
}

#[test]
fn two_relay_only_peers_connect() {
    let Some(server) = Coturn::start(&[]) else { return };
    let (one, other) = (endpoint(server.relayed("password")), endpoint(server.relayed("password")));
    let (offerer, answerer) = (gathered(&one), gathered(&other));
    for peer in [&offerer, &answerer] {
        let lines = peer.local_candidates();
        assert!(lines.len() == 1 && lines[0].contains(" typ relay raddr 0.0.0.0 rport 0"), "{lines:?}");
    }
    let (here, there) = connected(&offerer, &answerer);
    exchange(&here, &there, 2000);
    assert!(server.logs("peer 127.0.0.1 lifetime updated"), "a channel carries it");
    offerer.close();
    assert!(answerer.wait_closed().is_ok());
    drop((here, there, offerer, answerer));
    assert!(server.logs("lifetime=0"), "the allocations are given back");
}

#[test]
fn candidates_are_trickled_to_a_peer_that_needs_no_server() {
    let Some(server) = Coturn::start(&[]) else { return };
    let one = endpoint(server.relayed("password"));
    let other = endpoint(Settings::new().unwrap());
    let (offerer, answerer) = (PeerConnection::new(&one).unwrap(), PeerConnection::new(&other).unwrap());
    let here = offerer.create_channel("relayed", ChannelOptions::default()).unwrap();
    let offer = offerer.create_offer().unwrap();
    assert!(!offer.contains("a=candidate"), "{offer}");
    offerer.accept_answer(&answerer.accept_offer(&offer).unwrap()).unwrap();
    let mut lines = Vec::new();
    while let Some(line) = offerer.next_candidate() {
        answerer.add_remote_candidate(&line).unwrap();
        lines.push(line);
    }
    assert_eq!(lines.len(), 1, "{lines:?}");
    let there = answerer.accept_channel_timeout(LONG).unwrap().unwrap();
    exchange(&here, &there, 500);
}

#[test]
fn a_wrong_password_is_no_candidate_and_does_not_keep_anyone_waiting() {
    let Some(server) = Coturn::start(&[]) else { return };
    let began = Instant::now();
    let one = endpoint(server.relayed("wrong"));
    let peer = gathered(&one);
    assert!(peer.local_candidates().is_empty());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(peer.create_offer().unwrap().contains("a=end-of-candidates"));
}

/// RFC 8489, section 9.2.4: 438 with a new nonce is not a refusal.
#[test]
fn a_nonce_that_has_become_stale_is_replaced() {
    let Some(server) = Coturn::start(&["--stale-nonce=1"]) else { return };
    let (one, other) = (endpoint(server.relayed("password")), endpoint(server.relayed("password")));
    let (offerer, answerer) = (gathered(&one), gathered(&other));
    thread::sleep(Duration::from_secs(3));
    let (here, there) = connected(&offerer, &answerer);
    exchange(&here, &there, 200);
    assert!(server.logs("Stale nonce") || server.logs("438"));
}

/// The server's view of the port itself, not of the socket used for relaying.
#[test]
fn the_same_server_tells_how_it_sees_the_port() {
    let Some(server) = Coturn::start(&[]) else { return };
    let mut settings = Settings::new().unwrap();
    settings.ice_servers = vec![
        IceServer::stun(format!("stun:127.0.0.1:{}", server.port())),
        // A name takes longer to resolve, and is awaited.
        IceServer::turn(format!("turn:localhost:{}", server.port()), "name", "password"),
    ];
    let one = endpoint(settings);
    let lines = gathered(&one).local_candidates();
    let kinds = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    // There is no NAT on the loopback interface.
    assert_eq!((kinds("typ host"), kinds("typ srflx"), kinds("typ relay")), (1, 0, 1), "{lines:?}");
}
