//! One turn of an endpoint is bounded, so that one connection cannot delay the others.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::cell::Cell;
use std::time::{Duration, Instant};

use netdyno_rtc::{ChannelId, Connection, ConnectionId, Endpoint, Event, Kind, Message, Port};
use support::{On, endpoint, settings, until};

const CONNECTIONS: usize = 100;
const CHANNELS: usize = 10;
/// Messages kept in each channel.
const FULL_BYTES: usize = 64 << 10;
const PINGS: usize = 41;
/// A small part of the turns needed until each of a hundred connections has sent a batch.
const TURNS_MOST: usize = 4;

fn connect(from: &mut Endpoint, to: &mut Endpoint, channels: usize) -> (ConnectionId, ChannelId) {
    let id = from.add(Port::Own).unwrap();
    let mut connection = from.connection(id).unwrap();
    let made = (0..channels).map(|n| connection.create_channel(&n.to_string(), Default::default()).unwrap());
    let last = made.last().unwrap();
    let offer = connection.create_offer(false).unwrap();
    let (_, answer) = to.answer(&offer).unwrap();
    from.connection(id).unwrap().accept_answer(&answer).unwrap();
    (id, last)
}

/// A ping is sent, received, answered and received: four turns, without interference.
#[test]
fn a_ping_comes_back_beside_a_thousand_full_channels() {
    // As much per turn as the receiving socket holds while its owner waits for this thread.
    let mut few = settings();
    few.sends_per_turn = 2;
    let mut client = Endpoint::bind("127.0.0.1:0".parse().unwrap(), few).unwrap();
    let mut server = endpoint();
    let (pinger, channel) = connect(&mut client, &mut server, 1);
    for _ in 0..CONNECTIONS {
        connect(&mut client, &mut server, CHANNELS);
    }
    let (opened, back) = (Cell::new(0), Cell::new(0));
    let block = vec![7; 1 << 10];
    let fill = |connection: &mut Connection<'_>, channel: ChannelId| {
        while connection.id() != pinger
            && connection.buffered_amount(channel) < FULL_BYTES
            && connection.send(channel, Kind::Binary, &block).is_ok()
        {}
    };
    let mut on_client = On(
        |connection: &mut Connection<'_>, event| match event {
            Event::Open(channel) => {
                opened.set(opened.get() + 1);
                connection.set_buffered_amount_low_threshold(channel, FULL_BYTES / 2);
                fill(connection, channel);
            }
            Event::BufferedAmountLow(channel) => fill(connection, channel),
            _ => {}
        },
        |_: &mut Connection<'_>, _| back.set(back.get() + 1),
    );
    let mut on_server = On(
        |_: &mut Connection<'_>, _| {},
        |connection: &mut Connection<'_>, message: Message| {
            if message.kind == Kind::Text {
                connection.send(message.channel, Kind::Text, &message.data).unwrap();
            }
        },
    );
    let now = Some(Duration::ZERO);
    until(|| {
        client.poll(now, &mut on_client).unwrap();
        server.poll(now, &mut on_server).unwrap();
        (opened.get() == CONNECTIONS * CHANNELS + 1).then_some(())
    });
    let (mut longest, mut turns) = (Duration::ZERO, Vec::new());
    for ping in 0..PINGS {
        client.connection(pinger).unwrap().send(channel, Kind::Text, b"ping").unwrap();
        let mut count = 0;
        until(|| {
            let begin = Instant::now();
            client.poll(now, &mut on_client).unwrap();
            longest = longest.max(begin.elapsed());
            // It keeps up with more turns: one turn receives as little as one sends.
            for _ in 0..8 {
                let begin = Instant::now();
                server.poll(now, &mut on_server).unwrap();
                longest = longest.max(begin.elapsed());
            }
            count += 1;
            (back.get() > ping).then_some(())
        });
        turns.push(count);
    }
    turns.sort_unstable();
    println!("turns until a ping was back: {turns:?}; the longest turn {longest:?}");
    // The median, because a full socket drops datagrams, and with them a ping now and then.
    assert!(turns[PINGS / 2] <= TURNS_MOST, "{turns:?}");
}
