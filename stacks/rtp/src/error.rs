//! Errors: what a peer sent that cannot be, and what does not fit. None is fatal for a session: a malformed datagram is
//! dropped whole (RFC 3550 section A.1), and the next one is looked at anew.

/// A datagram breaks a rule of its format. The sender, or something on the way, is at fault; drop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a malformed {what} from the peer: {rule}; drop the datagram")]
pub struct Malformed {
    /// The part of the datagram.
    pub what: &'static str,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl Malformed {
    pub(crate) fn new(what: &'static str, rule: &'static str) -> Self {
        Self { what, rule }
    }
}

/// A packet could not be written; nothing of it is of use. The caller is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer is too small.
    #[error(
        "the buffer of {given_bytes} bytes is too small for the packet: give one of {needed_bytes} bytes"
    )]
    NoRoom {
        /// Bytes that the packet takes.
        needed_bytes: usize,
        /// Bytes of the buffer.
        given_bytes: usize,
    },
    /// More CSRCs than the field can tell.
    #[error("{0} CSRCs, but a packet has at most 15: leave some out")]
    TooManyCsrcs(usize),
    /// An extension element that neither form of RFC 8285 can carry.
    #[error(
        "extension element {id} of {bytes} bytes: the id must be 1 to 255 and the length at most 255 bytes"
    )]
    BadElement {
        /// Its identifier.
        id: u8,
        /// Its length.
        bytes: usize,
    },
    /// The extension is longer than its length field can tell.
    #[error("the header extension has more than 65,535 words of 32 bits: leave elements out")]
    ExtensionTooLong,
    /// A payload type of more than seven bits.
    #[error("payload type {0}, but it must be at most 127 (RFC 3550 section 5.1)")]
    BadPayloadType(u8),
}
