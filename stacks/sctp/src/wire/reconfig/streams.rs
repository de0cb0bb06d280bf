//! Lists of stream numbers.

use crate::types::StreamId;
use crate::wire::bytes::u16_at;

/// Stream numbers: as received, or, with `Streams::from`, ours to be written.
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a>(Source<'a>);

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    /// Two bytes each.
    Wire(&'a [[u8; 2]]),
    Ours(&'a [StreamId]),
}

impl<'a> Streams<'a> {
    /// `None` if there is half a number at the end.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        match bytes.as_chunks::<2>() {
            (streams, []) => Some(Self(Source::Wire(streams))),
            _ => None,
        }
    }
}

impl<'a> From<&'a [StreamId]> for Streams<'a> {
    fn from(streams: &'a [StreamId]) -> Self {
        Self(Source::Ours(streams))
    }
}

impl Iterator for Streams<'_> {
    type Item = StreamId;

    fn next(&mut self) -> Option<StreamId> {
        match &mut self.0 {
            Source::Wire(streams) => {
                let (stream, rest) = streams.split_first()?;
                *streams = rest;
                Some(StreamId(u16_at(stream, 0)))
            }
            Source::Ours(streams) => {
                let (stream, rest) = streams.split_first()?;
                *streams = rest;
                Some(*stream)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.0 {
            Source::Wire(streams) => streams.len(),
            Source::Ours(streams) => streams.len(),
        };
        (left, Some(left))
    }
}

/// `len() == 0` stands for all streams (RFC 6525 section 4.1).
impl ExactSizeIterator for Streams<'_> {}

/// Equal if they give the same streams.
impl PartialEq for Streams<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for Streams<'_> {}
