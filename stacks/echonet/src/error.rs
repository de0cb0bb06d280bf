//! Errors of the codec.

use crate::epc::Epc;

/// Why a datagram is not a valid frame. It is discarded without an answer (Part 2, section 4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It ends before this field does.
    #[error("the frame ends before its {0} does")]
    Truncated(&'static str),
    /// EHD1 is not 0x10.
    #[error("EHD1 is {0:#04x}, not 0x10: not ECHONET Lite")]
    Protocol(u8),
    /// EHD2 is 0x82: the rest of the message has a format that the nodes agreed upon.
    #[error("EHD2 is 0x82: a message in an arbitrary format, which the specification does not define")]
    ArbitraryFormat,
    /// EHD2 is neither 0x81 nor 0x82.
    #[error("EHD2 is {0:#04x}, not 0x81")]
    Format(u8),
    /// No service has this code.
    #[error("unknown service: ESV {0:#04x}")]
    UnknownEsv(u8),
}

/// Why a property map cannot be parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PropertyMapError {
    /// It is shorter than its number of properties requires.
    #[error("a property map of {properties} properties has {expected} bytes, not {bytes}")]
    Length {
        /// The number of properties in its first byte.
        properties: u8,
        /// The required length in bytes.
        expected: usize,
        /// The actual length in bytes.
        bytes: usize,
    },
    /// It lists a code below 0x80.
    #[error("a property map lists {:#04x}, which is not a property code (0x80 to 0xFF)", .0.0)]
    Code(Epc),
}

/// Why a frame was not written. The earlier content of the buffer stays valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer is too short.
    #[error("the buffer has {room} bytes left, but the frame needs {needed} more: use a longer buffer")]
    NoRoom {
        /// Bytes that are left.
        room: usize,
        /// Bytes that are needed.
        needed: usize,
    },
    /// A list has 255 properties already.
    #[error("a frame has at most 255 properties: use a second one")]
    TooManyProperties,
    /// The value is longer than a property can be.
    #[error("a value of {bytes} bytes: a property has at most 255")]
    ValueTooLong {
        /// Bytes of the value.
        bytes: usize,
    },
    /// The service has no second list, or the list was already started.
    #[error("only SetGet has a second list, and only one")]
    NoSecondList,
}
