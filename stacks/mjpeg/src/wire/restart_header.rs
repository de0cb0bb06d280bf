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

/// Bytes of the restart header.
pub const RESTART_HEADER_BYTES: usize = 4;

/// F, L and count where intervals are not aligned with packets, so that a frame must be put together before it is decoded.
const UNALIGNED: u16 = 0xffff;

/// How often restart markers come. F, L and the count help to decode a frame of which packets are lost, which we do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RestartHeader {
    /// Minimum coded units between restart markers.
    pub interval: u16,
    /// Whether the packet's data begin with an interval (F).
    pub is_first: bool,
    /// Whether they end with one (L).
    pub is_last: bool,
    /// Position of the first interval of the data, of 14 bits; 0x3FFF if unaligned.
    pub count: u16,
}

impl RestartHeader {
    /// The header of a sender that does not align intervals with packets.
    pub fn unaligned(interval: u16) -> Self {
        Self { interval, is_first: true, is_last: true, count: UNALIGNED & 0x3fff }
    }

    /// Parses the header, and gives what comes after it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let Some((head, rest)) = bytes.split_first_chunk::<RESTART_HEADER_BYTES>() else {
            return Err(Malformed::new("types 64 to 127 have a restart header of 4 bytes"));
        };
        let [i1, i0, c1, c0] = *head;
        let (interval, word) = (u16::from_be_bytes([i1, i0]), u16::from_be_bytes([c1, c0]));
        if interval == 0 {
            return Err(Malformed::new("a restart interval is at least 1"));
        }
        let (is_first, is_last) = (word & 0x8000 != 0, word & 0x4000 != 0);
        Ok((Self { interval, is_first, is_last, count: word & 0x3fff }, rest))
    }

    /// The header's bytes; of the count 14 bits count.
    pub fn to_bytes(self) -> [u8; RESTART_HEADER_BYTES] {
        let [i1, i0] = self.interval.to_be_bytes();
        let word = u16::from(self.is_first) << 15 | u16::from(self.is_last) << 14 | self.count & 0x3fff;
        let [c1, c0] = word.to_be_bytes();
        [i1, i0, c1, c0]
    }
}
