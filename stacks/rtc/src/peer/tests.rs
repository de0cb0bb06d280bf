//! Hostile or unusual peers, with the keys of the connection and without.
//!
//! The network is that of `tests/`; invalid messages are sent through the peer's own layers.

#[path = "../../tests/common/mod.rs"]
mod common;

use std::time::Duration;

use netdyno_sctp::{Ppid, SendOptions, StreamId};

use self::common::{Flying, Net, address, config};
use super::*;
use crate::dtls::Versions;

fn open_bytes(ordered: bool, label: &str) -> Vec<u8> {
    let reliability = Reliability::Reliable;
    crate::dcep::Open { ordered, reliability, priority: 256, label, protocol: "" }.to_bytes()
}

/// Side 1 sends this on a stream, whatever its channels.
fn say(net: &mut Net, stream: u16, ppid: Ppid, bytes: &[u8]) {
    let now = net.now;
    let association = net.peers[1].transport.association.as_mut().unwrap();
    association.send(now, StreamId(stream), ppid, bytes, SendOptions::default()).unwrap();
    net.run(Duration::from_secs(1));
}

/// A datagram from side 1 with this SCTP packet, correctly encrypted.
fn sealed(net: &mut Net, packet: &[u8]) -> Flying {
    let dtls = net.peers[1].transport.dtls.as_mut().unwrap();
    let headroom = dtls.headroom();
    let mut bytes = vec![0; packet.len() + dtls.overhead()];
    bytes[headroom..headroom + packet.len()].copy_from_slice(packet);
    let length = dtls.seal(&mut bytes, packet.len());
    bytes.truncate(length);
    from(net, 1, bytes)
}

fn from(net: &Net, side: usize, bytes: Vec<u8>) -> Flying {
    let segment_bytes = bytes.len();
    Flying { at: net.now, from: side, local: address(side), remote: address(1 - side), bytes, segment_bytes }
}

/// A message in each direction still arrives.
fn works(net: &mut Net, channels: [ChannelId; 2]) {
    let before = net.messages.each_ref().map(Vec::len);
    for (side, channel) in channels.into_iter().enumerate() {
        net.send(side, channel, Kind::Text, b"still here");
    }
    net.run(Duration::from_secs(3));
    assert_eq!(net.messages.each_ref().map(Vec::len), before.map(|count| count + 1), "{:?}", net.events);
}

#[test]
fn dcep_that_is_malformed_resets_its_stream_alone() {
    for bytes in [&[0][..], &[3], &[3, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[1, 2]] {
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        say(&mut net, 20, Ppid::DCEP, bytes);
        assert_eq!(net.incoming(0).len(), 0);
        works(&mut net, channels);
        // On the stream of a channel, it closes the channel.
        let stream = net.peers[0].stream(channels[0]).unwrap();
        say(&mut net, stream, Ppid::DCEP, bytes);
        assert!(
            net.has(0, &Event::ChannelClosed(channels[0])) && net.has(1, &Event::ChannelClosed(channels[1]))
        );
        assert_eq!(net.state(0), PeerState::Connected);
    }
}

#[test]
fn an_opening_with_the_wrong_parity_takes_a_free_stream() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    // Side 0 is the DTLS server and uses odd streams. It skips the stream that is in use.
    say(&mut net, 3, Ppid::DCEP, &open_bytes(true, "odd"));
    assert_eq!(net.incoming(0).len(), 1);
    say(&mut net, 20, Ppid::DCEP, &open_bytes(true, "even"));
    assert_eq!(net.incoming(0).len(), 2);
    let mine = net.peers[0].create_channel(net.now, "mine", ChannelOptions::default()).unwrap();
    assert_eq!(net.peers[0].stream(mine), Some(5));
    works(&mut net, channels);
}

#[test]
fn an_opening_on_a_stream_in_use_closes_it() {
    let mut net = Net::new();
    let far = net.peers[1].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net.signal();
    net.run(Duration::from_secs(1));
    let near = net.incoming(0)[0];
    say(&mut net, 0, Ppid::DCEP, &open_bytes(true, "again"));
    assert!(net.has(0, &Event::ChannelClosed(near)) && net.has(1, &Event::ChannelClosed(far)));
    assert_eq!(net.incoming(0).len(), 1);
    assert_eq!(net.state(0), PeerState::Connected);
}

#[test]
fn an_opening_with_a_label_beyond_the_limit_is_refused() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    say(&mut net, 20, Ppid::DCEP, &open_bytes(true, &"x".repeat(1025)));
    assert!(net.incoming(0).is_empty());
    works(&mut net, channels);
}

#[test]
fn messages_without_a_channel_or_of_unknown_kinds_are_dropped() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    say(&mut net, 500, Ppid::STRING, b"no channel");
    let stream = net.peers[0].stream(channels[0]).unwrap();
    // 52 and 54 were for partial messages before partial delivery replaced them; 0 is unspecified.
    for ppid in [0, 52, 54, 58, u32::MAX] {
        say(&mut net, stream, Ppid(ppid), b"what is it");
    }
    assert!(net.messages[0].is_empty());
    works(&mut net, channels);
}

#[test]
fn a_text_that_is_not_utf_8_closes_its_channel_alone() {
    let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
    let other = net.peers[0].create_channel(net.now, "other", ChannelOptions::default()).unwrap();
    net.run(Duration::from_secs(1));
    let others = [other, net.incoming(1)[1]];
    let stream = net.peers[1].stream(far).unwrap();
    say(&mut net, stream, Ppid::STRING, &[0xff]);
    net.run(Duration::from_secs(1));
    assert!(net.has(0, &Event::ChannelClosed(near)) && net.has(1, &Event::ChannelClosed(far)));
    assert!(net.messages[0].is_empty());
    works(&mut net, others);
}

#[test]
fn a_message_beyond_our_limit_ends_the_association() {
    let mut configs = [config(0), config(1)];
    configs[0].max_message_bytes = 10_000;
    let (mut net, channels) = Net::connected_with(configs, ChannelOptions::default());
    let now = net.now;
    let stream = net.peers[1].stream(channels[1]).unwrap();
    let association = net.peers[1].transport.association.as_mut().unwrap();
    association.set_max_send_message_bytes(1 << 20);
    let options = SendOptions::default();
    association.send(now, StreamId(stream), Ppid::BINARY, &vec![0; 100_000], options).unwrap();
    net.run(Duration::from_secs(2));
    assert!(matches!(
        net.events[0].iter().find(|e| matches!(e, Event::Failed(_))),
        Some(Event::Failed(Error::Sctp(_)))
    ));
    assert_eq!(net.state(0), PeerState::Failed);
    // The peer is notified.
    assert_eq!(net.state(1), PeerState::Closed);
}

#[test]
fn both_sides_start_sctp_at_once() {
    let mut net = Net::new();
    let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net.signal();
    net.run_until(|net| net.has(0, &Event::Open(channel)));
    // The other side starts too, although an INIT is in transit to it.
    let now = net.now;
    net.peers[1].transport.association.as_mut().unwrap().connect(now);
    net.run(Duration::from_secs(1));
    let far = net.incoming(1)[0];
    works(&mut net, [channel, far]);
}

/// DTLS 1.3: the client cannot decrypt what the server sends before it has authenticated the server.
#[test]
fn an_early_init_is_repeated() {
    let mut net = Net::new();
    let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net.signal();
    net.filter = Some(Box::new(|flying| {
        // After the ServerHello in epoch 0 come the records of epoch 2, followed by early data.
        let mut at = 0;
        while flying.from == 0 && flying.bytes[0] == 22 && at < flying.bytes.len() {
            let header_bytes = if flying.bytes[at] == 22 { 13 } else { 5 };
            if flying.bytes[at] & 0xE3 == 0x23 {
                flying.bytes.truncate(at);
                flying.segment_bytes = at;
                break;
            }
            let length = [flying.bytes[at + header_bytes - 2], flying.bytes[at + header_bytes - 1]];
            at += header_bytes + usize::from(u16::from_be_bytes(length));
        }
        true
    }));
    let began = net.now;
    net.run_until(|net| net.incoming(1).len() == 1);
    assert_eq!(net.peers[0].stats().tls_version, Some("FEFC"));
    assert!(net.now - began < Duration::from_millis(300), "{:?}", net.now - began);
    let far = net.incoming(1)[0];
    works(&mut net, [channel, far]);
}

#[test]
fn the_client_starts_sctp_if_the_server_does_not() {
    let mut configs = [config(0), config(1)];
    configs[0].dtls_versions = Versions::Only12;
    let mut net = Net::with(configs);
    let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net.signal();
    // The server's first packets are lost, including its INIT.
    net.run_until(|net| net.has(0, &Event::Open(channel)));
    let until = net.now + Duration::from_millis(35);
    net.flying.retain(|flying| flying.from != 0 || flying.bytes[0] == 20);
    net.filter = Some(Box::new(move |flying| flying.from == 1 || flying.at > until || flying.bytes[0] != 23));
    let began = net.now;
    net.run_until(|net| net.incoming(1).len() == 1);
    // The server would repeat its INIT only after 500 ms.
    assert!(net.now - began < Duration::from_millis(300), "{:?}", net.now - began);
    let far = net.incoming(1)[0];
    works(&mut net, [channel, far]);
}

#[test]
fn sctp_packets_of_any_bytes_change_nothing() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for _ in 0..2000 {
        let mut packet: Vec<u8> = (0..usize::from(random())).map(|_| random()).collect();
        if let Some(ports) = packet.first_chunk_mut::<4>() {
            *ports = [0x13, 0x88, 0x13, 0x88];
        }
        let mut flying = sealed(&mut net, &packet);
        net.deliver(0, &mut flying);
    }
    // A verification tag of 0 is only for INIT; chunks of length 0 have no end.
    for chunk in [[0, 3, 0, 0], [3, 0, 0, 0], [192, 0, 0, 4], [130, 0, 0, 4], [1, 0, 0, 4]] {
        let packet = [&[0x13, 0x88, 0x13, 0x88, 0, 0, 0, 0, 0, 0, 0, 0], &chunk[..]].concat();
        let mut flying = sealed(&mut net, &packet);
        net.deliver(0, &mut flying);
    }
    works(&mut net, channels);
}

#[test]
fn the_last_stream_can_be_used() {
    let mut net = Net::new();
    let options = ChannelOptions { negotiated: Some(65_534), ..ChannelOptions::default() };
    let now = net.now;
    let channels =
        [0, 1].map(|side: usize| net.peers[side].create_channel(now, "", options.clone()).unwrap());
    net.signal();
    net.run(Duration::from_secs(1));
    works(&mut net, channels);
}

/// Later, datagrams that only the peer can have sent are followed: `tests/moves.rs`.
#[test]
fn a_handshake_from_addresses_that_ice_has_not_validated_is_ignored() {
    let mut net = Net::new();
    let stranger = SocketAddr::new([198, 51, 100, 66].into(), 6666);
    net.filter = Some(Box::new(move |flying| {
        flying.local = if flying.from == 1 && flying.bytes[0] >= 20 { stranger } else { flying.local };
        true
    }));
    let near = net.peers[0].create_channel(net.now, "test", ChannelOptions::default()).unwrap();
    net.signal();
    net.run(Duration::from_millis(500));
    assert!(net.state(0) == PeerState::Connecting && !net.has(0, &Event::Open(near)));
    net.filter = None;
    net.run_until(|net| net.has(0, &Event::Open(near)));
}

#[test]
fn duplicate_datagrams_are_accepted_once() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    net.filter = None;
    for _ in 0..50 {
        net.send(0, channels[0], Kind::Binary, &[1; 500]);
        net.collect();
        let copies: Vec<_> = net.flying.iter().map(|f| Flying { bytes: f.bytes.clone(), ..*f }).collect();
        net.flying.extend(copies);
        net.run(Duration::from_millis(5));
    }
    net.run(Duration::from_secs(1));
    assert_eq!(net.messages[1].len(), 50);
}

#[test]
fn unauthenticated_datagrams_do_not_end_a_session() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    let record = |content: u8, epoch: u8, body: &[u8]| {
        let mut bytes = vec![content, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 9, 9];
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        bytes
    };
    let rows = [
        // Application data, a fatal alert, close_notify and ChangeCipherSpec in epoch 0; an invalid
        // ClientHello.
        record(23, 0, b"plain"),
        record(21, 0, &[2, 40]),
        record(21, 0, &[1, 0]),
        record(20, 0, &[1]),
        record(22, 0, &[1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]),
        record(22, 0, &[20, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        // The same in epoch 1, without the keys.
        record(21, 1, &[0; 26]),
        record(23, 1, &[0; 40]),
        vec![23],
        vec![22, 0xfe, 0xfd],
        vec![],
        vec![64; 100],
        vec![255; 1500],
    ];
    for side in 0..2 {
        for bytes in &rows {
            let mut flying = from(&net, 1 - side, bytes.clone());
            net.deliver(side, &mut flying);
        }
    }
    works(&mut net, channels);
}

#[test]
fn unauthenticated_datagrams_do_not_prevent_a_handshake() {
    let mut net = Net::new();
    let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    net.signal();
    let hello =
        [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4];
    let alert = [21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 7, 0, 2, 2, 40];
    for _ in 0..20 {
        net.run(Duration::from_millis(5));
        for side in 0..2 {
            for bytes in [&hello[..], &alert[..]] {
                let mut flying = from(&net, 1 - side, bytes.to_vec());
                net.deliver(side, &mut flying);
            }
        }
    }
    net.run(Duration::from_secs(3));
    let far = net.incoming(1)[0];
    works(&mut net, [channel, far]);
}

#[test]
fn a_handshake_out_of_order() {
    for seed in 1..10_u64 {
        let mut net = Net::new();
        let mut state = seed;
        net.filter = Some(Box::new(move |flying| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            flying.at += Duration::from_millis((state >> 33) % 40);
            true
        }));
        let channel = net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        net.signal();
        net.run_until(|net| net.incoming(1).len() == 1);
        let far = net.incoming(1)[0];
        works(&mut net, [channel, far]);
    }
}

#[test]
fn modified_datagrams_count_as_lost() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    let mut state = 1_u64;
    net.filter = Some(Box::new(move |flying| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 33) as usize;
        if random.is_multiple_of(10) {
            let at = random / 10 % flying.bytes.len();
            flying.bytes[at] ^= 1 << (random % 7);
        }
        true
    }));
    for _ in 0..300 {
        net.send(0, channels[0], Kind::Binary, &[1; 700]);
        net.run(Duration::from_millis(1));
    }
    net.run_until(|net| net.messages[1].len() == 300);
}

#[test]
fn a_peer_that_moves_is_followed() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    let moved = SocketAddr::new([203, 0, 113, 7].into(), 7777);
    net.run(Duration::from_secs(30));
    net.filter = Some(Box::new(move |flying| {
        if flying.from == 1 {
            flying.local = moved;
            return true;
        }
        // The old address does not work any more.
        std::mem::replace(&mut flying.remote, address(1)) == moved
    }));
    net.run(Duration::from_secs(15));
    assert_eq!(net.peers[0].ice.selected().map(|path| path.remote), Some(moved));
    works(&mut net, channels);
}

#[test]
fn events_that_the_peer_causes_are_bounded() {
    let mut configs = [config(0), config(1)];
    configs[0].limits.max_events = 20;
    let (mut net, channels) = Net::connected_with(configs, ChannelOptions::default());
    net.reads[0] = false;
    for stream in 1..200 {
        let now = net.now;
        let association = net.peers[1].transport.association.as_mut().unwrap();
        let bytes = open_bytes(true, "x");
        association.send(now, StreamId(2 * stream), Ppid::DCEP, &bytes, SendOptions::default()).unwrap();
    }
    // Datagrams arrive, and events are not polled.
    for _ in 0..100 {
        while let Some(transmit) = net.peers[1].poll_transmit(net.now, &mut net.arena, 64) {
            let bytes = net.arena.filled(&transmit).to_vec();
            let mut flying = Flying { segment_bytes: transmit.segment_bytes, ..from(&net, 1, bytes) };
            net.deliver(0, &mut flying);
        }
        net.now += Duration::from_millis(30);
        let now = net.now;
        net.peers[0].handle_timeout(now);
        assert!(net.peers[0].events.len() <= 22, "{}", net.peers[0].events.len());
    }
    // Polling them makes room for those behind them, without any other call.
    let mut seen = 0;
    while let Some(event) = net.peers[0].poll_event() {
        seen += usize::from(matches!(event, Event::Incoming(_)));
    }
    assert!(seen > 100, "{seen}");
    net.run(Duration::from_secs(5));
    assert_eq!(net.incoming(0).len() + seen, 199);
    net.reads[0] = true;
    works(&mut net, channels);
}
