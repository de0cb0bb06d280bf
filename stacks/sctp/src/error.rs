//! Errors: who caused them, and what they end.

use crate::types::StreamId;

/// The caller passed an invalid setting. Nothing was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field}: must be {rule}")]
pub struct ConfigError {
    /// The invalid field.
    pub field: &'static str,
    /// Its constraint.
    pub rule: &'static str,
}

/// Why a message was not accepted. The association continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full: retry after `Event::Writable`.
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
    /// SCTP has no empty messages (RFC 9260 section 3.3.1); WebRTC defines PPIDs for them.
    #[error("the message is empty; send one byte with the PPID for empty messages")]
    Empty,
    /// The stream exceeds the peer's stream count, or is being reset.
    #[error("stream {0:?} does not exist or is being reset")]
    NoSuchStream(StreamId),
    /// Not established, shutting down, or ended.
    #[error("the association is not established")]
    NotOpen,
}

/// Why streams were not reset. The association continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The peer does not support RE-CONFIG (RFC 6525).
    #[error("the peer does not support stream resets")]
    Unsupported,
    /// Not established, shutting down, or ended.
    #[error("the association is not established")]
    NotOpen,
}

/// The peer violated a protocol requirement. Ends the association with an ABORT that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer violated {section}: {rule}")]
pub struct ProtocolViolation {
    /// The section with the requirement, for example "RFC 9260 section 6.2".
    pub section: &'static str,
    /// The requirement.
    pub rule: &'static str,
}

/// Why an association ended. Always fatal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssociationError {
    /// The peer did not answer.
    #[error("the peer did not answer {0}")]
    TimedOut(&'static str),
    /// The peer aborted.
    #[error("the peer aborted the association: {0}")]
    Aborted(String),
    /// The peer violated the protocol.
    #[error(transparent)]
    Violation(#[from] ProtocolViolation),
    /// The peer requires something that is not supported.
    #[error("the peer requires {0}, which is not supported")]
    Unsupported(&'static str),
}
