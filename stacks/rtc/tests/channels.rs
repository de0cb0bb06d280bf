//! Data channels of all kinds: opening, sending, backpressure, closing, and reuse of ids.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{Net, config};
use netdyno_rtc_core::{
    ChannelError, ChannelOptions, ChannelState, Event, Kind, PeerState, Reliability, SendError,
};

fn unordered() -> ChannelOptions {
    ChannelOptions { ordered: false, ..ChannelOptions::default() }
}

fn negotiated(id: u16) -> ChannelOptions {
    ChannelOptions { negotiated: Some(id), ..ChannelOptions::default() }
}

#[test]
fn all_kinds_of_channels() {
    let rows = [
        ChannelOptions::default(),
        unordered(),
        ChannelOptions { reliability: Reliability::MaxRetransmits(3), ..unordered() },
        ChannelOptions {
            reliability: Reliability::MaxLifetime(Duration::from_millis(500)),
            ..Default::default()
        },
        ChannelOptions { protocol: "chat.v2".into(), priority: 512, ..Default::default() },
    ];
    for options in rows {
        let (mut net, [near, far]) = Net::connected(options.clone());
        assert_eq!(net.peers[1].channel_options(far), Some(&options));
        assert_eq!(net.peers[0].channel_options(near), Some(&options));
        assert_eq!(net.peers[0].stream(near), net.peers[1].stream(far));
        for count in 0..50_u8 {
            net.send(0, near, Kind::Binary, &[count; 3000]);
            net.send(1, far, Kind::Text, &[b'x'; 10]);
        }
        net.run(Duration::from_secs(1));
        assert_eq!([net.messages[0].len(), net.messages[1].len()], [50, 50], "{options:?}");
        assert!(net.messages[1].iter().all(|message| message.channel == far && message.data.len() == 3000));
    }
}

#[test]
fn negotiated_channels_have_the_same_id_and_no_opening() {
    let mut net = Net::new();
    let now = net.now;
    let near = net.peers[0].create_channel(now, "a", negotiated(7)).unwrap();
    let far = net.peers[1].create_channel(now, "b", negotiated(7)).unwrap();
    assert_eq!(net.peers[0].create_channel(now, "c", negotiated(7)), Err(ChannelError::Id));
    assert_eq!(net.peers[0].create_channel(now, "c", negotiated(65_535)), Err(ChannelError::Id));
    assert_eq!(net.peers[0].send(now, near, Kind::Text, b""), Err(SendError::Connecting));
    net.signal();
    net.run(Duration::from_secs(1));
    assert!(net.has(0, &Event::Open(near)) && net.has(1, &Event::Open(far)));
    assert!(net.incoming(0).is_empty() && net.incoming(1).is_empty());
    net.send(0, near, Kind::Text, b"x");
    net.run_until(|net| net.messages[1].len() == 1);
    assert_eq!(net.messages[1][0].channel, far);
    // Created on an established connection.
    let now = net.now;
    let near = net.peers[0].create_channel(now, "", negotiated(8)).unwrap();
    let far = net.peers[1].create_channel(now, "", negotiated(8)).unwrap();
    net.send(1, far, Kind::Text, b"x");
    net.run_until(|net| net.messages[0].len() == 1);
    assert_eq!(net.messages[0][0].channel, near);
}

#[test]
fn a_hundred_channels_from_both_sides_at_once() {
    let mut net = Net::new();
    let now = net.now;
    for side in 0..2 {
        for count in 0..100 {
            let label = format!("{side}/{count} \u{1f600}\u{e4}");
            net.peers[side].create_channel(now, &label, ChannelOptions::default()).unwrap();
        }
    }
    net.signal();
    net.run(Duration::from_secs(2));
    for side in 0..2 {
        let incoming = net.incoming(side);
        assert_eq!(incoming.len(), 100);
        for (count, id) in incoming.iter().enumerate() {
            assert_eq!(net.peers[side].label(*id), format!("{}/{count} \u{1f600}\u{e4}", 1 - side));
            // The answerer is the DTLS client, which has the even streams (RFC 8832 section 6).
            assert_eq!(net.peers[side].stream(*id), Some(2 * count as u16 + u16::from(side == 1)));
        }
        for id in incoming {
            net.send(side, id, Kind::Text, b"back");
        }
    }
    net.run(Duration::from_secs(1));
    assert!(net.messages.iter().all(|messages| messages.len() == 100));
}

#[test]
fn empty_and_large_messages() {
    let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
    let large: Vec<u8> = (0..262_144_u32).map(|at| at as u8 ^ (at >> 8) as u8).collect();
    net.send(0, near, Kind::Text, b"");
    net.send(0, near, Kind::Binary, b"");
    net.send(0, near, Kind::Binary, &large);
    net.send(1, far, Kind::Binary, &large);
    let length = large.len() + 1;
    let longer = [&large[..], &[0]].concat();
    assert_eq!(
        net.peers[0].send(net.now, near, Kind::Binary, &longer),
        Err(SendError::TooLong { length, limit: 262_144 })
    );
    net.run_until(|net| net.messages[1].len() == 3 && net.messages[0].len() == 1);
    let kinds: Vec<_> = net.messages[1].iter().map(|message| (message.kind, message.data.len())).collect();
    assert_eq!(kinds, [(Kind::Text, 0), (Kind::Binary, 0), (Kind::Binary, 262_144)]);
    assert!(net.messages[1][2].data == large && net.messages[0][0].data == large);
}

#[test]
fn the_peers_message_size_limit_is_respected() {
    for (bytes, limit) in [(1000, 1000), (100_000, 100_000)] {
        let mut configs = [config(0), config(1)];
        configs[1].max_message_bytes = bytes;
        let (mut net, [near, far]) = Net::connected_with(configs, ChannelOptions::default());
        let message = vec![0; limit + 1];
        let refused = Err(SendError::TooLong { length: limit + 1, limit });
        assert_eq!(net.peers[0].send(net.now, near, Kind::Binary, &message), refused);
        net.send(0, near, Kind::Binary, &message[1..]);
        net.send(1, far, Kind::Binary, &message);
        net.run_until(|net| net.messages.iter().all(|messages| messages.len() == 1));
    }
}

#[test]
fn closed_by_either_side_and_the_id_used_again() {
    for side in 0..2 {
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        let stream = net.peers[0].stream(channels[0]);
        // Buffered messages arrive before the channel is closed.
        for _ in 0..100 {
            net.send(side, channels[side], Kind::Binary, &[0; 5000]);
        }
        let now = net.now;
        net.peers[side].close_channel(now, channels[side]);
        net.peers[side].close_channel(now, channels[side]);
        assert_eq!(net.peers[side].channel_state(channels[side]), ChannelState::Closing);
        assert_eq!(net.peers[side].send(now, channels[side], Kind::Text, b"x"), Err(SendError::Closed));
        net.run(Duration::from_secs(2));
        assert_eq!(net.messages[1 - side].len(), 100);
        for (side, &channel) in channels.iter().enumerate() {
            assert_eq!(net.count(side, &Event::ChannelClosed(channel)), 1);
            assert_eq!(net.peers[side].channel_state(channel), ChannelState::Closed);
            assert_eq!(net.peers[side].stats().data_channels_closed, 1);
            assert_eq!(net.peers[side].label(channel), "");
        }
        let now = net.now;
        let near = net.peers[0].create_channel(now, "again", ChannelOptions::default()).unwrap();
        assert_eq!(net.peers[0].stream(near), stream);
        net.run(Duration::from_secs(1));
        let far = *net.incoming(1).last().unwrap();
        assert!(near != channels[0] && far != channels[1]);
        net.send(0, near, Kind::Text, b"again");
        net.send(1, far, Kind::Text, b"again");
        net.run(Duration::from_secs(1));
        assert!(net.messages.iter().all(|messages| &messages.last().unwrap().data[..] == b"again"));
    }
}

#[test]
fn closed_by_both_sides_at_once() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    for (side, &channel) in channels.iter().enumerate() {
        let now = net.now;
        net.peers[side].close_channel(now, channel);
    }
    net.run(Duration::from_secs(2));
    for (side, &channel) in channels.iter().enumerate() {
        assert_eq!(net.count(side, &Event::ChannelClosed(channel)), 1);
    }
}

#[test]
fn closed_before_it_was_open() {
    let mut net = Net::new();
    let now = net.now;
    let channel = net.peers[0].create_channel(now, "", ChannelOptions::default()).unwrap();
    net.peers[0].close_channel(now, channel);
    net.collect();
    assert!(net.has(0, &Event::ChannelClosed(channel)));
    let kept = net.peers[0].create_channel(now, "kept", ChannelOptions::default()).unwrap();
    net.signal();
    // As soon as DTLS is connected, before SCTP: the opening is sent, then the reset.
    net.run_until(|net| net.has(0, &Event::Open(kept)));
    let now = net.now;
    net.peers[0].close_channel(now, kept);
    net.run(Duration::from_secs(2));
    assert_eq!(net.count(0, &Event::ChannelClosed(kept)), 1);
    assert_eq!(net.incoming(1).len(), 1);
    assert!(net.has(1, &Event::ChannelClosed(net.incoming(1)[0])));
}

#[test]
fn closing_is_reported_after_the_last_message_was_read() {
    for count in [1, 5] {
        let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
        net.reads[1] = false;
        for _ in 0..count {
            net.send(0, near, Kind::Text, b"x");
        }
        let now = net.now;
        net.peers[0].close_channel(now, near);
        net.run(Duration::from_secs(2));
        assert!(!net.has(1, &Event::ChannelClosed(far)));
        for left in (0..count).rev() {
            assert_eq!(net.peers[1].recv().map(|message| message.channel), Some(far), "{left}");
        }
        assert_eq!(net.peers[1].recv(), None);
        net.run(Duration::from_secs(2));
        assert!(net.has(1, &Event::ChannelClosed(far)) && net.has(0, &Event::ChannelClosed(near)));
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let (mut net, [near, _]) = Net::connected(ChannelOptions::default());
    let taken = net.peers[0].send(net.now, near, Kind::Text, &[0xff]);
    assert_eq!(taken, Err(SendError::NotUtf8));
    net.send(0, near, Kind::Binary, &[0xff]);
    net.run(Duration::from_secs(1));
    assert_eq!(net.messages[1].len(), 1);
    assert_eq!(net.peers[0].channel_state(near), ChannelState::Open);
}

#[test]
fn unordered_messages_follow_the_opening() {
    let (mut net, _) = Net::connected(ChannelOptions::default());
    let channel = net.peers[0].create_channel(net.now, "", unordered()).unwrap();
    // The packet with the opening is delayed, later ones are not.
    net.filter = Some(Box::new(|flying| {
        flying.at += Duration::from_millis(200);
        true
    }));
    net.collect();
    net.filter = None;
    for _ in 0..20 {
        net.send(0, channel, Kind::Binary, &[0; 1000]);
    }
    net.run(Duration::from_millis(15));
    assert!(net.messages[1].is_empty());
    net.run(Duration::from_secs(3));
    assert_eq!(net.messages[1].len(), 20);
    // Once acknowledged, they need not wait for one another.
    let mut first = true;
    net.filter = Some(Box::new(move |flying| flying.from == 1 || !std::mem::take(&mut first)));
    for _ in 0..5 {
        net.send(0, channel, Kind::Binary, &[1; 1000]);
        net.collect();
    }
    net.run(Duration::from_millis(15));
    assert_eq!(net.messages[1].len(), 24);
}

#[test]
fn an_opening_without_space_is_postponed() {
    let mut configs = [config(0), config(1)];
    configs[0].sctp.limits.send_buffer_bytes = 1 << 20;
    let (mut net, [near, _]) = Net::connected_with(configs, ChannelOptions::default());
    net.reads[1] = false;
    for _ in 0..20 {
        net.run(Duration::from_millis(100));
        while net.peers[0].send(net.now, near, Kind::Binary, &[0; 1000]).is_ok() {}
        while net.peers[0].send(net.now, near, Kind::Binary, &[0; 1]).is_ok() {}
    }
    let late = net.peers[0].create_channel(net.now, "late", ChannelOptions::default()).unwrap();
    assert_eq!(net.peers[0].channel_state(late), ChannelState::Connecting);
    assert_eq!(net.peers[0].send(net.now, late, Kind::Text, b"x"), Err(SendError::Connecting));
    net.reads[1] = true;
    net.run_until(|net| net.has(0, &Event::Open(late)) && net.incoming(1).len() == 2);
}

#[test]
fn an_idle_reader_stops_the_sender() {
    let mut configs = [config(0), config(1)];
    configs[0].sctp.limits.send_buffer_bytes = 1 << 20;
    configs[1].sctp.limits.receive_window_bytes = 1 << 18;
    configs[1].sctp.limits.max_receive_window_bytes = 1 << 18;
    let (mut net, [near, _]) = Net::connected_with(configs, ChannelOptions::default());
    net.reads[1] = false;
    let (mut taken, message) = (0, vec![7; 1024]);
    for _ in 0..200 {
        while net.peers[0].send(net.now, near, Kind::Binary, &message).is_ok() {
            taken += 1;
        }
        net.run(Duration::from_millis(20));
    }
    assert_eq!(net.peers[0].send(net.now, near, Kind::Binary, &message), Err(SendError::WouldBlock));
    assert!(taken * 1024 < (1 << 20) + (1 << 18) + 65_536, "{taken} KiB");
    let held = net.peers[1].stats().sctp.held_bytes;
    assert!(held <= (1 << 18) + 65_536, "{held}");
    assert!(net.peers[0].buffered_amount(near) > 64 << 10);
    assert!(!net.has(0, &Event::Writable));
    net.reads[1] = true;
    net.run_until(|net| net.has(0, &Event::Writable));
    net.run_until(|net| net.messages[1].len() == taken);
    assert_eq!(net.peers[0].buffered_amount(near), 0);
}

#[test]
fn the_buffered_amount_counts_payload_and_reports_when_it_is_low() {
    let mut net = Net::new();
    let near = net.peers[0].create_channel(net.now, "label", ChannelOptions::default()).unwrap();
    net.signal();
    net.run_until(|net| net.has(0, &Event::Open(near)));
    assert_eq!(net.peers[0].buffered_amount(near), 0, "the opening does not count");
    let now = net.now;
    net.peers[0].set_buffered_amount_low_threshold(near, 1000);
    for _ in 0..100 {
        net.peers[0].send(now, near, Kind::Binary, &[0; 1000]).unwrap();
    }
    assert_eq!(net.peers[0].buffered_amount(near), 100_000);
    net.run(Duration::from_secs(2));
    assert_eq!(net.count(0, &Event::BufferedAmountLow(near)), 1);
    assert_eq!(net.peers[0].buffered_amount(near), 0);
    assert_eq!(net.count(1, &Event::BufferedAmountLow(net.incoming(1)[0])), 0);
}

#[test]
fn invalid_channels_are_refused() {
    let mut configs = [config(0), config(1)];
    configs[0].limits.max_channels = 2;
    configs[0].limits.max_label_bytes = 10;
    let mut net = Net::with(configs);
    let now = net.now;
    let mut create = |label: &str, options| net.peers[0].create_channel(now, label, options);
    assert_eq!(create("01234567890", ChannelOptions::default()), Err(ChannelError::Label));
    let protocol = ChannelOptions { protocol: "01234567890".into(), ..ChannelOptions::default() };
    assert_eq!(create("", protocol), Err(ChannelError::Label));
    create("", ChannelOptions::default()).unwrap();
    create("", ChannelOptions::default()).unwrap();
    assert_eq!(create("", ChannelOptions::default()), Err(ChannelError::Id));
    // The peer's are bounded too: excess channels are reset.
    let far: Vec<_> =
        (0..3).map(|_| net.peers[1].create_channel(now, "", ChannelOptions::default()).unwrap()).collect();
    net.signal();
    net.run(Duration::from_secs(2));
    assert!(net.incoming(0).is_empty());
    assert!(far.iter().all(|channel| net.has(1, &Event::ChannelClosed(*channel))));
    assert!(net.incoming(1).len() == 2 && net.messages[1].is_empty());
}

/// A peer opens as many channels as it can, with the longest labels. What is kept of them is bounded.
#[test]
fn a_flood_of_channels_is_bounded_by_default() {
    let limits = config(1).limits;
    let kept = limits.max_channels * 2 * limits.max_label_bytes;
    assert!(kept <= 4 << 20, "{kept} bytes of labels and protocols outside the receive window");
    let mut configs = [config(0), config(1)];
    configs[0].limits.max_channels = 3 * limits.max_channels;
    let (mut net, _) = Net::connected_with(configs, ChannelOptions::default());
    let label = "l".repeat(limits.max_label_bytes);
    let options = ChannelOptions { protocol: label.clone(), ..ChannelOptions::default() };
    for _ in 0..2 * limits.max_channels {
        let now = net.now;
        net.peers[0].create_channel(now, &label, options.clone()).unwrap();
        net.run(Duration::from_millis(1));
    }
    net.run(Duration::from_secs(10));
    assert_eq!(net.incoming(1).len(), limits.max_channels);
    assert_eq!((net.state(0), net.state(1)), (PeerState::Connected, PeerState::Connected));
}

#[test]
fn partial_reliability_under_loss() {
    let options = ChannelOptions { reliability: Reliability::MaxRetransmits(0), ..unordered() };
    let (mut net, [near, _]) = Net::connected(options);
    let mut count = 0;
    net.filter = Some(Box::new(move |flying| {
        count += u32::from(flying.from == 0);
        flying.from == 1 || !count.is_multiple_of(5)
    }));
    for _ in 0..500 {
        net.send(0, near, Kind::Binary, &[0; 1000]);
        net.run(Duration::from_millis(2));
    }
    net.run(Duration::from_secs(5));
    let came = net.messages[1].len();
    assert!((300..480).contains(&came), "{came}");
    net.filter = None;
    net.send(0, near, Kind::Text, b"last");
    net.run_until(|net| net.messages[1].last().is_some_and(|message| &message.data[..] == b"last"));
}
