//! ERROR ([RFC 9260 section 3.3.10](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.10)), and the error
//! causes common to ERROR and ABORT.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 9    |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |          cause code           | length (with these 4 bytes)   |  for each cause
//! +-------------------------------+-------------------------------+
//! |                  information on it, padded                    |
//! +---------------------------------------------------------------+
//! ```

mod cause;

pub(super) use cause::write_all as write_causes;
pub use cause::{Cause, Causes};

use super::cursor::Cursor;
use super::parameter::Parameter;
use super::{PacketWriter, RawChunk, Unrecognized};

/// Reports an error that does not end the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationError<'a> {
    /// The causes. RFC 9260 requires at least one; none is accepted.
    pub causes: Causes<'a>,
}

impl<'a> OperationError<'a> {
    /// Chunk type.
    pub const KIND: u8 = 9;

    /// Parses an ERROR. Any value is accepted: the causes end where they are malformed.
    pub fn parse(chunk: &RawChunk<'a>) -> Self {
        Self { causes: Causes::new(chunk.value) }
    }

    /// Writes an ERROR with the causes that fit. Returns false and writes nothing if none does.
    #[must_use]
    pub fn write<'c>(packet: &mut PacketWriter<'_>, causes: impl IntoIterator<Item = Cause<'c>>) -> bool {
        packet.chunk_within(Self::KIND, 0, |value| {
            let mut cursor = Cursor::new(value);
            write_causes(&mut cursor, causes);
            (cursor.length() > 0).then_some(cursor.length())
        })
    }

    /// Writes an ERROR that reports parameters of an INIT ACK (RFC 9260 section 3.2.1), to accompany the
    /// COOKIE ECHO. Returns false and writes nothing if there are none or they do not fit.
    #[must_use]
    pub fn write_unrecognized(packet: &mut PacketWriter<'_>, mut unrecognized: Unrecognized<'_>) -> bool {
        if { unrecognized }.next().is_none() {
            return false;
        }
        packet.chunk_within(Self::KIND, 0, |value| {
            let mut cursor = Cursor::new(value);
            cursor.parameter(cause::UNRECOGNIZED_PARAMETERS, |value| {
                unrecognized.try_for_each(|parameter: Parameter<'_>| parameter.write(value))
            })?;
            Some(cursor.length())
        })
    }
}

#[cfg(test)]
mod tests;
