//! An address at a TURN server (RFC 8656), which one connection has for itself, by a socket or a stream of its own.
//!
//! The allocation, its credentials (401, 438), permissions, channels and their refreshing are the library's. Checks go by Send indications,
//! what follows them by a channel: four bytes before each datagram, so that those of one length are of one length still, and go out by
//! one system call.

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
/// Rounds of asking the library what there is to do; each brings something.
const ROUNDS_MAX: usize = 32;
/// The library may ask to be called at once again.
const PAUSE: Duration = Duration::from_millis(1);

turn_client_proto::impl_client!(pub(super) Client, (Udp, TurnClientUdp), (Tcp, TurnClientTcp));

/// What leads to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// The socket with this number.
    Port(u32),
    /// A stream that is to be opened at this time.
    Due(Instant),
    /// A stream that is being opened.
    Opening(StreamId),
    Stream(StreamId),
}

/// An allocation, or the attempt at one.
pub(crate) struct Relay {
    client: Client,
    pub(super) line: Line,
    server: Server,
    /// The connection that it is for.
    pub(super) connection: u32,
    relayed: Option<SocketAddr>,
    /// When to do without, if there is none: the library would wait for four times as long after a refused password, and then not say so.
    gives_up_at: Instant,
    /// How long to wait before a stream is opened again.
    pause: Duration,
    is_over: bool,
    /// What the application is to hear.
    trouble: Option<String>,
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
    /// `local` is where the socket is; of a stream that is nowhere yet, and of no use.
    pub(super) fn new(connection: u32, line: Line, local: SocketAddr, server: Server, now: Instant) -> Self {
        Self {
            client: client(line, local, &server),
            line,
            server,
            connection,
            relayed: None,
            gives_up_at: now + GATHERING_TIME,
            pause: STREAM_PAUSE,
            is_over: false,
            trouble: None,
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

    /// Whether there is an address, or will be none.
    pub(super) fn is_settled(&self) -> bool {
        self.relayed.is_some() || self.is_over
    }

    /// Whether nothing goes by it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether this stream leads to the server, or is to.
    pub(super) fn has_stream(&self, stream: StreamId) -> bool {
        [Line::Opening(stream), Line::Stream(stream)].contains(&self.line)
    }

    /// What the application is to hear: once.
    pub(super) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// The stream is lost, or did not come to be. It is tried again, as long as a first answer is waited for: a server that starts anew has
    /// forgotten the address too.
    pub(super) fn lose_stream(&mut self, now: Instant, why: String, is_final: bool) {
        if self.relayed.is_some() {
            self.gives_up_at = now + GATHERING_TIME;
            self.pause = STREAM_PAUSE;
        }
        let again_at = now + self.pause;
        self.is_over = is_final || again_at >= self.gives_up_at;
        if self.is_over || self.relayed.is_some() {
            let what_next = if self.is_over { "" } else { "; trying again" };
            self.trouble = Some(format!("{why}{what_next}"));
        }
        self.pause *= 2;
        (self.line, self.relayed) = (Line::Due(again_at), None);
        (self.client, self.peers) = (client(self.line, self.local(), &self.server), Vec::new());
    }

    /// Sends what is due. Gives the time of the next call, if there is to be one.
    pub(super) fn work(&mut self, now: Instant, mut send: impl FnMut(&[u8])) -> Option<Instant> {
        if self.relayed.is_none() && now >= self.gives_up_at && !self.is_over {
            self.is_over = true;
            self.trouble = Some(self.missing().to_owned());
        }
        if self.is_over {
            return None;
        }
        match self.line {
            // It was due, or is.
            Line::Due(at) => return Some(at.max(now + PAUSE)),
            Line::Opening(_) => return Some(self.gives_up_at),
            Line::Port(_) | Line::Stream(_) => {}
        }
        for _ in 0..ROUNDS_MAX {
            let next = match self.client.poll(now) {
                TurnPollRet::WaitUntil(next) => next,
                TurnPollRet::Closed => {
                    self.end("the server withdrew the relayed address, or did not answer a refresh");
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
                let next = if self.is_settled() { next } else { next.min(self.gives_up_at) };
                return Some(next.max(now + PAUSE));
            }
        }
        Some(now + PAUSE)
    }

    /// Whether there is something to ask the server for since the last call.
    pub(super) fn has_asked(&mut self) -> bool {
        std::mem::take(&mut self.has_asked)
    }

    /// Puts datagrams of equal length (the last may be shorter) for a peer into the form that the server takes them in, again of equal length:
    /// `into`, in place of what it had. Gives that length; none if nothing goes: a check to a peer that the server does not permit yet waits
    /// for that; what else there is for it is lost, as on a network.
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
            // It may have been asked for already; the library says so, and whether it was refused is told by an event.
            self.has_asked |= self.client.create_permission(UDP, to.ip(), now).is_ok();
            return None;
        }
        if asks_for_channel {
            // Without one all goes by indications.
            self.has_asked |= self.client.bind_channel(UDP, to, now).is_ok();
        }
        let is_stream = self.client.transport() == TransportType::Tcp;
        let (mut channel, mut wrapped_bytes) = (None::<[u8; 2]>, 0);
        into.clear();
        for datagram in datagrams.chunks(segment_bytes.max(1)) {
            let begin = into.len();
            if let Some([high, low]) = channel {
                // It differs from the first by its length alone.
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

    /// Takes a datagram of the server, of a stream without padding: gives what a peer has sent, if it is that.
    pub(super) fn unwrap(&mut self, now: Instant, datagram: &[u8]) -> Option<Relayed> {
        let transport = self.client.transport();
        let (server, local) = (self.client.remote_addr(), self.client.local_addr());
        match self.client.recv(Transmit::new(datagram, transport, server, local), now) {
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

    fn end(&mut self, why: &str) {
        self.is_over = true;
        self.trouble = Some(why.to_owned());
    }

    /// What did not happen in time.
    fn missing(&self) -> &'static str {
        match self.line {
            Line::Due(_) | Line::Opening(_) if matches!(self.server.transport, Transport::Tls(_)) => {
                "no TLS connection within 10 s: check for a firewall, and that the port speaks TLS"
            }
            Line::Due(_) | Line::Opening(_) => "no connection within 10 s: check for a firewall",
            Line::Port(_) | Line::Stream(_) => {
                "no address within 10 s: check that a TURN server runs there, and username and password"
            }
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

/// The number of the channel that this datagram was wrapped for, if it was for one (RFC 8656 section 12.4).
fn channel_of(wrapped: &[u8], datagram: &[u8]) -> Option<[u8; 2]> {
    let &[high, low, ..] = wrapped else { return None };
    (high & 0xc0 == 0x40 && wrapped.len() == datagram.len() + 4).then_some([high, low])
}

fn client(line: Line, local: SocketAddr, server: &Server) -> Client {
    let (name, password) = server.relays_for.as_ref().map_or(("", ""), |(name, password)| (name, password));
    let mut config = TurnConfig::new(TurnCredentials::new(name, password));
    let family = if server.address.is_ipv4() { AddressFamily::IPV4 } else { AddressFamily::IPV6 };
    config.set_address_family(family);
    match line {
        Line::Port(_) => Client::Udp(TurnClientUdp::allocate(local, server.address, config)),
        // Over TCP nothing is sent again (RFC 8489 section 6.2.2).
        _ => Client::Tcp(TurnClientTcp::allocate(local, server.address, config)),
    }
}
