//! Candidates that hide their addresses behind mDNS names (draft-ietf-mmusic-mdns-ice-candidates, RFC 6762).
//! Names in a peer's candidates are resolved on the local links; local addresses are offered by name if the
//! settings ask for it.
//!
//! | does | does not |
//! |---|---|
//! | query each name once at a time, three times, and give up after 7 s | cache answers, query over IPv6 (AAAA records also arrive over IPv4) |
//! | use the first address that any host on the link answers: a check verifies it | trust that it belongs to the peer |
//! | answer for local names, with 122 random bits each, on the link of the address | probe or announce them: no other host has them |
//!
//! One socket is bound to the multicast group and its port, shared with other mDNS programs of this machine.
//! It is opened when there is a name to query or to answer. If another program holds the port exclusively,
//! queries are sent from a different port, to which answers are then sent (RFC 6762, section 6.7).

mod pending;
pub(super) mod state;
mod wire;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use netdyno_io::{Interface, Received, SocketOptions, UdpSocket};

use super::slot::{ConnectionId, Slot};
use super::state::Engine;
use crate::limits::LOCAL_ADDRESSES;
use pending::Named;
use state::OwnName;
use wire::Message;

/// The multicast group and port (RFC 6762, section 3).
const GROUP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(224, 0, 0, 251)), 5353);
/// The IP TTL of mDNS messages (section 11).
const HOPS: u8 = 255;

impl Engine {
    /// Queries the names in a peer's description or in a line from "candidate:" on.
    pub(super) fn query_names(&mut self, index: u32, said: &str) {
        if !self.settings.resolve_names || self.settings.peer.ice_lite || self.settings.relay_only {
            return;
        }
        let Some(id) = self.slots.get(index as usize).map(|slot| slot.id(index)) else { return };
        for line in said.lines() {
            if let Some(named) = Named::read(line.strip_prefix("a=").unwrap_or(line)) {
                self.names.questions.add(self.now, id, named);
            }
        }
    }

    /// Sends due queries.
    pub(super) fn work_on_names(&mut self) -> io::Result<()> {
        if self.names.next().is_none_or(|at| at > self.now) {
            return Ok(());
        }
        let mut due = Vec::new();
        self.names.questions.work(self.now, |question| due.push(question.to_vec()));
        if due.is_empty() || self.open_names().is_err() {
            // Without a socket nothing is queried, as if nothing answered.
            return Ok(());
        }
        for question in due {
            self.send_to_links(&question, |_| true);
        }
        Ok(())
    }

    /// Replaces the local addresses by names for this connection.
    pub(super) fn hide_addresses(&mut self, index: u32) {
        if !self.settings.hide_addresses || self.settings.relay_only {
            return;
        }
        // Descriptions contain names even if they cannot be answered.
        let _ = self.open_names();
        for address in self.addresses.clone() {
            if let (Some(name), Some(slot)) =
                (self.names.name_for(address), self.slots.get_mut(index as usize))
            {
                slot.peer.hide_address(address, name);
            }
        }
    }

    /// The local links may have changed.
    pub(super) fn update_links(&mut self) {
        if let Some((port, _)) = self.names.port.take() {
            self.ports.close_own(port);
            let _ = self.open_names();
        }
    }

    /// Processes datagrams from the group.
    pub(super) fn receive_names(&mut self, received: &Received<'_>) {
        for datagram in received.datagrams.chunks(received.segment_bytes.max(1)) {
            match wire::read(datagram) {
                Some(Message::Answers(answers)) if received.remote.port() == GROUP.port() => {
                    answers.iter().for_each(|(name, address)| self.handle_name(name, *address));
                }
                Some(Message::Questions(number, asked)) => {
                    self.answer_for_names(received.remote, number, &asked)
                }
                _ => {}
            }
        }
    }

    /// Processes an answer: a name has this address.
    fn handle_name(&mut self, name: &str, address: IpAddr) {
        for (id, line) in self.names.questions.answer(name, address) {
            if let Some(mut connection) = self.connection(id) {
                // An invalid candidate is ignored, like a name without an answer.
                let _ = connection.add_resolved_candidate(&line);
            }
        }
    }

    /// Answers for local names: on the link of the address, or directly to a host that does not speak mDNS.
    fn answer_for_names(&mut self, asker: SocketAddr, number: u16, asked: &[String]) {
        let legacy = (asker.port() != GROUP.port()).then_some(number);
        let is_asked = |own: &&OwnName| asked.iter().any(|name| name.eq_ignore_ascii_case(&own.name));
        let answers: Vec<_> =
            self.names.own.iter().filter(is_asked).map(|own| (own.name.clone(), own.address)).collect();
        for (name, address) in answers {
            let Some(answer) = wire::answer(&name, address, legacy) else { continue };
            match legacy {
                Some(_) => {
                    let port = self.names.port.as_ref().and_then(|(port, _)| self.ports.get(*port));
                    // Dropping an answer is equivalent to losing it on the network.
                    let _ = port.map(|port| port.socket.send_one(GROUP, asker, &answer));
                }
                None => self.send_to_links(&answer, |link| {
                    [link.v4.map(IpAddr::V4), link.v6.map(IpAddr::V6)].contains(&Some(address))
                }),
            }
        }
    }

    /// Sends to the group on these links.
    fn send_to_links(&self, message: &[u8], is_told: impl Fn(&Interface) -> bool) {
        let Some((port, links)) = &self.names.port else { return };
        let Some(port) = self.ports.get(*port) else { return };
        for link in links.iter().filter(|link| is_told(link)) {
            // A lost message is sent again.
            let _ = port.socket.set_multicast_interface(link);
            let _ = port.socket.send_one(port.socket.local_address(), GROUP, message);
        }
    }

    /// Opens the socket, unless it is open.
    fn open_names(&mut self) -> io::Result<()> {
        if self.names.port.is_some() {
            return Ok(());
        }
        let bound = self.local_address().ip();
        let mut links = Interface::list()?;
        links.retain(|link| match bound.is_unspecified() {
            true => link.is_multicast && !link.is_loopback && link.v4.is_some(),
            false => {
                link.v4.is_some() && [link.v4.map(IpAddr::V4), link.v6.map(IpAddr::V6)].contains(&Some(bound))
            }
        });
        links.truncate(LOCAL_ADDRESSES);
        let mut options = SocketOptions::default();
        (options.reuse_address, options.receive_buffer_bytes, options.send_buffer_bytes) = (true, 0, 0);
        let socket = match UdpSocket::bind(GROUP, &options) {
            Ok(socket) => {
                links.retain(|link| socket.join(GROUP.ip(), Some(link)).is_ok());
                socket
            }
            Err(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0).into(), &SocketOptions::default())?,
        };
        socket.set_multicast_hops(HOPS)?;
        let port = self.ports.add_names(socket)?;
        self.names.port = Some((port, links));
        Ok(())
    }
}

impl Slot {
    fn id(&self, index: u32) -> ConnectionId {
        ConnectionId { index, generation: self.generation }
    }
}

#[cfg(test)]
mod tests;
