//! Several reactors behind one endpoint, on all faces.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use netdyno_rtc::{
    ChannelOptions, Connection, Endpoint, Error, Event, Handler, Kind, Message, Place, Port, Reactors,
    Settings, blocking,
};
use support::{Ignore, On, endpoint, settings, until};

const REACTORS: usize = 3;
const CONNECTIONS: usize = 12;

fn of_three() -> Settings {
    let mut settings = settings();
    settings.reactors = REACTORS;
    settings
}

/// Sends back what comes, with its number before it; fails where it is told to.
struct Echo(usize);

impl Handler for Echo {
    fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        assert_ne!(&message.data[..], b"panic", "for the sake of this test");
        let answer = [&[self.0 as u8][..], &message.data].concat();
        connection.send(message.channel, Kind::Binary, &answer).unwrap();
    }
}

fn connect(client: &mut Endpoint, server: &Reactors<Echo>) -> Place {
    let (here, offer) = client.offer(Port::Own, "test").unwrap();
    let (place, answer) = server.answer(&offer).unwrap();
    client.connection(here).unwrap().accept_answer(&answer).unwrap();
    place
}

/// Sends `text` on each channel that opens, until `count` answers are there: by whom.
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
    let places: Vec<Place> = (0..CONNECTIONS).map(|_| connect(&mut client, &server)).collect();
    let answered = ask(&mut client, "hello", CONNECTIONS);
    let even: BTreeMap<u8, usize> = (0..REACTORS as u8).map(|n| (n, CONNECTIONS / REACTORS)).collect();
    assert_eq!(answered, even);

    // Acts on a connection where it is.
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

#[test]
fn a_handler_that_panics_ends_its_reactor_alone() {
    let server = Reactors::start("127.0.0.1:0".parse().unwrap(), &of_three(), Echo).unwrap();
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
    let server = blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), of_three()).unwrap();
    let client = blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    assert_eq!((server.local_addresses().count(), client.local_addresses().count()), (REACTORS, 1));
    let pairs: Vec<_> = (0..REACTORS)
        .map(|_| {
            let offerer = blocking::PeerConnection::new(&client).unwrap();
            let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
            let answerer = blocking::PeerConnection::new(&server).unwrap();
            let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
            // From one port of ours there can be one connection to each of theirs: three find a place.
            let named = server.local_addresses().filter(|at| answer.contains(&at.port().to_string())).count();
            assert_eq!(named, 1);
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
    use netdyno_rtc::tokio::{Endpoint, PeerConnection};

    let server = Endpoint::bind("127.0.0.1:0".parse().unwrap(), of_three()).unwrap();
    let client = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap();
    assert_eq!(server.local_addresses().count(), REACTORS);
    let mut pairs = Vec::new();
    for _ in 0..REACTORS {
        let offerer = PeerConnection::new(&client).unwrap();
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
