//! Source description ([RFC 3550 section 6.5](https://www.rfc-editor.org/rfc/rfc3550#section-6.5)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+---------+---------------+-------------------------------+
//! |V=2|P|   SC    |  SDES = 202   |            length             |
//! +---+-+---------+---------------+-------------------------------+
//! |                           SSRC/CSRC                           |  SC times, each padded to words
//! +---------------+---------------+-------------------------------+
//! |     item      |    length     |  text ..                      |  items, ended by a zero
//! +---------------+---------------+-------------------------------+
//! ```

use super::RawPacket;
use crate::bytes::Cursor;
use crate::error::Malformed;
use crate::limits::{MAX_REPORT_BLOCKS, MAX_TEXT_BYTES};
use crate::types::Ssrc;

/// The type of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// Canonical name: `user@host` or random (section 6.5.1, RFC 7022). Mandatory for every source.
    Cname,
    /// The user's name.
    Name,
    /// E-mail address.
    Email,
    /// Telephone number.
    Phone,
    /// Location of the user.
    Location,
    /// Name of the application.
    Tool,
    /// Status note.
    Note,
    /// Private extension.
    Private,
    /// Another type.
    Other(u8),
}

impl ItemKind {
    fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Cname,
            2 => Self::Name,
            3 => Self::Email,
            4 => Self::Phone,
            5 => Self::Location,
            6 => Self::Tool,
            7 => Self::Note,
            8 => Self::Private,
            _ => Self::Other(number),
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Cname => 1,
            Self::Name => 2,
            Self::Email => 3,
            Self::Phone => 4,
            Self::Location => 5,
            Self::Tool => 6,
            Self::Note => 7,
            Self::Private => 8,
            Self::Other(number) => number,
        }
    }
}

/// An item of a source description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its type.
    pub kind: ItemKind,
    /// The text, at most 255 bytes; should be UTF-8.
    pub text: &'a [u8],
}

/// The items of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The SSRC.
    pub ssrc: Ssrc,
    /// The items.
    pub items: Items<'a>,
}

/// The items of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let (&[kind, length], rest) = self.rest.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(usize::from(length)).filter(|_| kind != 0)?;
        self.rest = rest;
        Some(Item { kind: ItemKind::from_number(kind), text })
    }
}

/// The chunks of a source description, at most 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks<'a> {
    left: u8,
    rest: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (chunk, rest) = split_chunk(self.rest)?;
        self.rest = rest;
        Some(chunk)
    }
}

/// Splits the first chunk from the input; `None` if it is not terminated.
fn split_chunk(bytes: &[u8]) -> Option<(Chunk<'_>, &[u8])> {
    let (ssrc, mut rest) = bytes.split_first_chunk::<4>()?;
    let items = rest;
    while *rest.first()? != 0 {
        let length = usize::from(*rest.get(1)?);
        rest = rest.get(2 + length..)?;
    }
    let length = items.len() - rest.len();
    // > terminated by one or more null octets .. until the next 32-bit boundary
    let after = bytes.get((4 + length + 1).next_multiple_of(4)..)?;
    Some((Chunk { ssrc: Ssrc(u32::from_be_bytes(*ssrc)), items: Items { rest: &items[..length] } }, after))
}

/// A source description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sdes<'a> {
    chunks: Chunks<'a>,
}

impl<'a> Sdes<'a> {
    /// Packet type.
    pub const KIND: u8 = 202;

    /// The chunks, one per source.
    pub fn chunks(self) -> Chunks<'a> {
        self.chunks
    }

    pub(super) fn parse(raw: RawPacket<'a>) -> Result<Self, Malformed> {
        let chunks = Chunks { left: raw.count, rest: raw.body };
        if chunks.count() != usize::from(raw.count) {
            return Err(Malformed::new("RTCP SDES", "a chunk is truncated or not terminated"));
        }
        Ok(Self { chunks })
    }
}

/// Writes the chunks; `None` if they do not fit or an item exceeds 255 bytes.
pub(super) fn write(chunks: &[(Ssrc, &[Item<'_>])], out: &mut Cursor<'_>) -> Option<u8> {
    if chunks.len() > MAX_REPORT_BLOCKS {
        return None;
    }
    for (ssrc, items) in chunks {
        let start = out.length();
        out.u32(ssrc.0)?;
        for item in *items {
            let length = u8::try_from(item.text.len()).ok().filter(|_| item.kind.number() != 0)?;
            debug_assert!(item.text.len() <= MAX_TEXT_BYTES);
            out.bytes(&[item.kind.number(), length])?;
            out.bytes(item.text)?;
        }
        out.u8(0)?;
        out.align_from(start)?;
    }
    Some(chunks.len() as u8)
}
