//! Errors of the codec: what was wrong with what came, or with what was to be written.

use crate::epc::Epc;

/// Why a datagram is no frame for us. It is discarded; nobody is told (Part 2, section 4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It ends before this field does.
    #[error("the frame ends before its {0} does")]
    Truncated(&'static str),
    /// EHD1 is not 0x10.
    #[error("EHD1 is {0:#04x}, not 0x10: not ECHONET Lite")]
    Protocol(u8),
    /// EHD2 is 0x82: what follows the TID is in a form that two nodes agreed upon.
    #[error("EHD2 is 0x82: a message in an arbitrary format, which the specification does not define")]
    ArbitraryFormat,
    /// EHD2 is neither 0x81 nor 0x82.
    #[error("EHD2 is {0:#04x}, not 0x81")]
    Format(u8),
    /// No service has this code.
    #[error("ESV {0:#04x} is no service")]
    UnknownEsv(u8),
}

/// Why a property map cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PropertyMapError {
    /// It has fewer bytes than its number of properties needs.
    #[error("a property map of {properties} properties has {expected} bytes, not {bytes}")]
    Length {
        /// The number that it begins with.
        properties: u8,
        /// Bytes that this needs.
        expected: usize,
        /// Bytes that are there.
        bytes: usize,
    },
    /// It lists a code below 0x80.
    #[error("a property map lists {:#04x}, which is no property: they are 0x80 to 0xFF", .0.0)]
    Code(Epc),
}

/// Why a frame was not written. What stands in the buffer up to then is still good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer has no room for it.
    #[error("the buffer has {room} bytes left, the frame needs {needed} more: give a longer one")]
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
    /// The service has no second list, or it was begun already.
    #[error("only SetGet has a second list, and it has one")]
    NoSecondList,
}
