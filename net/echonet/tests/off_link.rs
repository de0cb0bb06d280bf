//! Requests from addresses that are not on the link.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use netdyno_echonet::blocking::{Controller, Device};
use netdyno_echonet::{Home, Settings, Spread};
use support::peer::{self, HERE, PeerNetwork, THERE};
use support::{GET_80, alone, light, until};

/// An address whose network the node does not have, at first.
const BEYOND: &str = "203.0.113.9";

/// A Get of the operation status of a controller's own node profile.
const GET_PROFILE: &[u8] = b"\x10\x81\x12\x34\x05\xFF\x01\x0E\xF0\x01\x62\x01\x80\x00";

/// A node that executes requests.
trait Node {
    /// Opens it; returns it with a request to it.
    fn open(settings: &Settings) -> (Self, &'static [u8])
    where
        Self: Sized;

    /// Handles what has arrived.
    fn poll(&mut self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    /// The number of requests ignored because they came from beyond the link.
    fn off_link(&self) -> u64;
}

impl Node for Device {
    fn open(settings: &Settings) -> (Self, &'static [u8]) {
        (Self::open(settings, light()).unwrap(), GET_80)
    }

    fn off_link(&self) -> u64 {
        self.stats().off_link
    }
}

impl Node for Controller {
    fn open(settings: &Settings) -> (Self, &'static [u8]) {
        (Self::open(settings, support::config()).unwrap(), GET_PROFILE)
    }

    fn off_link(&self) -> u64 {
        self.own(|own| own.stats().off_link)
    }
}

impl Node for Home {
    fn open(settings: &Settings) -> (Self, &'static [u8]) {
        (Self::open(settings, vec![(None, light())], Spread::default()).unwrap(), GET_80)
    }

    fn poll(&mut self) {
        self.poll(Some(Duration::from_millis(1))).unwrap();
    }

    fn off_link(&self) -> u64 {
        self.node(0).unwrap().stats().off_link
    }
}

/// Sends a request from an address of the peer; returns whether it was answered before it was ignored.
fn is_answered(peer: &PeerNetwork, node: &mut impl Node, from: &str, request: &[u8]) -> bool {
    let socket = peer.run(|| UdpSocket::bind((from.parse::<Ipv4Addr>().unwrap(), 3610)).unwrap());
    socket.set_nonblocking(true).unwrap();
    let (off_link, mut answer) = (node.off_link(), [0; 1500]);
    socket.send_to(request, (HERE, 3610)).unwrap();
    let mut answered = false;
    until(format!("a request from {from}"), || {
        node.poll();
        answered = socket.recv(&mut answer).is_ok_and(|_| answer[2..4] == request[2..4]);
        answered || node.off_link() > off_link
    });
    answered
}

fn check<N: Node>(peer: &PeerNetwork) {
    let name = std::any::type_name::<N>();
    let mut settings = Settings::on("ours");
    {
        let (mut node, request) = N::open(&settings);
        for (from, expected) in [(BEYOND, false), (THERE, true), (BEYOND, false)] {
            assert_eq!(is_answered(peer, &mut node, from, request), expected, "{name}, {from}");
        }
        // A network that the machine joins later counts.
        peer::sh("ip addr add 203.0.113.1/24 dev ours");
        until("the new network", || is_answered(peer, &mut node, BEYOND, request));
        peer::sh("ip addr del 203.0.113.1/24 dev ours");
    }
    settings.off_link_requests = true;
    let (mut node, request) = N::open(&settings);
    assert!(is_answered(peer, &mut node, BEYOND, request), "{name}, if the settings permit it");
}

#[test]
fn requests_from_beyond_the_link_are_ignored() {
    alone("requests_from_beyond_the_link_are_ignored", || {
        let peer = PeerNetwork::new();
        peer.sh(&format!("ip addr add {BEYOND}/32 dev theirs"));
        check::<Device>(&peer);
        check::<Home>(&peer);
        check::<Controller>(&peer);
    });
}
