//! The packet: common header and chunks ([RFC 9260 section 3](https://www.rfc-editor.org/rfc/rfc9260#section-3)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |          source port          |       destination port        |
//! +-------------------------------+-------------------------------+
//! |                       verification tag                        |
//! +---------------------------------------------------------------+
//! |                checksum (CRC32c, little-endian)               |
//! +===============+===============+===============================+
//! |  chunk type   |     flags     | length (header and value)     |
//! +---------------+---------------+-------------------------------+
//! |           value, padded with zeros to a multiple of 4         |
//! +---------------------------------------------------------------+
//! |                            ... more chunks                    |
//! ```

use super::bytes::{put_u16, put_u32, u16_at, u32_at};

/// Length of the common header.
pub const HEADER_BYTES: usize = 12;

/// Length of a chunk's header.
pub const CHUNK_HEADER_BYTES: usize = 4;

/// Longest packet written, so that the length of every chunk fits into 16 bits.
const PACKET_BYTES_MAX: usize = 65_532;

const CHECKSUM_AT: usize = 8;

/// Malformed bytes, which are dropped silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {rule}")]
pub struct Malformed {
    /// The packet or chunk type.
    pub what: &'static str,
    /// The violated rule.
    pub rule: &'static str,
}

/// The common header without the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// SCTP port of the sender.
    pub source_port: u16,
    /// SCTP port of the receiver.
    pub destination_port: u16,
    /// Verification tag.
    pub verification_tag: u32,
}

impl Header {
    /// Parses the header and the chunks after it. Does not verify the checksum: see [`checksum_holds`].
    #[inline]
    pub fn parse(packet: &[u8]) -> Result<(Self, Chunks<'_>), Malformed> {
        let Some((head, rest)) = packet.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Malformed { what: "packet", rule: "must have the 12 bytes of the common header" });
        };
        let header = Self {
            source_port: u16_at(head, 0),
            destination_port: u16_at(head, 2),
            verification_tag: u32_at(head, 4),
        };
        Ok((header, Chunks { rest }))
    }
}

/// The chunks of a packet in order. Returns an error for the first truncated chunk, then ends.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

/// A chunk: type, flags and value, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type.
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// The bytes after the chunk's length, without padding. At most 65,531 bytes.
    pub value: &'a [u8],
}

impl RawChunk<'_> {
    /// The chunk's header as it preceded the value: an error cause that reports the chunk contains both (RFC
    /// 9260 section 3.3.10.6).
    pub fn header(&self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut header = [self.kind, self.flags, 0, 0];
        // No parsed chunk is longer: see `value`. A longer, hand-made slice is reported truncated.
        let length = u16::try_from(self.value.len() + CHUNK_HEADER_BYTES).unwrap_or(u16::MAX);
        put_u16(&mut header, 2, length);
        header
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some(head) = self.rest.first_chunk::<CHUNK_HEADER_BYTES>() else {
            return match self.rest {
                [] => None,
                _ => self.cut("must have the 4 bytes of a chunk's header"),
            };
        };
        // A length below that of the header would cause an endless loop; one beyond the packet is
        // truncated.
        let length = usize::from(u16_at(head, 2));
        let Some(value) = self.rest.get(CHUNK_HEADER_BYTES..length) else {
            return self.cut("must be as long as its length says");
        };
        let chunk = RawChunk { kind: head[0], flags: head[1], value };
        // The padding of the last chunk may be missing.
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(chunk))
    }
}

impl<'a> Chunks<'a> {
    /// A sequence of chunks without a common header.
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// Ends the iteration with an error.
    #[cold]
    fn cut(&mut self, rule: &'static str) -> Option<Result<RawChunk<'a>, Malformed>> {
        self.rest = &[];
        Some(Err(Malformed { what: "chunk", rule }))
    }
}

/// Whether the CRC32c of a packet is correct (RFC 9260 section 6.8, appendix A), or zero where that is
/// allowed (RFC 9653).
#[inline]
pub fn checksum_holds(packet: &[u8], zero_allowed: bool) -> bool {
    let Some((head, rest)) = packet.split_first_chunk::<HEADER_BYTES>() else {
        return false;
    };
    let mut bare = *head;
    put_u32(&mut bare, CHECKSUM_AT, 0);
    // The only little-endian number of SCTP: appendix A reverses the bytes of the remainder.
    let told = u32_at(head, CHECKSUM_AT).swap_bytes();
    (told == 0 && zero_allowed) || told == crc32c::crc32c_append(crc32c::crc32c(&bare), rest)
}

/// Writes a packet into a caller-provided buffer; never allocates. `room` returns the remaining space.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    /// A multiple of 4 bytes, and at least the common header.
    out: &'a mut [u8],
    /// Bytes written: a multiple of 4, and at least the common header.
    length: usize,
}

impl<'a> PacketWriter<'a> {
    /// Starts a packet of at most `out.len()` bytes, rounded down to a multiple of 4. No packet is longer
    /// than 65,532 bytes.
    ///
    /// # Panics
    /// If the buffer is shorter than the 12 bytes of the common header.
    #[inline]
    pub fn new(out: &'a mut [u8], header: Header) -> Self {
        let limit = out.len().min(PACKET_BYTES_MAX) & !3;
        let out = &mut out[..limit];
        let head = out.first_chunk_mut::<HEADER_BYTES>().expect("a buffer for at least the common header");
        put_u16(head, 0, header.source_port);
        put_u16(head, 2, header.destination_port);
        put_u32(head, 4, header.verification_tag);
        put_u32(head, CHECKSUM_AT, 0);
        Self { out, length: HEADER_BYTES }
    }

    /// Remaining space, a multiple of 4: a chunk of this length including its header can be written.
    #[inline]
    pub fn room(&self) -> usize {
        self.out.len() - self.length
    }

    /// Whether no chunk has been written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == HEADER_BYTES
    }

    /// Writes one chunk with a value of `length` bytes filled in by `fill`; pads with zeros to a multiple of
    /// 4.
    ///
    /// # Panics
    /// If it does not fit: check [`room`](Self::room) first.
    #[inline]
    pub fn chunk(&mut self, kind: u8, flags: u8, length: usize, fill: impl FnOnce(&mut [u8])) {
        let length = length + CHUNK_HEADER_BYTES;
        let padded = length.next_multiple_of(4);
        let chunk = &mut self.out[self.length..self.length + padded];
        // The padding is in the last four bytes; the value is written over the rest of them.
        if let Some(last) = chunk.last_chunk_mut::<4>() {
            *last = [0; 4];
        }
        write_chunk_header(chunk, kind, flags, length);
        fill(&mut chunk[CHUNK_HEADER_BYTES..length]);
        self.length += padded;
    }

    /// Writes one chunk with this value. Returns false and writes nothing if it does not fit.
    pub(super) fn chunk_of(&mut self, kind: u8, flags: u8, value: &[u8]) -> bool {
        let fits = value.len() + CHUNK_HEADER_BYTES <= self.room();
        if fits {
            self.chunk(kind, flags, value.len(), |place| place.copy_from_slice(value));
        }
        fits
    }

    /// Writes one chunk whose length is known only afterwards: `fill` receives all remaining space and
    /// returns the number of bytes written. If it returns `None`, or not even a chunk header fits, nothing is
    /// written. Returns whether a chunk was written.
    pub(super) fn chunk_within(
        &mut self,
        kind: u8,
        flags: u8,
        fill: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> bool {
        let rest = &mut self.out[self.length..];
        let Some((_, value)) = rest.split_first_chunk_mut::<CHUNK_HEADER_BYTES>() else {
            return false;
        };
        let Some(written) = fill(value) else {
            return false;
        };
        let length = written + CHUNK_HEADER_BYTES;
        let padded = length.next_multiple_of(4);
        rest[length..padded].fill(0);
        write_chunk_header(rest, kind, flags, length);
        self.length += padded;
        true
    }

    /// Completes the packet with its CRC32c, or zero, and returns its length.
    #[inline]
    pub fn finish(self, zero_checksum: bool) -> usize {
        if !zero_checksum {
            let checksum = crc32c::crc32c(&self.out[..self.length]);
            self.out[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        }
        self.length
    }
}

/// Writes type, flags and length. `length` includes the header and is at most `PACKET_BYTES_MAX`.
#[inline(always)]
fn write_chunk_header(chunk: &mut [u8], kind: u8, flags: u8, length: usize) {
    let [high, low] = (length as u16).to_be_bytes();
    chunk[..CHUNK_HEADER_BYTES].copy_from_slice(&[kind, flags, high, low]);
}

#[cfg(test)]
mod tests;
