//! Both sides offer at once and one gives way, in all interfaces.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::cell::Cell;
use std::time::Duration;

use netdyno_rtc::{Endpoint, Error, Event, Kind, Port, SignalingError, blocking};
use support::{On, endpoint, settings, until};

const SHORT: Option<Duration> = Some(Duration::from_micros(200));

#[test]
fn by_handlers() {
    for polite in 0..2 {
        let mut endpoints = [endpoint(), endpoint()];
        let [first, second] =
            endpoints.each_mut().map(|endpoint| endpoint.offer(Port::Shared, "test").unwrap());
        let (ids, offers) = ([first.0, second.0], [first.1, second.1]);
        let mut gives_way = endpoints[polite].connection(ids[polite]).unwrap();
        assert!(gives_way.has_local_offer());
        gives_way.rollback().unwrap();
        assert!(matches!(gives_way.rollback(), Err(SignalingError::State(_))));
        let answer = gives_way.accept_offer(&offers[1 - polite]).unwrap();
        endpoints[1 - polite].connection(ids[1 - polite]).unwrap().accept_answer(&answer).unwrap();

        let messages = Cell::new(0);
        let mut handler = On(
            |connection: &mut netdyno_rtc::Connection<'_>, event| {
                if let Event::Open(channel) = event {
                    connection.send(channel, Kind::Text, b"hello").unwrap();
                }
            },
            |_: &mut netdyno_rtc::Connection<'_>, _| messages.set(messages.get() + 1),
        );
        // Each has its own channel and one of the other's.
        until(|| {
            endpoints
                .iter_mut()
                .for_each(|endpoint: &mut Endpoint| endpoint.poll(SHORT, &mut handler).unwrap());
            (messages.get() == 4).then_some(())
        });
    }
}

#[test]
fn by_threads() {
    use blocking::PeerConnection;

    for polite in 0..2 {
        let endpoints =
            [0, 1].map(|_| blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap());
        let peers = endpoints.each_ref().map(|endpoint| PeerConnection::new(endpoint).unwrap());
        let channels = peers.each_ref().map(|peer| peer.create_channel("test", Default::default()).unwrap());
        let mut accepted = Vec::new();
        for restart in [false, true, true] {
            let offers = peers.each_ref().map(|peer| match restart {
                true => peer.restart_ice().unwrap(),
                false => peer.create_offer().unwrap(),
            });
            assert!(peers.iter().all(|peer| peer.has_local_offer()));
            let refused = peers[polite].accept_offer(&offers[1 - polite]);
            assert!(matches!(refused, Err(Error::Signaling(SignalingError::State(_)))));
            peers[polite].rollback().unwrap();
            let answer = peers[polite].accept_offer(&offers[1 - polite]).unwrap();
            peers[1 - polite].accept_answer(&answer).unwrap();
            assert!(peers.iter().all(|peer| !peer.has_local_offer() && peer.rollback().is_err()));
            for channel in &channels {
                channel.send_text("hello").unwrap();
            }
            if !restart {
                accepted.extend(peers.iter().map(|peer| peer.accept_channel().unwrap()));
            }
            for channel in &accepted {
                assert_eq!(channel.recv().unwrap().data, "hello");
            }
        }
        drop(accepted);
        peers[0].close();
        peers[1].wait_closed().unwrap();
        assert!(peers.iter().all(|peer| peer.is_over() && !peer.has_local_offer()));
    }
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn by_tasks() {
    use netdyno_rtc::tokio::{Endpoint, PeerConnection};

    for polite in 0..2 {
        let endpoints = [0, 1].map(|_| Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap());
        let peers = endpoints.each_ref().map(|endpoint| PeerConnection::new(endpoint).unwrap());
        let channels = peers.each_ref().map(|peer| peer.create_channel("test", Default::default()).unwrap());
        let offers = peers.each_ref().map(|peer| peer.create_offer().unwrap());
        peers[polite].rollback().unwrap();
        let answer = peers[polite].accept_offer(&offers[1 - polite]).unwrap();
        peers[1 - polite].accept_answer(&answer).unwrap();
        for side in 0..2 {
            channels[side].send_text("hello").await.unwrap();
            let accepted = peers[1 - side].accept_channel().await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().data, "hello");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_named_and_so_is_the_remedy() {
    let taken = endpoint();
    let address = taken.local_address();
    let error = Endpoint::bind(address, settings()).unwrap_err();
    assert!(matches!(&error, Error::Bind { address: at, .. } if *at == address), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&address.to_string()) && text.contains("or 0 for any"), "{text}");
    let mut several = settings();
    several.reactors = 2;
    let Some(before) = address.port().checked_sub(1) else { return };
    let text = match blocking::Endpoint::bind((address.ip(), before).into(), several) {
        // The port before may be in use too; then that one is reported.
        Err(error) => error.to_string(),
        Ok(_) => panic!("the second port is taken"),
    };
    assert!(text.contains(&format!("2 reactors take the ports {before} to {}", address.port())), "{text}");
}
