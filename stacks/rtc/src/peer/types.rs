//! The types of a peer connection's interface.

use bytes::Bytes;

use crate::error::Error;
use crate::ice::IceState;

/// Identifies a data channel of a peer connection, for the lifetime of the connection. Not the SCTP stream,
/// which is only known after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

/// Text or binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8, checked on arrival.
    Text,
    /// Bytes.
    Binary,
}

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The channel on which it arrived.
    pub channel: ChannelId,
    /// Text or binary.
    pub kind: Kind,
    /// The payload. Short messages share a block with others: copy what is kept for long.
    pub data: Bytes,
}

impl Message {
    /// The text of a text message.
    pub fn text(&self) -> Option<&str> {
        // It was checked on arrival, but the type does not express that.
        std::str::from_utf8(&self.data).ok().filter(|_| self.kind == Kind::Text)
    }
}

/// When a channel abandons a message: `MaxRetransmits` is W3C's maxRetransmits, `MaxLifetime` its
/// maxPacketLifeTime.
pub use netdyno_sctp::Reliability;

/// Options of a data channel (W3C RTCDataChannelInit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Whether messages are delivered in order.
    pub ordered: bool,
    /// When to abandon a message.
    pub reliability: Reliability,
    /// Name of the subprotocol.
    pub protocol: String,
    /// An id agreed on by both sides out of band; DCEP is not used then (`negotiated`).
    pub negotiated: Option<u16>,
    /// Priority (RFC 8831 section 6.4): 128 below normal, 256 normal, 512 high, 1024 extra high.
    pub priority: u16,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            ordered: true,
            reliability: Reliability::Reliable,
            protocol: String::new(),
            negotiated: None,
            priority: 256,
        }
    }
}

/// W3C RTCDataChannelState.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelState {
    /// Not open yet.
    Connecting,
    /// Messages can be sent.
    Open,
    /// Closing; buffered data is still sent.
    Closing,
    /// Closed.
    Closed,
}

impl ChannelState {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }
}

/// W3C RTCPeerConnectionState.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerState {
    /// Not started.
    New,
    /// ICE or DTLS is in progress.
    Connecting,
    /// DTLS is connected.
    Connected,
    /// No response for a while; may recover.
    Disconnected,
    /// An error occurred. After an ICE error a restart may revive the connection for some time
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)); then it is closed. Any other error ends
    /// it.
    Failed,
    /// Ended.
    Closed,
}

impl PeerState {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }
}

/// Events for the application.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The state of the peer connection changed.
    State(PeerState),
    /// The ICE state changed.
    Ice(IceState),
    /// A local candidate found after the first description, starting with "candidate:", for the peer's
    /// [`add_remote_candidate`](crate::PeerConnection::add_remote_candidate).
    Candidate(String),
    /// All servers have answered or timed out: there will be no more candidates. Only if servers were
    /// queried.
    Gathered,
    /// A server failed (W3C RTCPeerConnectionIceErrorEvent). The connection may still be established with
    /// other servers or none.
    ServerFailed {
        /// The server, as given in the settings.
        url: String,
        /// What happened, and possible remedies.
        why: String,
    },
    /// The peer opened a data channel.
    Incoming(ChannelId),
    /// The channel is open locally; at the peer it may open a round trip later.
    Open(ChannelId),
    /// The buffered amount dropped to the low threshold.
    BufferedAmountLow(ChannelId),
    /// There is space in the send buffer again after `WouldBlock`.
    Writable,
    /// The channel was closed, by either side or with the connection.
    ChannelClosed(ChannelId),
    /// An error occurred; `State(Failed)` accompanies it.
    /// [`PeerConnection::is_over`](crate::PeerConnection::is_over) tells whether the connection has ended.
    Failed(Error),
}
