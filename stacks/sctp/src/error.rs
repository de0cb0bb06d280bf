//! Errors: who is at fault, and what it ends.

use crate::types::StreamId;

/// Our caller set something that cannot work. Nothing was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field}: must be {rule}")]
pub struct ConfigError {
    /// The field at fault.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
}

/// Why a message was not taken. The association goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full: try again after `Event::Writable`.
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
    /// SCTP has no empty messages (RFC 9260 section 3.3.1); WebRTC has PPIDs for them.
    #[error("an empty message; send one byte with the PPID for empty messages")]
    Empty,
    /// The peer has fewer streams, or a reset of this one is under way.
    #[error("stream {0:?} does not exist, or is being reset")]
    NoSuchStream(StreamId),
    /// Not set up, shutting down, or ended.
    #[error("the association is not open")]
    NotOpen,
}

/// Why streams were not reset. The association goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The peer does not know RE-CONFIG (RFC 6525).
    #[error("the peer cannot reset streams")]
    Unsupported,
    /// Not set up, shutting down, or ended.
    #[error("the association is not open")]
    NotOpen,
}

/// The peer broke a rule that it must not break. Ends the association with an ABORT that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer broke {section}: {rule}")]
pub struct ProtocolViolation {
    /// Where the rule stands, for example "RFC 9260 section 6.2".
    pub section: &'static str,
    /// The rule.
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
    /// The peer is at fault.
    #[error(transparent)]
    Violation(#[from] ProtocolViolation),
    /// The peer needs what we do not have.
    #[error("the peer needs {0}, which is not supported")]
    Unsupported(&'static str),
}
