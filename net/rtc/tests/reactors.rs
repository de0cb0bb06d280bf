//! Several reactors behind one endpoint, in all interfaces: with a port each, and with a shared one.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use netdyno_rtc::{
    ChannelOptions, Connection, Endpoint, Error, Event, Handler, Kind, Message, Port, ReactorConnectionId,
    Reactors, Settings, blocking,
};
use support::{Ignore, On, endpoint, settings, until};

const REACTORS: usize = 3;
const CONNECTIONS: usize = 12;

fn of_three() -> Settings {
    let mut settings = settings();
    settings.reactors = REACTORS;
    settings
}

fn at_one_port() -> Settings {
    let mut settings = of_three();
    settings.one_port = true;
    settings
}

/// Echoes messages, preceded by the reactor's index; panics on request.
#[derive(Debug)]
struct Echo(usize);

impl Handler for Echo {
    fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        assert_ne!(&message.data[..], b"panic", "for the sake of this test");
        let answer = [&[self.0 as u8][..], &message.data].concat();
        connection.send(message.channel, Kind::Binary, &answer).unwrap();
    }
}

fn connect(client: &mut Endpoint, server: &Reactors<Echo>) -> ReactorConnectionId {
    let (here, offer) = client.offer(Port::Own, "test").unwrap();
    let (place, answer) = server.answer(&offer).unwrap();
    client.connection(here).unwrap().accept_answer(&answer).unwrap();
    place
}

/// Sends `text` on each channel that opens, until there are `count` answers; collects who answered.
fn ask(client: &mut Endpoint, text: &'static str, count: usize) -> BTreeMap<u8, usize> {
    let answers = std::cell::RefCell::new(BTreeMap::new());
    let mut handler = On(
        |connection: &mut Connection<'_>, event| {
            if let Event::Open(channel) = event {
                connection.send(channel, Kind::Text, text.as_bytes()).unwrap();
            }
        },
        |_: &mut Connection<'_>, message: Message| {
            assert_eq!(&message.data[1..], text.as_bytes());
            *answers.borrow_mut().entry(message.data[0]).or_default() += 1;
        },
    );
    until(|| {
        client.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
        (answers.borrow().values().sum::<usize>() == count).then_some(())
    });
    answers.into_inner()
}

#[test]
fn connections_are_spread_and_answered_where_they_are() {
    let server = Reactors::start("127.0.0.1:0".parse().unwrap(), &of_three(), Echo).unwrap();
    let addresses: Vec<_> = server.local_addresses().collect();
    assert!(addresses.len() == REACTORS && addresses[0] != addresses[1], "{addresses:?}");
    let mut client = endpoint();
    let places: Vec<ReactorConnectionId> = (0..CONNECTIONS).map(|_| connect(&mut client, &server)).collect();
    let answered = ask(&mut client, "hello", CONNECTIONS);
    let even: BTreeMap<u8, usize> = (0..REACTORS as u8).map(|n| (n, CONNECTIONS / REACTORS)).collect();
    assert_eq!(answered, even);

    // Acts on a connection at its reactor.
    let place = places[4];
    let state =
        server.run(place.reactor, move |endpoint, _| endpoint.connection(place.connection).unwrap().state());
    assert_eq!(state.unwrap(), netdyno_rtc::PeerState::Connected);
    let here = server.run(place.reactor, |endpoint, echo| (echo.0, endpoint.local_address())).unwrap();
    assert_eq!(here, (place.reactor, addresses[place.reactor]));
    assert!(matches!(server.run(REACTORS, |_, _| ()), Err(Error::Closed)), "there is none");

    drop(server);
    until(|| {
        client.poll(Some(Duration::from_millis(1)), &mut Ignore).unwrap();
        client.is_empty().then_some(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn one_port_is_enough_for_all() {
    const MANY: usize = 201;
    let server = Reactors::start("127.0.0.1:0".parse().unwrap(), &at_one_port(), Echo).unwrap();
    let addresses: Vec<_> = server.local_addresses().collect();
    assert_eq!(addresses, [addresses[0]; REACTORS]);
    let again = Reactors::start(addresses[0], &at_one_port(), Echo).unwrap_err();
    assert!(again.to_string().contains("bind another port"), "{again}");

    let mut client = endpoint();
    for _ in 0..MANY {
        connect(&mut client, &server);
    }
    let answered = ask(&mut client, "hello", MANY);
    let even: BTreeMap<u8, usize> = (0..REACTORS as u8).map(|n| (n, MANY / REACTORS)).collect();
    assert_eq!(answered, even, "each answers on the connections that were made there");
}

/// A NAT between a client and a server, which can give the client another port.
struct Nat {
    inside: UdpSocket,
    outside: UdpSocket,
    client: SocketAddr,
    server: SocketAddr,
}

impl Nat {
    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    /// Forwards waiting datagrams.
    fn carry(&self) {
        let mut bytes = [0; 65_536];
        while let Ok((length, _)) = self.inside.recv_from(&mut bytes) {
            self.outside.send_to(&bytes[..length], self.server).unwrap();
        }
        while let Ok((length, _)) = self.outside.recv_from(&mut bytes) {
            self.inside.send_to(&bytes[..length], self.client).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_peer_that_changes_its_port_is_found_wherever_it_comes() {
    let server = Reactors::start("127.0.0.1:0".parse().unwrap(), &at_one_port(), Echo).unwrap();
    let mut client = endpoint();
    let address = server.local_addresses().next().unwrap();
    let mut nat = Nat {
        inside: Nat::socket(),
        outside: Nat::socket(),
        client: client.local_address(),
        server: address,
    };
    let replace = |text: &str, from: SocketAddr, to: SocketAddr| {
        let named = |at: SocketAddr| format!(" {} {} ", at.ip(), at.port());
        assert!(text.contains(&named(from)), "{text}");
        text.replace(&named(from), &named(to))
    };
    // An unused port: the client can be reached only through the NAT.
    let hidden = "127.0.0.1:9".parse().unwrap();
    let (here, offer) = client.offer(Port::Shared, "test").unwrap();
    let (place, answer) = server.answer(&replace(&offer, nat.client, hidden)).unwrap();
    let answer = replace(&answer, address, nat.inside.local_addr().unwrap());
    client.connection(here).unwrap().accept_answer(&answer).unwrap();

    // By chance, one run in 3^7 would use one reactor only.
    for round in 0..8_u8 {
        let (opened, heard) = (std::cell::Cell::new(round > 0), std::cell::Cell::new(None));
        let mut handler = On(
            |_: &mut Connection<'_>, event| opened.set(opened.get() || matches!(event, Event::Open(_))),
            |_: &mut Connection<'_>, message: Message| heard.set(Some((message.data[0], message.data[1]))),
        );
        let mut asked = false;
        let answered = until(|| {
            nat.carry();
            client.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
            if opened.get() && !std::mem::replace(&mut asked, opened.get()) {
                let mut connection = client.connection(here).unwrap();
                connection.send(netdyno_rtc::ChannelId(0), Kind::Binary, &[round]).unwrap();
            }
            heard.take()
        });
        assert_eq!(answered, (place.reactor as u8, round));

        nat.outside = Nat::socket();
        let offer = client.connection(here).unwrap().create_offer(true).unwrap();
        let offer = replace(&offer, nat.client, hidden);
        let answer = server.run(place.reactor, move |endpoint, _| {
            endpoint.connection(place.connection).unwrap().accept_offer(&offer).unwrap()
        });
        let answer = replace(&answer.unwrap(), address, nat.inside.local_addr().unwrap());
        client.connection(here).unwrap().accept_answer(&answer).unwrap();
    }
}

#[test]
fn a_handler_that_panics_ends_its_reactor_alone() {
    for settings in [of_three(), at_one_port()] {
        panics_alone(&settings);
    }
}

fn panics_alone(settings: &Settings) {
    let server = Reactors::start("127.0.0.1:0".parse().unwrap(), settings, Echo).unwrap();
    let mut client = endpoint();
    let doomed = connect(&mut client, &server).reactor;
    let mut handler = On(
        |connection: &mut Connection<'_>, event| {
            if let Event::Open(channel) = event {
                connection.send(channel, Kind::Text, b"panic").unwrap();
            }
        },
        |_: &mut Connection<'_>, _| {},
    );
    until(|| {
        client.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
        client.is_empty().then_some(())
    });
    assert!(matches!(server.run(doomed, |_, _| ()), Err(Error::Closed)));
    let reactors: Vec<usize> = (0..4).map(|_| connect(&mut client, &server).reactor).collect();
    assert!(!reactors.contains(&doomed), "{reactors:?} without {doomed}");
    let answered = ask(&mut client, "hello", 4);
    assert!(answered.len() == 2 && answered.values().all(|&count| count == 2), "{answered:?}");
}

#[test]
fn the_face_of_threads_has_several() {
    // Between one local port and one remote port there can be only one connection.
    for (settings, port) in [(of_three(), Port::Shared), (at_one_port(), Port::Own)] {
        threads_have_several(settings, port);
    }
}

fn threads_have_several(settings_of_server: Settings, port: Port) {
    let server = blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings_of_server).unwrap();
    let client = blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    assert_eq!((server.local_addresses().count(), client.local_addresses().count()), (REACTORS, 1));
    let pairs: Vec<_> = (0..REACTORS)
        .map(|_| {
            let offerer = blocking::PeerConnection::on(&client, port).unwrap();
            let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
            let answerer = blocking::PeerConnection::new(&server).unwrap();
            let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
            let named = server.local_addresses().filter(|at| answer.contains(&at.port().to_string())).count();
            assert_eq!(named, if port == Port::Own { REACTORS } else { 1 });
            offerer.accept_answer(&answer).unwrap();
            (offerer, answerer, channel)
        })
        .collect();
    for (_, answerer, channel) in &pairs {
        channel.send_text("hello").unwrap();
        assert_eq!(answerer.accept_channel().unwrap().recv().unwrap().data, "hello");
    }
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_face_of_tasks_has_several() {
    for (settings, port) in [(of_three(), Port::Shared), (at_one_port(), Port::Own)] {
        tasks_have_several(settings, port).await;
    }
}

#[cfg(feature = "tokio")]
async fn tasks_have_several(settings_of_server: Settings, port: Port) {
    use netdyno_rtc::tokio::{Endpoint, PeerConnection};

    let server = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings_of_server).unwrap();
    let client = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    assert_eq!(server.local_addresses().count(), REACTORS);
    let mut pairs = Vec::new();
    for _ in 0..REACTORS {
        let offerer = PeerConnection::on(&client, port).unwrap();
        let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
        let answerer = PeerConnection::new(&server).unwrap();
        let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
        offerer.accept_answer(&answer).unwrap();
        pairs.push((offerer, answerer, channel));
    }
    for (_, answerer, channel) in &pairs {
        channel.send_text("hello").await.unwrap();
        assert_eq!(answerer.accept_channel().await.unwrap().recv().await.unwrap().data, "hello");
    }
}
