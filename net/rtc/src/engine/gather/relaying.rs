//! Datagrams that go by way of a TURN server: each relay has a socket, so that what comes there is the server's, for one connection.

use std::io;
use std::net::SocketAddr;

use netdyno_io::Received;
use netdyno_rtc_core::Transmit;

use super::super::{Engine, stun};
use super::relay::{Relay, Relayed};

impl Engine {
    /// Asks each TURN server for an address for this connection. Where a socket cannot be had there is none: the connection may
    /// find another way.
    pub(super) fn allocate(&mut self, index: u32) {
        let Some(slot) = self.slots.get(index as usize) else { return };
        if !slot.relays.is_empty() || self.settings.peer.ice_lite {
            return;
        }
        for server in self.gathering.servers.clone() {
            let Some((name, password)) = &server.relays_for else { continue };
            let Ok(port) = self.ports.open_relay(server.address) else { continue };
            let Some(local) = self.ports.get(port).map(|port| port.socket.local_address()) else { continue };
            let relay = Relay::new(index, local, server.address, name, password);
            self.gathering.relays.insert(port, relay);
            self.gathering.timers.arm(port, Some(self.now));
            let slot = &mut self.slots[index as usize];
            slot.relays.push(port);
            slot.may_relay = true;
        }
    }

    /// Lets a relay act at this time.
    pub(super) fn work_on_relay(&mut self, port: u32) -> io::Result<()> {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(&port) else { return Ok(()) };
        let was_settled = relay.is_settled();
        let mut due = Vec::new();
        let next = relay.work(time, |message| due.push(message.to_vec()));
        let (connection, is_over, is_news) =
            (relay.connection, relay.is_over(), relay.is_settled() != was_settled);
        let next = next.map(|next| self.gathering.moment(next));
        self.gathering.timers.arm(port, next);
        for message in due {
            self.send_to_server(port, &message, message.len())?;
        }
        if is_over {
            self.close_relay(port);
        }
        if is_news || is_over {
            self.offer_found(connection);
        }
        Ok(())
    }

    /// Takes what came to the socket of a relay; tells what that cost. What lies side by side goes on side by side.
    pub(in super::super) fn receive_relayed(&mut self, port: u32, received: Received<'_>) -> usize {
        let time = self.gathering.time(self.now);
        let Received { remote, datagrams, segment_bytes, .. } = received;
        let Some(relay) = self.gathering.relays.get_mut(&port).filter(|relay| relay.server() == remote)
        else {
            return 1;
        };
        let (index, length, mut runs) = (relay.connection, datagrams.len(), Vec::new());
        let mut is_for_us = false;
        for at in (0..length).step_by(segment_bytes.max(1)) {
            let end = length.min(at + segment_bytes.max(1));
            let Some(part) = relay.unwrap(time, &datagrams[at..end]) else {
                is_for_us = true;
                continue;
            };
            let from = at + part.start;
            match runs.last_mut().filter(|run: &&mut Run| run.takes(part)) {
                Some(run) => {
                    datagrams.copy_within(from..from + part.length, run.end);
                    run.end += part.length;
                    run.is_open = part.length == run.segment_bytes;
                }
                None => runs.push(Run::new(part.peer, from, part.length)),
            }
        }
        let local = relay.relayed();
        if is_for_us {
            self.gathering.timers.arm(port, Some(self.now));
        }
        let Some(local) = local else { return 1 };
        let mut cost = 1;
        for Run { peer, start, end, segment_bytes, .. } in runs {
            let datagrams = &mut datagrams[start..end];
            cost += self.hand_over(index, Received { local, remote: peer, datagrams, segment_bytes });
        }
        cost
    }

    /// Whether what is in the arena goes out by the connection's own port, and finds room there. What is to come from an address at a
    /// relay never does, also if that is lost.
    pub(in super::super) fn goes_straight(&mut self, index: u32, transmit: &Transmit) -> bool {
        let Some(slot) = self.slots.get_mut(index as usize) else { return false };
        let relays = &self.gathering.relays;
        let leads =
            |port: &u32| relays.get(port).is_some_and(|relay| relay.relayed() == Some(transmit.local));
        let way = slot.relays.iter().copied().find(leads).unwrap_or(slot.port);
        if !stun::is_stun(self.arena.filled(transmit)) {
            slot.way = way;
        }
        let is_ours = !self.settings.relay_only && self.addresses.contains(&transmit.local.ip());
        way == slot.port && is_ours && self.ports.get(way).is_some_and(|port| !port.is_blocked())
    }

    /// Sends what is in the arena by way of a relay. What is for no relay found no room, and is lost.
    pub(in super::super) fn send_relayed(&mut self, index: u32, transmit: Transmit) -> io::Result<()> {
        let Some(slot) = self.slots.get(index as usize) else { return Ok(()) };
        let (time, relays) = (self.gathering.time(self.now), &mut self.gathering.relays);
        let leads =
            |port: &&u32| relays.get(port).is_some_and(|relay| relay.relayed() == Some(transmit.local));
        let Some(&port) = slot.relays.iter().find(leads) else { return Ok(()) };
        let Some(relay) = relays.get_mut(&port) else { return Ok(()) };
        let datagrams = self.arena.filled(&transmit);
        let wrapped = relay.wrap(time, transmit.remote, datagrams, transmit.segment_bytes);
        if relay.has_asked() {
            self.gathering.timers.arm(port, Some(self.now));
        }
        match wrapped {
            Some((bytes, segment_bytes)) => self.send_to_server(port, &bytes, segment_bytes),
            None => Ok(()),
        }
    }

    /// A connection needs its relays no longer.
    pub(in super::super) fn release_relays(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        for port in std::mem::take(&mut slot.relays) {
            self.release_relay(port);
        }
    }

    pub(in super::super) fn release_relay(&mut self, port: u32) {
        let time = self.gathering.time(self.now);
        let mut last = Vec::new();
        if let Some(relay) = self.gathering.relays.get_mut(&port) {
            relay.release(time, |message| last.push(message.to_vec()));
        }
        for message in last {
            // The server finds out by itself, in ten minutes.
            let _ = self.send_to_server(port, &message, message.len());
        }
        self.close_relay(port);
    }

    fn close_relay(&mut self, port: u32) {
        if let Some(relay) = self.gathering.relays.remove(&port)
            && let Some(slot) = self.slots.get_mut(relay.connection as usize)
        {
            slot.relays.retain(|&other| other != port);
            slot.way = slot.port;
        }
        self.gathering.timers.disarm(port);
        self.ports.close_own(port);
    }

    fn send_to_server(&mut self, port: u32, bytes: &[u8], segment_bytes: usize) -> io::Result<()> {
        let Some(relay) = self.gathering.relays.get(&port) else { return Ok(()) };
        let (local, remote, length) = (relay.local(), relay.server(), bytes.len());
        // What finds no room is lost, as on the way.
        if self.ports.get(port).is_none_or(|port| port.is_blocked()) {
            return Ok(());
        }
        self.ports.send(port, Transmit { local, remote, length, segment_bytes }, bytes)
    }
}

/// Datagrams of one peer, side by side.
struct Run {
    peer: SocketAddr,
    start: usize,
    end: usize,
    segment_bytes: usize,
    /// The last is no shorter than the others.
    is_open: bool,
}

impl Run {
    fn new(peer: SocketAddr, start: usize, length: usize) -> Self {
        Self { peer, start, end: start + length, segment_bytes: length.max(1), is_open: true }
    }

    fn takes(&self, part: Relayed) -> bool {
        self.is_open && self.peer == part.peer && part.length <= self.segment_bytes
    }
}
