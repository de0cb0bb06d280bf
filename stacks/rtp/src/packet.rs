//! The RTP packet ([RFC 3550 section 5.1](https://www.rfc-editor.org/rfc/rfc3550#section-5.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---+-+-+-------+-+-------------+-------------------------------+
//! |V=2|P|X|  CC   |M|     PT      |        sequence number        |
//! +---+-+-+-------+-+-------------+-------------------------------+
//! |                           timestamp                           |
//! +---------------------------------------------------------------+
//! |            synchronization source (SSRC) identifier           |
//! +---------------------------------------------------------------+
//! |            contributing source (CSRC) identifiers             |  CC times
//! +-------------------------------+-------------------------------+
//! |      defined by profile       |       length in words         |  if X
//! +-------------------------------+-------------------------------+
//! |                       header extension                        |
//! +---------------------------------------------------------------+
//! |  payload ..                   | padding, its last byte = count|  if P
//! +---------------------------------------------------------------+
//! ```

use crate::bytes::{Cursor, u16_at, u32_at};
use crate::error::{Malformed, WriteError};
use crate::extension::{Element, Elements, Form};
use crate::limits::MAX_CSRCS;
use crate::ssrcs::Ssrcs;
use crate::types::{Sequence, Ssrc, Timestamp};

/// Bytes of the header without CSRCs and extension.
pub const HEADER_BYTES: usize = 12;

/// The highest payload type.
const MAX_PAYLOAD_TYPE: u8 = 127;

/// The fields that every packet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// What the payload's format says it means: for video the last packet of a frame.
    pub marker: bool,
    /// The payload's format, 0 to 127.
    pub payload_type: u8,
    /// Number of the packet.
    pub sequence: Sequence,
    /// When the payload was sampled.
    pub timestamp: Timestamp,
    /// Whose packet it is.
    pub ssrc: Ssrc,
}

impl Header {
    /// The header of a packet without CSRCs, extension and padding. Of the payload type seven bits count.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[0] = 0x80;
        out[1] = u8::from(self.marker) << 7 | self.payload_type & MAX_PAYLOAD_TYPE;
        out[2..4].copy_from_slice(&self.sequence.0.to_be_bytes());
        out[4..8].copy_from_slice(&self.timestamp.0.to_be_bytes());
        out[8..].copy_from_slice(&self.ssrc.0.to_be_bytes());
        out
    }
}

/// A packet as received: views of the datagram, nothing copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The fields that every packet has.
    pub header: Header,
    /// Whose packets a mixer made this one of (CSRCs), at most 15.
    pub csrcs: Ssrcs<'a>,
    /// The header extension; empty if there is none.
    pub extension: Extension<'a>,
    /// The payload, without padding.
    pub payload: &'a [u8],
    /// Bytes of padding after the payload, the one that counts them included; 0 if there is none.
    pub padding_bytes: u8,
}

impl<'a> Packet<'a> {
    /// Parses a datagram. Costs nothing that grows with it.
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let Some((fixed, rest)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Malformed::new("RTP packet", "has a header of 12 bytes"));
        };
        if fixed[0] >> 6 != 2 {
            return Err(Malformed::new("RTP packet", "has version 2"));
        }
        let Some((csrcs, rest)) = Ssrcs::split(fixed[0] & 0x0f, rest) else {
            return Err(Malformed::new("RTP packet", "has as many CSRCs as it counts"));
        };
        let (extension, rest) = match fixed[0] & 0x10 {
            0 => (Extension::default(), rest),
            _ => Extension::split(rest)?,
        };
        let padding_bytes = match fixed[0] & 0x20 {
            0 => 0,
            _ => padding(rest)?,
        };
        Ok(Self {
            header: Header {
                marker: fixed[1] & 0x80 != 0,
                payload_type: fixed[1] & MAX_PAYLOAD_TYPE,
                sequence: Sequence(u16_at(fixed, 2)),
                timestamp: Timestamp(u32_at(fixed, 4)),
                ssrc: Ssrc(u32_at(fixed, 8)),
            },
            csrcs,
            extension,
            payload: &rest[..rest.len() - usize::from(padding_bytes)],
            padding_bytes,
        })
    }
}

/// The count of padding bytes, from the last byte.
fn padding(rest: &[u8]) -> Result<u8, Malformed> {
    let Some(&count) = rest.last() else {
        return Err(Malformed::new("padding of an RTP packet", "counts itself"));
    };
    if count == 0 || usize::from(count) > rest.len() {
        return Err(Malformed::new("padding of an RTP packet", "is 1 byte to all of the payload"));
    }
    Ok(count)
}

/// A header extension (RFC 3550 section 5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extension<'a> {
    /// The field that the profile defines; 0 if there is no extension.
    pub profile: u16,
    /// The extension's words.
    pub data: &'a [u8],
}

impl<'a> Extension<'a> {
    fn split(rest: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let Some((head, rest)) = rest.split_first_chunk::<4>() else {
            return Err(Malformed::new("RTP header extension", "has a header of 4 bytes"));
        };
        let Some((data, rest)) = rest.split_at_checked(4 * usize::from(u16_at(head, 2))) else {
            return Err(Malformed::new("RTP header extension", "is as long as it says"));
        };
        Ok((Self { profile: u16_at(head, 0), data }, rest))
    }

    /// Its elements, if it is of a form that RFC 8285 knows; none otherwise.
    pub fn elements(self) -> Elements<'a> {
        Elements::new(self.profile, self.data)
    }
}

/// A packet to be written whole. Where the payload is not to be copied, [`Header::to_bytes`] suffices.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgoing<'a> {
    /// The fields that every packet has.
    pub header: Header,
    /// Whose packets this one was made of, at most 15.
    pub csrcs: &'a [Ssrc],
    /// Elements of the header extension (RFC 8285); without any there is no extension.
    pub elements: &'a [Element<'a>],
    /// The payload.
    pub payload: &'a [u8],
    /// Bytes of padding, 1 to 255; 0 for none.
    pub padding_bytes: u8,
}

impl Outgoing<'_> {
    /// Bytes that the packet takes.
    pub fn length(&self) -> usize {
        let extension = match Form::of(self.elements) {
            Some(form) => 4 + form.length(self.elements).next_multiple_of(4),
            None => 0,
        };
        HEADER_BYTES + 4 * self.csrcs.len() + extension + self.payload.len() + usize::from(self.padding_bytes)
    }

    /// Writes the packet to the front of a buffer, and gives its length. Copies the payload.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WriteError> {
        let (needed_bytes, given_bytes) = (self.length(), out.len());
        if self.csrcs.len() > MAX_CSRCS {
            return Err(WriteError::TooManyCsrcs(self.csrcs.len()));
        }
        if self.header.payload_type > MAX_PAYLOAD_TYPE {
            return Err(WriteError::BadPayloadType(self.header.payload_type));
        }
        let form = Form::of(self.elements);
        let words = form.map_or(0, |form| form.length(self.elements).div_ceil(4));
        let words = u16::try_from(words).map_err(|_| WriteError::ExtensionTooLong)?;
        if let Some(bad) = self.elements.iter().find(|element| element.id == 0 || element.data.len() > 255) {
            return Err(WriteError::BadElement { id: bad.id, bytes: bad.data.len() });
        }
        let mut cursor = Cursor::new(out);
        self.write_parts(&mut cursor, form, words).ok_or(WriteError::NoRoom { needed_bytes, given_bytes })?;
        Ok(cursor.length())
    }

    fn write_parts(&self, out: &mut Cursor<'_>, form: Option<Form>, words: u16) -> Option<()> {
        let mut fixed = self.header.to_bytes();
        fixed[0] |= self.csrcs.len() as u8;
        fixed[0] |= u8::from(form.is_some()) << 4;
        fixed[0] |= u8::from(self.padding_bytes > 0) << 5;
        out.bytes(&fixed)?;
        self.csrcs.iter().try_for_each(|csrc| out.u32(csrc.0))?;
        if let Some(form) = form {
            out.u16(form.profile())?;
            out.u16(words)?;
            form.write(self.elements, out)?;
        }
        out.bytes(self.payload)?;
        if let Some(zeros) = self.padding_bytes.checked_sub(1) {
            out.bytes(&[0; 254][..usize::from(zeros)])?;
            out.u8(self.padding_bytes)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
