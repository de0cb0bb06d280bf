//! Integers in network byte order. Callers check that offsets are in range.

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

/// A writer to a buffer. Data that do not fit are not written.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { out, length: 0 }
    }

    /// Number of bytes written.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Writes bytes, or nothing if they do not fit.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.length..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.length += bytes.len();
        Some(())
    }

    pub(crate) fn u8(&mut self, value: u8) -> Option<()> {
        self.bytes(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_be_bytes())
    }

    /// Pads with zeros to a multiple of four bytes from `start`.
    pub(crate) fn align_from(&mut self, start: usize) -> Option<()> {
        let zeros = (self.length - start).next_multiple_of(4) - (self.length - start);
        self.bytes(&[0; 3][..zeros])
    }
}
