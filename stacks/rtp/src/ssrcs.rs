//! Lists of SSRCs, as RTP and RTCP packets have them.

use crate::types::Ssrc;

/// SSRCs one after the other: the CSRCs of a packet, or the sources of a BYE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ssrcs<'a> {
    rest: &'a [u8],
}

impl<'a> Ssrcs<'a> {
    /// The first `count` of these bytes, and what comes after them; none if there are fewer.
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
