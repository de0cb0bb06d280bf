//! Candidates that hide their addresses behind names of multicast DNS (draft-ietf-mmusic-mdns-ice-candidates, RFC 6762): those of peers, as
//! browsers have them, are asked for on the links of this machine, and addresses of ours are offered so where the settings say it.
//!
//! | does | does not |
//! |---|---|
//! | ask for each name once at a time, three times, and give it up after 7 s | remember answers, ask by IPv6 (AAAA records come by IPv4 too) |
//! | take the first address that anybody on the link tells: a check finds out who is there | believe that it is the peer's |
//! | answer for names of ours, 122 random bits each, on the link of the address | probe for or announce them: nobody else has them |
//!
//! There is one socket, at the group itself and its port, beside those of whoever else on this machine speaks multicast DNS; it is opened when there
//! is a name to ask for, or to answer for. Who has that port for himself has us ask from another, and be answered there (RFC 6762 section 6.7).

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

/// Where multicast DNS is spoken (RFC 6762 section 3).
const GROUP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(224, 0, 0, 251)), 5353);
/// The IP TTL of what is sent there (section 11).
const HOPS: u8 = 255;

impl Engine {
    /// Asks for the names in what a peer has said: a description, or a line from "candidate:" on.
    pub(super) fn ask_for_names(&mut self, index: u32, said: &str) {
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

    /// Sends the questions that are due.
    pub(super) fn work_on_names(&mut self) -> io::Result<()> {
        if self.names.next().is_none_or(|at| at > self.now) {
            return Ok(());
        }
        let mut due = Vec::new();
        self.names.questions.work(self.now, |question| due.push(question.to_vec()));
        if due.is_empty() || self.open_names().is_err() {
            // Without a socket nobody is asked, as nobody would answer where there is no link.
            return Ok(());
        }
        for question in due {
            self.tell_links(&question, |_| true);
        }
        Ok(())
    }

    /// The addresses of this machine are hidden from whom this connection talks to.
    pub(super) fn hide_addresses(&mut self, index: u32) {
        if !self.settings.hide_addresses || self.settings.relay_only {
            return;
        }
        // Names stand in descriptions, whether they can be answered for or not.
        let _ = self.open_names();
        for address in self.addresses.clone() {
            if let (Some(name), Some(slot)) = (self.names.of(address), self.slots.get_mut(index as usize)) {
                slot.peer.hide_address(address, name);
            }
        }
    }

    /// The links of this machine may have changed.
    pub(super) fn have_links(&mut self) {
        if let Some((port, _)) = self.names.port.take() {
            self.ports.close_own(port);
            let _ = self.open_names();
        }
    }

    /// Takes what came from the group.
    pub(super) fn receive_names(&mut self, received: &Received<'_>) {
        for datagram in received.datagrams.chunks(received.segment_bytes.max(1)) {
            match wire::read(datagram) {
                Some(Message::Answers(answers)) if received.remote.port() == GROUP.port() => {
                    answers.iter().for_each(|(name, address)| self.have_name(name, *address));
                }
                Some(Message::Questions(number, asked)) => {
                    self.answer_for_names(received.remote, number, &asked)
                }
                _ => {}
            }
        }
    }

    /// Somebody says that a name has this address.
    fn have_name(&mut self, name: &str, address: IpAddr) {
        for (id, line) in self.names.questions.answer(name, address) {
            if let Some(mut connection) = self.connection(id) {
                // What the peer made of it that is no candidate is passed over, as its names are if nobody answers.
                let _ = connection.add_resolved_candidate(&line);
            }
        }
    }

    /// Answers for names of ours: on the link of the address, or to whoever speaks no multicast DNS himself.
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
                    // As on the way, an answer may be lost.
                    let _ = port.map(|port| port.socket.send_one(GROUP, asker, &answer));
                }
                None => self.tell_links(&answer, |link| {
                    [link.v4.map(IpAddr::V4), link.v6.map(IpAddr::V6)].contains(&Some(address))
                }),
            }
        }
    }

    /// Sends to the group, on these links.
    fn tell_links(&self, message: &[u8], is_told: impl Fn(&Interface) -> bool) {
        let Some((port, links)) = &self.names.port else { return };
        let Some(port) = self.ports.get(*port) else { return };
        for link in links.iter().filter(|link| is_told(link)) {
            // As on the way, it may be lost; it is sent again.
            let _ = port.socket.set_multicast_interface(link);
            let _ = port.socket.send_one(port.socket.local_address(), GROUP, message);
        }
    }

    /// Opens the socket, if it is not.
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
