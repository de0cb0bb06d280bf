//! A byte string that is stored inline while it is short: elements of lists and sorted sets.

use super::weight::{Weigh, allocation_bytes};

/// Bytes that are stored inline.
const INLINE_BYTES: usize = 22;

/// Always 24 bytes in size.
#[derive(Debug, Clone)]
pub(crate) enum ShortString {
    Inline { length: u8, bytes: [u8; INLINE_BYTES] },
    Boxed(Box<[u8]>),
}

impl ShortString {
    pub(crate) fn new(text: &[u8]) -> Self {
        if text.len() > INLINE_BYTES {
            return Self::Boxed(text.into());
        }
        let mut bytes = [0; INLINE_BYTES];
        bytes[..text.len()].copy_from_slice(text);
        Self::Inline { length: text.len() as u8, bytes }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Self::Boxed(bytes) => bytes,
        }
    }
}

impl Weigh for ShortString {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Inline { .. } => 0,
            Self::Boxed(bytes) => allocation_bytes(bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_takes_24_bytes() {
        assert_eq!(size_of::<ShortString>(), 24);
        for length in [0, 1, 21, 22, 23, 300] {
            let text = vec![b'x'; length];
            assert_eq!(ShortString::new(&text).as_slice(), text);
            assert_eq!(ShortString::new(&text).heap_bytes() > 0, length > INLINE_BYTES);
        }
    }
}
