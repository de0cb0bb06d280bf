//! DATA ([RFC 9260 section 3.3.1](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1)) and I-DATA
//! ([RFC 8260 section 2.1](https://www.rfc-editor.org/rfc/rfc8260#section-2.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |   type = 0    |  res  |I|U|B|E|            length             |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |    stream sequence number     |
//! +-------------------------------+-------------------------------+
//! |                  payload protocol identifier                  |
//! +---------------------------------------------------------------+
//! |                        payload, padded                        |
//! +---------------------------------------------------------------+
//!
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |   type = 64   |  res  |I|U|B|E|            length             |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |           reserved            |
//! +-------------------------------+-------------------------------+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! |  B: payload protocol identifier, else: fragment sequence nr.  |
//! +---------------------------------------------------------------+
//! |                        payload, padded                        |
//! +---------------------------------------------------------------+
//! ```

use super::bytes::{put_u16, put_u32, u16_at, u32_at};
use super::{Malformed, PacketWriter, RawChunk};
use crate::types::{Fsn, Mid, Ppid, Ssn, StreamId, Tsn};

const IMMEDIATE: u8 = 8;
const UNORDERED: u8 = 4;
const BEGIN: u8 = 2;
const END: u8 = 1;

/// Length of the fields of DATA after the chunk header.
const FIELD_BYTES: usize = 12;
/// Length of the fields of I-DATA after the chunk header.
const INTERLEAVED_FIELD_BYTES: usize = 16;

/// A chunk of user data, DATA or I-DATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream.
    pub stream: StreamId,
    /// Its position in the stream; determines the chunk type.
    pub order: Order,
    /// Payload protocol identifier. In I-DATA only the first fragment carries it; 0 in the others.
    pub ppid: Ppid,
    /// U: unordered.
    pub unordered: bool,
    /// B: first fragment of a message.
    pub begin: bool,
    /// E: last fragment of a message.
    pub end: bool,
    /// I: the sender requests an immediate SACK (RFC 9260 section 3.3.1).
    pub immediate: bool,
    /// The payload, never empty.
    pub payload: &'a [u8],
}

/// Position in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// DATA: the number of the message in its stream; meaningless if unordered.
    Ssn(Ssn),
    /// I-DATA: message identifier, and number of the fragment in the message, starting at 0.
    Mid(Mid, Fsn),
}

impl<'a> Data<'a> {
    /// Chunk type DATA.
    pub const KIND: u8 = 0;
    /// Chunk type I-DATA.
    pub const KIND_INTERLEAVED: u8 = 64;
    /// Bytes before the payload of DATA, including the chunk header.
    pub const OVERHEAD: usize = 16;
    /// Bytes before the payload of I-DATA, including the chunk header.
    pub const OVERHEAD_INTERLEAVED: usize = 20;

    /// Parses a chunk of either type. A chunk without payload is malformed but must not be ignored: see
    /// [`tsn_without_payload`](Self::tsn_without_payload).
    #[inline]
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        match chunk.kind {
            Self::KIND => Self::parse_plain(chunk),
            Self::KIND_INTERLEAVED => Self::parse_interleaved(chunk),
            _ => Err(Malformed { what: "DATA", rule: "must be of type 0 or 64" }),
        }
    }

    #[inline]
    fn parse_plain(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((fields, payload @ [_, ..])) = chunk.value.split_first_chunk::<FIELD_BYTES>() else {
            return Err(Malformed { what: "DATA", rule: "must have its fields and at least one byte" });
        };
        let order = Order::Ssn(Ssn(u16_at(fields, 6)));
        Ok(Self::with_flags(
            chunk.flags,
            u32_at(fields, 0),
            u16_at(fields, 4),
            order,
            u32_at(fields, 8),
            payload,
        ))
    }

    #[inline]
    fn parse_interleaved(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((fields, payload @ [_, ..])) = chunk.value.split_first_chunk::<INTERLEAVED_FIELD_BYTES>()
        else {
            return Err(Malformed { what: "I-DATA", rule: "must have its fields and at least one byte" });
        };
        let shared = u32_at(fields, 12);
        let (ppid, fsn) = if chunk.flags & BEGIN == 0 { (0, shared) } else { (shared, 0) };
        let order = Order::Mid(Mid(u32_at(fields, 8)), Fsn(fsn));
        Ok(Self::with_flags(chunk.flags, u32_at(fields, 0), u16_at(fields, 4), order, ppid, payload))
    }

    #[inline(always)]
    fn with_flags(flags: u8, tsn: u32, stream: u16, order: Order, ppid: u32, payload: &'a [u8]) -> Self {
        Self {
            tsn: Tsn(tsn),
            stream: StreamId(stream),
            order,
            ppid: Ppid(ppid),
            unordered: flags & UNORDERED != 0,
            begin: flags & BEGIN != 0,
            end: flags & END != 0,
            immediate: flags & IMMEDIATE != 0,
            payload,
        }
    }

    /// The TSN of a DATA or I-DATA chunk with all fields and no payload; `None` for every other chunk. Such a
    /// chunk ends the association (RFC 9260 section 6.2: an ABORT with the cause "No User Data").
    pub fn tsn_without_payload(chunk: &RawChunk<'_>) -> Option<Tsn> {
        let fields = match chunk.kind {
            Self::KIND => FIELD_BYTES,
            Self::KIND_INTERLEAVED => INTERLEAVED_FIELD_BYTES,
            _ => return None,
        };
        let tsn = chunk.value.first_chunk::<4>().filter(|_| chunk.value.len() == fields)?;
        Some(Tsn(u32_at(tsn, 0)))
    }

    /// Writes the chunk; `OVERHEAD` or `OVERHEAD_INTERLEAVED` and the payload must fit.
    #[inline]
    pub fn write(&self, packet: &mut PacketWriter<'_>) {
        let flags = u8::from(self.end)
            | u8::from(self.begin) << 1
            | u8::from(self.unordered) << 2
            | u8::from(self.immediate) << 3;
        match self.order {
            Order::Ssn(ssn) => {
                packet.chunk(Self::KIND, flags, FIELD_BYTES + self.payload.len(), |value| {
                    let (fields, payload) = split_fields::<FIELD_BYTES>(value);
                    put_u32(fields, 0, self.tsn.0);
                    put_u16(fields, 4, self.stream.0);
                    put_u16(fields, 6, ssn.0);
                    put_u32(fields, 8, self.ppid.0);
                    payload.copy_from_slice(self.payload);
                });
            }
            Order::Mid(mid, fsn) => {
                let length = INTERLEAVED_FIELD_BYTES + self.payload.len();
                packet.chunk(Self::KIND_INTERLEAVED, flags, length, |value| {
                    let (fields, payload) = split_fields::<INTERLEAVED_FIELD_BYTES>(value);
                    put_u32(fields, 0, self.tsn.0);
                    put_u16(fields, 4, self.stream.0);
                    put_u16(fields, 6, 0);
                    put_u32(fields, 8, mid.0);
                    put_u32(fields, 12, if self.begin { self.ppid.0 } else { fsn.0 });
                    payload.copy_from_slice(self.payload);
                });
            }
        }
    }
}

#[inline(always)]
fn split_fields<const N: usize>(value: &mut [u8]) -> (&mut [u8; N], &mut [u8]) {
    value.split_first_chunk_mut().expect("the value has space for its fields")
}

#[cfg(test)]
mod tests;
