//! From a socket to a connection, and from a connection to the handler.

use std::io;
use std::time::Duration;

use netdyno_io::Received;
use netdyno_rtc_core::{Event, PeerState};

use super::connection::{Connection, Handler};
use super::ports::Port;
use super::routes::Path;
use super::slot::{ConnectionId, Slot};
use super::state::Engine;
use crate::stun::{self, Stun};

/// Limit of the cost of receiving in one turn, over all ports, before delivery and sending: 24 buffers of 64
/// KiB of messages, which still fit in caches, or eight times as many buffers with one datagram each, which
/// take as long.
pub(super) const COST_PER_TURN: usize = 24 * FULL_COST;
const FULL_COST: usize = 8;
/// The cost of a datagram of a set-up, which takes 50 to 200 us. Few per turn, so that the first of many
/// concurrent set-ups finish before the last begin.
const SETUP_COST: usize = COST_PER_TURN / 2;

/// How datagrams reached this engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Through one of its own sockets.
    Direct,
    /// Handed over by another reactor that shares the port; they are not handed over again.
    HandedOver,
}

impl Engine {
    /// Queues a port that may have something to receive.
    pub(super) fn queue_port(&mut self, index: u32) {
        let Some(port) = self.ports.get_mut(index) else { return };
        if !std::mem::replace(&mut port.readable, true) {
            self.readable.push_back(index);
        }
    }

    /// Receives one batch from each queued port in turn, up to the turn's limit. Datagrams handed over by
    /// other reactors get at most half of it.
    pub(super) fn receive_queued(&mut self) -> io::Result<()> {
        let mut cost = self.take_handovers(COST_PER_TURN / 2);
        while cost < COST_PER_TURN
            && let Some(index) = self.readable.pop_front()
        {
            let Some(port) = self.ports.get_mut(index) else { continue };
            port.readable = false;
            let (spent, may_have_more) = self.receive(index)?;
            // Finding nothing costs time too.
            cost += spent.max(1);
            if may_have_more {
                self.queue_port(index);
            }
        }
        Ok(())
    }

    /// Receives one batch from a port. Returns its cost, and whether there may be more.
    fn receive(&mut self, port: u32) -> io::Result<(usize, bool)> {
        let Some(Port { socket, stands_for, relay, is_of_names, .. }) = self.ports.get(port) else {
            return Ok((0, false));
        };
        // Put back below; there is no return in between.
        let Some(mut batch) = self.batch.take() else { return Ok((0, false)) };
        let received = socket.receive(&mut batch);
        let (port, relay, is_of_names, mut cost) = (*stands_for, *relay, *is_of_names, batch.len());
        for received in batch.iter() {
            cost += match (relay, is_of_names) {
                (None, false) => self.dispatch(port, received, Arrival::Direct),
                (Some(relay), _) => self.receive_relayed(relay, received),
                (None, true) => {
                    self.receive_names(&received);
                    1
                }
            };
        }
        if !batch.is_single() {
            // The kernel batches already.
            self.patience = Some(Duration::ZERO);
        }
        let may_have_more = batch.is_full();
        self.batch = Some(batch);
        received.map(|_| (cost, may_have_more))
    }

    /// Passes datagrams of one sender to their connection; returns the cost.
    pub(super) fn dispatch(&mut self, port: u32, received: Received<'_>, arrival: Arrival) -> usize {
        let path = (port, received.remote);
        if !stun::is_stun(received.datagrams) {
            if let Some(index) = self.routes.by_path(path) {
                if arrival == Arrival::HandedOver {
                    self.steer(index, received.local, received.remote);
                }
                return self.hand_over(index, received);
            }
            if arrival == Arrival::Direct && self.pass_on(path, &received) {
                return 1;
            }
        }
        if self.take_from_server(port, &received, arrival) {
            return 1;
        }
        // Datagrams of an unknown sender are handled one by one: a check among them identifies it.
        let Received { local, remote, datagrams, segment_bytes } = received;
        let (mut cost, mut is_refused) = (0, false);
        for datagram in datagrams.chunks_mut(segment_bytes) {
            let (segment_bytes, is_stun) = (datagram.len(), stun::is_stun(datagram));
            let owner = self.connection_for(path, datagram);
            let received = Received { local, remote, datagrams: datagram, segment_bytes };
            if let Some(index) = owner {
                cost += self.hand_over(index, received);
                if is_stun && self.settings.peer.ice_lite && self.routes.by_path(path) != Some(index) {
                    self.slots[index as usize].peer.prove_path(self.now, local, remote);
                }
            } else if is_stun && arrival == Arrival::Direct && self.pass_on(path, &received) {
                cost += 1;
            } else {
                is_refused = true;
            }
        }
        self.refusals.datagrams += u64::from(is_refused);
        cost
    }

    /// Finds the connection of a datagram. A check with valid integrity makes its path known.
    fn connection_for(&mut self, path: Path, datagram: &[u8]) -> Option<u32> {
        if !stun::is_stun(datagram) {
            return self.routes.by_path(path).or_else(|| self.find_moved(path, datagram));
        }
        let (index, answered) = match stun::read(datagram)? {
            Stun::Request { ufrag } => (self.routes.by_ufrag(ufrag)?, None),
            Stun::Response(id) => {
                let (index, asked) = self.routes.by_check(&id)?;
                (index, Some((id, asked)))
            }
            Stun::Anonymous => return self.routes.by_path(path),
        };
        let slot = self.slots.get(index as usize)?;
        if slot.port != path.0 || !slot.peer.accepts_stun(datagram) {
            return None;
        }
        if let Some((id, _)) = answered {
            self.routes.remove_check(&id);
        }
        // A response proves the address to which the request was sent. The source of a request may be forged
        // by a peer that wants another connection's path; the triggered check verifies it.
        let is_proven = answered.is_some_and(|(_, asked)| asked == path.1);
        if is_proven || !self.is_taken(index, path) {
            let before = self.routes.other_owner(index, path).filter(|_| answered.is_some());
            let slot = self.slots.get_mut(index as usize)?;
            let elsewhere = self.routes.add_path(index, &mut slot.trail, path);
            if let (Some(reactor), Some(member)) = (elsewhere, self.routes.port_member()) {
                member.tell_taken(reactor, path.1, answered.is_some());
            }
            if let Some(slot) = before.and_then(|before| self.slots.get_mut(before as usize)) {
                slot.peer.handle_path_taken(self.now, path.1);
            }
            before.into_iter().for_each(|before| self.touch(before));
        } else {
            self.refusals.paths += 1;
        }
        Some(index)
    }

    /// Whether the path leads to another connection that is not over.
    fn is_taken(&self, index: u32, path: Path) -> bool {
        let owner = self.routes.other_owner(index, path);
        self.routes.other_reactor(path).is_some()
            || owner.and_then(|owner| self.slots.get(owner as usize)).is_some_and(|owner| !owner.is_ending())
    }

    /// Passes datagrams to a connection; returns the cost.
    pub(super) fn hand_over(&mut self, index: u32, received: Received<'_>) -> usize {
        let Some(slot) = self.slots.get_mut(index as usize) else { return 0 };
        let Received { local, remote, datagrams, segment_bytes } = received;
        let cost = if slot.peer.state() == PeerState::Connecting {
            SETUP_COST
        } else {
            1 + datagrams.len() * (FULL_COST - 1) / netdyno_io::BUFFER_BYTES
        };
        self.awaits_more |= slot.is_quick(self.settings.setup_spin);
        slot.peer.handle_datagrams(self.now, local, remote, datagrams, segment_bytes);
        let patience = slot.peer.max_receive_delay();
        self.patience = Some(self.patience.map_or(patience, |others| others.min(patience)));
        self.touch(index);
        cost
    }

    /// Delivers the events and messages of one connection. Messages received before the end of a channel are
    /// delivered before that end.
    pub(crate) fn deliver_one(&mut self, id: ConnectionId, handler: &mut impl Handler) {
        self.deliver_events(id, handler);
        let all_taken = self.deliver_messages(id, handler);
        // Behind the last message there may be chunks that only raise events.
        self.deliver_events(id, handler);
        if all_taken {
            self.deliver_ends(id, handler);
        }
        if let Some(slot) = self.slot_mut(id)
            && slot.end_reported
            && !slot.is_finished
            && slot.held.is_empty()
        {
            // It is removed once it has nothing more to send.
            slot.is_finished = true;
            self.touch(id.index);
        }
    }

    /// Delivers events; ends wait until all earlier messages were taken.
    fn deliver_events(&mut self, id: ConnectionId, handler: &mut impl Handler) {
        while let Some(slot) = self.slot_mut(id)
            && let Some(event) = slot.peer.poll_event()
        {
            if is_end(&event, slot.is_ending()) {
                slot.held.push_back(event);
                // The peer is gone, so reading cannot be paused; the rest is bounded by the receive window.
                if slot.is_ending() && !std::mem::replace(&mut slot.reading, true) {
                    self.touch(id.index);
                }
            } else {
                handler.on_event(&mut Connection::new(self, id), event);
            }
        }
    }

    /// Delivers messages; returns whether none is left.
    fn deliver_messages(&mut self, id: ConnectionId, handler: &mut impl Handler) -> bool {
        let mut channel = None;
        loop {
            let Some(slot) = self.slot_mut(id) else { return false };
            if !slot.reading {
                return !slot.peer.has_message();
            }
            let Some(message) = slot.peer.recv() else { return true };
            if channel != Some(message.channel) {
                // Taking the message may have opened its channel.
                channel = Some(message.channel);
                self.deliver_events(id, handler);
                if self.slot_mut(id).is_none() {
                    return false;
                }
            }
            handler.on_message(&mut Connection::new(self, id), message);
        }
    }

    fn deliver_ends(&mut self, id: ConnectionId, handler: &mut impl Handler) {
        while let Some(slot) = self.slot_mut(id)
            && let Some(event) = slot.held.pop_front()
        {
            slot.end_reported |= matches!(event, Event::State(PeerState::Closed | PeerState::Failed));
            handler.on_event(&mut Connection::new(self, id), event);
        }
    }

    fn slot_mut(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)
    }
}

/// Whether no message follows the event, depending on whether the connection is over.
fn is_end(event: &Event, is_over: bool) -> bool {
    match event {
        Event::ChannelClosed(_) => true,
        Event::Failed(_) | Event::State(PeerState::Closed | PeerState::Failed) => is_over,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
