//! The headers before the scan data of a packet, a header a file
//! ([RFC 2435 section 3.1](https://www.rfc-editor.org/rfc/rfc2435#section-3.1)): main header, then restarts for types 64
//! to 127, then tables at offset 0 for Q 128 to 255.

mod main_header;
mod restart_header;
mod table_header;

pub use main_header::{Dimensions, Field, Kind, MAIN_HEADER_BYTES, MainHeader};
pub use restart_header::{RESTART_HEADER_BYTES, RestartHeader};
pub use table_header::{TABLE_HEADER_BYTES, TableHeader};

/// Q from which on tables are told in packets.
pub const FIRST_TOLD_Q: u8 = 128;
/// Q whose tables are told with every frame, and may differ each time.
pub const IN_BAND_Q: u8 = 255;

/// A payload breaks the format: drop the packet, and count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a malformed JPEG payload from the peer: {rule}; drop the packet")]
pub struct Malformed {
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl Malformed {
    pub(crate) fn new(rule: &'static str) -> Self {
        Self { rule }
    }
}

/// A payload, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The main header.
    pub main: MainHeader,
    /// The restart header, of types 64 to 127.
    pub restart: Option<RestartHeader>,
    /// The table header, at offset 0 with Q 128 to 255.
    pub tables: Option<TableHeader<'a>>,
    /// Scan data.
    pub data: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Takes a payload apart. Costs nothing that grows with it.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let (main, mut data) = MainHeader::parse(payload)?;
        let mut restart = None;
        if main.kind.has_restarts() {
            let (header, rest) = RestartHeader::parse(data)?;
            (restart, data) = (Some(header), rest);
        }
        let mut tables = None;
        if main.offset == 0 && main.q >= FIRST_TOLD_Q {
            let (header, rest) = TableHeader::parse(data)?;
            (tables, data) = (Some(header), rest);
        }
        Ok(Self { main, restart, tables, data })
    }
}

#[cfg(test)]
mod tests;
