//! Candidate lines (RFC 8839 section 5.1).

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// How a candidate was found (RFC 8445 section 5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    /// An address of an interface.
    Host,
    /// An address as seen by a STUN server.
    ServerReflexive,
    /// An address as seen by the peer.
    PeerReflexive,
    /// An address at a TURN server.
    Relayed,
}

impl CandidateKind {
    const NAMES: [(&'static str, Self); 4] = [
        ("host", Self::Host),
        ("srflx", Self::ServerReflexive),
        ("prflx", Self::PeerReflexive),
        ("relay", Self::Relayed),
    ];

    /// The name in descriptions and in W3C: "host", "srflx", "prflx" or "relay".
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ServerReflexive => "srflx",
            Self::PeerReflexive => "prflx",
            Self::Relayed => "relay",
        }
    }
}

/// The transport of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateTransport {
    /// UDP.
    Udp,
    /// Accepts TCP connections (RFC 6544, `passive`): local candidates only.
    TcpPassive,
    /// Makes TCP connections (RFC 6544, `active`): a peer's candidate, found by its checks.
    TcpActive,
}

impl CandidateTransport {
    /// The name in a candidate line.
    pub(crate) fn name(self) -> &'static str {
        if self == Self::Udp { "udp" } else { "tcp" }
    }
}

/// Transport to a relay (W3C RTCIceServerTransportProtocol), in order of preference; UDP is used between
/// relay and peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayProtocol {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// TLS over TCP.
    Tls,
}

impl RelayProtocol {
    /// The W3C name: "udp", "tcp" or "tls".
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }
}

/// A supported candidate: component 1 with an IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Groups candidates of the same origin: 1 to 32 ice-chars.
    pub foundation: String,
    /// Priority, from 1.
    pub priority: u32,
    /// Its address.
    pub address: SocketAddr,
    /// How it was found.
    pub kind: CandidateKind,
    /// Its transport.
    pub transport: CandidateTransport,
    /// Base of a reflexive candidate, for diagnostics only.
    pub related: Option<SocketAddr>,
    /// Transport to the relay of a local relayed candidate. Not part of candidate lines.
    pub relay_protocol: Option<RelayProtocol>,
    /// ICE user name fragment of its session (RFC 8839 section 5.1, extension `ufrag`).
    pub ufrag: Option<String>,
}

impl Candidate {
    /// Parses a line starting with "candidate:". `None`: well-formed but unsupported. That is: TCP (active
    /// connections are not made; active peers are found by their checks), another component, a zone, an
    /// unknown type, or an address that cannot be sent to. Names are unsupported too: browsers hide addresses
    /// behind mDNS names, and the core does not resolve them. The caller can pass the line again with the
    /// address, or the browser's own checks reveal it.
    pub fn parse(text: &str) -> Result<Option<Self>, &'static str> {
        Ok(Self::parse_any(text)?.filter(|candidate| candidate.transport == CandidateTransport::Udp))
    }

    /// The same, including TCP.
    pub(crate) fn parse_any(text: &str) -> Result<Option<Self>, &'static str> {
        let text = text.strip_prefix("candidate:").ok_or("a candidate begins with candidate:")?;
        let mut words = text.split_ascii_whitespace();
        let mut word = |rule| words.next().ok_or(rule);
        let foundation = word("a candidate has a foundation")?;
        if foundation.len() > 32 || !foundation.bytes().all(is_ice_char) {
            return Err("a foundation is 1 to 32 ice-chars");
        }
        let component = word("a candidate has a component")?;
        let component: u16 = component.parse().map_err(|_| "a component is a number up to 256")?;
        let transport = word("a candidate has a transport")?;
        let priority = word("a candidate has a priority")?;
        let priority: u32 = priority.parse().map_err(|_| "a priority is a number below 2^32")?;
        if priority == 0 {
            return Err("a priority is above 0");
        }
        let address = word("a candidate has an address")?;
        let port = word("a candidate has a port")?;
        let port: u16 = port.parse().map_err(|_| "a port is a number below 65,536")?;
        if word("a candidate has a type")? != "typ" {
            return Err("typ must precede the type of a candidate");
        }
        let kind = word("a candidate has a type")?;
        let kind = CandidateKind::NAMES.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind);
        let (related, ufrag) = extensions(&mut words)?;
        let transport = match transport {
            udp if udp.eq_ignore_ascii_case("udp") => Some(CandidateTransport::Udp),
            tcp if tcp.eq_ignore_ascii_case("tcp") => Some(CandidateTransport::TcpActive),
            _ => None,
        };
        let transport = transport.filter(|_| component == 1);
        let (Some(kind), Some(address), Some(transport)) = (kind, reachable(address, port), transport) else {
            return Ok(None);
        };
        let (foundation, relay_protocol) = (foundation.into(), None);
        Ok(Some(Self { foundation, priority, address, kind, transport, related, relay_protocol, ufrag }))
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { foundation, priority, address, kind, transport, related, ufrag, .. } = self;
        let (ip, port, kind) = (address.ip(), address.port(), kind.name());
        write!(f, "candidate:{foundation} 1 {} {priority} {ip} {port} typ {kind}", transport.name())?;
        if let Some(related) = related {
            write!(f, " raddr {} rport {}", related.ip(), related.port())?;
        }
        match transport {
            CandidateTransport::Udp => {}
            CandidateTransport::TcpPassive => write!(f, " tcptype passive")?,
            CandidateTransport::TcpActive => write!(f, " tcptype active")?,
        }
        match ufrag {
            Some(ufrag) => write!(f, " ufrag {ufrag}"),
            None => Ok(()),
        }
    }
}

/// ice-char: ALPHA, DIGIT, "+", "/".
pub(super) fn is_ice_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'
}

/// The address, if datagrams can be sent to it.
fn reachable(address: &str, port: u16) -> Option<SocketAddr> {
    let ip: IpAddr = address.parse().ok()?;
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    let usable = port != 0 && !ip.is_unspecified() && !ip.is_multicast() && !broadcast;
    usable.then_some(SocketAddr::new(ip, port))
}

/// Parses the extensions after the type: pairs of a name and a value. Unknown ones are skipped.
fn extensions<'a>(
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<(Option<SocketAddr>, Option<String>), &'static str> {
    let (mut address, mut port, mut ufrag) = (None, None, None);
    while let Some(name) = words.next() {
        let value = words.next().ok_or("an extension of a candidate is a name and a value")?;
        match name {
            // For diagnostics only: invalid values do no harm.
            "raddr" => address = value.parse().ok(),
            "rport" => port = value.parse().ok(),
            "ufrag" if value.len() <= 256 && value.bytes().all(is_ice_char) => ufrag = Some(value.into()),
            "ufrag" => return Err("a user name fragment is 4 to 256 ice-chars"),
            _ => {}
        }
    }
    let related = address.zip(port).map(|(ip, port): (IpAddr, u16)| SocketAddr::new(ip, port));
    Ok((related, ufrag))
}
