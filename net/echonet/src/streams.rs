//! TCP connections: incoming ones at port 3610, and outgoing ones for requests.
//!
//! A poller reports them under [`STREAMS_KEY`]. When it does, or when [`due`](Streams::due) has passed, call
//! [`receive`](Streams::receive), then [`next`](Streams::next) until it returns `None`.

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

/// An event of a connection.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// A complete message, and the local address that received it.
    Message { from: Source, to: IpAddr, bytes: Vec<u8> },
    /// An outgoing connection was established.
    Connected(NodeAddress, ConnectionId),
    /// A connection was closed to admit a new one; the local address that it had.
    Evicted { from: NodeAddress, to: IpAddr },
    /// An outgoing connection ended or could not be established.
    Over(NodeAddress, Option<ConnectionId>),
}

/// The connections and their idle timeouts.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// `None` if connections are disabled.
    reactor: Option<TcpReactor>,
    limits: TcpLimits,
    /// The source address of outgoing connections; `None`: the system chooses.
    local: Option<IpAddr>,
    open: HashMap<Key, Stream>,
    /// The idle timeout of each connection.
    ends: BTreeSet<(Instant, Key)>,
    /// Connections whose input may contain complete messages.
    reading: VecDeque<Key>,
    /// Nodes for which no connection attempt could be started.
    refused: Vec<NodeAddress>,
}

#[derive(Debug)]
struct Stream {
    node: NodeAddress,
    /// The local address.
    local: IpAddr,
    is_made_by_us: bool,
    is_connected: bool,
    end: Instant,
    /// A message was sent since the last one was received: further ones do not extend the timeout.
    is_answer_due: bool,
}

impl Streams {
    /// Listens if the settings say so. `asks`: outgoing connections are possible.
    pub(crate) fn open(settings: &Settings, asks: bool, poller: &Poller) -> Result<Self, Error> {
        if !settings.tcp && !asks {
            return Ok(Self::default());
        }
        let tcp = &settings.tcp_limits;
        let mut limits = Limits::default();
        // Connections that are being closed count too.
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

    /// Whether connections are enabled.
    pub(crate) fn is_on(&self) -> bool {
        self.reactor.is_some()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// When [`receive`](Self::receive) must be called without a report of the poller.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Instant> {
        let own = self.ends.first().map(|(end, _)| *end);
        own.into_iter().chain(self.reactor.as_mut().and_then(|reactor| reactor.next_deadline(now))).min()
    }

    /// Reads from ready connections and closes idle ones. Never blocks.
    pub(crate) fn receive(&mut self, now: Instant) {
        while let Some(&(_, key)) = self.ends.first().filter(|(end, _)| *end <= now) {
            self.close(key, false);
        }
        if let Some(reactor) = &mut self.reactor {
            // Persistent errors are returned again.
            let _ = reactor.wait(Some(Duration::ZERO));
        }
    }

    /// The next event; when there is none, pending output is sent.
    pub(crate) fn next(&mut self, now: Instant) -> Option<StreamEvent> {
        loop {
            if let Some(node) = self.refused.pop() {
                return Some(StreamEvent::Over(node, None));
            }
            if let Some(message) = self.next_message(now) {
                return Some(message);
            }
            let reactor = self.reactor.as_mut()?;
            let event = reactor.next_event().or_else(|| {
                let _ = reactor.flush();
                reactor.next_event()
            })?;
            if let Some(event) = self.handle_event(now, event) {
                return Some(event);
            }
        }
    }

    /// Appends a message to a stream; [`next`](Self::next) sends it. It is lost if the connection has ended.
    pub(crate) fn send(&mut self, now: Instant, connection: ConnectionId, message: &[u8]) {
        let key = Key::from_bits(connection.0);
        let (Some(reactor), Some(stream)) = (&mut self.reactor, self.open.get_mut(&key)) else { return };
        reactor.output(key).extend_from_slice(message);
        if !std::mem::replace(&mut stream.is_answer_due, true) {
            self.set_end(key, now + self.limits.idle);
        }
    }

    /// Starts connecting to a node at `address`.
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

    fn next_message(&mut self, now: Instant) -> Option<StreamEvent> {
        while let (Some(&key), Some(reactor)) = (self.reading.front(), &mut self.reactor) {
            if reactor.pending_output(key) > self.limits.output_bytes {
                // A peer that does not read its answers is closed here too.
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
                        self.set_end(key, now + self.limits.idle);
                        return Some(StreamEvent::Message { from, to, bytes });
                    }
                }
                Some(Err(_)) => self.close(key, true),
                None => drop(self.reading.pop_front()),
            }
        }
        None
    }

    fn handle_event(&mut self, now: Instant, event: Event) -> Option<StreamEvent> {
        match event {
            Event::Accepted(key, from) => {
                self.insert(key, from.into(), false, now + self.limits.idle);
                return self.make_room(key);
            }
            Event::Received(key) => self.reading.push_back(key),
            Event::Connected(key) => {
                let stream = self.open.get_mut(&key)?;
                stream.is_connected = true;
                let node = stream.node;
                self.set_end(key, now + self.limits.idle);
                return Some(StreamEvent::Connected(node, ConnectionId(key.bits())));
            }
            Event::Ended(key) => match self.open.get(&key)? {
                // No further answer is possible.
                Stream { is_made_by_us: true, .. } => self.close(key, false),
                stream => self.set_end(key, stream.end.min(now + HALF_CLOSED)),
            },
            Event::Closed(key, _) => {
                let stream = self.open.remove(&key)?;
                self.ends.remove(&(stream.end, key));
                let connection = stream.is_connected.then_some(ConnectionId(key.bits()));
                return stream.is_made_by_us.then_some(StreamEvent::Over(stream.node, connection));
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

    /// If a new connection exceeds the limit on incoming ones, closes one of the node that has the most: the
    /// connection idle longest. One node cannot displace the others.
    fn make_room(&mut self, new: Key) -> Option<StreamEvent> {
        let incoming = self.ends.iter().filter_map(|(_, key)| {
            let stream = self.open.get(key).filter(|stream| !stream.is_made_by_us)?;
            Some((*key, stream))
        });
        let mut counts = HashMap::new();
        incoming.clone().for_each(|(_, stream)| *counts.entry(stream.node).or_insert(0_usize) += 1);
        if counts.values().sum::<usize>() <= self.limits.connections {
            return None;
        }
        let most = counts.values().max()?;
        let (key, stream) =
            incoming.clone().find(|(key, stream)| *key != new && counts.get(&stream.node) == Some(most))?;
        let event = StreamEvent::Evicted { from: stream.node, to: stream.local };
        self.close(key, false);
        Some(event)
    }

    /// Sets the time at which a connection is closed unless it receives a message; ignored for a closing
    /// connection.
    fn set_end(&mut self, key: Key, end: Instant) {
        if let Some(stream) = self.open.get_mut(&key)
            && self.ends.remove(&(stream.end, key))
        {
            stream.end = end;
            self.ends.insert((end, key));
        }
    }

    /// Closes a connection; the next event reports it.
    fn close(&mut self, key: Key, after_flush: bool) {
        if let (Some(stream), Some(reactor)) = (self.open.get(&key), &mut self.reactor) {
            self.ends.remove(&(stream.end, key));
            reactor.close(key, after_flush);
        }
    }
}

/// The transports of an engine: sockets for datagrams, and connections.
pub(crate) struct Transports<'a> {
    pub(crate) links: &'a Links,
    pub(crate) streams: &'a mut Streams,
}

impl Transports<'_> {
    /// Sends a message by its transport.
    pub(crate) fn send(&mut self, now: Instant, to: Destination, message: &[u8]) -> io::Result<()> {
        match to {
            Destination::Connection(connection) => {
                self.streams.send(now, connection, message);
                Ok(())
            }
            to => self.links.send(to, message),
        }
    }

    /// Sends pending messages, opens requested connections, and handles messages from connections, until
    /// nothing is left.
    pub(crate) fn settle<E: Engine>(&mut self, now: Instant, engine: &mut E, out: &mut [u8]) {
        loop {
            engine.flush(now, out, |to, message| self.send(now, to, message));
            while let Some(connect) = engine.poll_connect() {
                self.streams.connect(now, connect, self.links.destination(connect.node));
            }
            match self.streams.next(now) {
                Some(StreamEvent::Message { from, bytes, .. }) => {
                    engine.handle_message(now, &bytes, from, out, |to, answer| self.send(now, to, answer));
                }
                Some(StreamEvent::Evicted { from, .. }) => engine.handle_evicted(now, from),
                Some(StreamEvent::Connected(node, connection)) => {
                    engine.handle_connected(now, node, connection)
                }
                Some(StreamEvent::Over(node, connection)) => {
                    engine.handle_disconnected(now, node, connection)
                }
                None => return,
            }
        }
    }
}
