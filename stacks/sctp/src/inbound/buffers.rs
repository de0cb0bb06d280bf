//! Buffers that messages are put together in.

use bytes::{Bytes, BytesMut};

/// A buffer that is used again is at least this long, so that several short messages share it.
const BLOCK_BYTES: usize = 1 << 16;
/// At most this much is set aside for a message of which only the beginning is known.
const EXPECTED_BYTES_MAX: usize = 1 << 20;

/// The bytes of a whole message.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    /// Not copied yet.
    Borrowed(&'a [u8]),
    /// Part of a buffer that other messages use too.
    Shared(Bytes),
    /// In an allocation of its own.
    Owned(Bytes),
}

impl Payload<'_> {
    /// In an allocation of its own.
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

/// A message that is being put together.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: BytesMut,
    /// Lent by [`Buffers`], to be given back.
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

/// One buffer that is used again and again, as long as the application has let go of the messages in it; it is as long
/// as the messages of late, so that a message is copied into it once and never moved. While it is lent, messages
/// in pieces beside that one get buffers that grow with them: a peer cannot make us set aside room for each.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    spare: BytesMut,
    is_lent: bool,
    /// How long the messages of late were.
    expected_bytes: usize,
}

impl Buffers {
    /// A buffer for a message whose first bytes are these.
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

    /// The message in the buffer is whole.
    pub(super) fn finish(&mut self, mut buffer: Buffer) -> Payload<'static> {
        // Falls slowly, so that short messages between the long ones do not make the next long one grow.
        let fallen = self.expected_bytes - self.expected_bytes / 4;
        self.expected_bytes = buffer.len().max(fallen).min(EXPECTED_BYTES_MAX);
        if !buffer.is_lent {
            return Payload::Owned(buffer.bytes.freeze());
        }
        let message = buffer.bytes.split().freeze();
        self.take_back(buffer);
        Payload::Shared(message)
    }

    /// The message in the buffer will never be whole.
    pub(super) fn discard(&mut self, buffer: Buffer) {
        if buffer.is_lent {
            self.take_back(buffer);
        }
    }

    /// Gives the memory back.
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
