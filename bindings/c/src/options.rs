//! Numbers that stand for something, and what may be set.

use std::sync::Arc;
use std::time::Duration;

use netdyno_rtc::{ChannelOptions, IceServer, Kind, PeerState, Port, Reliability, Settings};

use crate::border::{Servers, Text};
use crate::error::Failure;

/// A time limit that never comes; any negative one does. 0 is not to wait at all.
pub const ND_FOREVER: i64 = -1;

/// A message of bytes.
pub const ND_BINARY: u32 = 0;
/// A message that is a text: UTF-8, checked at both ends.
pub const ND_TEXT: u32 = 1;

/// All connections of an endpoint on its one port. There can be but one connection between two ports.
pub const ND_PORT_SHARED: u32 = 0;
/// A port for this connection alone: for many connections to one place.
pub const ND_PORT_OWN: u32 = 1;

/// Nothing begun (the states are W3C's RTCPeerConnectionState).
pub const ND_STATE_NEW: u32 = 0;
/// ICE or DTLS is under way.
pub const ND_STATE_CONNECTING: u32 = 1;
/// DTLS is up.
pub const ND_STATE_CONNECTED: u32 = 2;
/// No answer for a while; may come back.
pub const ND_STATE_DISCONNECTED: u32 = 3;
/// There was an error. A restart of ICE may bring it back for some time.
pub const ND_STATE_FAILED: u32 = 4;
/// Over.
pub const ND_STATE_CLOSED: u32 = 5;

/// Until it has arrived.
pub const ND_RELIABLE: u32 = 0;
/// A message is given up when it was sent again so often (W3C maxRetransmits).
pub const ND_MAX_RETRANSMITS: u32 = 1;
/// A message is given up after so many milliseconds (W3C maxPacketLifeTime).
pub const ND_MAX_LIFETIME_MS: u32 = 2;

/// A STUN or TURN server (W3C RTCIceServer).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_ice_server {
    /// "stun:host:port", "turn:host:port?transport=udp" or "=tcp", or "turns:host:port?transport=tcp" (TLS). The port may be left out (3478, with
    /// TLS 5349), and so may the transport (UDP, with TLS TCP); IPv6 addresses stand in brackets. TCP and TLS are for where UDP is not let
    /// through, and on Linux only.
    url: Text,
    /// Its bytes.
    url_length: usize,
    /// The name that a TURN server knows us by; NULL for STUN.
    username: Text,
    /// Its bytes, up to 512.
    username_length: usize,
    /// The password that goes with it.
    credential: Text,
    /// Its bytes, up to 763.
    credential_length: usize,
}

/// What may be set of an endpoint. All zeros are the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_settings {
    /// sizeof(nd_settings), so that a later version may add to its end; 0 is taken for that of version 0.1.
    pub size: u32,
    /// Threads that drive it, each with a port of its own; 0: one. Of no use to an nd_reactor, which is driven by its caller.
    pub reactors: u32,
    /// Connections at a time, of each thread; 0: 65,536.
    pub max_connections: u32,
    /// Path MTU discovery looks for UDP payloads of up to so many bytes; 0: 1,200, which is no discovery.
    pub max_datagram_bytes: u32,
    /// The longest message that is taken, told to the peer; 0: 262,144.
    pub max_message_bytes: u32,
    /// Without an answer for so long a connection has failed; 0: 30,000. Less than 15,000 is taken as that.
    pub consent_timeout_ms: u32,
    /// How long a connection that failed for want of a path is kept for a restart; 0: 60,000, negative: not at all.
    pub restart_timeout_ms: i32,
    /// Not 0: no way is taken but by a TURN server, so that the peer learns no address of this machine (W3C iceTransportPolicy "relay").
    pub relay_only: u32,
    /// The first of the ports that ND_PORT_OWN and TURN take, for a firewall that lets only those through; 0: any.
    pub first_port: u16,
    /// The last of them.
    pub last_port: u16,
    /// A TCP port at which peers may connect (RFC 6544, passive candidates), for browsers behind firewalls that let no UDP through; negative:
    /// whichever is free; 0: none. Not the UDP port's number. Of several threads each has its own: this one and those behind it. Linux only.
    pub tcp_port: i32,
    /// The IP addresses, with spaces between, at which the world sees this machine, where a NAT leads each port there to the same one here
    /// (1:1, as in a cloud, or by port forwarding); or NULL.
    pub public_addresses: Text,
    /// Its bytes.
    pub public_addresses_length: usize,
    /// Servers to ask for a way through NATs, or NULL. They are asked as soon as the endpoint is bound.
    pub ice_servers: Servers,
    /// How many, up to 8.
    pub ice_server_count: usize,
    /// Certificates in PEM of the authorities that may have signed those of "turns:" servers, such as a file of them holds; NULL: whom the
    /// system trusts.
    pub server_roots: Text,
    /// Its bytes.
    pub server_roots_length: usize,
}

impl nd_settings {
    pub(crate) fn read(given: Option<&Self>) -> Result<Settings, Failure> {
        let mut settings = Settings::new()?;
        let Some(given) = given else { return Ok(settings) };
        known("nd_settings", given.size, size_of::<Self>())?;
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
        given.read_ways(&mut settings)?;
        Ok(settings)
    }

    /// What leads through NATs.
    fn read_ways(&self, settings: &mut Settings) -> Result<(), Failure> {
        settings.relay_only = self.relay_only != 0;
        settings.ports = match (self.first_port, self.last_port) {
            (0, 0) => None,
            (first, last) if first > 0 && first <= last => Some(first..=last),
            (first, last) => return Err(Failure::invalid(format!("ports {first} to {last} are no range"))),
        };
        settings.tcp_port = match self.tcp_port {
            0 => None,
            ..0 => Some(0),
            port => {
                Some(port.try_into().map_err(|_| Failure::invalid(format!("tcp_port: {port} is no port")))?)
            }
        };
        let roots = self.server_roots.text(self.server_roots_length)?;
        settings.server_roots = (!roots.is_empty()).then(|| roots.to_owned());
        for text in self.public_addresses.text(self.public_addresses_length)?.split_ascii_whitespace() {
            let address = text.parse();
            settings.public_addresses.push(
                address
                    .map_err(|_| Failure::invalid(format!("public_addresses: {text:?} is no IP address")))?,
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

/// A structure of the caller's is one that this library knows.
fn known(name: &str, size: u32, ours: usize) -> Result<(), Failure> {
    if size == 0 || size as usize == ours {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{name}: its size is {size} and not {ours}: the header is of another version than the library ({})",
        env!("CARGO_PKG_VERSION")
    )))
}

/// How a data channel is made (W3C RTCDataChannelInit). All zeros are the defaults: ordered, reliable, opened by DCEP.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_channel_options {
    /// sizeof(nd_channel_options), so that a later version may add to its end; 0 is taken for that of version 0.1.
    size: u32,
    /// Not 0: messages arrive in whatever order they come.
    unordered: u32,
    /// ND_RELIABLE, ND_MAX_RETRANSMITS or ND_MAX_LIFETIME_MS.
    reliability: u32,
    /// Not 0: no DCEP is spoken; both sides make the channel with this `id`.
    negotiated: u32,
    /// How often, or how long, for the latter two.
    reliability_limit: u16,
    /// For `negotiated`: 0 to 65,534.
    id: u16,
    /// 128 below normal, 256 normal, 512 high, 1,024 extra high; 0: normal.
    priority: u16,
    /// Name of a subprotocol, or NULL.
    protocol: Text,
    /// Its bytes.
    protocol_length: usize,
}

impl nd_channel_options {
    pub(crate) fn read(given: Option<&Self>) -> Result<ChannelOptions, Failure> {
        let Some(given) = given else { return Ok(ChannelOptions::default()) };
        known("nd_channel_options", given.size, size_of::<Self>())?;
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

/// A time limit; that of "never" is beyond what any clock can tell.
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
    state.copied().ok_or_else(|| Failure::invalid(format!("{number} is no ND_STATE_")))
}

pub(crate) fn state_number(state: PeerState) -> u32 {
    STATES.iter().position(|known| *known == state).map_or(ND_STATE_CLOSED, |at| at as u32)
}
