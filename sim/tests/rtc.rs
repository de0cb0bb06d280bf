//! Peer connections on a bad network, from the offer to the end.
#![allow(missing_docs)]

use std::sync::Arc;
use std::time::Instant;

use netdyno_rtc_core::{Certificate, ChannelId, ChannelOptions, Config, Kind, PeerConnection};
use netdyno_sim::contract::disturb;
use netdyno_sim::random::{Purpose, Random, generator, seed_bytes};
use netdyno_sim::rtc::{RtcCore, run};
use netdyno_sim::seeds::check_seeds;
use netdyno_sim::{Core, Outgoing, Side};
use rand::RngExt;

#[test]
fn peer_connections_keep_their_guarantees() {
    check_seeds("--test rtc peer_connections", 1000, run);
}

#[test]
fn any_order_of_calls_is_legal() {
    let certificate = Arc::new(Certificate::generate().unwrap());
    check_seeds("--test rtc any_order", 100, |seed| {
        let (start, mut random) = (Instant::now(), generator(seed, Purpose::Run));
        let config = Arc::new(Config::new(certificate.clone()));
        let mut cores = Side::BOTH.map(|side| {
            let mut peer = PeerConnection::new(config.clone(), seed_bytes(&mut random), start).unwrap();
            peer.add_local_address(start, side.address());
            RtcCore::new(side, peer)
        });
        let offer = cores[0].peer.create_offer(start, false).unwrap();
        let answer = cores[1].peer.accept_offer(start, &offer).unwrap();
        cores[0].peer.accept_answer(start, &answer).unwrap();
        if random.random_bool(0.7) {
            connect(&mut cores, start);
        }
        disturb(&mut cores, &mut random, start, 400, command)
    });
}

/// Transfers datagrams in both directions, without losses, for a while.
fn connect(cores: &mut [RtcCore; 2], now: Instant) {
    let mut out = Outgoing::default();
    for turn in 0..40 {
        let from = Side::BOTH[turn % 2];
        while cores[from.index()].poll_transmit(now, &mut out) {
            for datagram in out.datagrams() {
                let peer = &mut cores[from.other().index()];
                peer.handle_datagram(now, from.address(), &mut datagram.to_vec());
            }
        }
    }
}

/// One of the peer connection's commands, with valid or invalid arguments.
fn command(core: &mut RtcCore, random: &mut Random, now: Instant) {
    let peer = &mut core.peer;
    let channel = ChannelId(random.random_range(0..4));
    match random.random_range(0..60) {
        0..6 => {
            let negotiated = random.random_bool(0.3).then(|| random.random());
            let options =
                ChannelOptions { negotiated, ordered: random.random_bool(0.5), ..ChannelOptions::default() };
            // The result does not matter: the connection may be closed.
            let _ = peer.create_channel(now, "label", options);
        }
        6..25 => {
            let kind = [Kind::Text, Kind::Binary][random.random_range(0..2)];
            let message = vec![b'a'; [0, 1, 1000, 20_000, 300_000][random.random_range(0..5)]];
            let _ = peer.send(now, channel, kind, &message);
        }
        25..38 => drop(peer.recv()),
        38..50 => drop(peer.poll_event()),
        50 => peer.close_channel(now, channel),
        51 => peer.set_buffered_amount_low_threshold(channel, random.random_range(0..100_000)),
        52 => drop(peer.create_offer(now, random.random_bool(0.5))),
        53 => drop(peer.accept_offer(now, "v=0\r\n")),
        56 => drop(peer.rollback(now)),
        57 => drop((peer.has_local_offer(), peer.local_ufrags().count(), peer.is_over())),
        54 => drop(peer.add_remote_candidate(now, "candidate:1 1 udp 1 192.0.2.9 9 typ host")),
        55 if random.random_bool(0.05) => peer.close(now),
        _ => drop((
            peer.stats(),
            peer.channel_stats(channel),
            peer.channel_state(channel),
            peer.stream(channel),
        )),
    }
}
