//! Datagrams through TURN servers. Each relay has its own socket or stream, so that datagrams received there
//! belong to one server and one connection.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use netdyno_io::Received;
use netdyno_rtc_core::Transmit;

use super::super::runs::{Run, Runs};
use super::super::state::Engine;
use super::relay::{Relay, ServerLink};
use crate::servers::{Server, Transport};
use crate::stun;

impl Engine {
    /// Allocates an address for this connection at each TURN server. If a socket cannot be opened, that relay
    /// is skipped: the connection may find another path.
    pub(super) fn allocate(&mut self, index: u32) {
        let Some(slot) = self.slots.get(index as usize) else { return };
        if !slot.relays.is_empty() || self.settings.peer.ice_lite {
            return;
        }
        for server in self.gathering.resolved.servers.clone() {
            if server.relays_for.is_some() {
                self.open_relay(index, server);
            }
        }
    }

    fn open_relay(&mut self, index: u32, server: Server) {
        let time = self.gathering.time(self.now);
        let number = self.gathering.relays.vacant_key() as u32;
        let (link, local) = match server.transport {
            Transport::Udp => {
                let Ok(port) = self.ports.open_relay(server.address, number) else { return };
                let Some(local) = self.ports.get(port).map(|port| port.socket.local_address()) else {
                    return;
                };
                (ServerLink::Port(port), local)
            }
            _ if !self.ports.reaches(server.address) => return,
            // A stream gets its local address when it is opened; it is not used.
            _ => (ServerLink::Due(time), SocketAddr::new(self.ports.bound().ip(), 0)),
        };
        self.gathering.relays.insert(Relay::new(index, link, local, server, time));
        self.gathering.relay_timers.arm(number, Some(self.now));
        let slot = &mut self.slots[index as usize];
        slot.relays.push(number);
        slot.may_relay = true;
    }

    /// Runs a relay's due actions.
    pub(super) fn work_on_relay(&mut self, number: u32) -> io::Result<()> {
        self.open_stream(number);
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return Ok(()) };
        let was_settled = relay.is_settled();
        let mut due = Vec::new();
        let next = relay.work(time, |message| due.push(message.to_vec()));
        let (connection, is_over, has_settled) =
            (relay.connection, relay.is_over(), relay.is_settled() != was_settled);
        let next = next.map(|next| self.gathering.moment(next));
        self.gathering.relay_timers.arm(number, next);
        for message in due {
            self.send_to_server(number, &message, message.len())?;
        }
        self.report_failure(number);
        if is_over {
            self.close_relay(number);
        }
        if has_settled || is_over {
            self.offer_gathered(connection);
        }
        Ok(())
    }

    /// Reports the failure of a server to the application.
    fn report_failure(&mut self, number: u32) {
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        let (Some(why), index) = (relay.take_failure(), relay.connection) else { return };
        if let Some(slot) = self.slots.get_mut(index as usize) {
            let Server { url, address, .. } = relay.server();
            slot.peer.report_server(url, &format!("{address}: {why}"));
            self.touch(index);
        }
    }

    /// Processes datagrams received on a relay's socket; returns the cost.
    pub(in super::super) fn receive_relayed(&mut self, number: u32, received: Received<'_>) -> usize {
        let Received { remote, datagrams, segment_bytes, .. } = received;
        let server = self.gathering.relays.get(number as usize).map(|relay| relay.server().address);
        if server != Some(remote) {
            return 1;
        }
        let (length, step) = (datagrams.len(), segment_bytes.max(1));
        self.unwrap_relayed(number, datagrams, (0..length).step_by(step).map(|at| at..length.min(at + step)))
    }

    /// Unwraps datagrams of a server; returns the cost. Adjacent datagrams stay together.
    pub(super) fn unwrap_relayed(
        &mut self,
        number: u32,
        bytes: &mut [u8],
        datagrams: impl Iterator<Item = Range<usize>>,
    ) -> usize {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return 1 };
        let (index, mut runs) = (relay.connection, Runs::default());
        let mut is_for_us = false;
        for datagram in datagrams {
            let Some(part) = relay.unwrap(time, &bytes[datagram.clone()]) else {
                is_for_us = true;
                continue;
            };
            let from = datagram.start + part.start;
            runs.push(bytes, part.peer, from..from + part.length);
        }
        let local = relay.relayed();
        if is_for_us {
            self.gathering.relay_timers.arm(number, Some(self.now));
        }
        let Some(local) = local else { return 1 };
        let mut cost = 1;
        for Run { remote, range, segment_bytes } in runs {
            let datagrams = &mut bytes[range];
            cost += self.hand_over(index, Received { local, remote, datagrams, segment_bytes });
        }
        cost
    }

    /// Whether the contents of the arena are sent on the connection's own port, and fit there. Datagrams from
    /// a relayed address never are, even if that is lost.
    pub(in super::super) fn goes_straight(&mut self, index: u32, transmit: &Transmit) -> bool {
        let Some(slot) = self.slots.get_mut(index as usize) else { return false };
        let mut relays = slot.relays.iter().filter_map(|&number| self.gathering.relays.get(number as usize));
        let leads = relays.find(|relay| relay.relayed() == Some(transmit.local));
        let leads = leads.map(|relay| relay.link);
        let way = match leads {
            Some(ServerLink::Port(port)) => port,
            _ => slot.port,
        };
        if !stun::is_stun(self.arena.filled(transmit)) {
            slot.send_port = way;
        }
        let is_ours = !self.settings.relay_only && self.addresses.contains(&transmit.local.ip());
        leads.is_none() && is_ours && self.ports.get(way).is_some_and(|port| !port.is_blocked())
    }

    /// Sends the contents of the arena through a relay. Without a matching relay they are dropped.
    pub(in super::super) fn send_relayed(&mut self, index: u32, transmit: Transmit) -> io::Result<()> {
        let Some(slot) = self.slots.get(index as usize) else { return Ok(()) };
        let (time, relays) = (self.gathering.time(self.now), &mut self.gathering.relays);
        let leads = |relay: &Relay| relay.relayed() == Some(transmit.local);
        let number =
            slot.relays.iter().copied().find(|&number| relays.get(number as usize).is_some_and(leads));
        let Some(number) = number else { return Ok(()) };
        let Some(relay) = relays.get_mut(number as usize) else { return Ok(()) };
        let datagrams = self.arena.filled(&transmit);
        let mut wrapped = std::mem::take(&mut self.wrapped);
        let length = relay.wrap(time, transmit.remote, datagrams, transmit.segment_bytes, &mut wrapped);
        if relay.has_asked() {
            self.gathering.relay_timers.arm(number, Some(self.now));
        }
        let sent = match length {
            Some(segment_bytes) => self.send_to_server(number, &wrapped, segment_bytes),
            None => Ok(()),
        };
        self.wrapped = wrapped;
        sent
    }

    /// Releases the relays of a connection.
    pub(in super::super) fn release_relays(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        for number in std::mem::take(&mut slot.relays) {
            self.release_relay(number);
        }
    }

    pub(in super::super) fn release_relay(&mut self, number: u32) {
        let time = self.gathering.time(self.now);
        let mut last = Vec::new();
        if let Some(relay) = self.gathering.relays.get_mut(number as usize) {
            relay.release(time, |message| last.push(message.to_vec()));
        }
        for message in last {
            // Otherwise the allocation expires at the server, after ten minutes.
            let _ = self.send_to_server(number, &message, message.len());
        }
        self.close_relay(number);
    }

    fn close_relay(&mut self, number: u32) {
        let Some(relay) = self.gathering.relays.try_remove(number as usize) else { return };
        if let Some(slot) = self.slots.get_mut(relay.connection as usize) {
            slot.relays.retain(|&other| other != number);
            slot.send_port = slot.port;
        }
        self.gathering.relay_timers.disarm(number);
        match relay.link {
            ServerLink::Port(port) => self.ports.close_own(port),
            ServerLink::Due(_) => {}
            ServerLink::Opening(stream) | ServerLink::Stream(stream) => self.streams.close(stream),
        }
    }

    fn send_to_server(&mut self, number: u32, bytes: &[u8], segment_bytes: usize) -> io::Result<()> {
        let Some(relay) = self.gathering.relays.get(number as usize) else { return Ok(()) };
        let (local, remote, length) = (relay.local(), relay.server().address, bytes.len());
        match relay.link {
            // What does not fit is dropped, as on a network.
            ServerLink::Port(port) if self.ports.get(port).is_none_or(|port| port.is_blocked()) => Ok(()),
            ServerLink::Port(port) => {
                self.ports.send(port, Transmit { local, remote, length, segment_bytes }, bytes)
            }
            ServerLink::Stream(stream) => self.streams.send(stream, bytes),
            ServerLink::Due(_) | ServerLink::Opening(_) => Ok(()),
        }
    }
}
