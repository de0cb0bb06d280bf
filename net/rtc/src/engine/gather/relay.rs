//! An address at a TURN server (RFC 8656) for one connection, on a separate socket or stream.
//!
//! Allocation, credentials (401, 438), permissions, channels and refreshes are the library's. Checks are sent
//! by Send indications, later datagrams on a channel: four bytes before each datagram keep batches of equal
//! length, which one system call sends.

use std::net::SocketAddr;
use std::time::Duration;

use turn_client_proto::api::{Transmit, TurnConfig, TurnEvent, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant;
use turn_client_proto::tcp::TurnClientTcp;
use turn_client_proto::types::{AddressFamily, TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use netdyno_rtc_core::framing::Framing;

use crate::limits::{GATHERING_TIME, PEERS_PER_RELAY, STREAM_PAUSE};
use crate::servers::{Server, Transport};
use crate::streams::StreamId;
use crate::stun;

const UDP: TransportType = TransportType::Udp;
/// Limit of polling the library; each round makes progress.
const ROUNDS_MAX: usize = 32;
/// The library may ask to be called again at once.
const PAUSE: Duration = Duration::from_millis(1);

turn_client_proto::impl_client!(pub(super) Client, (Udp, TurnClientUdp), (Tcp, TurnClientTcp));

/// The transport to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerLink {
    /// The socket with this index.
    Port(u32),
    /// A stream to be opened at this time.
    Due(Instant),
    /// A stream that is being opened.
    Opening(StreamId),
    Stream(StreamId),
}

/// An allocation, or an attempt at one.
pub(crate) struct Relay {
    client: Client,
    pub(super) link: ServerLink,
    server: Server,
    /// The connection that uses it.
    pub(super) connection: u32,
    relayed: Option<SocketAddr>,
    /// When to give up without an allocation. After a wrong password the library would wait four times as
    /// long and then not report it.
    gives_up_at: Instant,
    /// Delay before a stream is opened again.
    pause: Duration,
    is_over: bool,
    /// A failure to report to the application.
    failure: Option<String>,
    /// The server must be asked for a permission or a channel.
    has_asked: bool,
    peers: Vec<Peer>,
}

/// A peer to which something was to be sent.
#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    /// The latest check, until the server grants permission.
    waiting: Option<Vec<u8>>,
    has_asked_for_channel: bool,
}

/// A datagram received through the server: its position in the server's datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relayed {
    pub(super) peer: SocketAddr,
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Relay {
    /// `local` is the socket's address; a stream has none yet, and the value is not used.
    pub(super) fn new(
        connection: u32,
        link: ServerLink,
        local: SocketAddr,
        server: Server,
        now: Instant,
    ) -> Self {
        Self {
            client: client(link, local, &server),
            link,
            server,
            connection,
            relayed: None,
            gives_up_at: now + GATHERING_TIME,
            pause: STREAM_PAUSE,
            is_over: false,
            failure: None,
            has_asked: false,
            peers: Vec::new(),
        }
    }

    pub(super) fn local(&self) -> SocketAddr {
        self.client.local_addr()
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// The address at the server.
    pub(super) fn relayed(&self) -> Option<SocketAddr> {
        self.relayed
    }

    /// Whether there is an address or will be none.
    pub(super) fn is_settled(&self) -> bool {
        self.relayed.is_some() || self.is_over
    }

    /// Whether the relay has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether this stream leads to the server or is being opened.
    pub(super) fn has_stream(&self, stream: StreamId) -> bool {
        [ServerLink::Opening(stream), ServerLink::Stream(stream)].contains(&self.link)
    }

    /// The failure to report to the application; once.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// Handles the loss of the stream or a failed attempt. It is opened again while a first answer is
    /// awaited: a restarted server has forgotten the address too.
    pub(super) fn lose_stream(&mut self, now: Instant, why: String, is_final: bool) {
        if self.relayed.is_some() {
            self.gives_up_at = now + GATHERING_TIME;
            self.pause = STREAM_PAUSE;
        }
        let again_at = now + self.pause;
        self.is_over = is_final || again_at >= self.gives_up_at;
        if self.is_over || self.relayed.is_some() {
            let what_next = if self.is_over { "" } else { "; trying again" };
            self.failure = Some(format!("{why}{what_next}"));
        }
        self.pause *= 2;
        (self.link, self.relayed) = (ServerLink::Due(again_at), None);
        (self.client, self.peers) = (client(self.link, self.local(), &self.server), Vec::new());
    }

    /// Sends what is due. Returns the time of the next call, if any.
    pub(super) fn work(&mut self, now: Instant, mut send: impl FnMut(&[u8])) -> Option<Instant> {
        if self.relayed.is_none() && now >= self.gives_up_at && !self.is_over {
            self.is_over = true;
            self.failure = Some(self.missing().to_owned());
        }
        if self.is_over {
            return None;
        }
        match self.link {
            // Due already, or in the future.
            ServerLink::Due(at) => return Some(at.max(now + PAUSE)),
            ServerLink::Opening(_) => return Some(self.gives_up_at),
            ServerLink::Port(_) | ServerLink::Stream(_) => {}
        }
        for _ in 0..ROUNDS_MAX {
            let next = match self.client.poll(now) {
                TurnPollRet::WaitUntil(next) => next,
                TurnPollRet::Closed => {
                    self.end("the server withdrew the relayed address, or did not answer a refresh");
                    return None;
                }
                // Not requested: allocations are for UDP.
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
                let next = if self.is_settled() { next } else { next.min(self.gives_up_at) };
                return Some(next.max(now + PAUSE));
            }
        }
        Some(now + PAUSE)
    }

    /// Whether a request to the server was queued since the last call.
    pub(super) fn has_asked(&mut self) -> bool {
        std::mem::take(&mut self.has_asked)
    }

    /// Wraps datagrams of equal length (the last may be shorter) to a peer into the server's format, again of
    /// equal length, replacing the contents of `into`. Returns that length. `None`: nothing is sent. A check
    /// waits for the server's permission; other datagrams without permission are dropped, as on a network.
    pub(super) fn wrap(
        &mut self,
        now: Instant,
        to: SocketAddr,
        datagrams: &[u8],
        segment_bytes: usize,
        into: &mut Vec<u8>,
    ) -> Option<usize> {
        let peer = self.peer(to)?;
        let is_check = stun::is_stun(datagrams);
        let asks_for_channel = !is_check && !std::mem::replace(&mut peer.has_asked_for_channel, !is_check);
        if !self.client.have_permission(UDP, to.ip()) {
            if let Some(peer) = self.peer(to).filter(|_| is_check) {
                peer.waiting = Some(datagrams.to_vec());
            }
            // If a request is pending, the library returns an error; an event reports its refusal.
            self.has_asked |= self.client.create_permission(UDP, to.ip(), now).is_ok();
            return None;
        }
        if asks_for_channel {
            // Without a channel, everything is sent by indications.
            self.has_asked |= self.client.bind_channel(UDP, to, now).is_ok();
        }
        let is_stream = self.client.transport() == TransportType::Tcp;
        let (mut channel, mut wrapped_bytes) = (None::<[u8; 2]>, 0);
        into.clear();
        for datagram in datagrams.chunks(segment_bytes.max(1)) {
            let begin = into.len();
            if let Some([high, low]) = channel {
                // It differs from the first header only by its length.
                let [length_high, length_low] = (datagram.len() as u16).to_be_bytes();
                into.extend_from_slice(&[high, low, length_high, length_low]);
                into.extend_from_slice(datagram);
            } else {
                let Ok(Some(transmit)) = self.client.send_to(UDP, to, datagram, now) else { continue };
                into.resize(begin + transmit.data.len(), 0);
                transmit.data.write_into(&mut into[begin..]);
                channel = channel_of(&into[begin..], datagram);
            }
            let length = into.len() - begin;
            if begin == 0 {
                wrapped_bytes = length;
            }
            if is_stream {
                into.resize(into.len() + Framing::Turn.padding(length), 0);
            }
        }
        (!into.is_empty()).then_some(wrapped_bytes)
    }

    /// Unwraps a datagram of the server (from a stream, without padding). Returns the peer's data, if it
    /// contains any.
    pub(super) fn unwrap(&mut self, now: Instant, datagram: &[u8]) -> Option<Relayed> {
        let transport = self.client.transport();
        let (server, local) = (self.client.remote_addr(), self.client.local_addr());
        match self.client.recv(Transmit::new(datagram, transport, server, local), now) {
            TurnRecvRet::PeerData(data) => {
                let bytes = data.data();
                // The data lies within the datagram: the library does not copy it.
                let start = (bytes.as_ptr() as usize).checked_sub(datagram.as_ptr() as usize)?;
                let is_within = start + bytes.len() <= datagram.len();
                is_within.then_some(Relayed { peer: data.peer, start, length: bytes.len() })
            }
            TurnRecvRet::Handled | TurnRecvRet::Ignored(_) | TurnRecvRet::PeerIcmp { .. } => None,
        }
    }

    /// Releases the address (RFC 8656, section 7) with one datagram; no response is awaited.
    pub(super) fn release(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        if self.client.delete(now).is_ok() {
            // The library waits between requests.
            let later = now + Duration::from_secs(1);
            while let Some(transmit) = self.client.poll_transmit(later) {
                send(&transmit.data);
            }
        }
        self.is_over = true;
    }

    fn take_event(&mut self, now: Instant, event: TurnEvent, send: &mut impl FnMut(&[u8])) {
        match event {
            TurnEvent::AllocationCreated(_, address) => {
                (self.relayed, self.pause) = (Some(address), STREAM_PAUSE);
            }
            TurnEvent::AllocationCreateFailed(_) => {
                self.end(
                    "the server allocated no address: check username, password and the server's capacity",
                );
            }
            TurnEvent::PermissionCreated(_, ip) => {
                for peer in self.peers.iter_mut().filter(|peer| peer.address.ip() == ip) {
                    let Some(check) = peer.waiting.take() else { continue };
                    if let Ok(Some(transmit)) = self.client.send_to(UDP, peer.address, &check, now) {
                        send(&transmit.data.build());
                    }
                }
            }
            // The next check asks again: the server may have been overloaded.
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

    fn end(&mut self, why: &str) {
        self.is_over = true;
        self.failure = Some(why.to_owned());
    }

    /// What did not happen in time.
    fn missing(&self) -> &'static str {
        match self.link {
            ServerLink::Due(_) | ServerLink::Opening(_)
                if matches!(self.server.transport, Transport::Tls(_)) =>
            {
                "no TLS connection within 10 s: check for a firewall, and that the port speaks TLS"
            }
            ServerLink::Due(_) | ServerLink::Opening(_) => "no connection within 10 s: check for a firewall",
            ServerLink::Port(_) | ServerLink::Stream(_) => {
                "no address within 10 s: check that a TURN server runs there, and username and password"
            }
        }
    }

    /// The entry of a peer, unless the limit is reached.
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

/// The channel number in this wrapped datagram, if it uses a channel (RFC 8656, section 12.4).
fn channel_of(wrapped: &[u8], datagram: &[u8]) -> Option<[u8; 2]> {
    let &[high, low, ..] = wrapped else { return None };
    (high & 0xc0 == 0x40 && wrapped.len() == datagram.len() + 4).then_some([high, low])
}

fn client(link: ServerLink, local: SocketAddr, server: &Server) -> Client {
    let (name, password) = server.relays_for.as_ref().map_or(("", ""), |(name, password)| (name, password));
    let mut config = TurnConfig::new(TurnCredentials::new(name, password));
    let family = if server.address.is_ipv4() { AddressFamily::IPV4 } else { AddressFamily::IPV6 };
    config.set_address_family(family);
    match link {
        ServerLink::Port(_) => Client::Udp(TurnClientUdp::allocate(local, server.address, config)),
        // There is no retransmission over TCP (RFC 8489, section 6.2.2).
        _ => Client::Tcp(TurnClientTcp::allocate(local, server.address, config)),
    }
}
