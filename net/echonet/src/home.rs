//! A virtual home: one node or thousands in one process, each with its own address, driven by the
//! application.

mod queue;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Description, Destination, Device, DeviceEvent, MULTICAST_V4, MULTICAST_V6, PORT, Source, SourceLimit,
};
use netdyno_io::{DatagramSocket, Events, Interface, Poller, ReceiveBatch, SocketOptions, UdpSocket, Waker};

use crate::engine::Engine;
use crate::error::Error;
use crate::limits::{BACKLOG_DATAGRAMS, DATAGRAMS_PER_TURN, HOME_NODES_MAX, STREAMS_KEY};
use crate::links::{
    buffer, interfaces, join, options, probe, probe_own, supports, unicast_addresses, unless_passing,
};
use crate::on_link::OnLink;
use crate::settings::Settings;
use crate::streams::{StreamEvent, Streams};
use queue::Queue;

pub use queue::Spread;

/// An event of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeEvent {
    /// The node's index in the order of creation.
    pub node: usize,
    /// The event.
    pub event: DeviceEvent,
}

/// Nodes that other nodes read and write, driven by the thread that calls [`poll`](Self::poll). One socket
/// serves all addresses.
///
/// The answers to a multicast request, such as a search, are spread over a short time ([`Spread`]), since
/// receive buffers rarely hold thousands of datagrams.
#[derive(Debug)]
pub struct Home {
    nodes: Vec<Place>,
    by_address: HashMap<IpAddr, usize>,
    /// The node without an address, which receives messages to all other addresses.
    anywhere: Option<usize>,
    sockets: Sockets,
    queue: Queue,
    /// Deadlines of nodes, at most one for each.
    timed: BTreeSet<(Instant, usize)>,
    /// Taken while its datagrams are handled.
    batch: Option<ReceiveBatch>,
    out: Box<[u8]>,
    /// Nodes with undelivered events, each once.
    eventful: Vec<usize>,
}

#[derive(Debug)]
struct Place {
    device: Device,
    /// Its source address; `None`: the system chooses.
    address: Option<IpAddr>,
    /// Its deadline in `timed`.
    due: Option<Instant>,
    /// Whether it is in `eventful`.
    is_eventful: bool,
}

#[derive(Debug)]
struct Sockets {
    unicast: Vec<UdpSocket>,
    groups: Vec<DatagramSocket>,
    streams: Streams,
    /// The interfaces on which multicast messages are sent.
    interfaces: Vec<Interface>,
    poller: Poller,
    ready: Events,
    on_link: OnLink,
    limit: SourceLimit,
}

impl Home {
    /// Opens the sockets for these nodes and announces the nodes. At most one node can be without an address;
    /// it receives all messages to other addresses. Addresses must be assigned to this machine (those of
    /// 127.0.0.0/8 are).
    pub fn open(
        settings: &Settings,
        nodes: Vec<(Option<IpAddr>, Description)>,
        spread: Spread,
    ) -> Result<Self, Error> {
        let mut home = Self {
            nodes: Vec::with_capacity(nodes.len()),
            by_address: HashMap::with_capacity(nodes.len()),
            anywhere: None,
            sockets: Sockets::open(settings, nodes.len())?,
            queue: Queue::new(spread, nodes.len()),
            timed: BTreeSet::new(),
            batch: Some(ReceiveBatch::new(32)),
            out: buffer(),
            eventful: Vec::new(),
        };
        for (address, description) in nodes.into_iter().take(HOME_NODES_MAX) {
            let number = home.nodes.len();
            let is_new = match address {
                Some(address) => home.by_address.insert(address, number).is_none(),
                None => home.anywhere.replace(number).is_none(),
            };
            if !is_new {
                let what =
                    address.map_or("no address".to_owned(), |address| format!("the address {address}"));
                let text = format!("two nodes have {what}: give each an address of its own");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text).into());
            }
            address.map_or(Ok(()), probe_own)?;
            let device = Device::new(&description)?;
            home.nodes.push(Place { device, address, due: None, is_eventful: false });
        }
        let now = Instant::now();
        for number in 0..home.nodes.len() {
            home.nodes[number].device.announce();
            home.after(now, number);
        }
        Ok(home)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, number: usize) -> Option<&Device> {
        self.nodes.get(number).map(|place| &place.device)
    }

    /// Accesses a node, for example to set a value, and sends the resulting messages.
    pub fn with<T>(&mut self, number: usize, act: impl FnOnce(&mut Device) -> T) -> Option<T> {
        let result = act(&mut self.nodes.get_mut(number)?.device);
        self.after(Instant::now(), number);
        self.serve_streams();
        Some(result)
    }

    /// Wakes [`poll`](Self::poll) from another thread.
    pub fn waker(&self) -> Waker {
        self.sockets.poller.waker()
    }

    /// SO_RCVBUF of the shared socket.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        self.sockets.unicast[0].receive_buffer_bytes()
    }

    /// The next event; serves all nodes meanwhile, up to `timeout` (`None`: without limit). Returns `None`
    /// after the timeout, or when the [`waker`](Self::waker) was used.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Option<HomeEvent>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(event) = self.next_event() {
                return Ok(Some(event));
            }
            let now = Instant::now();
            self.send_due(now);
            let timed = self.timed.first().map(|&(due, _)| due);
            let streams = self.sockets.streams.due(now);
            let due = [self.queue.due(), timed, streams, deadline].into_iter().flatten().min();
            let left = due.map(|due| due.saturating_duration_since(now));
            self.sockets.poller.wait(&mut self.sockets.ready, left)?;
            let was_woken = self.sockets.ready.is_woken();
            self.receive();
            self.run_timers(Instant::now());
            self.serve_streams();
            if was_woken || deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(self.next_event());
            }
        }
    }

    fn next_event(&mut self) -> Option<HomeEvent> {
        while let Some(&node) = self.eventful.last() {
            if let Some(event) = self.nodes[node].device.poll_event() {
                return Some(HomeEvent { node, event });
            }
            self.nodes[node].is_eventful = false;
            self.eventful.pop();
        }
        None
    }

    /// Receives pending datagrams from all sockets.
    fn receive(&mut self) {
        let ready = std::mem::take(&mut self.sockets.ready);
        for socket in ready.iter() {
            let number = socket.key as usize;
            if socket.key == STREAMS_KEY {
                self.sockets.streams.receive(Instant::now());
            } else if let Some(socket) = number.checked_sub(self.sockets.unicast.len()) {
                self.receive_group(socket);
            } else {
                self.receive_unicast(number);
            }
        }
        self.sockets.ready = ready;
    }

    /// Handles messages from connections, and sends messages over them. A home opens no connections itself.
    fn serve_streams(&mut self) {
        let now = Instant::now();
        if self.sockets.streams.due(now).is_some_and(|due| due <= now) {
            self.sockets.streams.receive(now);
        }
        while let Some(event) = self.sockets.streams.next(now) {
            match event {
                StreamEvent::Message { from, to, bytes } => {
                    if let Some(node) = self.node_at(to) {
                        self.handle(now, node, &bytes, from);
                    }
                }
                StreamEvent::Evicted { from, to } => {
                    if let Some(node) = self.node_at(to) {
                        self.nodes[node].device.handle_evicted(now, from);
                        self.after(now, node);
                    }
                }
                StreamEvent::Connected(..) | StreamEvent::Over(..) => {}
            }
        }
    }

    /// The node with this address.
    fn node_at(&self, address: IpAddr) -> Option<usize> {
        self.by_address.get(&address).copied().or(self.anywhere)
    }

    fn receive_unicast(&mut self, socket: usize) {
        let Some(mut batch) = self.batch.take() else { return };
        // Persistent errors are returned again.
        if self.sockets.unicast[socket].receive(&mut batch).is_ok() {
            let now = Instant::now();
            let has_backlog = batch.len() >= BACKLOG_DATAGRAMS;
            for received in batch.iter() {
                let Some(node) = self.node_at(received.local.ip()) else { continue };
                let mut source = Source::unicast(received.remote);
                source.is_off_link = self.sockets.on_link.is_beyond(source.address);
                for datagram in received.datagrams.chunks(received.segment_bytes) {
                    if self.is_admitted(now, node, source, has_backlog) {
                        self.handle(now, node, datagram, source);
                    }
                }
            }
        }
        self.batch = Some(batch);
    }

    /// Each node handles each multicast message.
    fn receive_group(&mut self, socket: usize) {
        let mut buffer = [0; 2048];
        for received in 1..=DATAGRAMS_PER_TURN {
            let Ok(Some((bytes, sender))) = self.sockets.groups[socket].receive(&mut buffer) else { break };
            let now = Instant::now();
            let mut source = Source::multicast(sender);
            source.is_off_link = self.sockets.on_link.is_beyond(source.address);
            if !self.is_admitted(now, 0, source, received >= BACKLOG_DATAGRAMS) {
                continue;
            }
            for node in 0..self.nodes.len() {
                // A node ignores its own messages.
                if self.nodes[node].address != Some(sender.ip()) {
                    self.handle(now, node, &buffer[..bytes], source);
                }
            }
        }
    }

    /// Whether to handle a datagram; if not, this node reports that it was dropped.
    fn is_admitted(&mut self, now: Instant, node: usize, source: Source, has_backlog: bool) -> bool {
        let is_admitted = self.sockets.limit.admits(now, source, has_backlog);
        if !is_admitted && let Some(place) = self.nodes.get_mut(node) {
            place.device.handle_limited(now, source.address);
            self.mark_eventful(node);
        }
        is_admitted
    }

    fn handle(&mut self, now: Instant, node: usize, datagram: &[u8], source: Source) {
        let Place { device, address, .. } = &mut self.nodes[node];
        device.handle_message(now, datagram, source, &mut self.out, |to, answer| {
            if source.multicast {
                self.queue.push(now, node, to, answer);
                return Ok(());
            }
            self.sockets.send(now, *address, to, answer)
        });
        self.after(now, node);
    }

    fn after(&mut self, now: Instant, node: usize) {
        let Place { device, address, due, .. } = &mut self.nodes[node];
        device.flush(now, &mut self.out, |to, message| {
            if let Destination::Connection(_) = to {
                return self.sockets.send(now, *address, to, message);
            }
            self.queue.push(now, node, to, message);
            Ok(())
        });
        let before = std::mem::replace(due, device.next_deadline());
        if before != *due {
            if let Some(before) = before {
                self.timed.remove(&(before, node));
            }
            self.timed.extend(due.map(|due| (due, node)));
        }
        self.mark_eventful(node);
    }

    /// Only polling shows whether there is an event; usually there is none.
    fn mark_eventful(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].is_eventful, true) {
            self.eventful.push(node);
        }
    }

    /// Sends queued datagrams that are due.
    fn send_due(&mut self, now: Instant) {
        while let Some(waiting) = self.queue.pop(now) {
            let Place { device, address, .. } = &mut self.nodes[waiting.node];
            let sent = self.sockets.send(now, *address, waiting.to, &waiting.datagram);
            if let Err(error) = sent {
                device.handle_unsent(waiting.to, error.kind());
                self.after(now, waiting.node);
            }
        }
    }

    /// Handles expired timers.
    fn run_timers(&mut self, now: Instant) {
        let later = self.timed.split_off(&(now, usize::MAX));
        for (_, node) in std::mem::replace(&mut self.timed, later) {
            self.nodes[node].due = None;
            self.nodes[node].device.handle_timeout(now);
            self.after(now, node);
        }
    }
}

impl Sockets {
    fn open(settings: &Settings, nodes: usize) -> Result<Self, Error> {
        if !settings.share_port {
            probe(settings)?;
        }
        let interfaces = interfaces(settings)?;
        let mut socket_options = SocketOptions::default();
        socket_options.receive_buffer_bytes = settings.receive_buffer_bytes;
        (socket_options.reuse_address, socket_options.only_unicast) = (true, true);
        let (mut unicast, poller) = (Vec::new(), Poller::new()?);
        for address in unicast_addresses(settings) {
            let address = SocketAddr::new(address, PORT);
            let socket =
                UdpSocket::bind(address, &socket_options).map_err(|error| Error::bind(address, error))?;
            unicast.push(socket);
        }
        let groups = join(settings, &interfaces, &options(settings, None))?;
        (0..).zip(&unicast).try_for_each(|(key, socket)| poller.add(socket, key))?;
        (unicast.len() as u32..).zip(&groups).try_for_each(|(key, socket)| poller.add(socket, key))?;
        let streams = Streams::open(settings, false, &poller)?;
        Ok(Self {
            unicast,
            groups,
            streams,
            interfaces,
            poller,
            ready: Events::default(),
            on_link: OnLink::new(settings),
            limit: SourceLimit::new(settings.source_limit_per_s, nodes),
        })
    }

    /// Sends a message from this address.
    ///
    /// # Errors
    ///
    /// The system cannot send the datagram, for a lasting reason.
    fn send(
        &mut self,
        now: Instant,
        from: Option<IpAddr>,
        to: Destination,
        datagram: &[u8],
    ) -> io::Result<()> {
        if let Destination::Connection(connection) = to {
            self.streams.send(now, connection, datagram);
            return Ok(());
        }
        let mut result = Ok(());
        for socket in &self.unicast {
            let own = socket.local_address();
            if from.is_some_and(|from| from.is_ipv4() != own.is_ipv4()) {
                continue;
            }
            let local = SocketAddr::new(from.unwrap_or(own.ip()), PORT);
            let mut send = |remote| {
                if let Err(error) = unless_passing(socket.send_one(local, remote, datagram)) {
                    result = Err(error);
                }
            };
            match to {
                Destination::Node(node) if node.ip.is_ipv4() == own.is_ipv4() => send(node.socket_address()),
                // The other IP version, or not a datagram.
                Destination::Node(_) | Destination::Connection(_) => {}
                Destination::Multicast => {
                    let is_v4 = own.is_ipv4();
                    let group: IpAddr = if is_v4 { MULTICAST_V4.into() } else { MULTICAST_V6.into() };
                    for interface in self.interfaces.iter().filter(|one| supports(one, is_v4)) {
                        if socket.set_multicast_interface(interface).is_ok() {
                            send(SocketAddr::new(group, PORT));
                        }
                    }
                }
            }
        }
        result
    }
}
