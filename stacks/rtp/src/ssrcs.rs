//! Lists of SSRCs in RTP and RTCP packets.

use crate::types::Ssrc;

/// A list of SSRCs: the CSRCs of a packet or the sources of a BYE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ssrcs<'a> {
    rest: &'a [u8],
}

impl<'a> Ssrcs<'a> {
    /// Splits `count` SSRCs from the input; `None` if it is too short.
    pub(crate) fn split(count: u8, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (list, rest) = bytes.split_at_checked(4 * usize::from(count))?;
        Some((Self { rest: list }, rest))
    }
}

impl Iterator for Ssrcs<'_> {
    type Item = Ssrc;

    fn next(&mut self) -> Option<Ssrc> {
        let (ssrc, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(Ssrc(u32::from_be_bytes(*ssrc)))
    }
}
