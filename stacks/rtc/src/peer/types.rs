//! The words that a user of a peer connection speaks.

use bytes::Bytes;

use crate::error::Error;
use crate::ice::IceState;

/// Names a data channel of one peer connection, for as long as the peer connection lives. Not the SCTP stream, which is
/// known only after the handshake.
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

/// A message that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The channel.
    pub channel: ChannelId,
    /// Text or binary.
    pub kind: Kind,
    /// The bytes. A short message shares a block with its neighbours: copy what you keep for long.
    pub data: Bytes,
}

impl Message {
    /// The text, of a text message.
    pub fn text(&self) -> Option<&str> {
        // It was checked on arrival; the type does not know.
        std::str::from_utf8(&self.data).ok().filter(|_| self.kind == Kind::Text)
    }
}

/// When a channel gives up on a message: `MaxRetransmits` is W3C's maxRetransmits, `MaxLifetime` its maxPacketLifeTime.
pub use netdyno_sctp::Reliability;

/// How a data channel is made (W3C RTCDataChannelInit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelOptions {
    /// Whether messages arrive in order.
    pub ordered: bool,
    /// When to give up on a message.
    pub reliability: Reliability,
    /// Name of a subprotocol.
    pub protocol: String,
    /// The id that both sides agreed upon; then no DCEP is spoken (`negotiated`).
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
    /// Being closed; what is buffered still goes out.
    Closing,
    /// Closed.
    Closed,
}

impl ChannelState {
    /// As W3C names it.
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
    /// Nothing begun.
    New,
    /// ICE or DTLS is under way.
    Connecting,
    /// DTLS is up.
    Connected,
    /// No answer for a while; may come back.
    Disconnected,
    /// There was an error. If it was one of ICE a restart may bring the connection back for some time
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)); then it is closed. Else it is over.
    Failed,
    /// Over.
    Closed,
}

impl PeerState {
    /// As W3C names it.
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

/// What the application is told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The state of the peer connection changed.
    State(PeerState),
    /// ICE changed.
    Ice(IceState),
    /// One more candidate of ours, found after the first description: a line from "candidate:" on, for the peer's
    /// [`add_remote_candidate`](crate::PeerConnection::add_remote_candidate).
    Candidate(String),
    /// All servers have answered, or did not in time: there will be no more candidates. Told once they were asked.
    Gathered,
    /// A server was of no use, or is not any more (W3C RTCPeerConnectionIceErrorEvent). It takes others, or none, to connect: it is no
    /// end of anything.
    ServerFailed {
        /// The server, as the settings name it.
        url: String,
        /// What happened, and what may help.
        why: String,
    },
    /// The peer opened a data channel.
    Incoming(ChannelId),
    /// The channel is open (at this end; the peer may be a round trip behind).
    Open(ChannelId),
    /// The buffered amount fell to the low threshold.
    BufferedAmountLow(ChannelId),
    /// After `WouldBlock`: there is room again.
    Writable,
    /// The channel is closed: by either side, or with the connection.
    ChannelClosed(ChannelId),
    /// There was an error; `State(Failed)` comes with it. Whether the connection is over by it says
    /// [`PeerConnection::is_over`](crate::PeerConnection::is_over).
    Failed(Error),
}
