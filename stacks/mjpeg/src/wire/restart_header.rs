//! The restart marker header ([RFC 2435 section 3.1.7](https://www.rfc-editor.org/rfc/rfc2435#section-3.1.7)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-+-+---------------------------+
//! |       restart interval        |F|L|       restart count       |
//! +-------------------------------+-+-+---------------------------+
//! ```

use super::Malformed;

/// Length of the restart header.
pub const RESTART_HEADER_BYTES: usize = 4;

/// F, L and count if restart intervals are not aligned with packets.
const UNALIGNED: u16 = 0xffff;

/// The restart header. F, L and the count allow receivers to decode incomplete frames; this crate's depacketizer ignores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RestartHeader {
    /// Restart interval in minimum coded units (MCU).
    pub interval: u16,
    /// Whether the packet's data start with a restart interval (F).
    pub is_first: bool,
    /// Whether the packet's data end with a restart interval (L).
    pub is_last: bool,
    /// Index of the first restart interval in the packet, 14 bits; 0x3FFF if unaligned.
    pub count: u16,
}

impl RestartHeader {
    /// A header for packets that are not aligned with restart intervals.
    pub fn unaligned(interval: u16) -> Self {
        Self { interval, is_first: true, is_last: true, count: UNALIGNED & 0x3fff }
    }

    /// Parses the header and returns it with the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let Some((head, rest)) = bytes.split_first_chunk::<RESTART_HEADER_BYTES>() else {
            return Err(Malformed::new("the restart header of 4 bytes is truncated"));
        };
        let [i1, i0, c1, c0] = *head;
        let (interval, word) = (u16::from_be_bytes([i1, i0]), u16::from_be_bytes([c1, c0]));
        if interval == 0 {
            return Err(Malformed::new("the restart interval is 0"));
        }
        let (is_first, is_last) = (word & 0x8000 != 0, word & 0x4000 != 0);
        Ok((Self { interval, is_first, is_last, count: word & 0x3fff }, rest))
    }

    /// Formats the header with the low 14 bits of the count.
    pub fn to_bytes(self) -> [u8; RESTART_HEADER_BYTES] {
        let [i1, i0] = self.interval.to_be_bytes();
        let word = u16::from(self.is_first) << 15 | u16::from(self.is_last) << 14 | self.count & 0x3fff;
        let [c1, c0] = word.to_be_bytes();
        [i1, i0, c1, c0]
    }
}
