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

/// Length of the header without CSRCs and extension.
pub const HEADER_BYTES: usize = 12;

/// Maximum payload type.
const MAX_PAYLOAD_TYPE: u8 = 127;

/// The fixed header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// Marker bit; for video, the last packet of a frame.
    pub marker: bool,
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Sequence number.
    pub sequence: Sequence,
    /// Timestamp of the payload.
    pub timestamp: Timestamp,
    /// Synchronisation source.
    pub ssrc: Ssrc,
}

impl Header {
    /// Formats the header of a packet without CSRCs, extension and padding. Uses the low seven bits of the payload type.
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

/// A received packet as views of its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The fixed header fields.
    pub header: Header,
    /// Contributing sources (CSRCs), at most 15.
    pub csrcs: Ssrcs<'a>,
    /// The header extension; empty if absent.
    pub extension: Extension<'a>,
    /// The payload, without padding.
    pub payload: &'a [u8],
    /// Length of the padding including its count byte; 0 without padding.
    pub padding_bytes: u8,
}

impl<'a> Packet<'a> {
    /// Parses a datagram in constant time.
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let Some((fixed, rest)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Malformed::new("RTP packet", "the header of 12 bytes is truncated"));
        };
        if fixed[0] >> 6 != 2 {
            return Err(Malformed::new("RTP packet", "the version is not 2"));
        }
        let Some((csrcs, rest)) = Ssrcs::split(fixed[0] & 0x0f, rest) else {
            return Err(Malformed::new("RTP packet", "the CSRC list is truncated"));
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

/// The number of padding bytes, from the last byte.
fn padding(rest: &[u8]) -> Result<u8, Malformed> {
    let Some(&count) = rest.last() else {
        return Err(Malformed::new("padding of an RTP packet", "the padding count is missing"));
    };
    if count == 0 || usize::from(count) > rest.len() {
        return Err(Malformed::new(
            "padding of an RTP packet",
            "the padding count is 0 or exceeds the payload",
        ));
    }
    Ok(count)
}

/// A header extension (RFC 3550 section 5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extension<'a> {
    /// The profile-defined field; 0 without extension.
    pub profile: u16,
    /// The extension's data.
    pub data: &'a [u8],
}

impl<'a> Extension<'a> {
    fn split(rest: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let Some((head, rest)) = rest.split_first_chunk::<4>() else {
            return Err(Malformed::new("RTP header extension", "the header of 4 bytes is truncated"));
        };
        let Some((data, rest)) = rest.split_at_checked(4 * usize::from(u16_at(head, 2))) else {
            return Err(Malformed::new("RTP header extension", "the data are truncated"));
        };
        Ok((Self { profile: u16_at(head, 0), data }, rest))
    }

    /// Its elements, if it has a form of RFC 8285.
    pub fn elements(self) -> Elements<'a> {
        Elements::new(self.profile, self.data)
    }
}

/// A packet to be written. [`Header::to_bytes`] avoids copying the payload.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgoing<'a> {
    /// The fixed header fields.
    pub header: Header,
    /// Contributing sources, at most 15.
    pub csrcs: &'a [Ssrc],
    /// Elements of the header extension (RFC 8285); if empty, there is no extension.
    pub elements: &'a [Element<'a>],
    /// The payload.
    pub payload: &'a [u8],
    /// Length of the padding, 0 to 255.
    pub padding_bytes: u8,
}

impl Outgoing<'_> {
    /// Length of the packet.
    pub fn length(&self) -> usize {
        let extension = match Form::select(self.elements) {
            Some(form) => 4 + form.length(self.elements).next_multiple_of(4),
            None => 0,
        };
        HEADER_BYTES + 4 * self.csrcs.len() + extension + self.payload.len() + usize::from(self.padding_bytes)
    }

    /// Writes the packet to the start of a buffer and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WriteError> {
        let (needed_bytes, given_bytes) = (self.length(), out.len());
        if self.csrcs.len() > MAX_CSRCS {
            return Err(WriteError::TooManyCsrcs(self.csrcs.len()));
        }
        if self.header.payload_type > MAX_PAYLOAD_TYPE {
            return Err(WriteError::BadPayloadType(self.header.payload_type));
        }
        let form = Form::select(self.elements);
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
