//! Who watches, and how: sessions (RFC 2326 section 3.4), and the answers to requests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::answer::Answer;
use super::message::{Method, Request, Status};
use super::sdp::{self, MEDIUM};
use super::stream::Stream;
use super::transport::{Delivery, Peer, choose};

/// What is served, and to how many.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionsConfig {
    /// The presentation's path: `/` and whatever a URI's path may have. Without a slash at its end, unless it is `/` alone.
    pub path: String,
    /// Sessions at a time, at least 1; a SETUP beyond them is answered by 503.
    pub max_sessions: usize,
    /// And of one [host](host_of), so that nobody takes all of them.
    pub max_sessions_per_host: usize,
    /// For how long a session lives without a sign of its client: a request that names it, or RTCP. 10 s to an hour.
    pub timeout: Duration,
    /// Our ports of RTP and RTCP, where UDP is served.
    pub ports: Option<(u16, u16)>,
    /// What the `Server` header says.
    pub server: String,
}

impl Default for SessionsConfig {
    /// `/stream`, 200 sessions, 20 of a host, a minute (RFC 2326 section 12.37), no UDP.
    fn default() -> Self {
        Self {
            path: "/stream".to_owned(),
            max_sessions: 200,
            max_sessions_per_host: 20,
            timeout: Duration::from_secs(60),
            ports: None,
            server: concat!("netdyno-mjpeg/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Names a session. Drawn at random, as whoever knows it can end the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What came of requests, times and closed connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// Send the stream from now on. [`Stop`](Self::Stop) follows, once, before it is told again of this session.
    Play(SessionId, Delivery, SocketAddr),
    /// Send no more.
    Stop(SessionId, Why),
}

/// Why a session plays no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The client wants a pause; the session lives on.
    Paused,
    /// The client ended the session.
    Teardown,
    /// No sign of the client for [`SessionsConfig::timeout`].
    TimedOut,
    /// Its connection, that the packets went by, is closed.
    Disconnected,
}

#[derive(Debug)]
struct Session {
    peer: Peer,
    delivery: Delivery,
    is_playing: bool,
    heard: Instant,
}

/// All sessions of a server, at most [`SessionsConfig::max_sessions`]. Any order of calls is legal; poll the events after each.
#[derive(Debug)]
pub struct Sessions {
    config: SessionsConfig,
    ids: ChaCha20Rng,
    sessions: BTreeMap<SessionId, Session>,
    /// Where RTCP comes from. Of two sessions with one address it is a sign of both.
    reporters: BTreeSet<(SocketAddr, SessionId)>,
    events: VecDeque<SessionEvent>,
}

impl Sessions {
    /// No session yet. The seed has to be random.
    pub fn new(config: SessionsConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            ids: ChaCha20Rng::from_seed(seed),
            sessions: BTreeMap::new(),
            reporters: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// How many there are, those included that do not play.
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a connection has a session: one that was set up by it.
    pub fn has_session(&self, connection: u64) -> bool {
        self.sessions.values().any(|session| session.peer.connection == connection)
    }

    /// What happened, in its order.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Appends the answer to a request.
    pub fn handle_request(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &Stream,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) {
        let cseq = request.header("CSeq").and_then(|cseq| cseq.parse::<u64>().ok());
        let answer = match cseq {
            None => Answer::from(Status::BadRequest),
            Some(_) => self.answer(now, peer, stream, request).unwrap_or_else(Answer::from),
        };
        answer.write(cseq, &self.config.server, out);
    }

    /// Appends the answer to what was no request. The connection is to be closed after it.
    pub fn handle_broken(&self, status: Status, out: &mut Vec<u8>) {
        Answer::from(status).write(None, &self.config.server, out);
    }

    /// Takes note of RTCP that came by UDP, and gives the sessions that it may be of.
    pub fn handle_rtcp(&mut self, now: Instant, from: SocketAddr) -> Vec<SessionId> {
        let ids = (from, SessionId(0))..=(from, SessionId(u64::MAX));
        let ids: Vec<SessionId> = self.reporters.range(ids).map(|(_, id)| *id).collect();
        for id in &ids {
            if let Some(session) = self.sessions.get_mut(id) {
                session.heard = now;
            }
        }
        ids
    }

    /// Takes note of an interleaved packet, and gives the session whose RTCP it is.
    pub fn handle_interleaved(&mut self, now: Instant, connection: u64, channel: u8) -> Option<SessionId> {
        let is_its = |session: &Session| matches!(session.delivery, Delivery::Interleaved { connection: by, rtcp, .. } if by == connection && rtcp == channel);
        let (id, session) = self.sessions.iter_mut().find(|(_, session)| is_its(session))?;
        session.heard = now;
        Some(*id)
    }

    /// A connection is closed: the sessions whose packets went by it are over; others go on.
    pub fn handle_closed(&mut self, connection: u64) {
        self.end_all(Why::Disconnected, |session| {
            matches!(session.delivery, Delivery::Interleaved { connection: by, .. } if by == connection)
        });
    }

    /// Ends the sessions that gave no sign for too long. One that plays by its connection is alive while that is. One pass over
    /// all: a call a second is enough.
    pub fn handle_timeout(&mut self, now: Instant) {
        let timeout = self.config.timeout;
        self.end_all(Why::TimedOut, |session| {
            let is_connected = session.is_playing && matches!(session.delivery, Delivery::Interleaved { .. });
            !is_connected && now.saturating_duration_since(session.heard) > timeout
        });
    }

    fn end_all(&mut self, why: Why, is_over: impl Fn(&Session) -> bool) {
        let over = self.sessions.iter().filter(|(_, session)| is_over(session));
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end(id, why);
        }
    }

    fn end(&mut self, id: SessionId, why: Why) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if let Delivery::Udp { rtcp, .. } = session.delivery {
            self.reporters.remove(&(rtcp, id));
        }
        if session.is_playing {
            self.events.push_back(SessionEvent::Stop(id, why));
        }
    }

    fn answer(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &Stream,
        request: &Request<'_>,
    ) -> Result<Answer, Answer> {
        if !request.is_version_1 {
            return Err(Status::VersionNotSupported.into());
        }
        if let Some(options) = request.header("Require").or_else(|| request.header("Proxy-Require")) {
            return Err(Answer::from(Status::OptionNotSupported).with("Unsupported", options));
        }
        match request.method {
            Method::Other => return Err(Answer::from(Status::NotImplemented).with("Public", PUBLIC)),
            Method::Announce | Method::Record | Method::Redirect => {
                return Err(Answer::from(Status::MethodNotAllowed).with("Allow", PUBLIC));
            }
            _ => {}
        }
        let target = self.target(request)?;
        let session = self.session(now, peer, request)?;
        match request.method {
            Method::Describe => self.describe(stream, request, &target),
            Method::Setup => self.setup(now, peer, stream, request, &target, session),
            Method::Play => self.play(session, stream, &target),
            Method::Pause => self.pause(session),
            Method::Teardown => {
                let id = session.ok_or(Status::SessionNotFound)?;
                self.end(id, Why::Teardown);
                Ok(Answer::of(&id))
            }
            Method::GetParameter | Method::SetParameter if !request.body.trim_ascii().is_empty() => {
                Err(Status::ParameterNotUnderstood.into())
            }
            // Without parameters they are a sign of life (section 10.8); so is OPTIONS.
            _ => {
                let answer = session.map_or(Answer::from(Status::Ok), |id| Answer::of(&id));
                Ok(if request.method == Method::Options { answer.with("Public", PUBLIC) } else { answer })
            }
        }
    }

    /// What a URI is of; an error if it is of nothing that we have. `*` is the server itself.
    fn target(&self, request: &Request<'_>) -> Result<Target, Status> {
        let is_of_server =
            matches!(request.method, Method::Options | Method::GetParameter | Method::SetParameter);
        if request.uri == "*" && is_of_server {
            return Ok(Target { base: String::new(), is_medium: false });
        }
        let scheme = request.uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("rtsp://"));
        let rest = scheme.map(|_| &request.uri[7..]).ok_or(Status::BadRequest)?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        if authority.is_empty() {
            return Err(Status::BadRequest);
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let ours = self.config.path.trim_end_matches('/');
        let within = path.strip_prefix(ours).ok_or(Status::NotFound)?;
        let is_medium = match within.trim_end_matches('/') {
            "" => false,
            within if within.strip_prefix('/') == Some(MEDIUM) => true,
            _ => return Err(Status::NotFound),
        };
        Ok(Target { base: format!("rtsp://{authority}{ours}/"), is_medium })
    }

    /// The session that a request names, which is a sign of life; an error if there is none of that name for this client.
    fn session(
        &mut self,
        now: Instant,
        peer: &Peer,
        request: &Request<'_>,
    ) -> Result<Option<SessionId>, Status> {
        let Some(header) = request.header("Session") else { return Ok(None) };
        let name = header.split(';').next().unwrap_or_default().trim();
        let id = u64::from_str_radix(name, 16).map(SessionId).map_err(|_| Status::SessionNotFound)?;
        let session =
            self.sessions.get_mut(&id).filter(|session| session.peer.remote.ip() == peer.remote.ip());
        session.ok_or(Status::SessionNotFound)?.heard = now;
        Ok(Some(id))
    }

    fn describe(&self, stream: &Stream, request: &Request<'_>, target: &Target) -> Result<Answer, Answer> {
        const TYPE: &str = "application/sdp";
        let takes = |accept: &str| {
            accept.split([',', ';']).any(|kind| matches!(kind.trim(), TYPE | "application/*" | "*/*"))
        };
        if request.header("Accept").is_some_and(|accept| !takes(accept)) {
            return Err(Status::NotAcceptable.into());
        }
        let Some(body) = sdp::describe(stream) else {
            return Err(Answer::from(Status::Unavailable).with("Retry-After", 1));
        };
        let answer = Answer::from(Status::Ok).with("Content-Base", &target.base).with("Content-Type", TYPE);
        Ok(answer.with_body(body))
    }

    fn setup(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &Stream,
        request: &Request<'_>,
        target: &Target,
        session: Option<SessionId>,
    ) -> Result<Answer, Answer> {
        if !target.is_medium {
            return Err(Status::AggregateNotAllowed.into());
        }
        if session.and_then(|id| self.sessions.get(&id)).is_some_and(|session| session.is_playing) {
            return Err(Status::NotValidInThisState.into());
        }
        let header = request.header("Transport").ok_or(Status::BadRequest)?;
        let is_taken = |channel| {
            self.sessions.iter().any(|(id, other)| {
                matches!(other.delivery, Delivery::Interleaved { connection, rtp, rtcp }
                    if Some(*id) != session && connection == peer.connection && (rtp == channel || rtcp == channel))
            })
        };
        let delivery = choose(header, peer, self.config.ports.is_some(), is_taken);
        let delivery = delivery.ok_or(Status::UnsupportedTransport)?;
        let id = match session {
            Some(id) => id,
            None if self.is_full(peer.remote.ip()) => return Err(Status::Unavailable.into()),
            None => SessionId(self.ids.next_u64()),
        };
        let session = Session { peer: *peer, delivery, is_playing: false, heard: now };
        if let Some(Session { delivery: Delivery::Udp { rtcp, .. }, .. }) = self.sessions.insert(id, session)
        {
            self.reporters.remove(&(rtcp, id));
        }
        let (server_rtp, server_rtcp) = self.config.ports.unwrap_or_default();
        let transport = match delivery {
            Delivery::Udp { rtp, rtcp, .. } => {
                self.reporters.insert((rtcp, id));
                let (rtp, rtcp) = (rtp.port(), rtcp.port());
                format!("RTP/AVP;unicast;client_port={rtp}-{rtcp};server_port={server_rtp}-{server_rtcp}")
            }
            Delivery::Interleaved { rtp, rtcp, .. } => {
                format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}")
            }
        };
        Ok(Answer::from(Status::Ok)
            .with("Session", format_args!("{id};timeout={}", self.config.timeout.as_secs()))
            .with("Transport", format_args!("{transport};ssrc={:08X};mode=\"PLAY\"", stream.ssrc.0)))
    }

    /// Whether there is no room for one more session of this address.
    fn is_full(&self, remote: IpAddr) -> bool {
        let its =
            || self.sessions.values().filter(|session| host_of(session.peer.remote.ip()) == host_of(remote));
        self.sessions.len() >= self.config.max_sessions || its().count() >= self.config.max_sessions_per_host
    }

    fn play(&mut self, id: Option<SessionId>, stream: &Stream, target: &Target) -> Result<Answer, Answer> {
        let (id, session) = self.named(id)?;
        if !session.is_playing {
            session.is_playing = true;
            let event = SessionEvent::Play(id, session.delivery, session.peer.remote);
            self.events.push_back(event);
        }
        let (base, next, time) = (&target.base, stream.next.0, stream.timestamp.0);
        Ok(Answer::of(&id)
            .with("Range", "npt=now-")
            .with("RTP-Info", format_args!("url={base}{MEDIUM};seq={next};rtptime={time}")))
    }

    fn pause(&mut self, id: Option<SessionId>) -> Result<Answer, Answer> {
        let (id, session) = self.named(id)?;
        if session.is_playing {
            session.is_playing = false;
            self.events.push_back(SessionEvent::Stop(id, Why::Paused));
        }
        Ok(Answer::of(&id))
    }

    fn named(&mut self, id: Option<SessionId>) -> Result<(SessionId, &mut Session), Status> {
        let id = id.ok_or(Status::SessionNotFound)?;
        Ok((id, self.sessions.get_mut(&id).ok_or(Status::SessionNotFound)?))
    }
}

/// Whose an address is, as far as it tells: of IPv6 the network's 64 bits, as a host chooses the rest by itself (RFC 4291 section 2.5.4).
pub fn host_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

const PUBLIC: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER";

/// What a request is of.
struct Target {
    /// The presentation's URI, with a slash at its end.
    base: String,
    /// The medium, or the presentation.
    is_medium: bool,
}

#[cfg(test)]
mod tests;
