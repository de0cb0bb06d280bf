//! Errors: who caused them, and what they end.

/// Why a peer connection ended or could not be created. Always fatal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller passed invalid settings.
    #[error(transparent)]
    Config(#[from] netdyno_sctp::ConfigError),
    /// The local certificate could not be created or used.
    #[error("certificate: {0}")]
    Certificate(String),
    /// The peer's certificate does not match its description.
    #[error("the fingerprint of the peer's certificate differs from its description")]
    Fingerprint,
    /// The DTLS handshake failed.
    #[error("DTLS: {0}")]
    Dtls(String),
    /// The association ended.
    #[error("SCTP: {0}")]
    Sctp(#[from] netdyno_sctp::AssociationError),
    /// Consent was lost, or no candidate pair works.
    #[error("ICE: {0}")]
    Ice(&'static str),
}

/// Why a description or candidate was rejected. The peer connection continues unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalingError {
    /// It violates SDP, or a requirement of data channels.
    #[error("{} violates a rule: {rule}", place(*line))]
    Syntax {
        /// Line number, from 1; 0: the description as a whole.
        line: usize,
        /// The violated rule.
        rule: &'static str,
    },
    /// Not allowed in the current offer/answer state (RFC 8829 section 4.1.7).
    #[error("{0}")]
    State(&'static str),
    /// Exceeds [`Limits`](crate::Limits).
    #[error("{0}: exceeds the limit")]
    Limit(&'static str),
}

fn place(line: usize) -> String {
    if line == 0 { "the description".to_owned() } else { format!("line {line}") }
}

/// Why a data channel was not created or changed. The peer connection continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer connection is closed.
    #[error("the peer connection is closed")]
    Closed,
    /// The id is in use or above 65,534, or all are in use.
    #[error("the id is in use or out of range")]
    Id,
    /// Exceeds `max_label_bytes`.
    #[error("the label or protocol is too long")]
    Label,
}

/// Why a message was not accepted. The channel continues, except for `Closed` and `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full: wait for `Event::Writable`.
    #[error("the send buffer is full; retry after Event::Writable")]
    WouldBlock,
    /// The message exceeds the peer's limit.
    #[error("the message has {length} bytes, but the peer accepts at most {limit}")]
    TooLong {
        /// Length of the message.
        length: usize,
        /// The peer's limit.
        limit: usize,
    },
    /// The channel is not open yet.
    #[error("the data channel is not open yet")]
    Connecting,
    /// Text that is not UTF-8, for which the peer would close the channel.
    #[error("a text message must be UTF-8")]
    NotUtf8,
    /// The channel is closing or closed.
    #[error("the data channel is closed")]
    Closed,
    /// The peer connection failed.
    #[error("the peer connection failed")]
    Failed,
}
