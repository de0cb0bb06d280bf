//! Reassembly buffers.

use bytes::{Bytes, BytesMut};

/// Smallest reusable buffer, so that several short messages share it.
const BLOCK_BYTES: usize = 1 << 16;
/// Most memory reserved for a message of which only the beginning is known.
const EXPECTED_BYTES_MAX: usize = 1 << 20;

/// The bytes of a complete message.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    /// Not copied yet.
    Borrowed(&'a [u8]),
    /// Part of a buffer shared with other messages.
    Shared(Bytes),
    /// A separate allocation.
    Owned(Bytes),
}

impl Payload<'_> {
    /// Converts it into a separate allocation.
    pub(super) fn into_owned(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => Bytes::copy_from_slice(&bytes),
            Self::Owned(bytes) => bytes,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Shared(bytes) | Self::Owned(bytes) => bytes.len(),
        }
    }
}

/// A message being reassembled.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: BytesMut,
    /// Lent by [`Buffers`], and to be returned.
    is_lent: bool,
}

impl Buffer {
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// A single buffer that is reused once the application has dropped the messages in it. It is as long as
/// recent messages, so that a message is copied into it once and never moved. While it is in use, other
/// fragmented messages get buffers that grow with them: a peer cannot make us reserve memory for each.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    spare: BytesMut,
    is_lent: bool,
    /// Length of recent messages.
    expected_bytes: usize,
}

impl Buffers {
    /// A buffer for a message that starts with these bytes.
    pub(super) fn begin(&mut self, first: &[u8]) -> Buffer {
        let mut buffer = if self.is_lent {
            Buffer { bytes: BytesMut::with_capacity(first.len()), is_lent: false }
        } else {
            let expected = self.expected_bytes.max(first.len());
            if !self.spare.try_reclaim(expected) {
                self.spare = BytesMut::with_capacity(expected.max(BLOCK_BYTES));
            }
            self.is_lent = true;
            Buffer { bytes: std::mem::take(&mut self.spare), is_lent: true }
        };
        buffer.append(first);
        buffer
    }

    /// Returns the completed message.
    pub(super) fn finish(&mut self, mut buffer: Buffer) -> Payload<'static> {
        // Decays slowly, so that short messages in between do not make the next long one reallocate.
        let fallen = self.expected_bytes - self.expected_bytes / 4;
        self.expected_bytes = buffer.len().max(fallen).min(EXPECTED_BYTES_MAX);
        if !buffer.is_lent {
            return Payload::Owned(buffer.bytes.freeze());
        }
        let message = buffer.bytes.split().freeze();
        self.take_back(buffer);
        Payload::Shared(message)
    }

    /// Discards an incomplete message.
    pub(super) fn discard(&mut self, buffer: Buffer) {
        if buffer.is_lent {
            self.take_back(buffer);
        }
    }

    /// Releases the memory.
    pub(super) fn release(&mut self) {
        self.spare = BytesMut::new();
        self.expected_bytes = 0;
    }

    fn take_back(&mut self, mut buffer: Buffer) {
        buffer.bytes.clear();
        self.spare = buffer.bytes;
        self.is_lent = false;
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.spare.capacity()
    }
}
