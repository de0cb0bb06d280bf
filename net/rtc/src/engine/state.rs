//! The state of an engine, and what creates, finds and removes connections.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::{Poller, ReceiveBatch};
use netdyno_rtc_core::{Arena, PeerConnection};
use slab::Slab;

use super::budget::Budget;
use super::gather::state::Gathering;
use super::listen::listen;
use super::names::state::Names;
use super::ports::{Ports, candidate_addresses};
use super::queue::SendQueue;
use super::refusals::Refusals;
use super::routes::Routes;
use super::slot::{ConnectionId, Port, Slot};
use super::timers::Timers;
use crate::error::Error;
use crate::limits::TRIALS_PER_S;
use crate::rehearsal;
use crate::servers::Resolving;
use crate::settings::Settings;
use crate::streams::Streams;
use crate::switch::{Handover, PortMember};

/// Sockets, connections and queues of an endpoint.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) settings: Settings,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) ports: Ports,
    pub(super) slots: Slab<Slot>,
    pub(super) generation: u32,
    pub(super) routes: Routes,
    pub(super) timers: Timers,
    /// Queries to STUN and TURN servers.
    pub(super) gathering: Gathering,
    /// mDNS names of candidates.
    pub(super) names: Names,
    /// Streams to TURN servers and from peers.
    pub(super) streams: Streams,
    /// The TCP port on which peers may connect. No UDP socket has this port number.
    pub(super) tcp_port: Option<u16>,
    /// Connections that may have datagrams to send. Those that wait for a socket are in its list instead.
    pub(super) dirty: SendQueue,
    /// Connections that may have events or messages, each once.
    pub(super) touched: Vec<u32>,
    /// Ports that may have something to receive, each once.
    pub(super) readable: VecDeque<u32>,
    /// Messages from other reactors that share the port.
    pub(super) handovers: VecDeque<Handover>,
    /// Datagrams received in this turn are likely to be followed by more at once.
    pub(super) awaits_more: bool,
    /// How long all connections that received something in this turn can wait for the next receive.
    pub(super) patience: Option<Duration>,
    /// Number of sockets connected to single peers of the shared port.
    pub(super) steered: usize,
    /// Limits checks to addresses that have not answered any.
    pub(super) strangers: Budget,
    /// Limits trials of connections for datagrams from unknown addresses.
    pub(super) trials: Budget,
    /// Refused input, except for that of streams.
    pub(super) refusals: Refusals,
    /// `None` only while its contents are dispatched.
    pub(super) batch: Option<ReceiveBatch>,
    pub(super) arena: Arena,
    /// The contents of the arena in the format of a relay or a stream.
    pub(super) wrapped: Vec<u8>,
    pub(super) now: Instant,
}

impl Engine {
    /// `member`: the membership in a shared port, if any.
    pub(crate) fn bind(
        address: SocketAddr,
        settings: Settings,
        poller: Arc<Poller>,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        let other = settings.addresses.iter().find(|&&offered| offered != address.ip());
        if let Some(&other) = other.filter(|_| !address.ip().is_unspecified()) {
            return Err(Error::Address(other));
        }
        settings.check_certificate()?;
        if settings.rehearse {
            rehearsal::once(&settings.peer);
        }
        let resolving =
            Resolving::start(&settings.ice_servers, settings.server_roots.as_deref(), poller.waker())?;
        let mut ports = Ports::bind(address, &settings, poller, member.as_ref())
            .map_err(|source| Error::bind(address, source))?;
        let mut streams = Streams::default();
        // An endpoint that uses relays only does not listen.
        let tcp_port = settings.tcp_port.filter(|_| !settings.relay_only);
        let tcp_port = tcp_port.map(|port| listen(&mut streams, &ports, port)).transpose()?;
        ports.leave_out(tcp_port);
        let addresses = candidate_addresses(address.ip(), &settings.addresses);
        #[cfg(feature = "tracing")]
        if addresses.is_empty() {
            tracing::warn!(
                target: "netdyno_rtc",
                "bound to {address}, but no local address to offer was found: set `addresses`"
            );
        }
        let batch = Some(ReceiveBatch::gathering(settings.receive_buffers));
        let now = Instant::now();
        Ok(Self {
            gathering: Gathering::new(
                resolving,
                address.ip().is_unspecified() && settings.addresses.is_empty(),
                now,
            ),
            names: Names::new(now),
            strangers: Budget::new(settings.stranger_checks_per_s, settings.stranger_checks_at_once, now),
            trials: Budget::new(TRIALS_PER_S, TRIALS_PER_S, now),
            streams,
            tcp_port,
            settings,
            addresses,
            ports,
            slots: Slab::new(),
            generation: 0,
            routes: Routes::new(member),
            timers: Timers::default(),
            dirty: SendQueue::default(),
            touched: Vec::new(),
            readable: VecDeque::new(),
            handovers: VecDeque::new(),
            awaits_more: false,
            patience: None,
            steered: 0,
            refusals: Refusals::default(),
            batch,
            arena: Arena::default(),
            wrapped: Vec::new(),
            now,
        })
    }

    /// The address of the shared port.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.ports.bound()
    }

    /// The number of connections.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Counters of refused input.
    pub(crate) fn refusals(&self) -> Refusals {
        let (streams, stream_pauses) = self.streams.refusals();
        Refusals { streams, stream_pauses, ..self.refusals }
    }

    /// Creates a connection.
    pub(crate) fn add(&mut self, port: Port) -> Result<ConnectionId, Error> {
        if self.slots.len() >= self.settings.max_connections.min(u32::MAX as usize) {
            return Err(Error::Limit);
        }
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).map_err(|_| Error::Random)?;
        self.now = Instant::now();
        let peer = PeerConnection::new(self.settings.peer.clone(), seed, self.now)?;
        let port = match port {
            Port::Shared => 0,
            Port::Own => self.ports.open_own()?,
        };
        self.generation = self.generation.wrapping_add(1);
        let index = self.slots.insert(Slot::new(peer, self.generation, port)) as u32;
        if let Some(own) = self.ports.get_mut(port).filter(|_| port != 0) {
            own.owner = Some(index);
        }
        let slot = &mut self.slots[index as usize];
        self.routes.set_ufrags(index, &mut slot.trail, slot.peer.local_ufrags());
        self.offer_addresses(index);
        self.gather_for(index);
        let id = ConnectionId { index, generation: self.generation };
        #[cfg(feature = "tracing")]
        tracing::debug!(
            target: "netdyno_rtc",
            session = self.slots[index as usize].peer.session_id(),
            "created connection {id} on port {} of {:?}",
            self.ports.get(port).map_or(0, |port| port.socket.local_address().port()),
            self.addresses
        );
        Ok(id)
    }

    /// Updates the engine's clock, which is read only once per turn. Call it before acting between
    /// turns.
    pub(crate) fn refresh(&mut self) {
        self.now = Instant::now();
    }

    /// Closes the sockets and leaves the shared port.
    pub(crate) fn leave(&mut self) {
        self.ports.close();
        self.routes.leave();
    }

    /// Queues a connection for delivery and sending.
    pub(super) fn touch(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if !slot.touched {
            slot.touched = true;
            self.touched.push(index);
        }
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push(index);
        }
    }
}
