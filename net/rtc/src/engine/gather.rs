//! Gathers candidates from STUN and TURN servers for all connections of an engine. `binding.rs` learns the
//! public address of a local port. `relay.rs` allocates an address at a server, for one connection, over UDP
//! or in a stream (`streaming.rs`).
//!
//! Messages, retransmission and authentication are those of turn-client-proto and its stun-proto. This module
//! decides when to send, on which socket, and which connections are concerned. Datagrams count as a server's
//! only if they come from its address.

mod binding;
mod relay;
mod relaying;
pub(super) mod state;
mod streaming;

use std::io;
use std::net::{IpAddr, SocketAddr};

use netdyno_io::Received;
use netdyno_rtc_core::Transmit;

use super::inbound::Arrival;
use super::ports::candidate_addresses;
use super::state::Engine;
use crate::servers::{Resolving, Server, Transport};
use crate::stun::{self, Stun};
use binding::Binding;
use relay::Relay;
use state::{LOOK_INTERVAL, LOOK_PAUSE};

impl Engine {
    /// For a new connection: adds known candidates, and queries servers for the others.
    pub(super) fn gather_for(&mut self, index: u32) {
        let Some(slot) = self.slots.get(index as usize) else { return };
        let port = slot.port;
        self.offer_public_addresses(index);
        if !self.gathering.is_of_use() {
            return;
        }
        self.slots[index as usize].peer.set_gathering(self.now, true);
        self.query_from(port);
        self.allocate(index);
        self.offer_gathered(index);
    }

    /// Sends due requests; takes over the servers' addresses once they are resolved.
    pub(super) fn gather(&mut self) -> io::Result<()> {
        if let Some(resolved) = self.gathering.resolving.as_ref().and_then(Resolving::poll) {
            (self.gathering.resolving, self.gathering.resolved) = (None, resolved);
            self.query_from(0);
            let indices: Vec<u32> = self.slots.iter().map(|(index, _)| index as u32).collect();
            for index in indices {
                self.query_from(self.slots[index as usize].port);
                self.allocate(index);
                self.offer_gathered(index);
            }
        }
        if self.gathering.lookup_at.is_some_and(|at| at <= self.now) {
            (self.gathering.last_lookup_at, self.gathering.lookup_at) =
                (self.now, Some(self.now + LOOK_INTERVAL));
            self.set_addresses(candidate_addresses(self.local_address().ip(), &[]));
        }
        while let Some(port) = self.gathering.timers.expired(self.now) {
            self.work_on_bindings(port)?;
        }
        while let Some(relay) = self.gathering.relay_timers.expired(self.now) {
            self.work_on_relay(relay)?;
        }
        Ok(())
    }

    /// Updates the local addresses. New ones become candidates of all connections; removed ones are not
    /// offered to new connections.
    fn set_addresses(&mut self, addresses: Vec<IpAddr>) {
        if self.addresses == addresses {
            return;
        }
        let mut gone = std::mem::replace(&mut self.addresses, addresses);
        gone.retain(|address| !self.addresses.contains(address));
        self.update_links();
        let indices: Vec<u32> = self.slots.iter().map(|(index, _)| index as u32).collect();
        for &index in &indices {
            self.withdraw_addresses(index, &gone);
            self.offer_addresses(index);
            self.touch(index);
        }
        // Known addresses are queried again, at the cost of one datagram each.
        let ports: Vec<u32> = self.gathering.bindings.drain().map(|(port, _)| port).collect();
        ports.into_iter().for_each(|port| self.query_from(port));
    }

    /// Removes addresses that this machine no longer has.
    fn withdraw_addresses(&mut self, index: u32, gone: &[IpAddr]) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let number = self.ports.get(slot.port).map_or(0, |port| port.socket.local_address().port());
        for &address in gone {
            for number in [Some(number), self.tcp_port].into_iter().flatten() {
                slot.peer.remove_local_address(self.now, SocketAddr::new(address, number));
            }
        }
    }

    /// Looks up the local addresses after a failed send, because its source address may be gone.
    pub(super) fn look_after_errors(&mut self) {
        if self.ports.take_failed() {
            let at = self.now.max(self.gathering.last_lookup_at + LOOK_PAUSE);
            self.gathering.lookup_at = self.gathering.lookup_at.map(|planned| planned.min(at));
        }
    }

    /// Adds the local addresses as candidates of a connection.
    pub(super) fn offer_addresses(&mut self, index: u32) {
        self.hide_addresses(index);
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let number = self.ports.get(slot.port).map_or(0, |port| port.socket.local_address().port());
        for &address in self.addresses.iter().filter(|_| !self.settings.relay_only) {
            slot.peer.add_local_address(self.now, SocketAddr::new(address, number));
            if let Some(number) = self.tcp_port {
                slot.peer.add_tcp_address(self.now, SocketAddr::new(address, number), None);
            }
        }
    }

    /// Whether these datagrams come from a server queried from this port. If so, they are consumed.
    pub(super) fn take_from_server(&mut self, port: u32, received: &Received<'_>, arrival: Arrival) -> bool {
        let time = self.gathering.time(self.now);
        let Some(bindings) = self.gathering.bindings.get_mut(&port) else { return false };
        if !bindings.iter().any(|binding| binding.server() == received.remote) {
            return false;
        }
        let mut is_taken = false;
        for datagram in received.datagrams.chunks(received.segment_bytes.max(1)) {
            is_taken |= bindings.iter_mut().any(|binding| binding.take(time, received.remote, datagram));
        }
        if is_taken {
            self.gathering.timers.arm(port, Some(self.now));
            self.update_connections(port);
        }
        // The kernel delivers responses to other members of the port to any of them.
        let is_answer = matches!(stun::read(received.datagrams), Some(Stun::Response(_)));
        if let Some(member) =
            self.routes.port_member().filter(|_| !is_taken && is_answer && arrival == Arrival::Direct)
        {
            member.hand_to_others(received);
        }
        // A server may also be a peer.
        is_taken
    }

    /// Stops all queries from this port.
    pub(super) fn forget_port(&mut self, port: u32) {
        if port != 0 {
            self.gathering.bindings.remove(&port);
            self.gathering.timers.disarm(port);
        }
    }

    /// Starts to query all servers from this port, unless that has started.
    fn query_from(&mut self, port: u32) {
        if self.settings.relay_only || self.gathering.bindings.contains_key(&port) {
            return;
        }
        let Some(number) = self.ports.get(port).map(|port| port.socket.local_address().port()) else {
            return;
        };
        let bases: Vec<_> = self.addresses.iter().map(|&ip| SocketAddr::new(ip, number)).collect();
        let reaches = |base: &SocketAddr, server: &Server| {
            let (from, to) = (base.ip(), server.address.ip());
            from.is_ipv4() == to.is_ipv4() && (to.is_loopback() || !from.is_loopback())
        };
        // What a server sees through TCP says nothing about this UDP port.
        let by_udp = |server: &&Server| matches!(server.transport, Transport::Udp);
        let each = self.gathering.resolved.servers.iter().filter(by_udp).flat_map(|server| {
            bases.iter().filter(|base| reaches(base, server)).map(|&base| Binding::new(base, server.address))
        });
        let bindings: Vec<_> = each.collect();
        if !bindings.is_empty() {
            self.gathering.bindings.insert(port, bindings);
            self.gathering.timers.arm(port, Some(self.now));
        }
    }

    /// Sends due requests from a port to its servers.
    fn work_on_bindings(&mut self, port: u32) -> io::Result<()> {
        let time = self.gathering.time(self.now);
        let Some(bindings) = self.gathering.bindings.get_mut(&port) else { return Ok(()) };
        let mut next = None;
        let mut due = Vec::new();
        for binding in bindings {
            let path = (binding.base(), binding.server());
            let wait = binding.work(time, |request| due.push((path, request.to_vec())));
            next = next.into_iter().chain([wait]).min();
        }
        let next = next.map(|next| self.gathering.moment(next));
        self.gathering.timers.arm(port, next);
        for ((local, remote), request) in due {
            // Dropping a request is equivalent to losing it on the network.
            if self.ports.get(port).is_some_and(|port| !port.is_blocked()) {
                let (length, segment_bytes) = (request.len(), request.len());
                self.ports.send(port, Transmit { local, remote, length, segment_bytes }, &request)?;
            }
        }
        self.update_connections(port);
        Ok(())
    }

    /// Updates all connections that use this port.
    fn update_connections(&mut self, port: u32) {
        let all = self.slots.iter().filter(|(_, slot)| slot.port == port && slot.peer.is_gathering());
        let all: Vec<u32> = all.map(|(index, _)| index as u32).collect();
        all.into_iter().for_each(|index| self.offer_gathered(index));
    }

    /// Adds what servers have answered so far as candidates of a connection.
    pub(super) fn offer_gathered(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        for (address, base) in self.gathering.mapped(slot.port) {
            // Without a NAT it equals the host candidate.
            if address != base {
                slot.peer.add_reflexive_address(self.now, address, base);
            }
        }
        let relays = || slot.relays.iter().filter_map(|&relay| self.gathering.relays.get(relay as usize));
        for relay in relays() {
            if let Some(address) = relay.relayed() {
                slot.peer.add_relayed_address(self.now, address, relay.server().transport.relay_protocol());
            }
        }
        let is_settled = self.gathering.is_settled(slot.port) && relays().all(Relay::is_settled);
        if slot.peer.is_gathering() && is_settled {
            for (url, why) in self.gathering.failures(slot.port) {
                slot.peer.report_server(url, &why);
            }
            slot.peer.set_gathering(self.now, false);
        }
        self.touch(index);
    }

    /// Adds the public addresses of the settings.
    fn offer_public_addresses(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let number = self.ports.get(slot.port).map_or(0, |port| port.socket.local_address().port());
        for &public in self.settings.public_addresses.iter().filter(|_| !self.settings.relay_only) {
            let base = self.addresses.iter().find(|base: &&IpAddr| base.is_ipv4() == public.is_ipv4());
            if let Some(&base) = base.filter(|&&base| base != public) {
                let (address, base) = (SocketAddr::new(public, number), SocketAddr::new(base, number));
                slot.peer.add_reflexive_address(self.now, address, base);
                if let Some(number) = self.tcp_port {
                    let (address, base) =
                        (SocketAddr::new(public, number), SocketAddr::new(base.ip(), number));
                    slot.peer.add_tcp_address(self.now, address, Some(base));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
