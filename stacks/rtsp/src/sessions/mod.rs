//! Sessions (RFC 2326 section 3.4): their state, timeouts and events.

mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::request::Request;
use super::response::Response;
use super::status::Status;
use super::stream::StreamState;
use super::transport::{Peer, Transport};

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionsConfig {
    /// Path of the presentation's URI: `/` and any path characters. It has no trailing slash unless it is `/`.
    pub path: String,
    /// Name of the media section: the last segment of the URI that SETUP requests.
    pub medium: String,
    /// Maximum number of sessions, at least 1. SETUP beyond it fails with 503.
    pub max_sessions: usize,
    /// Maximum number of sessions per [host](host_prefix). SETUP beyond it fails with 503.
    pub max_sessions_per_host: usize,
    /// Time after which a session ends without a request that names it and without RTCP from its client; 10 s to 1 h.
    pub timeout: Duration,
    /// The server's UDP ports for RTP and RTCP; `None` disables UDP.
    pub ports: Option<(u16, u16)>,
    /// Value of the `Server` header.
    pub server: String,
}

impl Default for SessionsConfig {
    /// `/stream`, `video`, 200 sessions, 20 per host, 60 s (RFC 2326 section 12.37), no UDP.
    fn default() -> Self {
        Self {
            path: "/stream".to_owned(),
            medium: "video".to_owned(),
            max_sessions: 200,
            max_sessions_per_host: 20,
            timeout: Duration::from_secs(60),
            ports: None,
            server: concat!("netdyno-rtsp/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Identifier of a session. It is random, because a client that knows it can end the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A change of a session that the sender of the stream must act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// Start sending the stream. The next event of this session is [`Stop`](Self::Stop).
    Play {
        /// The session.
        id: SessionId,
        /// The destination of the packets.
        transport: Transport,
        /// Remote address of the connection on which the session was set up.
        client: SocketAddr,
    },
    /// Stop sending the stream.
    Stop {
        /// The session.
        id: SessionId,
        /// The reason.
        reason: StopReason,
    },
}

/// The reason why a session stopped playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// PAUSE; the session continues to exist.
    Paused,
    /// TEARDOWN.
    Teardown,
    /// No request and no RTCP for [`SessionsConfig::timeout`].
    TimedOut,
    /// The connection that carried the packets has closed.
    Disconnected,
}

#[derive(Debug)]
struct Session {
    peer: Peer,
    transport: Transport,
    is_playing: bool,
    last_heard: Instant,
}

/// All sessions of a server, at most [`SessionsConfig::max_sessions`].
#[derive(Debug)]
pub struct Sessions {
    config: SessionsConfig,
    ids: ChaCha20Rng,
    sessions: BTreeMap<SessionId, Session>,
    /// RTCP addresses of UDP sessions. Several sessions may share an address.
    rtcp_addresses: BTreeSet<(SocketAddr, SessionId)>,
    /// Channels of interleaved sessions, by connection.
    channels: BTreeMap<(u64, u8), SessionId>,
    events: VecDeque<SessionEvent>,
}

impl Sessions {
    /// Creates a server without sessions. The seed must be random, because it determines the session identifiers.
    pub fn new(config: SessionsConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            ids: ChaCha20Rng::from_seed(seed),
            sessions: BTreeMap::new(),
            rtcp_addresses: BTreeSet::new(),
            channels: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Number of sessions, playing or not.
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a session was set up on this connection and still exists.
    pub fn has_session(&self, connection: u64) -> bool {
        self.sessions.values().any(|session| session.peer.connection == connection)
    }

    /// Appends the response to a request.
    pub fn handle_request(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &StreamState<'_>,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) {
        let cseq = request.header("CSeq").and_then(|cseq| cseq.parse::<u64>().ok());
        let response = match cseq {
            None => Response::from(Status::BadRequest),
            Some(_) => self.respond(now, peer, stream, request).unwrap_or_else(Response::from),
        };
        response.write(cseq, &self.config.server, out);
    }

    /// Appends the response to [invalid input](super::Message::Invalid). The connection must be closed after it.
    pub fn handle_invalid(&self, status: Status, out: &mut Vec<u8>) {
        Response::from(status).write(None, &self.config.server, out);
    }

    /// Handles RTCP received over UDP. Returns the sessions that use its source address.
    pub fn handle_rtcp(&mut self, now: Instant, source: SocketAddr) -> Vec<SessionId> {
        let range = (source, SessionId(0))..=(source, SessionId(u64::MAX));
        let ids: Vec<SessionId> = self.rtcp_addresses.range(range).map(|(_, id)| *id).collect();
        for id in &ids {
            if let Some(session) = self.sessions.get_mut(id) {
                session.last_heard = now;
            }
        }
        ids
    }

    /// Handles an interleaved packet. Returns the session whose RTCP channel it arrived on.
    pub fn handle_interleaved(&mut self, now: Instant, connection: u64, channel: u8) -> Option<SessionId> {
        let id = *self.channels.get(&(connection, channel))?;
        let session = self.sessions.get_mut(&id)?;
        let is_rtcp = matches!(session.transport, Transport::Interleaved { rtcp, .. } if rtcp == channel);
        is_rtcp.then(|| {
            session.last_heard = now;
            id
        })
    }

    /// Handles a closed connection: ends the sessions whose packets it carried. UDP sessions continue.
    pub fn handle_closed(&mut self, connection: u64) {
        let range = (connection, 0)..=(connection, u8::MAX);
        let ids: BTreeSet<SessionId> = self.channels.range(range).map(|(_, id)| *id).collect();
        for id in ids {
            self.end(id, StopReason::Disconnected);
        }
    }

    /// Ends the sessions that have timed out. A playing interleaved session lives as long as its connection. The cost is
    /// linear in the number of sessions; one call per second suffices.
    pub fn handle_timeout(&mut self, now: Instant) {
        let timeout = self.config.timeout;
        let has_timed_out = |session: &Session| {
            let is_connected =
                session.is_playing && matches!(session.transport, Transport::Interleaved { .. });
            !is_connected && now.saturating_duration_since(session.last_heard) > timeout
        };
        let expired = self.sessions.iter().filter(|(_, session)| has_timed_out(session));
        for id in expired.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end(id, StopReason::TimedOut);
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    fn insert(&mut self, id: SessionId, session: Session) {
        match session.transport {
            Transport::Udp { rtcp, .. } => {
                self.rtcp_addresses.insert((rtcp, id));
            }
            Transport::Interleaved { connection, rtp, rtcp } => {
                self.channels.insert((connection, rtp), id);
                self.channels.insert((connection, rtcp), id);
            }
        }
        self.sessions.insert(id, session);
    }

    fn remove(&mut self, id: SessionId) -> Option<Session> {
        let session = self.sessions.remove(&id)?;
        match session.transport {
            Transport::Udp { rtcp, .. } => {
                self.rtcp_addresses.remove(&(rtcp, id));
            }
            Transport::Interleaved { connection, rtp, rtcp } => {
                self.channels.remove(&(connection, rtp));
                self.channels.remove(&(connection, rtcp));
            }
        }
        Some(session)
    }

    fn end(&mut self, id: SessionId, reason: StopReason) {
        if self.remove(id).is_some_and(|session| session.is_playing) {
            self.events.push_back(SessionEvent::Stop { id, reason });
        }
    }

    /// Whether a limit prevents another session of this address.
    fn is_full(&self, remote: IpAddr) -> bool {
        let host = host_prefix(remote);
        let same_host = |session: &&Session| host_prefix(session.peer.remote.ip()) == host;
        self.sessions.len() >= self.config.max_sessions
            || self.sessions.values().filter(same_host).count() >= self.config.max_sessions_per_host
    }
}

/// The part of an address that identifies a host for per-host limits. It is the whole IPv4 address, or the 64-bit prefix of
/// an IPv6 address, because a host chooses the other bits itself (RFC 4291 section 2.5.4).
pub fn host_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests;
