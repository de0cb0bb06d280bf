//! A path that is lost until ICE has failed, followed by a restart, in all interfaces. All at once, because
//! losing consent takes 15 s.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use netdyno_rtc::{
    Connection, Error, Event, Kind, Message, PeerState, Port, RecvError, SendError, Settings, blocking, core,
};
use support::{On, PATIENCE, Relay, settings, until};

/// The shortest allowed timeout.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(15);

fn impatient(restart_timeout: Duration) -> Settings {
    let mut settings = settings();
    let config = Arc::make_mut(&mut settings.peer);
    (config.consent_timeout, config.restart_timeout) = (CONSENT_TIMEOUT, restart_timeout);
    settings
}

#[test]
fn a_path_that_was_lost_for_long() {
    std::thread::scope(|scope| {
        scope.spawn(by_handlers);
        scope.spawn(a_connection_without_restart_reports_its_failure);
        #[cfg(feature = "tokio")]
        scope.spawn(by_threads_and_tasks);
    });
}

fn by_handlers() {
    let relay = Relay::start();
    let mut endpoints = [0, 1]
        .map(|_| netdyno_rtc::Endpoint::bind("127.0.0.1:0".parse().unwrap(), impatient(PATIENCE)).unwrap());
    let ports = endpoints.each_ref().map(|endpoint| endpoint.local_address().port());
    let (here, offer) = endpoints[0].offer(Port::Shared, "test").unwrap();
    let (there, answer) = endpoints[1].answer(&relay.describe(0, ports[0], &offer)).unwrap();
    endpoints[0].connection(here).unwrap().accept_answer(&relay.describe(1, ports[1], &answer)).unwrap();

    let (opened, received, failed) = (Cell::new(None), RefCell::new(Vec::new()), Cell::new(0));
    let mut handler = On(
        |connection: &mut Connection<'_>, event| match event {
            Event::Open(channel) if connection.id() == here => opened.set(Some(channel)),
            Event::State(PeerState::Failed) => {
                assert!(!connection.is_over());
                failed.set(failed.get() + 1);
            }
            Event::ChannelClosed(_) => panic!("channels go on"),
            _ => {}
        },
        |_: &mut Connection<'_>, message: Message| received.borrow_mut().push(message.data),
    );
    let mut turn = |endpoints: &mut [netdyno_rtc::Endpoint; 2]| {
        let short = Some(Duration::from_millis(1));
        endpoints.iter_mut().for_each(|endpoint| endpoint.poll(short, &mut handler).unwrap());
    };
    let channel = until(|| {
        turn(&mut endpoints);
        opened.get()
    });
    let send = |endpoints: &mut [netdyno_rtc::Endpoint; 2], text: &str| {
        endpoints[0].connection(here).unwrap().send(channel, Kind::Text, text.as_bytes()).unwrap();
    };
    send(&mut endpoints, "before");
    until(|| {
        turn(&mut endpoints);
        (received.borrow().len() == 1).then_some(())
    });
    relay.cut(true);
    send(&mut endpoints, "into the gap");
    until(|| {
        turn(&mut endpoints);
        (failed.get() == 2).then_some(())
    });
    relay.cut(false);
    let offer = endpoints[1].connection(there).unwrap().create_offer(true).unwrap();
    let offer = relay.describe(1, ports[1], &offer);
    let answer = endpoints[0].connection(here).unwrap().accept_offer(&offer).unwrap();
    let answer = relay.describe(0, ports[0], &answer);
    endpoints[1].connection(there).unwrap().accept_answer(&answer).unwrap();
    send(&mut endpoints, "after");
    until(|| {
        turn(&mut endpoints);
        (received.borrow().len() == 3).then_some(())
    });
    assert_eq!(received.into_inner(), ["before", "into the gap", "after"]);
}

#[cfg(feature = "tokio")]
fn by_threads_and_tasks() {
    use netdyno_rtc::tokio;

    let relay = Relay::start();
    let runtime =
        ::tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let here = blocking::Endpoint::bind(address, impatient(PATIENCE)).unwrap();
    let there = runtime.block_on(async { tokio::Endpoint::bind(address, impatient(PATIENCE)).unwrap() });
    let ports = [here.local_address().port(), there.local_address().port()];
    let offerer = blocking::PeerConnection::new(&here).unwrap();
    let channel = offerer.create_channel("test", Default::default()).unwrap();
    let answerer = tokio::PeerConnection::new(&there).unwrap();
    let signal = |offer: &str| {
        let answer = answerer.accept_offer(&relay.describe(0, ports[0], offer)).unwrap();
        offerer.accept_answer(&relay.describe(1, ports[1], &answer)).unwrap();
    };
    signal(&offerer.create_offer().unwrap());
    channel.send_text("before").unwrap();
    let other = runtime.block_on(answerer.accept_channel()).unwrap();
    let recv = || runtime.block_on(other.recv()).unwrap();
    assert_eq!(recv().data, "before");

    relay.cut(true);
    channel.send_text("into the gap").unwrap();
    assert_eq!(offerer.wait_state(PeerState::Connected), PeerState::Disconnected);
    assert_eq!(offerer.wait_state(PeerState::Disconnected), PeerState::Failed);
    assert!(!offerer.is_over() && channel.is_open() && !channel.is_closed());
    assert!(matches!(offerer.wait_connected(), Err(Error::Peer(core::Error::Ice(_)))));
    assert_eq!(offerer.wait_state_timeout(PeerState::Failed, Duration::from_millis(5)), None);
    channel.send_text("while it has failed").unwrap();
    runtime.block_on(async {
        let mut state = PeerState::Connected;
        while state != PeerState::Failed {
            state = answerer.wait_state(state).await;
        }
    });
    relay.cut(false);
    let offer = offerer.restart_ice().unwrap();
    signal(&offer);
    offerer.wait_connected().unwrap();
    runtime.block_on(answerer.wait_connected()).unwrap();
    channel.send_text("after").unwrap();
    for text in ["into the gap", "while it has failed", "after"] {
        assert_eq!(recv().data, text);
    }
}

fn a_connection_without_restart_reports_its_failure() {
    let relay = Relay::start();
    let endpoints = [0, 1].map(|_| {
        let settings = impatient(Duration::from_millis(200));
        blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap()
    });
    let ports = endpoints.each_ref().map(|endpoint| endpoint.local_address().port());
    let peers = endpoints.each_ref().map(|endpoint| blocking::PeerConnection::new(endpoint).unwrap());
    let channel = peers[0].create_channel("test", Default::default()).unwrap();
    let offer = relay.describe(0, ports[0], &peers[0].create_offer().unwrap());
    let answer = relay.describe(1, ports[1], &peers[1].accept_offer(&offer).unwrap());
    peers[0].accept_answer(&answer).unwrap();
    channel.wait_open().unwrap();
    relay.cut(true);
    assert_eq!(channel.recv(), Err(RecvError::Failed));
    assert_eq!(channel.send(b"late"), Err(SendError::Failed));
    assert!(matches!(peers[0].wait_closed(), Err(Error::Peer(core::Error::Ice(_)))));
    assert!(peers[0].is_over() && channel.is_closed());
    assert_eq!(peers[0].wait_state(PeerState::Failed), PeerState::Closed);
    assert_eq!(peers[0].wait_state(PeerState::Closed), PeerState::Closed, "at once");
    assert!(matches!(peers[0].restart_ice(), Err(Error::Closed)));
}
