//! The quantisation table header ([RFC 2435 section 3.1.8](https://www.rfc-editor.org/rfc/rfc2435#section-3.1.8)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |      MBZ      |   precision   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                 quantization table data ..                    |
//! +---------------------------------------------------------------+
//! ```

use super::Malformed;
use crate::tables::{QuantTable, QuantTables};

/// Length of the header before the tables.
pub const TABLE_HEADER_BYTES: usize = 4;

/// Quantisation tables in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableHeader<'a> {
    /// Bit `n` is set if table `n` has values of 16 bits.
    pub precision: u8,
    /// The concatenated tables; empty if they were sent before.
    pub data: &'a [u8],
}

impl<'a> TableHeader<'a> {
    /// Parses the header and returns it with the remaining bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let Some((&[_, precision, l1, l0], rest)) = bytes.split_first_chunk::<TABLE_HEADER_BYTES>() else {
            return Err(Malformed::new("the table header of 4 bytes is truncated"));
        };
        let Some((data, rest)) = rest.split_at_checked(usize::from(u16::from_be_bytes([l1, l0]))) else {
            return Err(Malformed::new("the quantisation tables are truncated"));
        };
        Ok((Self { precision, data }, rest))
    }

    /// The tables of types 0 and 1: two, or one for all components. Further tables are ignored.
    pub fn tables(&self) -> Result<QuantTables, Malformed> {
        let table = |number: u8, at: usize| {
            let is_wide = self.precision & 1 << number != 0;
            let length = if is_wide { 128 } else { 64 };
            let bytes = self.data.get(at..at + length);
            (at + length, bytes.and_then(|bytes| QuantTable::read(bytes, is_wide)))
        };
        let (end, luma) = table(0, 0);
        let luma = luma.ok_or(Malformed::new("a quantisation table is truncated or contains 0"))?;
        if end == self.data.len() {
            return Ok(QuantTables { luma, chroma: luma });
        }
        let (_, chroma) = table(1, end);
        let chroma = chroma.ok_or(Malformed::new("a quantisation table is truncated or contains 0"))?;
        Ok(QuantTables { luma, chroma })
    }

    /// Appends a header with tables, with values of 16 bits where needed; or a header without tables.
    pub fn append(tables: Option<&QuantTables>, out: &mut Vec<u8>) {
        let Some(tables) = tables else { return out.extend([0; TABLE_HEADER_BYTES]) };
        let precision = u8::from(tables.luma.is_wide()) | u8::from(tables.chroma.is_wide()) << 1;
        out.extend([0, precision]);
        out.extend((tables.length() as u16).to_be_bytes());
        tables.luma.append(out);
        tables.chroma.append(out);
    }
}
