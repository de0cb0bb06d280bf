//! The methods of RFC 2326 section 10.

use std::time::Instant;

use rand_chacha::rand_core::Rng;

use super::{Session, SessionEvent, SessionId, Sessions, StopReason};
use crate::method::Method;
use crate::request::Request;
use crate::response::Response;
use crate::status::Status;
use crate::stream::StreamState;
use crate::transport::{Peer, Transport, select};

/// The supported methods, for the `Public` and `Allow` headers.
const PUBLIC: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER";

/// The resource that a request URI identifies.
struct Target {
    /// The presentation's URI with a trailing slash.
    base: String,
    /// Whether the URI names the media section rather than the presentation.
    is_medium: bool,
}

impl Sessions {
    pub(super) fn respond(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &StreamState<'_>,
        request: &Request<'_>,
    ) -> Result<Response, Response> {
        if !request.is_version_1 {
            return Err(Status::VersionNotSupported.into());
        }
        if let Some(options) = request.header("Require").or_else(|| request.header("Proxy-Require")) {
            return Err(Response::from(Status::OptionNotSupported).with("Unsupported", options));
        }
        match request.method {
            Method::Unknown => return Err(Response::from(Status::NotImplemented).with("Public", PUBLIC)),
            Method::Announce | Method::Record | Method::Redirect => {
                return Err(Response::from(Status::MethodNotAllowed).with("Allow", PUBLIC));
            }
            _ => {}
        }
        let target = self.target(request)?;
        let session = self.find_session(now, peer, request)?;
        match request.method {
            Method::Describe => self.describe(stream, request, &target),
            Method::Setup => self.setup(now, peer, stream, request, &target, session),
            Method::Play => self.play(session, stream, &target),
            Method::Pause => self.pause(session),
            Method::Teardown => {
                let id = session.ok_or(Status::SessionNotFound)?;
                self.end(id, StopReason::Teardown);
                Ok(Response::ok(&id))
            }
            Method::GetParameter | Method::SetParameter if !request.body.trim_ascii().is_empty() => {
                Err(Status::ParameterNotUnderstood.into())
            }
            // OPTIONS and empty GET_PARAMETER requests serve as keep-alives (section 10.8).
            _ => {
                let response = session.map_or(Response::from(Status::Ok), |id| Response::ok(&id));
                let is_options = request.method == Method::Options;
                Ok(if is_options { response.with("Public", PUBLIC) } else { response })
            }
        }
    }

    /// Resolves the request URI. `*` is the server itself.
    fn target(&self, request: &Request<'_>) -> Result<Target, Status> {
        let accepts_asterisk =
            matches!(request.method, Method::Options | Method::GetParameter | Method::SetParameter);
        if request.uri == "*" && accepts_asterisk {
            return Ok(Target { base: String::new(), is_medium: false });
        }
        let scheme = request.uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("rtsp://"));
        let rest = scheme.map(|_| &request.uri[7..]).ok_or(Status::BadRequest)?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        if authority.is_empty() {
            return Err(Status::BadRequest);
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let presentation = self.config.path.trim_end_matches('/');
        let relative = path.strip_prefix(presentation).ok_or(Status::NotFound)?;
        let is_medium = match relative.trim_end_matches('/') {
            "" => false,
            relative if relative.strip_prefix('/') == Some(&self.config.medium) => true,
            _ => return Err(Status::NotFound),
        };
        Ok(Target { base: format!("rtsp://{authority}{presentation}/"), is_medium })
    }

    /// Finds the session that a request names and restarts its timeout. A session belongs to one client address.
    fn find_session(
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
        session.ok_or(Status::SessionNotFound)?.last_heard = now;
        Ok(Some(id))
    }

    fn describe(
        &self,
        stream: &StreamState<'_>,
        request: &Request<'_>,
        target: &Target,
    ) -> Result<Response, Response> {
        const SDP: &str = "application/sdp";
        let accepts_sdp = |accept: &str| {
            accept.split([',', ';']).any(|kind| matches!(kind.trim(), SDP | "application/*" | "*/*"))
        };
        if request.header("Accept").is_some_and(|accept| !accepts_sdp(accept)) {
            return Err(Status::NotAcceptable.into());
        }
        let Some(description) = stream.description else {
            return Err(Response::from(Status::Unavailable).with("Retry-After", 1));
        };
        let response =
            Response::from(Status::Ok).with("Content-Base", &target.base).with("Content-Type", SDP);
        Ok(response.with_body(format!("{description}a=control:{}\r\n", self.config.medium)))
    }

    fn setup(
        &mut self,
        now: Instant,
        peer: &Peer,
        stream: &StreamState<'_>,
        request: &Request<'_>,
        target: &Target,
        session: Option<SessionId>,
    ) -> Result<Response, Response> {
        if !target.is_medium {
            return Err(Status::AggregateNotAllowed.into());
        }
        if session.and_then(|id| self.sessions.get(&id)).is_some_and(|session| session.is_playing) {
            return Err(Status::NotValidInThisState.into());
        }
        let header = request.header("Transport").ok_or(Status::BadRequest)?;
        let is_taken =
            |channel| self.channels.get(&(peer.connection, channel)).is_some_and(|id| Some(*id) != session);
        let transport = select(header, peer, self.config.ports.is_some(), is_taken)
            .ok_or(Status::UnsupportedTransport)?;
        let id = match session {
            Some(id) => id,
            None if self.is_full(peer.remote.ip()) => return Err(Status::Unavailable.into()),
            None => SessionId(self.ids.next_u64()),
        };
        self.remove(id);
        self.insert(id, Session { peer: *peer, transport, is_playing: false, last_heard: now });
        let (server_rtp, server_rtcp) = self.config.ports.unwrap_or_default();
        let transport = match transport {
            Transport::Udp { rtp, rtcp, .. } => {
                let (rtp, rtcp) = (rtp.port(), rtcp.port());
                format!("RTP/AVP;unicast;client_port={rtp}-{rtcp};server_port={server_rtp}-{server_rtcp}")
            }
            Transport::Interleaved { rtp, rtcp, .. } => {
                format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}")
            }
        };
        Ok(Response::from(Status::Ok)
            .with("Session", format_args!("{id};timeout={}", self.config.timeout.as_secs()))
            .with("Transport", format_args!("{transport};ssrc={:08X};mode=\"PLAY\"", stream.ssrc.0)))
    }

    fn play(
        &mut self,
        id: Option<SessionId>,
        stream: &StreamState<'_>,
        target: &Target,
    ) -> Result<Response, Response> {
        let (id, session) = self.existing(id)?;
        if !session.is_playing {
            session.is_playing = true;
            let (transport, client) = (session.transport, session.peer.remote);
            self.events.push_back(SessionEvent::Play { id, transport, client });
        }
        let (base, medium) = (&target.base, &self.config.medium);
        let (sequence, time) = (stream.next_sequence.0, stream.timestamp.0);
        Ok(Response::ok(&id)
            .with("Range", "npt=now-")
            .with("RTP-Info", format_args!("url={base}{medium};seq={sequence};rtptime={time}")))
    }

    fn pause(&mut self, id: Option<SessionId>) -> Result<Response, Response> {
        let (id, session) = self.existing(id)?;
        if session.is_playing {
            session.is_playing = false;
            self.events.push_back(SessionEvent::Stop { id, reason: StopReason::Paused });
        }
        Ok(Response::ok(&id))
    }

    fn existing(&mut self, id: Option<SessionId>) -> Result<(SessionId, &mut Session), Status> {
        let id = id.ok_or(Status::SessionNotFound)?;
        Ok((id, self.sessions.get_mut(&id).ok_or(Status::SessionNotFound)?))
    }
}
