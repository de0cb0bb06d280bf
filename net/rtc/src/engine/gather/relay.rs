//! An address at a TURN server (RFC 8656), which one connection has for itself, by a socket of its own.
//!
//! The allocation, its credentials (401, 438), permissions, channels and their refreshing are the library's. Checks go by Send indications,
//! what follows them by a channel: four bytes before each datagram, so that those of one length are of one length still, and go out by
//! one system call.

use std::net::SocketAddr;
use std::time::Duration;

use turn_client_proto::api::{Transmit, TurnConfig, TurnEvent, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant;
use turn_client_proto::types::{AddressFamily, TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use super::super::stun;
use crate::limits::{GATHERING_TIME, PEERS_PER_RELAY};

const UDP: TransportType = TransportType::Udp;
/// Rounds of asking the library what there is to do; each brings something.
const ROUNDS_MAX: usize = 32;
/// The library may ask to be called at once again.
const PAUSE: Duration = Duration::from_millis(1);

/// An allocation, or the attempt at one.
#[derive(Debug)]
pub(crate) struct Relay {
    client: TurnClientUdp,
    /// The connection that it is for.
    pub(super) connection: u32,
    relayed: Option<SocketAddr>,
    /// When to do without, if there is none: the library would wait for four times as long after a refused password, and then not say so.
    gives_up_at: Option<Instant>,
    is_over: bool,
    /// The server is to be asked for a permission or a channel.
    has_asked: bool,
    peers: Vec<Peer>,
}

/// Whom something was to be sent to.
#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    /// The latest check, until the server permits it.
    waiting: Option<Vec<u8>>,
    has_asked_for_channel: bool,
}

/// What came by way of the server: where it lies in its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relayed {
    pub(super) peer: SocketAddr,
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Relay {
    pub(super) fn new(
        connection: u32,
        local: SocketAddr,
        server: SocketAddr,
        name: &str,
        password: &str,
    ) -> Self {
        let mut config = TurnConfig::new(TurnCredentials::new(name, password));
        config.set_address_family(if server.is_ipv4() { AddressFamily::IPV4 } else { AddressFamily::IPV6 });
        let client = TurnClientUdp::allocate(local, server, config);
        Self {
            client,
            connection,
            relayed: None,
            gives_up_at: None,
            is_over: false,
            has_asked: false,
            peers: Vec::new(),
        }
    }

    pub(super) fn local(&self) -> SocketAddr {
        self.client.local_addr()
    }

    pub(super) fn server(&self) -> SocketAddr {
        self.client.remote_addr()
    }

    /// The address at the server.
    pub(super) fn relayed(&self) -> Option<SocketAddr> {
        self.relayed
    }

    /// Whether there is an address, or will be none.
    pub(super) fn is_settled(&self) -> bool {
        self.relayed.is_some() || self.is_over
    }

    /// Whether nothing goes by it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends what is due. Gives the time of the next call, if there is to be one.
    pub(super) fn work(&mut self, now: Instant, mut send: impl FnMut(&[u8])) -> Option<Instant> {
        let gives_up_at = *self.gives_up_at.get_or_insert(now + GATHERING_TIME);
        self.is_over |= self.relayed.is_none() && now >= gives_up_at;
        if self.is_over {
            return None;
        }
        for _ in 0..ROUNDS_MAX {
            let next = match self.client.poll(now) {
                TurnPollRet::WaitUntil(next) => next,
                TurnPollRet::Closed => {
                    self.is_over = true;
                    return None;
                }
                // Not asked for: what is allocated is for UDP.
                TurnPollRet::AllocateTcpSocket { .. } | TurnPollRet::TcpClose { .. } => now,
            };
            let mut is_busy = false;
            while let Some(transmit) = self.client.poll_transmit(now) {
                send(&transmit.data);
                is_busy = true;
            }
            while let Some(event) = self.client.poll_event() {
                self.take_event(now, event, &mut send);
                is_busy = true;
            }
            if !is_busy {
                let next = if self.is_settled() { next } else { next.min(gives_up_at) };
                return Some(next.max(now + PAUSE));
            }
        }
        Some(now + PAUSE)
    }

    /// Whether there is something to ask the server for since the last call.
    pub(super) fn has_asked(&mut self) -> bool {
        std::mem::take(&mut self.has_asked)
    }

    /// Puts datagrams of equal length (the last may be shorter) for a peer into the form that the server takes them in, again of equal length,
    /// with that length. None, if it is for later: a check to a peer that the server does not permit yet waits for that; what else there is for it is lost, as on a
    /// network.
    pub(super) fn wrap(
        &mut self,
        now: Instant,
        to: SocketAddr,
        datagrams: &[u8],
        segment_bytes: usize,
    ) -> Option<(Vec<u8>, usize)> {
        let peer = self.peer(to)?;
        let is_check = stun::is_stun(datagrams);
        let asks_for_channel = !is_check && !std::mem::replace(&mut peer.has_asked_for_channel, !is_check);
        if !self.client.have_permission(UDP, to.ip()) {
            if let Some(peer) = self.peer(to).filter(|_| is_check) {
                peer.waiting = Some(datagrams.to_vec());
            }
            // It may have been asked for already; the library says so, and whether it was refused is told by an event.
            self.has_asked |= self.client.create_permission(UDP, to.ip(), now).is_ok();
            return None;
        }
        if asks_for_channel {
            // Without one all goes by indications.
            self.has_asked |= self.client.bind_channel(UDP, to, now).is_ok();
        }
        let (mut wrapped, mut wrapped_bytes) = (Vec::new(), 0);
        for datagram in datagrams.chunks(segment_bytes.max(1)) {
            let Ok(Some(transmit)) = self.client.send_to(UDP, to, datagram, now) else { continue };
            let (length, at) = (transmit.data.len(), wrapped.len());
            if at == 0 {
                wrapped_bytes = length;
                wrapped.reserve(datagrams.len().div_ceil(segment_bytes.max(1)) * length);
            }
            wrapped.resize(at + length, 0);
            transmit.data.write_into(&mut wrapped[at..]);
        }
        (!wrapped.is_empty()).then_some((wrapped, wrapped_bytes))
    }

    /// Takes a datagram of the server: gives what a peer has sent, if it is that.
    pub(super) fn unwrap(&mut self, now: Instant, datagram: &[u8]) -> Option<Relayed> {
        let (server, local) = (self.server(), self.local());
        match self.client.recv(Transmit::new(datagram, UDP, server, local), now) {
            TurnRecvRet::PeerData(data) => {
                let bytes = data.data();
                // It lies within the datagram: the library does not copy it.
                let start = (bytes.as_ptr() as usize).checked_sub(datagram.as_ptr() as usize)?;
                let is_within = start + bytes.len() <= datagram.len();
                is_within.then_some(Relayed { peer: data.peer, start, length: bytes.len() })
            }
            TurnRecvRet::Handled | TurnRecvRet::Ignored(_) | TurnRecvRet::PeerIcmp { .. } => None,
        }
    }

    /// Gives the address back (RFC 8656 section 7): one datagram, for which no answer is awaited.
    pub(super) fn release(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        if self.client.delete(now).is_ok() {
            // The library leaves some time between requests.
            let later = now + Duration::from_secs(1);
            while let Some(transmit) = self.client.poll_transmit(later) {
                send(&transmit.data);
            }
        }
        self.is_over = true;
    }

    fn take_event(&mut self, now: Instant, event: TurnEvent, send: &mut impl FnMut(&[u8])) {
        match event {
            TurnEvent::AllocationCreated(_, address) => self.relayed = Some(address),
            TurnEvent::AllocationCreateFailed(_) => self.is_over = true,
            TurnEvent::PermissionCreated(_, ip) => {
                for peer in self.peers.iter_mut().filter(|peer| peer.address.ip() == ip) {
                    let Some(check) = peer.waiting.take() else { continue };
                    if let Ok(Some(transmit)) = self.client.send_to(UDP, peer.address, &check, now) {
                        send(&transmit.data.build());
                    }
                }
            }
            // What is refused is asked for again with the next check: the server may have had too much to do.
            TurnEvent::PermissionCreateFailed(_, ip) => {
                self.peers
                    .iter_mut()
                    .filter(|peer| peer.address.ip() == ip)
                    .for_each(|peer| peer.waiting = None);
            }
            TurnEvent::ChannelCreateFailed(_, address) => {
                self.peers.iter_mut().filter(|peer| peer.address == address).for_each(|peer| {
                    peer.has_asked_for_channel = false;
                });
            }
            TurnEvent::ChannelCreated(..) | TurnEvent::TcpConnected(_) | TurnEvent::TcpConnectFailed(_) => {}
        }
    }

    /// What is known of a peer, as long as there is room to remember it.
    fn peer(&mut self, address: SocketAddr) -> Option<&mut Peer> {
        let at = match self.peers.iter().position(|peer| peer.address == address) {
            Some(at) => at,
            None if self.peers.len() < PEERS_PER_RELAY => {
                self.peers.push(Peer { address, waiting: None, has_asked_for_channel: false });
                self.peers.len() - 1
            }
            None => return None,
        };
        self.peers.get_mut(at)
    }
}
