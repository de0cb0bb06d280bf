//! Connections without a path for so long that ICE has failed, and their revival by an ICE restart.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{Net, config};
use netdyno_rtc_core::{
    ChannelId, ChannelOptions, ChannelState, Error, Event, IceState, Kind, PeerState, SendError,
};

const SECOND: Duration = Duration::from_secs(1);

/// Nothing is delivered any more.
fn cut(net: &mut Net) {
    net.filter = Some(Box::new(|_| false));
}

/// Offer and answer; no time passes.
fn restart(net: &mut Net, by: usize) {
    let offer = net.peers[by].create_offer(net.now, true).unwrap();
    let answer = net.peers[1 - by].accept_offer(net.now, &offer).unwrap();
    net.peers[by].accept_answer(net.now, &answer).unwrap();
}

/// Sends numbered messages.
fn send(net: &mut Net, channels: [ChannelId; 2], numbers: std::ops::Range<u32>) {
    for number in numbers {
        for (side, channel) in channels.into_iter().enumerate() {
            let message = [&number.to_be_bytes()[..], &[7; 700]].concat();
            net.send(side, channel, Kind::Binary, &message);
        }
    }
}

/// Each message was delivered once, in order, at both ends.
fn all_came(net: &mut Net, count: u32) {
    net.run_until(|net| net.messages.iter().all(|messages| messages.len() >= count as usize));
    for messages in &net.messages {
        let numbers = messages.iter().map(|message| u32::from_be_bytes(*message.data.first_chunk().unwrap()));
        assert!(numbers.eq(0..count));
    }
}

fn states(net: &Net, side: usize) -> Vec<PeerState> {
    let states = net.events[side].iter();
    states.filter_map(|event| if let Event::State(state) = event { Some(*state) } else { None }).collect()
}

#[test]
fn a_restart_revives_a_connection_after_a_minute_without_a_path() {
    for by in 0..2 {
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        send(&mut net, channels, 0..100);
        // During the transfer.
        net.run(Duration::from_millis(15));
        cut(&mut net);
        send(&mut net, channels, 100..200);
        net.run(40 * SECOND);
        assert!((0..2).all(|side| net.state(side) == PeerState::Failed && !net.peers[side].is_over()));
        assert!(matches!(net.peers[0].failure(), Some(Error::Ice(_))));
        let sent = net.sent;
        send(&mut net, channels, 200..300);
        net.run(20 * SECOND);
        assert_eq!(net.sent, sent, "a peer without consent does not send");
        net.filter = None;
        net.run(SECOND);
        assert_eq!(net.sent, sent, "nor looks for a path by itself");

        restart(&mut net, by);
        assert!((0..2).all(|side| net.state(side) == PeerState::Connecting));
        let began = net.now;
        net.run_until(|net| (0..2).all(|side| net.state(side) == PeerState::Connected));
        assert!(net.now - began <= Duration::from_millis(50), "{:?}", net.now - began);
        send(&mut net, channels, 300..400);
        all_came(&mut net, 400);
        assert!(net.now - began <= 3 * SECOND, "{:?}", net.now - began);
        net.run(60 * SECOND);
        for (side, &channel) in channels.iter().enumerate() {
            assert_eq!(
                states(&net, side)[2..],
                [PeerState::Disconnected, PeerState::Failed, PeerState::Connecting, PeerState::Connected]
            );
            assert!(!net.has(side, &Event::ChannelClosed(channel)));
            assert_eq!(net.peers[side].failure(), None);
        }
    }
}

#[test]
fn a_connection_without_a_restart_is_closed() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    cut(&mut net);
    net.run(35 * SECOND);
    for (side, channel) in channels.into_iter().enumerate() {
        assert_eq!(net.state(side), PeerState::Failed);
        assert_eq!(net.peers[side].channel_state(channel), ChannelState::Open);
        assert_eq!(net.peers[side].send(net.now, channel, Kind::Text, b"waits"), Ok(()));
        // An offer without a restart has no effect.
        net.peers[side].create_offer(net.now, false).unwrap();
        net.peers[side].rollback(net.now).unwrap();
    }
    net.run(60 * SECOND);
    for (side, channel) in channels.into_iter().enumerate() {
        assert_eq!(states(&net, side).last(), Some(&PeerState::Closed));
        assert!(net.peers[side].is_over() && net.has(side, &Event::ChannelClosed(channel)));
        let failed = net.events[side].iter().filter(|event| matches!(event, Event::Failed(Error::Ice(_))));
        assert_eq!(failed.count(), 1);
        assert_eq!(net.peers[side].send(net.now, channel, Kind::Text, b"x"), Err(SendError::Failed));
        assert_eq!(net.peers[side].next_deadline(), None);
        assert!(net.peers[side].create_offer(net.now, true).is_err());
    }
}

#[test]
fn it_can_be_closed_before_that() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    cut(&mut net);
    net.run(35 * SECOND);
    let (now, sent) = (net.now, net.sent);
    net.peers[0].close(now);
    net.run(SECOND);
    assert_eq!(states(&net, 0).last(), Some(&PeerState::Closed));
    assert!(net.has(0, &Event::ChannelClosed(channels[0])) && net.peers[0].next_deadline().is_none());
    assert_eq!(net.sent, sent);
}

#[test]
fn without_restart_timeout_a_failure_is_final() {
    let mut configs = [config(0), config(1)];
    configs.iter_mut().for_each(|config| config.restart_timeout = Duration::ZERO);
    let (mut net, [near, _]) = Net::connected_with(configs, ChannelOptions::default());
    cut(&mut net);
    net.run(35 * SECOND);
    assert_eq!(states(&net, 0).last(), Some(&PeerState::Failed));
    assert!(net.peers[0].is_over() && net.has(0, &Event::ChannelClosed(near)));
}

#[test]
fn one_side_has_failed_and_the_other_has_not() {
    for by in 0..2 {
        let mut configs = [config(0), config(1)];
        configs[0].consent_timeout = 15 * SECOND;
        let (mut net, channels) = Net::connected_with(configs, ChannelOptions::default());
        send(&mut net, channels, 0..50);
        cut(&mut net);
        net.run(20 * SECOND);
        net.filter = None;
        assert_eq!([net.state(0), net.state(1)], [PeerState::Failed, PeerState::Disconnected]);
        restart(&mut net, by);
        send(&mut net, channels, 50..100);
        all_came(&mut net, 100);
        net.run(60 * SECOND);
        assert!((0..2).all(|side| net.state(side) == PeerState::Connected));
    }
}

#[test]
fn a_restart_in_time_has_its_own_time() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    cut(&mut net);
    net.run(25 * SECOND);
    restart(&mut net, 0);
    net.run(15 * SECOND);
    // Consent for the old path has expired.
    assert!((0..2).all(|side| net.state(side) == PeerState::Connecting));
    send(&mut net, channels, 0..10);
    net.filter = None;
    all_came(&mut net, 10);
    assert!((0..2).all(|side| !states(&net, side).contains(&PeerState::Failed)));

    // A restart that finds no path fails like the first set-up.
    cut(&mut net);
    net.run(40 * SECOND);
    restart(&mut net, 1);
    net.run(29 * SECOND);
    assert!((0..2).all(|side| net.state(side) == PeerState::Connecting));
    net.run(2 * SECOND);
    assert!((0..2).all(|side| net.state(side) == PeerState::Failed));
    net.filter = None;
    restart(&mut net, 0);
    send(&mut net, channels, 10..20);
    all_came(&mut net, 20);
}

#[test]
fn a_restart_can_find_the_first_path() {
    let mut net = Net::new();
    let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    cut(&mut net);
    net.signal();
    net.run(35 * SECOND);
    assert!((0..2).all(|side| net.state(side) == PeerState::Failed));
    assert!(net.has(0, &Event::Ice(IceState::Failed)));
    net.filter = None;
    restart(&mut net, 1);
    net.run(SECOND);
    assert!(net.has(0, &Event::Open(channel)) && net.incoming(1).len() == 1, "{:?}", net.events);
}

#[test]
fn a_path_that_is_lost_in_the_handshake() {
    for after_ms in (5..120).step_by(5) {
        let mut net = Net::new();
        let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        net.signal();
        net.run(Duration::from_millis(after_ms));
        cut(&mut net);
        net.run(45 * SECOND);
        net.filter = None;
        if (0..2).any(|side| net.peers[side].is_over()) {
            // The handshake's own time limit expired first.
            continue;
        }
        restart(&mut net, 0);
        net.run(30 * SECOND);
        assert!(
            net.has(0, &Event::Open(channel)) && net.incoming(1).len() == 1,
            "{after_ms}: {:?}",
            net.events
        );
    }
}

/// Ten times as long as the association waits for an answer.
#[test]
fn ten_minutes_without_a_path() {
    let mut configs = [config(0), config(1)];
    configs.iter_mut().for_each(|config| config.restart_timeout = 700 * SECOND);
    let (mut net, channels) = Net::connected_with(configs, ChannelOptions::default());
    send(&mut net, channels, 0..50);
    cut(&mut net);
    for _ in 0..600 {
        // A driver may call more often than required.
        net.run(SECOND);
        let now = net.now;
        net.peers.iter_mut().for_each(|peer| peer.handle_timeout(now));
    }
    net.filter = None;
    restart(&mut net, 0);
    all_came(&mut net, 50);
}

/// The association's retransmission limit is not consumed while there is no path.
#[test]
fn losses_after_the_restart_are_not_added_to_those_before() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    cut(&mut net);
    send(&mut net, channels, 0..20);
    net.run(85 * SECOND);
    restart(&mut net, 0);
    // STUN is delivered, the association's packets are not.
    net.filter = Some(Box::new(|flying| flying.bytes[0] < 20));
    net.run(25 * SECOND);
    assert!((0..2).all(|side| net.state(side) == PeerState::Connected), "{:?}", net.events);
    net.filter = None;
    all_came(&mut net, 20);
}
