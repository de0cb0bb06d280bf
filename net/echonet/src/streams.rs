//! TCP connections: those that others make at port 3610, and those that we make to ask nodes. Messages come out, messages go in.
//!
//! They wait with the other sockets: a poller tells of them under [`STREAMS_KEY`]. Who is told, or finds that
//! [`due`](Streams::due) has come, calls [`receive`](Streams::receive), then [`next`](Streams::next) until there is nothing.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Connect, ConnectionId, Destination, MESSAGE_BYTES_MAX, Messages, NodeAddress, PORT, Source,
};
use netdyno_io::Poller;
use netdyno_io::tcp::{Backend, Event, Key, Limits, ListenOptions, TcpReactor};

use crate::engine::Engine;
use crate::error::Error;
use crate::limits::{HALF_CLOSED, MADE_CONNECTIONS_MAX, READ_AHEAD_BYTES, STREAMS_KEY};
use crate::links::{Links, unicast_addresses};
use crate::settings::{Settings, TcpLimits};

/// What happened.
#[derive(Debug)]
pub(crate) enum Came {
    /// A whole message, to this address of ours.
    Message { from: Source, to: IpAddr, bytes: Vec<u8> },
    /// A connection of ours is there.
    Connected(NodeAddress, ConnectionId),
    /// A connection of ours is over, or could not be made.
    Over(NodeAddress, Option<ConnectionId>),
}

/// Connections, and which of them may stay.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// `None`: there are none, and never will be.
    reactor: Option<TcpReactor>,
    limits: TcpLimits,
    /// Where those that we make come from; `None`: the system chooses.
    local: Option<IpAddr>,
    open: HashMap<Key, Stream>,
    /// When each is closed unless something comes.
    ends: BTreeSet<(Instant, Key)>,
    /// Those whose input may have whole messages.
    reading: VecDeque<Key>,
    /// Nodes to which no connection could even be begun.
    refused: Vec<NodeAddress>,
}

#[derive(Debug)]
struct Stream {
    node: NodeAddress,
    /// Our address.
    local: IpAddr,
    is_made_by_us: bool,
    is_connected: bool,
    end: Instant,
    /// Something was sent since the last message came: sending more does not keep it.
    is_answer_due: bool,
}

impl Streams {
    /// Listens if the settings say so. `asks`: connections can be made.
    pub(crate) fn open(settings: &Settings, asks: bool, poller: &Poller) -> Result<Self, Error> {
        if !settings.tcp && !asks {
            return Ok(Self::default());
        }
        let tcp = &settings.tcp_limits;
        let mut limits = Limits::default();
        // Those that are being closed count too.
        limits.connections = (2 * tcp.connections).saturating_add(MADE_CONNECTIONS_MAX);
        limits.input_bytes = MESSAGE_BYTES_MAX + READ_AHEAD_BYTES;
        limits.output_bytes = tcp.output_bytes;
        let mut reactor = TcpReactor::new(Backend::Epoll, limits)?;
        let mut options = ListenOptions::default();
        options.share_port = settings.share_port;
        for ip in unicast_addresses(settings).into_iter().filter(|_| settings.tcp) {
            let address = SocketAddr::new(ip, PORT);
            reactor.listen(address, &options).map_err(|error| Error::listen(address, error))?;
        }
        poller.add_reactor(&reactor, STREAMS_KEY)?;
        Ok(Self { reactor: Some(reactor), limits: tcp.clone(), local: settings.address, ..Self::default() })
    }

    /// Whether there may be connections.
    pub(crate) fn is_on(&self) -> bool {
        self.reactor.is_some()
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// When [`receive`](Self::receive) is to be called though the poller says nothing.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Instant> {
        let own = self.ends.first().map(|(end, _)| *end);
        own.into_iter().chain(self.reactor.as_mut().and_then(|reactor| reactor.next_deadline(now))).min()
    }

    /// Receives what is there, and closes what was silent for too long. Never waits.
    pub(crate) fn receive(&mut self, now: Instant) {
        while let Some(&(_, key)) = self.ends.first().filter(|(end, _)| *end <= now) {
            self.close(key, false);
        }
        if let Some(reactor) = &mut self.reactor {
            // An error comes again, if it lasts.
            let _ = reactor.wait(Some(Duration::ZERO));
        }
    }

    /// What happened next; sends what there is to send once there is nothing.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Came> {
        loop {
            if let Some(node) = self.refused.pop() {
                return Some(Came::Over(node, None));
            }
            if let Some(message) = self.next_message(now) {
                return Some(message);
            }
            let reactor = self.reactor.as_mut()?;
            let event = reactor.next_event().or_else(|| {
                let _ = reactor.flush();
                reactor.next_event()
            })?;
            if let Some(came) = self.happened(now, event) {
                return Some(came);
            }
        }
    }

    /// Appends a message to a stream, which [`next`](Self::next) sends. It is lost if the connection is over.
    pub(crate) fn send(&mut self, now: Instant, connection: ConnectionId, message: &[u8]) {
        let key = Key::from_bits(connection.0);
        let (Some(reactor), Some(stream)) = (&mut self.reactor, self.open.get_mut(&key)) else { return };
        reactor.output(key).extend_from_slice(message);
        if !std::mem::replace(&mut stream.is_answer_due, true) {
            self.keep(key, now + self.limits.idle);
        }
    }

    /// Begins to connect to a node that listens at `address`.
    pub(crate) fn connect(&mut self, now: Instant, connect: Connect, address: SocketAddr) {
        let begun = self.reactor.as_mut().and_then(|reactor| {
            let key = match self.local.filter(|local| local.is_ipv4() == address.is_ipv4()) {
                Some(local) => reactor.connect_from(local, address),
                None => reactor.connect(address),
            };
            key.ok()
        });
        match begun {
            Some(key) => self.insert(key, connect.node, true, now + connect.within),
            None => self.refused.push(connect.node),
        }
    }

    fn next_message(&mut self, now: Instant) -> Option<Came> {
        while let (Some(&key), Some(reactor)) = (self.reading.front(), &mut self.reactor) {
            if reactor.pending_output(key) > self.limits.output_bytes {
                // Whoever does not take his answers is closed with it.
                let _ = reactor.flush();
            }
            match Messages::new(reactor.input(key)).next() {
                Some(Ok(message)) => {
                    let bytes = message.to_vec();
                    reactor.consume(key, bytes.len());
                    if let Some(stream) = self.open.get_mut(&key) {
                        stream.is_answer_due = false;
                        let from = Source::connection(stream.node, ConnectionId(key.bits()));
                        let to = stream.local;
                        self.keep(key, now + self.limits.idle);
                        return Some(Came::Message { from, to, bytes });
                    }
                }
                Some(Err(_)) => self.close(key, true),
                None => drop(self.reading.pop_front()),
            }
        }
        None
    }

    fn happened(&mut self, now: Instant, event: Event) -> Option<Came> {
        match event {
            Event::Accepted(key, from) => {
                self.insert(key, from.into(), false, now + self.limits.idle);
                self.make_room(key);
            }
            Event::Received(key) => self.reading.push_back(key),
            Event::Connected(key) => {
                let stream = self.open.get_mut(&key)?;
                stream.is_connected = true;
                let node = stream.node;
                self.keep(key, now + self.limits.idle);
                return Some(Came::Connected(node, ConnectionId(key.bits())));
            }
            Event::Ended(key) => match self.open.get(&key)? {
                // No answer can come any more.
                Stream { is_made_by_us: true, .. } => self.close(key, false),
                stream => self.keep(key, stream.end.min(now + HALF_CLOSED)),
            },
            Event::Closed(key, _) => {
                let stream = self.open.remove(&key)?;
                self.ends.remove(&(stream.end, key));
                let connection = stream.is_connected.then_some(ConnectionId(key.bits()));
                return stream.is_made_by_us.then_some(Came::Over(stream.node, connection));
            }
            Event::Woken => {}
        }
        None
    }

    fn insert(&mut self, key: Key, node: NodeAddress, is_made_by_us: bool, end: Instant) {
        let local = self.reactor.as_ref().and_then(|reactor| reactor.connection_address(key));
        let local = local.map_or(node.ip, |local| local.ip());
        let is_connected = !is_made_by_us;
        self.open.insert(key, Stream { node, local, is_made_by_us, is_connected, end, is_answer_due: false });
        self.ends.insert((end, key));
    }

    /// Closes the one that was silent longest, if with the new one others have too many.
    fn make_room(&mut self, new: Key) {
        let is_others = |key: &Key| self.open.get(key).is_some_and(|stream| !stream.is_made_by_us);
        let mut others = self.ends.iter().map(|(_, key)| *key).filter(is_others);
        let longest_silent = others.clone().find(|key| *key != new);
        if others.nth(self.limits.connections).is_some()
            && let Some(key) = longest_silent
        {
            self.close(key, false);
        }
    }

    /// Has a connection end at this time, unless something comes; not one that is being closed.
    fn keep(&mut self, key: Key, end: Instant) {
        if let Some(stream) = self.open.get_mut(&key)
            && self.ends.remove(&(stream.end, key))
        {
            stream.end = end;
            self.ends.insert((end, key));
        }
    }

    /// Closes a connection; that it is over is told next.
    fn close(&mut self, key: Key, after_flush: bool) {
        if let (Some(stream), Some(reactor)) = (self.open.get(&key), &mut self.reactor) {
            self.ends.remove(&(stream.end, key));
            reactor.close(key, after_flush);
        }
    }
}

/// What an engine speaks by: sockets for datagrams, and connections.
pub(crate) struct Ways<'a> {
    pub(crate) links: &'a Links,
    pub(crate) streams: &'a mut Streams,
}

impl Ways<'_> {
    /// Sends a message by the way that it is to go.
    pub(crate) fn send(&mut self, now: Instant, to: Destination, message: &[u8]) -> io::Result<()> {
        match to {
            Destination::Connection(connection) => {
                self.streams.send(now, connection, message);
                Ok(())
            }
            to => self.links.send(to, message),
        }
    }

    /// Sends what there is, makes the connections that are wanted, and takes what came by them, until there is nothing more.
    pub(crate) fn settle<E: Engine>(&mut self, now: Instant, engine: &mut E, out: &mut [u8]) {
        loop {
            engine.flush(now, out, |to, message| self.send(now, to, message));
            while let Some(connect) = engine.poll_connect() {
                self.streams.connect(now, connect, self.links.destination(connect.node));
            }
            match self.streams.next(now) {
                Some(Came::Message { from, bytes, .. }) => {
                    engine.take(now, &bytes, from, out, |to, answer| self.send(now, to, answer));
                }
                Some(Came::Connected(node, connection)) => engine.handle_connected(now, node, connection),
                Some(Came::Over(node, connection)) => engine.handle_disconnected(now, node, connection),
                None => return,
            }
        }
    }
}
