//! Errors of parsing and writing. None is fatal for a session: a malformed datagram is dropped (RFC 3550 section A.1).

/// A malformed datagram. The peer or the network is at fault; drop the datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {rule}")]
pub struct Malformed {
    /// The part of the datagram.
    pub what: &'static str,
    /// The violated rule.
    pub rule: &'static str,
}

impl Malformed {
    pub(crate) fn new(what: &'static str, rule: &'static str) -> Self {
        Self { what, rule }
    }
}

/// A packet cannot be written because of an error of the caller. The buffer's contents are undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer is too small.
    #[error("the buffer of {given_bytes} bytes is too small for the packet; it needs {needed_bytes} bytes")]
    NoRoom {
        /// Length of the packet.
        needed_bytes: usize,
        /// Length of the buffer.
        given_bytes: usize,
    },
    /// Too many CSRCs for the field.
    #[error("too many CSRCs ({0}); a packet has at most 15")]
    TooManyCsrcs(usize),
    /// An extension element that neither form of RFC 8285 can represent.
    #[error(
        "invalid extension element {id} of {bytes} bytes; the identifier must be 1 to 255 and the length at most 255 bytes"
    )]
    BadElement {
        /// Its identifier.
        id: u8,
        /// Its length.
        bytes: usize,
    },
    /// The extension exceeds its length field.
    #[error("the header extension exceeds 65,535 words of 32 bits; use fewer elements")]
    ExtensionTooLong,
    /// The payload type exceeds seven bits.
    #[error("invalid payload type {0}; it must be at most 127 (RFC 3550 section 5.1)")]
    BadPayloadType(u8),
}
