//! Numeric constants and settings.

use std::sync::Arc;
use std::time::Duration;

use netdyno_rtc::{ChannelOptions, IceServer, Kind, PeerState, Port, Reliability, Settings};

use crate::error::Failure;
use crate::memory::{Text, view};

/// No time limit, like any negative value. 0 does not wait.
pub const ND_FOREVER: i64 = -1;

/// A binary message.
pub const ND_BINARY: u32 = 0;
/// A text message: UTF-8, checked at both ends.
pub const ND_TEXT: u32 = 1;

/// The endpoint's port, which connections share. There can be only one connection between two ports.
pub const ND_PORT_SHARED: u32 = 0;
/// A separate port for this connection: for many connections to one address.
pub const ND_PORT_OWN: u32 = 1;

/// No offer or answer yet (the states are those of W3C's RTCPeerConnectionState).
pub const ND_STATE_NEW: u32 = 0;
/// ICE or DTLS is in progress.
pub const ND_STATE_CONNECTING: u32 = 1;
/// DTLS is established.
pub const ND_STATE_CONNECTED: u32 = 2;
/// No answer for a while; may recover.
pub const ND_STATE_DISCONNECTED: u32 = 3;
/// The connection failed. For some time, an ICE restart can recover it.
pub const ND_STATE_FAILED: u32 = 4;
/// The connection is over.
pub const ND_STATE_CLOSED: u32 = 5;

/// Retransmitted until delivered.
pub const ND_RELIABLE: u32 = 0;
/// A message is abandoned after this many retransmissions (W3C maxRetransmits).
pub const ND_MAX_RETRANSMITS: u32 = 1;
/// A message is abandoned after this many milliseconds (W3C maxPacketLifeTime).
pub const ND_MAX_LIFETIME_MS: u32 = 2;

/// A STUN or TURN server (W3C RTCIceServer).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_ice_server {
    /// "stun:host:port", "turn:host:port?transport=udp" or "=tcp", or "turns:host:port?transport=tcp" (TLS).
    /// The port defaults to 3478, with TLS to 5349; the transport defaults to UDP, with TLS to TCP. IPv6
    /// addresses are written in brackets. TCP and TLS are for networks that block UDP, on Linux only.
    url: Text,
    /// Its length in bytes.
    url_length: usize,
    /// The username for a TURN server; NULL for STUN.
    username: Text,
    /// Its length in bytes, at most 512.
    username_length: usize,
    /// The password for a TURN server.
    credential: Text,
    /// Its length in bytes, at most 763.
    credential_length: usize,
}

// Undocumented: the header shows the pointer type in place of this name.
#[allow(missing_docs)]
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Servers(*const nd_ice_server);

impl Servers {
    pub(crate) fn servers(&self, count: usize) -> Result<&[nd_ice_server], Failure> {
        view(self, self.0, count)
    }
}

/// Settings of an endpoint. All zeros are the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_settings {
    /// sizeof(nd_settings), so that a later version can append fields; 0 means the size in version 0.1.
    pub size: u32,
    /// Threads that drive the endpoint, each with its own port; 0: one. Ignored by nd_reactor, which its
    /// caller drives.
    pub reactors: u32,
    /// Maximum number of connections of each thread; 0: 65,536.
    pub max_connections: u32,
    /// Path MTU discovery probes UDP payloads of up to this many bytes; 0: 1,200, which disables discovery.
    pub max_datagram_bytes: u32,
    /// The longest message accepted, announced to the peer; 0: 262,144.
    pub max_message_bytes: u32,
    /// A connection fails after this time without an answer; 0: 30,000. Values below 15,000 count as 15,000.
    pub consent_timeout_ms: u32,
    /// How long a connection that lost its path is kept for a restart; 0: 60,000; negative: not at all.
    pub restart_timeout_ms: i32,
    /// Not 0: use TURN relays only, so that the peer does not learn any address of this machine (W3C
    /// iceTransportPolicy "relay").
    pub relay_only: u32,
    /// The first port for ND_PORT_OWN and TURN, for a firewall that admits only a range; 0: any.
    pub first_port: u16,
    /// The last port of that range.
    pub last_port: u16,
    /// A TCP port on which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls
    /// that block UDP; negative: any free port; 0: none. It must differ from the UDP port. Several threads
    /// use this port and those that follow. Linux only.
    pub tcp_port: i32,
    /// Public IP addresses of this machine, separated by spaces, behind a NAT that forwards each port to the
    /// same local port (1:1 NAT in a cloud, or port forwarding); or NULL.
    pub public_addresses: Text,
    /// Its length in bytes.
    pub public_addresses_length: usize,
    /// STUN and TURN servers, or NULL. They are queried as soon as the endpoint is bound.
    pub ice_servers: Servers,
    /// Number of servers, at most 8.
    pub ice_server_count: usize,
    /// Certificates (PEM) of the authorities trusted for "turns:" servers, as in a CA file; NULL: those that
    /// the system trusts.
    pub server_roots: Text,
    /// Its length in bytes.
    pub server_roots_length: usize,
}

impl nd_settings {
    pub(crate) fn read(given: Option<&Self>) -> Result<Settings, Failure> {
        let mut settings = Settings::new()?;
        let Some(given) = given else { return Ok(settings) };
        check_size("nd_settings", given.size, size_of::<Self>())?;
        let set = |to: &mut usize, value: u32| {
            if value > 0 {
                *to = value as usize;
            }
        };
        set(&mut settings.reactors, given.reactors);
        set(&mut settings.max_connections, given.max_connections);
        let peer = Arc::make_mut(&mut settings.peer);
        set(&mut peer.max_datagram_bytes, given.max_datagram_bytes);
        set(&mut peer.max_message_bytes, given.max_message_bytes);
        if given.consent_timeout_ms > 0 {
            peer.consent_timeout = Duration::from_millis(given.consent_timeout_ms.into());
        }
        if given.restart_timeout_ms != 0 {
            peer.restart_timeout =
                Duration::from_millis(given.restart_timeout_ms.try_into().unwrap_or_default());
        }
        given.read_nat_settings(&mut settings)?;
        Ok(settings)
    }

    /// Reads the settings for NAT traversal.
    fn read_nat_settings(&self, settings: &mut Settings) -> Result<(), Failure> {
        settings.relay_only = self.relay_only != 0;
        settings.ports = match (self.first_port, self.last_port) {
            (0, 0) => None,
            (first, last) if first > 0 && first <= last => Some(first..=last),
            (first, last) => {
                return Err(Failure::invalid(format!("ports {first} to {last} are not a range")));
            }
        };
        settings.tcp_port = match self.tcp_port {
            0 => None,
            ..0 => Some(0),
            port => Some(
                port.try_into().map_err(|_| Failure::invalid(format!("tcp_port: {port} is not a port")))?,
            ),
        };
        let roots = self.server_roots.text(self.server_roots_length)?;
        settings.server_roots = (!roots.is_empty()).then(|| roots.to_owned());
        for text in self.public_addresses.text(self.public_addresses_length)?.split_ascii_whitespace() {
            let address = text.parse();
            settings.public_addresses.push(
                address.map_err(|_| {
                    Failure::invalid(format!("public_addresses: {text:?} is not an IP address"))
                })?,
            );
        }
        for server in self.ice_servers.servers(self.ice_server_count)? {
            settings.ice_servers.push(IceServer::turn(
                server.url.text(server.url_length)?,
                server.username.text(server.username_length)?,
                server.credential.text(server.credential_length)?,
            ));
        }
        Ok(())
    }
}

/// Checks that a structure of the caller has the size that this library knows.
fn check_size(name: &str, size: u32, ours: usize) -> Result<(), Failure> {
    if size == 0 || size as usize == ours {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{name}: the size is {size}, not {ours}: the header and the library ({}) have different versions",
        env!("CARGO_PKG_VERSION")
    )))
}

/// How to create a data channel (W3C RTCDataChannelInit). All zeros are the defaults: ordered, reliable,
/// opened by DCEP.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_channel_options {
    /// sizeof(nd_channel_options), so that a later version can append fields; 0 means the size in version
    /// 0.1.
    size: u32,
    /// Not 0: messages are delivered in the order of arrival.
    unordered: u32,
    /// ND_RELIABLE, ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
    reliability: u32,
    /// Not 0: without DCEP; both sides create the channel with this `id`.
    negotiated: u32,
    /// The limit for ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
    reliability_limit: u16,
    /// For `negotiated`: 0 to 65,534.
    id: u16,
    /// 128 below normal, 256 normal, 512 high, 1,024 extra high; 0: normal.
    priority: u16,
    /// The name of a subprotocol, or NULL.
    protocol: Text,
    /// Its length in bytes.
    protocol_length: usize,
}

impl nd_channel_options {
    pub(crate) fn read(given: Option<&Self>) -> Result<ChannelOptions, Failure> {
        let Some(given) = given else { return Ok(ChannelOptions::default()) };
        check_size("nd_channel_options", given.size, size_of::<Self>())?;
        let reliability = match given.reliability {
            ND_RELIABLE => Reliability::Reliable,
            ND_MAX_RETRANSMITS => Reliability::MaxRetransmits(given.reliability_limit),
            ND_MAX_LIFETIME_MS => {
                Reliability::MaxLifetime(Duration::from_millis(given.reliability_limit.into()))
            }
            other => {
                return Err(Failure::invalid(format!(
                    "reliability {other} is none of ND_RELIABLE, ND_MAX_RETRANSMITS, ND_MAX_LIFETIME_MS"
                )));
            }
        };
        Ok(ChannelOptions {
            ordered: given.unordered == 0,
            reliability,
            protocol: given.protocol.text(given.protocol_length)?.to_owned(),
            negotiated: (given.negotiated != 0).then_some(given.id),
            priority: if given.priority == 0 { 256 } else { given.priority },
        })
    }
}

/// A time limit; "no limit" exceeds what an `Instant` can represent.
pub(crate) fn limit(timeout_ms: i64) -> Duration {
    u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis)
}

pub(crate) fn kind_of(number: u32) -> Result<Kind, Failure> {
    match number {
        ND_BINARY => Ok(Kind::Binary),
        ND_TEXT => Ok(Kind::Text),
        other => Err(Failure::invalid(format!("kind {other} is neither ND_BINARY nor ND_TEXT"))),
    }
}

pub(crate) fn kind_number(kind: Kind) -> u32 {
    if kind == Kind::Text { ND_TEXT } else { ND_BINARY }
}

pub(crate) fn port_of(number: u32) -> Result<Port, Failure> {
    match number {
        ND_PORT_SHARED => Ok(Port::Shared),
        ND_PORT_OWN => Ok(Port::Own),
        other => Err(Failure::invalid(format!("port {other} is neither ND_PORT_SHARED nor ND_PORT_OWN"))),
    }
}

/// In the order of their numbers.
const STATES: [PeerState; 6] = [
    PeerState::New,
    PeerState::Connecting,
    PeerState::Connected,
    PeerState::Disconnected,
    PeerState::Failed,
    PeerState::Closed,
];

pub(crate) fn state_of(number: u32) -> Result<PeerState, Failure> {
    let state = STATES.get(number as usize);
    state.copied().ok_or_else(|| Failure::invalid(format!("{number} is not an ND_STATE_")))
}

pub(crate) fn state_number(state: PeerState) -> u32 {
    STATES.iter().position(|known| *known == state).map_or(ND_STATE_CLOSED, |at| at as u32)
}
