//! The payload headers of [RFC 2435 section 3.1](https://www.rfc-editor.org/rfc/rfc2435#section-3.1): the main header, the
//! restart header of types 64 to 127, and the table header at offset 0 with Q 128 to 255.

mod main_header;
mod restart_header;
mod table_header;

pub use main_header::{Dimensions, Field, JpegType, MAIN_HEADER_BYTES, MainHeader};
pub use restart_header::{RESTART_HEADER_BYTES, RestartHeader};
pub use table_header::{TABLE_HEADER_BYTES, TableHeader};

/// The first Q whose tables are sent in packets.
pub const FIRST_TABLE_Q: u8 = 128;
/// The Q whose tables are sent with every frame and may change in each.
pub const IN_BAND_Q: u8 = 255;

/// A malformed payload. The packet is counted and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed JPEG payload: {rule}")]
pub struct Malformed {
    /// The fault.
    pub rule: &'static str,
}

impl Malformed {
    pub(crate) fn new(rule: &'static str) -> Self {
        Self { rule }
    }
}

/// A parsed payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The main header.
    pub main: MainHeader,
    /// The restart header of types 64 to 127.
    pub restart: Option<RestartHeader>,
    /// The table header, at offset 0 with Q 128 to 255.
    pub tables: Option<TableHeader<'a>>,
    /// Scan data.
    pub data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Parses a payload in constant time.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let (main, mut data) = MainHeader::parse(payload)?;
        let mut restart = None;
        if main.kind.has_restarts() {
            let (header, rest) = RestartHeader::parse(data)?;
            (restart, data) = (Some(header), rest);
        }
        let mut tables = None;
        if main.offset == 0 && main.q >= FIRST_TABLE_Q {
            let (header, rest) = TableHeader::parse(data)?;
            (tables, data) = (Some(header), rest);
        }
        Ok(Self { main, restart, tables, data })
    }
}

#[cfg(test)]
mod tests;
