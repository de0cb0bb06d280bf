//! Withdrawn offers (RFC 9429 section 4.1.10.2), and simultaneous offers of both sides.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::Net;
use netdyno_rtc_core::{ChannelId, ChannelOptions, Event, Kind, PeerState, SignalingError};

fn is_state(result: Result<(), SignalingError>) -> bool {
    matches!(result, Err(SignalingError::State(_)))
}

/// A message in each direction arrives.
fn works(net: &mut Net, channels: [ChannelId; 2]) {
    let before = net.messages.each_ref().map(Vec::len);
    for (side, channel) in channels.into_iter().enumerate() {
        net.send(side, channel, Kind::Text, b"still here");
    }
    net.run(Duration::from_secs(2));
    assert_eq!(net.messages.each_ref().map(Vec::len), before.map(|count| count + 1), "{:?}", net.events);
}

/// Both sides have offered. The polite one withdraws its offer and accepts the other's, which leaves its own
/// unanswered.
fn resolve(net: &mut Net, polite: usize, offers: &[String; 2]) {
    let now = net.now;
    assert!(is_state(net.peers[polite].accept_offer(now, &offers[1 - polite]).map(drop)), "not before");
    net.peers[polite].rollback(now).unwrap();
    let answer = net.peers[polite].accept_offer(now, &offers[1 - polite]).unwrap();
    net.peers[1 - polite].accept_answer(now, &answer).unwrap();
}

#[test]
fn both_offer_at_once_and_one_rolls_back() {
    for polite in 0..2 {
        let mut net = Net::new();
        let now = net.now;
        let made = [0, 1].map(|side: usize| {
            net.peers[side].create_channel(now, &side.to_string(), ChannelOptions::default()).unwrap()
        });
        let offers = [0, 1].map(|side: usize| net.peers[side].create_offer(now, false).unwrap());
        let before = net.peers[polite].local_ufrag().to_owned();
        resolve(&mut net, polite, &offers);
        assert_ne!(net.peers[polite].local_ufrag(), before, "what went with the offer is forgotten");
        net.run(Duration::from_secs(1));
        // Both channels, each with its own stream.
        for side in 0..2 {
            assert!(net.has(side, &Event::Open(made[side])), "{:?}", net.events);
            let far = net.incoming(1 - side)[0];
            assert_eq!(net.peers[1 - side].label(far), side.to_string());
            works(&mut net, if side == 0 { [made[0], far] } else { [far, made[1]] });
        }
    }
}

#[test]
fn both_restart_at_once_and_one_rolls_back() {
    for polite in 0..2 {
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        net.run(Duration::from_secs(1));
        let ufrags = |net: &Net| net.peers.each_ref().map(|peer| peer.local_ufrag().to_owned());
        let before = ufrags(&net);
        let now = net.now;
        let offers = [0, 1].map(|side: usize| net.peers[side].create_offer(now, true).unwrap());
        for round in 0..50 {
            net.send(0, channels[0], Kind::Binary, &[round; 1000]);
            if round == 20 {
                resolve(&mut net, polite, &offers);
            }
            net.run(Duration::from_millis(1));
        }
        assert!(before.iter().zip(ufrags(&net)).all(|(before, now)| *before != now));
        net.run_until(|net| net.messages[1].len() == 50);
        net.run(Duration::from_secs(60));
        works(&mut net, channels);
        for side in 0..2 {
            assert_eq!(net.state(side), PeerState::Connected);
            assert_eq!(
                net.peers[side].local_ufrags().count(),
                1,
                "the old session and the withdrawn are gone"
            );
        }
    }
}

#[test]
fn a_withdrawn_offer_changes_nothing() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    let before = net.peers[0].local_ufrag().to_owned();
    for restart in [false, true, true] {
        let now = net.now;
        let offer = net.peers[0].create_offer(now, restart).unwrap();
        assert!(net.peers[0].has_local_offer());
        assert_eq!(net.peers[0].local_ufrag() != before, restart);
        // The peer answers and sends checks, too late.
        let mut other = Net::connected(ChannelOptions::default()).0;
        let answer = other.peers[1].accept_offer(now, &offer).unwrap();
        net.peers[0].rollback(now).unwrap();
        assert!(!net.peers[0].has_local_offer());
        assert_eq!(net.peers[0].local_ufrag(), before);
        assert!(is_state(net.peers[0].accept_answer(now, &answer)));
        assert!(is_state(net.peers[0].rollback(now)), "there is none");
        works(&mut net, channels);
    }
    // Another one can be created.
    let offer = net.peers[0].create_offer(net.now, true).unwrap();
    let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
    assert!(is_state(net.peers[1].rollback(net.now)), "an answer takes effect at once");
    net.peers[0].accept_answer(net.now, &answer).unwrap();
    works(&mut net, channels);
    assert_ne!(net.peers[0].local_ufrag(), before);
}

#[test]
fn a_restart_in_progress_survives_a_withdrawn_offer() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    net.filter = Some(Box::new(|_| false));
    let offer = net.peers[0].create_offer(net.now, true).unwrap();
    let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
    net.peers[0].accept_answer(net.now, &answer).unwrap();
    net.run(Duration::from_secs(8));
    let under_way = net.peers[0].local_ufrag().to_owned();
    net.peers[0].create_offer(net.now, true).unwrap();
    assert_eq!(net.peers[0].local_ufrags().count(), 3);
    net.peers[0].rollback(net.now).unwrap();
    assert_eq!(net.peers[0].local_ufrag(), under_way);
    net.filter = None;
    net.run(Duration::from_secs(10));
    works(&mut net, channels);
    assert!(net.peers.iter().all(|peer| peer.local_ufrags().count() == 1));
}

#[test]
fn nothing_can_be_withdrawn_after_the_end() {
    let mut net = Net::new();
    assert!(is_state(net.peers[0].rollback(net.now)), "no offer yet");
    net.peers[0].create_offer(net.now, false).unwrap();
    net.peers[0].close(net.now);
    assert!(is_state(net.peers[0].rollback(net.now)));
}
