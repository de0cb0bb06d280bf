//! Errors: who is at fault, and what it ends.

/// Why a peer connection ended, or was not made. Always fatal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Our caller: settings that cannot work.
    #[error(transparent)]
    Config(#[from] netdyno_sctp::ConfigError),
    /// A certificate of ours could not be made, or not be used.
    #[error("certificate: {0}")]
    Certificate(String),
    /// The peer's certificate is not the one that its description promised.
    #[error("the peer's certificate has another fingerprint than its description says")]
    Fingerprint,
    /// The DTLS handshake failed.
    #[error("DTLS: {0}")]
    Dtls(String),
    /// The association ended.
    #[error("SCTP: {0}")]
    Sctp(#[from] netdyno_sctp::AssociationError),
    /// No consent, or no pair of candidates that works.
    #[error("ICE: {0}")]
    Ice(&'static str),
}

/// Why a description or candidate was not taken. The peer connection goes on as before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalingError {
    /// It breaks a rule of SDP, or of what data channels need.
    #[error("{} breaks a rule: {rule}", place(*line))]
    Syntax {
        /// Number of the line, from 1; 0: the description as a whole.
        line: usize,
        /// The rule.
        rule: &'static str,
    },
    /// Not at this point of offer and answer (RFC 8829 section 4.1.7).
    #[error("{0}")]
    State(&'static str),
    /// More than `Limits` allow.
    #[error("{0}: more than the limit")]
    Limit(&'static str),
}

fn place(line: usize) -> String {
    if line == 0 { "the description".to_owned() } else { format!("line {line}") }
}

/// Why a data channel was not made or changed. The peer connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer connection is over.
    #[error("the peer connection is closed")]
    Closed,
    /// The id is in use, above 65,534, or all are taken.
    #[error("the id is in use or out of range")]
    Id,
    /// Longer than `max_label_bytes`.
    #[error("the label or protocol is too long")]
    Label,
}

/// Why a message was not taken. The channel goes on, but for `Closed` and `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Not now: wait for `Event::Writable`.
    #[error("the send buffer is full; wait until it is writable again")]
    WouldBlock,
    /// Longer than the peer takes.
    #[error("the message has {length} bytes, the peer takes {limit}")]
    TooLong {
        /// Bytes of the message.
        length: usize,
        /// Bytes that the peer takes.
        limit: usize,
    },
    /// The channel is not open yet.
    #[error("the data channel is not open yet")]
    Connecting,
    /// A text that is not UTF-8: the peer would close the channel.
    #[error("a text message must be UTF-8")]
    NotUtf8,
    /// The channel is closing or closed.
    #[error("the data channel is closed")]
    Closed,
    /// The peer connection failed.
    #[error("the peer connection failed")]
    Failed,
}
