//! Engines on the loopback interface, driven step by step, for the tests of this folder.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::{Events, Poller};
use netdyno_rtc_core::{Event, Message, PeerState};

use super::connection::{Connection, Handler};
use super::slot::{ConnectionId, Port};
use super::state::Engine;
use crate::settings::Settings;
use crate::switch::PortMember;

/// All events with their connections.
#[derive(Default)]
pub(super) struct EventLog(pub(super) Vec<(ConnectionId, Event)>);

impl Handler for EventLog {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        self.0.push((connection.id(), event));
    }
    fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
}

pub(super) struct Side {
    pub(super) engine: Engine,
    pub(super) poller: Arc<Poller>,
    pub(super) events: Events,
    pub(super) log: EventLog,
}

impl Side {
    pub(super) fn new(settings: Settings) -> Self {
        Self::at(settings, None)
    }

    pub(super) fn at(settings: Settings, member: Option<PortMember>) -> Self {
        let poller = Arc::new(Poller::new().unwrap());
        let engine = Engine::bind("127.0.0.1:0".parse().unwrap(), settings, poller.clone(), member).unwrap();
        Self { engine, poller, events: Events::default(), log: EventLog::default() }
    }

    pub(super) fn turn(&mut self) -> Option<Duration> {
        self.poller.wait(&mut self.events, Some(Duration::from_millis(1))).unwrap();
        self.engine.turn(&self.events, &mut self.log).unwrap()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.engine.local_address()
    }

    pub(super) fn state(&mut self, id: ConnectionId) -> PeerState {
        self.engine.connection(id).unwrap().state()
    }
}

pub(super) fn settings() -> Settings {
    Settings::new().unwrap()
}

/// Signals a connection between the shared ports of both; nothing has been sent yet.
pub(super) fn signal(client: &mut Side, server: &mut Side) -> (ConnectionId, ConnectionId) {
    signal_from(Port::Shared, client, server)
}

pub(super) fn signal_from(port: Port, client: &mut Side, server: &mut Side) -> (ConnectionId, ConnectionId) {
    let (here, there) = (client.engine.add(port).unwrap(), server.engine.add(Port::Shared).unwrap());
    let mut connection = client.engine.connection(here).unwrap();
    connection.create_channel("test", Default::default()).unwrap();
    let offer = connection.create_offer(false).unwrap();
    let answer = server.engine.connection(there).unwrap().accept_offer(&offer).unwrap();
    client.engine.connection(here).unwrap().accept_answer(&answer).unwrap();
    (here, there)
}

pub(super) fn connect(client: &mut Side, server: &mut Side) -> (ConnectionId, ConnectionId) {
    let (here, there) = signal(client, server);
    until(|| {
        client.turn();
        server.turn();
        client.state(here) == PeerState::Connected && server.state(there) == PeerState::Connected
    });
    (here, there)
}

pub(super) fn until(mut is_so: impl FnMut() -> bool) {
    // A guard against hanging.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "nothing came of it in time");
    }
}
