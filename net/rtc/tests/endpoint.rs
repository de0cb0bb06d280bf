//! Two endpoints on the loopback interface, both driven by the test.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::{Duration, Instant};

use netdyno_rtc::{ChannelId, ConnectionId, Endpoint, Error, Event, Kind, PeerState, Port, SendError};
use support::{Ignore, On, endpoint, settings, until};

/// The wait of a turn, short enough to alternate between the endpoints.
const SHORT: Option<Duration> = Some(Duration::from_micros(200));

/// Connects `from` to `to` with one channel; returns both ids and the offerer's channel.
fn connect(from: &mut Endpoint, to: &mut Endpoint, port: Port) -> (ConnectionId, ConnectionId) {
    let (here, offer) = from.offer(port, "test").unwrap();
    let (there, answer) = to.answer(&offer).unwrap();
    from.connection(here).unwrap().accept_answer(&answer).unwrap();
    (here, there)
}

#[test]
fn messages_go_there_and_back() {
    let (mut client, mut server) = (endpoint(), endpoint());
    connect(&mut client, &mut server, Port::Shared);
    let echoed = RefCell::new(Vec::new());
    let mut on_client = On(
        |connection: &mut netdyno_rtc::Connection<'_>, event| {
            if let Event::Open(channel) = event {
                assert_eq!(connection.label(channel), "test");
                connection.send(channel, Kind::Text, "h\u{e9}".as_bytes()).unwrap();
                connection.send(channel, Kind::Binary, &[]).unwrap();
                connection.send(channel, Kind::Binary, &vec![7; 200_000]).unwrap();
            }
        },
        |_: &mut netdyno_rtc::Connection<'_>, message: netdyno_rtc::Message| {
            echoed.borrow_mut().push((message.kind, message.data));
        },
    );
    let mut on_server = On(
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
        |connection: &mut netdyno_rtc::Connection<'_>, message: netdyno_rtc::Message| {
            connection.send(message.channel, message.kind, &message.data).unwrap();
        },
    );
    until(|| {
        client.poll(SHORT, &mut on_client).unwrap();
        server.poll(SHORT, &mut on_server).unwrap();
        (echoed.borrow().len() == 3).then_some(())
    });
    let echoed = echoed.borrow();
    assert_eq!((echoed[0].0, &echoed[0].1[..]), (Kind::Text, "h\u{e9}".as_bytes()));
    assert_eq!((echoed[1].0, &echoed[1].1[..]), (Kind::Binary, &[][..]));
    assert_eq!((echoed[2].0, &echoed[2].1[..]), (Kind::Binary, &[7; 200_000][..]));
}

#[test]
fn two_hundred_connections_share_a_port() {
    const CONNECTIONS: usize = 200;
    let (mut client, mut server) = (endpoint(), endpoint());
    for _ in 0..CONNECTIONS {
        connect(&mut client, &mut server, Port::Own);
    }
    let (done, opened) = (RefCell::new(HashSet::new()), Cell::new(0));
    let mut on_client = On(
        |connection: &mut netdyno_rtc::Connection<'_>, event| {
            if let Event::Open(channel) = event {
                opened.set(opened.get() + 1);
                let name = format!("{:?}", connection.id());
                connection.send(channel, Kind::Binary, name.as_bytes()).unwrap();
            }
        },
        |connection: &mut netdyno_rtc::Connection<'_>, message: netdyno_rtc::Message| {
            assert_eq!(
                message.data,
                format!("{:?}", connection.id()),
                "messages reach only their connection"
            );
            done.borrow_mut().insert(connection.id());
        },
    );
    let mut on_server = On(
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
        |connection: &mut netdyno_rtc::Connection<'_>, message: netdyno_rtc::Message| {
            connection.send(message.channel, message.kind, &message.data).unwrap();
        },
    );
    until(|| {
        client.poll(SHORT, &mut on_client).unwrap();
        server.poll(SHORT, &mut on_server).unwrap();
        (done.borrow().len() == CONNECTIONS).then_some(())
    });
    assert_eq!((opened.get(), client.len(), server.len()), (CONNECTIONS, CONNECTIONS, CONNECTIONS));

    drop(client);
    until(|| {
        server.poll(SHORT, &mut Ignore).unwrap();
        server.is_empty().then_some(())
    });
}

#[test]
fn closing_ends_both_sides() {
    let (mut client, mut server) = (endpoint(), endpoint());
    let (here, there) = connect(&mut client, &mut server, Port::Shared);
    assert_eq!(ConnectionId::from_bits(here.to_bits()), here);
    assert_eq!(client.due_within(), Some(Duration::ZERO), "an offer was made, and an answer taken");
    let ends = RefCell::new(Vec::new());
    let opened = Cell::new(false);
    let mut on_client = On(
        |connection: &mut netdyno_rtc::Connection<'_>, event| match event {
            Event::Open(_) => {
                opened.set(true);
                connection.close();
            }
            Event::State(state @ (PeerState::Closed | PeerState::Failed)) => {
                ends.borrow_mut().push(("client", state));
            }
            _ => {}
        },
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
    );
    let mut on_server = On(
        |_: &mut netdyno_rtc::Connection<'_>, event| {
            if let Event::State(state @ (PeerState::Closed | PeerState::Failed)) = event {
                ends.borrow_mut().push(("server", state));
            }
        },
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
    );
    until(|| {
        client.poll(SHORT, &mut on_client).unwrap();
        server.poll(SHORT, &mut on_server).unwrap();
        (client.is_empty() && server.is_empty()).then_some(())
    });
    assert!(opened.get());
    let mut ends = ends.into_inner();
    ends.sort_unstable_by_key(|(side, _)| *side);
    assert_eq!(ends, [("client", PeerState::Closed), ("server", PeerState::Closed)]);
    assert!(client.connection(here).is_none() && server.connection(there).is_none());
}

#[test]
fn without_a_reader_the_sender_is_stopped() {
    let (mut client, mut server) = (endpoint(), endpoint());
    let (_, there, _, taken) = connect_and_fill(&mut client, &mut server);
    let held = server.connection(there).unwrap().stats().sctp.held_bytes;
    assert!(held <= 64 << 20, "the receiver holds {held} bytes");

    // Everything arrives once it is read.
    let received = Cell::new(0);
    let mut on_server = On(
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
        |_: &mut netdyno_rtc::Connection<'_>, message: netdyno_rtc::Message| {
            assert_eq!(message.data.len(), 60_000);
            received.set(received.get() + 1);
        },
    );
    server.connection(there).unwrap().set_reading(true);
    until(|| {
        client.poll(SHORT, &mut Ignore).unwrap();
        server.poll(SHORT, &mut on_server).unwrap();
        (received.get() == taken).then_some(())
    });
}

/// Connects, and fills the receive window of a server that does not read. Returns both ids, the sender's
/// channel, and the number of messages.
fn connect_and_fill(
    client: &mut Endpoint,
    server: &mut Endpoint,
) -> (ConnectionId, ConnectionId, ChannelId, usize) {
    let (here, there) = connect(client, server, Port::Shared);
    server.connection(there).unwrap().set_reading(false);
    let channel = Cell::new(None);
    let mut on_client = On(
        |_: &mut netdyno_rtc::Connection<'_>, event| {
            if let Event::Open(opened) = event {
                channel.set(Some(opened));
            }
        },
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
    );
    let channel = until(|| {
        client.poll(SHORT, &mut on_client).unwrap();
        server.poll(SHORT, &mut Ignore).unwrap();
        channel.get()
    });
    let taken = fill(client, server, here, channel);
    (here, there, channel, taken)
}

#[test]
fn a_paused_reader_gets_the_end_after_earlier_messages() {
    for is_cut_off in [false, true] {
        let mut settings = settings();
        let mut peer = (*settings.peer).clone();
        // Longer than any machine needs for the messages, so that the connection fails meanwhile.
        peer.consent_timeout = Duration::from_secs(15);
        peer.restart_timeout = Duration::ZERO;
        settings.peer = peer.into();
        let mut client = endpoint();
        let mut server = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
        let (here, ..) = connect_and_fill(&mut client, &mut server);
        if !is_cut_off {
            client.connection(here).unwrap().close();
            client.poll(SHORT, &mut Ignore).unwrap();
        }
        let (messages, ends) = (Cell::new(0), RefCell::new(Vec::new()));
        let mut on_server = On(
            |_: &mut netdyno_rtc::Connection<'_>, event| {
                if let Event::ChannelClosed(_) | Event::State(PeerState::Closed | PeerState::Failed) = event {
                    ends.borrow_mut().push((messages.get() > 0, event));
                }
            },
            |connection: &mut netdyno_rtc::Connection<'_>, _| {
                messages.set(messages.get() + 1);
                connection.set_reading(false);
            },
        );
        until(|| {
            server.poll(SHORT, &mut on_server).unwrap();
            server.is_empty().then_some(())
        });
        let ends = ends.into_inner();
        assert_eq!(ends.len(), 2, "{ends:?}");
        assert!(ends.iter().all(|(after_messages, _)| *after_messages));
    }
}

#[test]
fn a_pulling_reader_gets_the_end_after_all_messages() {
    let (mut client, mut server) = (endpoint(), endpoint());
    let (here, there, channel, taken) = connect_and_fill(&mut client, &mut server);
    let is_closed = Cell::new(false);
    let mut on_server = On(
        |_: &mut netdyno_rtc::Connection<'_>, event| {
            is_closed.set(is_closed.get() | matches!(event, Event::ChannelClosed(_)));
        },
        |_: &mut netdyno_rtc::Connection<'_>, _| panic!("messages are pulled"),
    );
    client.connection(here).unwrap().close_channel(channel);
    let mut pulled = 0;
    until(|| {
        client.poll(SHORT, &mut Ignore).unwrap();
        server.poll(SHORT, &mut on_server).unwrap();
        while server.connection(there).unwrap().recv().is_some() {
            pulled += 1;
            assert!(!is_closed.get());
        }
        is_closed.get().then_some(())
    });
    assert_eq!(pulled, taken);
}

/// Sends until nothing is accepted for a while; returns the number of messages.
fn fill(client: &mut Endpoint, server: &mut Endpoint, here: ConnectionId, channel: ChannelId) -> usize {
    let (mut taken, mut refused, mut quiet) = (0, 0, Instant::now());
    // Both conditions: on a busy machine, time may pass without either endpoint running.
    while refused < 100 || quiet.elapsed() < Duration::from_millis(300) {
        match client.connection(here).unwrap().send(channel, Kind::Binary, &[1; 60_000]) {
            Ok(()) => (taken, refused, quiet) = (taken + 1, 0, Instant::now()),
            Err(SendError::WouldBlock) => {
                refused += 1;
                client.poll(SHORT, &mut Ignore).unwrap();
                server.poll(SHORT, &mut Ignore).unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(taken > 10, "{taken}");
    taken
}

#[test]
fn nothing_comes_of_a_bad_offer_or_too_many_connections() {
    let mut settings = settings();
    settings.max_connections = 1;
    let mut endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
    assert!(matches!(endpoint.answer("v=0\r\n"), Err(Error::Signaling(_))));
    assert!(endpoint.is_empty(), "what was made for it is gone");
    let (id, _) = endpoint.offer(Port::Shared, "one").unwrap();
    assert!(matches!(endpoint.offer(Port::Shared, "two"), Err(Error::Limit)));
    endpoint.connection(id).unwrap().close();
    until(|| {
        endpoint.poll(SHORT, &mut Ignore).unwrap();
        endpoint.is_empty().then_some(())
    });
    endpoint.offer(Port::Shared, "three").unwrap();
    assert!(endpoint.connection(id).is_none(), "an old name does not lead to a new connection");
}

#[test]
fn an_address_that_is_not_bound_is_not_offered() {
    let bind = |to: &str| {
        let mut settings = settings();
        settings.addresses = vec!["127.0.0.1".parse().unwrap()];
        Endpoint::bind(to.parse().unwrap(), settings)
    };
    assert!(matches!(bind("127.0.0.2:0"), Err(Error::Address(other)) if other.to_string() == "127.0.0.1"));
    for to in ["127.0.0.1:0", "0.0.0.0:0"] {
        let (_, offer) = bind(to).unwrap().offer(Port::Shared, "test").unwrap();
        assert!(offer.contains(" 127.0.0.1 "), "{offer}");
    }
}

#[test]
fn strangers_change_nothing() {
    let (mut client, mut server) = (endpoint(), endpoint());
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let check = |ufrag: &str| {
        let name = format!("{ufrag}:x");
        let mut bytes =
            vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 6, 0];
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes[3] = (bytes.len() - 20) as u8;
        bytes
    };
    let (here, there) = connect(&mut client, &mut server, Port::Shared);
    let ufrag = server.connection(there).unwrap().local_ufrag().to_owned();
    let opened = Cell::new(false);
    let mut on_client = On(
        |_: &mut netdyno_rtc::Connection<'_>, event| {
            opened.set(opened.get() | matches!(event, Event::Open(_)))
        },
        |_: &mut netdyno_rtc::Connection<'_>, _| {},
    );
    until(|| {
        for noise in [&check(&ufrag)[..], &check("nobody"), &[22, 254, 253, 0], &[0; 20], &[]] {
            stranger.send_to(noise, server.local_address()).unwrap();
        }
        client.poll(SHORT, &mut on_client).unwrap();
        server.poll(SHORT, &mut Ignore).unwrap();
        opened.get().then_some(())
    });
    assert!(client.connection(here).is_some());
    assert_eq!(server.len(), 1);
}
