//! Full intra request ([RFC 5104 section 4.3.1](https://www.rfc-editor.org/rfc/rfc5104#section-4.3.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! |                              SSRC                             |  one time or more
//! +---------------+-----------------------------------------------+
//! |    seq nr.    |                   reserved                    |
//! +---------------+-----------------------------------------------+
//! ```

use super::Feedback;
use crate::bytes::{Cursor, u32_at};
use crate::error::Malformed;
use crate::types::Ssrc;

/// Length of an entry.
const ENTRY_BYTES: usize = 8;

/// A full intra request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fir<'a> {
    /// The SSRC of the requester.
    pub sender: Ssrc,
    fci: &'a [u8],
}

/// A request for one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirEntry {
    /// The SSRC of the source.
    pub media: Ssrc,
    /// Number of the request; a repetition has the same number.
    pub number: u8,
}

impl<'a> Fir<'a> {
    /// Feedback message type.
    pub const FORMAT: u8 = 4;

    pub(super) fn parse(feedback: Feedback<'a>) -> Result<Self, Malformed> {
        let Feedback { sender, fci, .. } = feedback;
        if fci.is_empty() || !fci.len().is_multiple_of(ENTRY_BYTES) {
            return Err(Malformed::new("RTCP FIR", "the entries are missing or truncated"));
        }
        Ok(Self { sender, fci })
    }

    /// The entries.
    pub fn entries(self) -> impl Iterator<Item = FirEntry> {
        let (entries, _) = self.fci.as_chunks::<ENTRY_BYTES>();
        entries.iter().map(|entry| FirEntry { media: Ssrc(u32_at(entry, 0)), number: entry[4] })
    }
}

/// Writes the entries; `None` if they do not fit or are empty.
pub(super) fn write(entries: &[FirEntry], out: &mut Cursor<'_>) -> Option<()> {
    if entries.is_empty() {
        return None;
    }
    for entry in entries {
        out.u32(entry.media.0)?;
        out.bytes(&[entry.number, 0, 0, 0])?;
    }
    Some(())
}
