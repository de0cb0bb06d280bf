//! Writes the value of a chunk front to back, within its bounds.

use super::CHUNK_HEADER_BYTES;
use super::bytes::put_u16;

/// The space for a chunk's value in a packet. What does not fit is not written and changes nothing.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, length: 0 }
    }

    /// Number of bytes written.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Writes a 16-bit number.
    pub(super) fn u16(&mut self, value: u16) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes a 32-bit number.
    pub(super) fn u32(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.length..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.length += bytes.len();
        Some(())
    }

    /// Writes a parameter or an error cause: type, length, and the value that `fill` writes. Pads the
    /// previous one first; the padding of the last one belongs to the chunk (RFC 9260 section 3.2).
    pub(super) fn parameter(
        &mut self,
        kind: u16,
        fill: impl FnOnce(&mut Cursor<'_>) -> Option<()>,
    ) -> Option<()> {
        let start = self.length.next_multiple_of(4);
        let (header, value) = self.out.get_mut(start..)?.split_first_chunk_mut::<CHUNK_HEADER_BYTES>()?;
        let mut value = Cursor::new(value);
        fill(&mut value)?;
        let end = start + CHUNK_HEADER_BYTES + value.length;
        put_u16(header, 0, kind);
        put_u16(header, 2, u16::try_from(end - start).ok()?);
        self.out[self.length..start].fill(0);
        self.length = end;
        Some(())
    }
}
