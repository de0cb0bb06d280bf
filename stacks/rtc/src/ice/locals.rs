//! Local candidates: interface addresses, server-reflexive addresses, and relay addresses.

use std::net::SocketAddr;
use std::time::Instant;

use is::IceCreds;

use super::Ice;
use super::session::Session;
use crate::sdp::{Candidate, CandidateKind, CandidateTransport, RelayProtocol};

/// Type preferences of host and server-reflexive candidates (RFC 8445 section 5.1.2.2).
const HOST_PREFERENCE: u32 = 126;
const REFLEXIVE_PREFERENCE: u32 = 100;
/// The same for TCP, which ranks below UDP (RFC 6544 section 4.2): the agent's value, and one below.
const TCP_HOST_PREFERENCE: u32 = 90;
const TCP_REFLEXIVE_PREFERENCE: u32 = 80;

impl Ice {
    /// Adds a host candidate for a local address, unless datagrams cannot arrive there. False if it is known
    /// already or unusable.
    pub(crate) fn add_local(&mut self, now: Instant, address: SocketAddr) -> bool {
        self.add(now, CandidateKind::Host, CandidateTransport::Udp, address, None, None)
    }

    /// TCP connections are accepted at `address`, or reach `base` through it. False as above.
    pub(crate) fn add_tcp(&mut self, now: Instant, address: SocketAddr, base: Option<SocketAddr>) -> bool {
        let is_host = self.lite || base.is_none();
        let kind = if is_host { CandidateKind::Host } else { CandidateKind::ServerReflexive };
        is_usable(address) && self.add(now, kind, CandidateTransport::TcpPassive, address, base, None)
    }

    /// Others see `base`, an actual or potential host candidate, as `address`. A lite side has only host
    /// candidates (RFC 8445 section 5.2). False as above.
    pub(crate) fn add_reflexive(&mut self, now: Instant, address: SocketAddr, base: SocketAddr) -> bool {
        let kind = if self.lite { CandidateKind::Host } else { CandidateKind::ServerReflexive };
        is_usable(address) && self.add(now, kind, CandidateTransport::Udp, address, Some(base), None)
    }

    /// A relay forwards data sent to `address` to us, and our data from it. False as above.
    pub(crate) fn add_relayed(&mut self, now: Instant, address: SocketAddr, protocol: RelayProtocol) -> bool {
        // RFC 8839 section 5.1 requires a related address; our address as the relay sees it is private.
        let related = SocketAddr::new(if address.is_ipv4() { [0; 4].into() } else { [0; 16].into() }, 0);
        let (kind, transport) = (CandidateKind::Relayed, CandidateTransport::Udp);
        is_usable(address) && self.add(now, kind, transport, address, Some(related), Some(protocol))
    }

    /// A local address is no longer available. All other pairs are checked at once, and the first one that
    /// answers is used.
    pub(crate) fn remove_local(&mut self, now: Instant, address: SocketAddr) {
        self.locals.retain(|local| local.address != address && local.related != Some(address));
        for session in [&mut self.restarted, &mut self.offered].into_iter().flatten() {
            session.remove_local(address);
        }
        self.session.remove_local(address);
        if self.selected.is_some_and(|path| path.local == address) {
            self.leave(now);
        }
        self.run(now);
    }

    /// A TCP connection from there has closed. As above, if it was in use.
    pub(crate) fn lose_stream(&mut self, now: Instant, remote: SocketAddr) {
        if self.selected.is_some_and(|path| path.remote == remote && self.session.is_tcp(path.local)) {
            self.leave(now);
            self.run(now);
        }
    }

    /// A session with our addresses and nothing of the peer.
    pub(super) fn session_with(&self, credentials: IceCreds) -> Session {
        let mut session = Session::new(credentials, self.lite);
        session.configure(self.pairs_max, self.remotes_max, self.tie_breaker);
        for local in &self.locals {
            session.add_local(local);
        }
        session
    }

    fn leave(&mut self, now: Instant) {
        self.is_lost = true;
        self.session.ask_all(now, None, &mut self.transmits);
    }

    fn add(
        &mut self,
        now: Instant,
        kind: CandidateKind,
        transport: CandidateTransport,
        address: SocketAddr,
        related: Option<SocketAddr>,
        relay_protocol: Option<RelayProtocol>,
    ) -> bool {
        if self.locals.iter().any(|local| local.address == address) || self.locals.len() >= self.remotes_max {
            return false;
        }
        let place = self.locals.len() as u32;
        // Candidates of the same type, base, server and relay transport have the same foundation (RFC 8445
        // section 5.1.1.3).
        let is_relayed = kind == CandidateKind::Relayed;
        let base = |address: SocketAddr, related: Option<SocketAddr>| {
            related.filter(|_| !is_relayed).unwrap_or(address).ip()
        };
        let is_like = |local: &&Candidate| {
            (local.kind, local.transport, local.relay_protocol) == (kind, transport, relay_protocol)
                && base(local.address, local.related) == base(address, related)
        };
        let same = self.locals.iter().find(is_like);
        let foundation = same.map_or_else(|| (place + 1).to_string(), |local| local.foundation.clone());
        let preference = match (transport, kind) {
            (CandidateTransport::Udp, CandidateKind::Host) => HOST_PREFERENCE,
            (CandidateTransport::Udp, _) => REFLEXIVE_PREFERENCE,
            (_, CandidateKind::Host) => TCP_HOST_PREFERENCE,
            _ => TCP_REFLEXIVE_PREFERENCE,
        };
        // Below the host candidates of both families, in order of arrival.
        let priority = preference << 24 | 32_767u32.saturating_sub(place) << 8 | 255;
        let mut candidate = Candidate {
            foundation,
            priority,
            address,
            kind,
            transport,
            related,
            relay_protocol,
            ufrag: None,
        };
        let is_seen_by_others = !is_relayed && related.is_some();
        if !is_seen_by_others {
            let Some(priority) = self.session.add_local(&candidate) else { return false };
            candidate.priority = priority;
            for session in [&mut self.restarted, &mut self.offered].into_iter().flatten() {
                session.add_local(&candidate);
            }
        }
        // For a signalled host address the agent has no socket.
        candidate.related = related.filter(|_| kind != CandidateKind::Host);
        self.locals.push(candidate);
        self.run(now);
        true
    }
}

/// Whether a peer can send there, and RFC 8839 can represent it.
fn is_usable(address: SocketAddr) -> bool {
    let ip = address.ip();
    let is_broadcast = matches!(ip, std::net::IpAddr::V4(ip) if ip.is_broadcast());
    address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !is_broadcast
}
