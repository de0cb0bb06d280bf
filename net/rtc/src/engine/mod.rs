//! All connections of an endpoint, without waiting: one call of [`Engine::turn`] does what there is to do.

mod budget;
mod connection;
mod gather;
mod inbound;
mod moved;
mod names;
mod outbound;
mod ports;
mod queue;
mod routes;
mod runs;
mod slot;
mod steering;
mod strangers;
mod stun;
#[cfg(test)]
mod support;
mod tcp;
mod timers;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::{Events, Poller, ReceiveBatch};
use netdyno_rtc_core::{Arena, Event, Message, PeerConnection};
use slab::Slab;

pub use connection::Connection;
pub use slot::ConnectionId;
pub(crate) use stun::TransactionId;

use crate::error::Error;
use crate::limits::TRIALS_PER_S;
use crate::rehearsal;
use crate::servers::Resolving;
use crate::settings::Settings;
use crate::streams::{STREAMS, Streams};
use crate::switch::{Mail, Seat};
use budget::Budget;
use gather::Gathering;
use names::Names;
use ports::{Ports, candidate_addresses};
use queue::SendQueue;
use routes::Routes;
use slot::Slot;
use timers::Timers;

/// What an application does with what happens.
pub trait Handler {
    /// Something happened to a connection. Once it is over (`Event::State` with `Closed`, or with `Failed` where
    /// [`is_over`](PeerConnection::is_over) says so), and its channels have ended, its id means nothing any more. One that has
    /// failed and is not over can be brought back by a restart of ICE; who does not mean to closes it.
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event);

    /// A message has come.
    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message);
}

/// Which of our ports a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// The one of the endpoint. Peers are told apart by their addresses, so that between two ports there can be but
    /// one connection: right for whoever answers, and for servers.
    #[default]
    Shared,
    /// One of its own, as browsers do: right for whoever makes many connections to one place.
    Own,
}

/// Sockets, connections, and who needs what.
#[derive(Debug)]
pub(crate) struct Engine {
    settings: Settings,
    addresses: Vec<IpAddr>,
    ports: Ports,
    slots: Slab<Slot>,
    generation: u32,
    routes: Routes,
    timers: Timers,
    /// What servers are asked for.
    gathering: Gathering,
    /// Of candidates, by multicast DNS.
    names: Names,
    /// To TURN servers, and of peers.
    streams: Streams,
    /// Where peers connect by TCP, if they may. No socket for UDP has this number.
    tcp_port: Option<u16>,
    /// Connections that may have datagrams to send. Those that wait for a socket stand there instead.
    dirty: SendQueue,
    /// Connections that may have events or messages, each once.
    touched: Vec<u32>,
    /// Ports that may have something to receive, each once.
    readable: VecDeque<u32>,
    /// From other reactors at the port.
    mail: VecDeque<Mail>,
    /// What came in this turn is likely to be followed by more at once.
    awaits_more: bool,
    /// How long all of whom something came in this turn can wait for us to take what comes next.
    patience: Option<Duration>,
    /// Sockets of our own for single peers at the port.
    steered: usize,
    /// Checks that may still go to addresses which have not answered any.
    strangers: Budget,
    /// Connections that may still be asked whether a stranger is their peer.
    trials: Budget,
    /// Absent only while what it holds is dealt out.
    batch: Option<ReceiveBatch>,
    arena: Arena,
    /// What is in the arena, as a relay or a stream takes it.
    wrapped: Vec<u8>,
    now: Instant,
}

impl Engine {
    /// `seat`: its place among the reactors that share the port, if they do.
    pub(crate) fn bind(
        address: SocketAddr,
        settings: Settings,
        poller: Arc<Poller>,
        seat: Option<Seat>,
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
        let mut ports = Ports::bind(address, &settings, poller, seat.as_ref())
            .map_err(|source| Error::bind(address, source))?;
        let mut streams = Streams::default();
        // Who is to be reached by relays alone does not listen.
        let tcp_port = settings.tcp_port.filter(|_| !settings.relay_only);
        let tcp_port = tcp_port.map(|port| tcp::listen(&mut streams, &ports, port)).transpose()?;
        ports.leave_out(tcp_port);
        let addresses = candidate_addresses(address.ip(), &settings.addresses);
        #[cfg(feature = "tracing")]
        if addresses.is_empty() {
            tracing::warn!(
                target: "netdyno_rtc",
                "{address} is bound, and no address of this machine is found to offer: set `addresses`"
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
            routes: Routes::new(seat),
            timers: Timers::default(),
            dirty: SendQueue::default(),
            touched: Vec::new(),
            readable: VecDeque::new(),
            mail: VecDeque::new(),
            awaits_more: false,
            patience: None,
            steered: 0,
            batch,
            arena: Arena::default(),
            wrapped: Vec::new(),
            now,
        })
    }

    /// The address of the port that connections share.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.ports.bound()
    }

    /// Connections that exist.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// A new connection.
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
            "connection {id} made, at port {} of {:?}",
            self.ports.get(port).map_or(0, |port| port.socket.local_address().port()),
            self.addresses
        );
        Ok(id)
    }

    /// A connection, if it still is one.
    pub(crate) fn connection(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then(|| Connection::new(self, id))
    }

    /// Forgets a connection of which nobody has heard yet.
    pub(crate) fn discard(&mut self, id: ConnectionId) {
        if self.connection(id).is_some() {
            self.remove(id.index);
        }
    }

    /// The clock is read once a turn. Whoever acts between turns reads it first.
    pub(crate) fn refresh(&mut self) {
        self.now = Instant::now();
    }

    /// Does what there is to do: receives, lets time pass, tells the handler, sends. Gives the time until it must
    /// be called again, at the latest.
    pub(crate) fn turn(
        &mut self,
        events: &Events,
        handler: &mut impl Handler,
    ) -> io::Result<Option<Duration>> {
        self.now = Instant::now();
        for ready in events.iter() {
            if ready.writable {
                for index in self.ports.resume(ready.key)? {
                    if let Some(slot) = self.slots.get_mut(index as usize) {
                        slot.dirty = false;
                    }
                    self.touch(index);
                }
            }
            if ready.key == STREAMS {
                self.streams.are_ready();
            } else if ready.readable {
                self.queue_port(ready.key);
            }
        }
        self.receive_queued()?;
        self.receive_streams()?;
        self.gather()?;
        self.work_on_names()?;
        while let Some(index) = self.timers.expired(self.now) {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                slot.peer.handle_timeout(self.now);
                self.touch(index);
            }
        }
        self.deliver(handler);
        self.flush()?;
        // Sending brings events too: a buffer has fallen low.
        self.deliver(handler);
        self.look_after_errors();
        let awaited = std::mem::take(&mut self.awaits_more);
        self.ports.expect_within(if awaited { self.settings.setup_spin } else { Duration::ZERO });
        let patience = self.patience.take().unwrap_or_default();
        self.ports.rest_for(patience.min(self.settings.receive_rest));
        Ok(self.rest())
    }

    /// Sends what there is to send, as far as one turn goes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.send_queued(self.settings.sends_per_turn.max(1))
    }

    /// Tells the handler what happened to connections.
    pub(crate) fn deliver(&mut self, handler: &mut impl Handler) {
        // The handler may touch others; these follow at once, those that touch themselves again in the next turn.
        let touched = std::mem::take(&mut self.touched);
        for &index in &touched {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                slot.touched = false;
                let id = ConnectionId { index, generation: slot.generation };
                self.deliver_one(id, handler);
            }
        }
        if self.touched.is_empty() {
            self.touched = touched;
            self.touched.clear();
        }
    }

    /// Whether there is something to do without waiting.
    pub(crate) fn is_busy(&self) -> bool {
        !self.dirty.is_empty()
            || !self.touched.is_empty()
            || !self.readable.is_empty()
            || !self.mail.is_empty()
    }

    /// Ends all connections, and tells the peers if there is room to.
    pub(crate) fn close(&mut self) {
        self.now = Instant::now();
        for (index, slot) in &mut self.slots {
            slot.peer.close(self.now);
            if !slot.dirty {
                slot.dirty = true;
                self.dirty.push(index as u32);
            }
        }
        while !self.dirty.is_empty() {
            // An endpoint that goes has nobody to tell of an error.
            let _ = self.send_queued(1);
        }
        let indices: Vec<u32> = self.slots.iter().map(|(index, _)| index as u32).collect();
        indices.into_iter().for_each(|index| self.release_relays(index));
    }

    /// Is not there any more for who sends something, nor for the others at its port.
    pub(crate) fn leave(&mut self) {
        self.ports.close();
        self.routes.leave();
    }

    /// When a turn is due; a time past if at once.
    pub(crate) fn due(&mut self) -> Option<Instant> {
        if self.is_busy() { Some(self.now) } else { self.next_timer() }
    }

    /// The time until a turn is due.
    fn rest(&mut self) -> Option<Duration> {
        if self.is_busy() {
            return Some(Duration::ZERO);
        }
        self.next_timer().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    fn next_timer(&mut self) -> Option<Instant> {
        let others = [self.gathering.next(), self.names.next(), self.streams.next(self.now)];
        self.timers.next().into_iter().chain(others.into_iter().flatten()).min()
    }

    /// Queues a connection to be polled for all that it can give.
    fn touch(&mut self, index: u32) {
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
