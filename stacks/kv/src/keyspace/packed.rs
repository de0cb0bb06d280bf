//! Short byte strings stored contiguously in one allocation: the representation of small collections and of
//! the chunks of lists.
//!
//! Each string has its length before it and, reversed, after it, so that iteration is possible from both
//! ends. The overhead is two bytes for strings shorter than 128 bytes. Access by position walks from the
//! nearer end.

use super::short::ShortString;
use super::weight::allocation_bytes;

/// Shorter lengths take one byte.
const ONE_BYTE: usize = 1 << 7;
/// Shorter lengths take two bytes, the first of which starts with the bits 10. Longer ones take five, the
/// first of them [`FIVE`].
const TWO_BYTES: usize = 1 << 14;
const FIVE: u8 = 0xc0;

/// Byte strings by position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    len: u32,
}

/// A length as stored before a string; after it the bytes are reversed.
struct Head {
    bytes: [u8; 5],
    len: usize,
}

impl Head {
    fn new(length: usize) -> Self {
        let mut bytes = [0; 5];
        let len = match length {
            _ if length < ONE_BYTE => {
                bytes[0] = length as u8;
                1
            }
            _ if length < TWO_BYTES => {
                bytes[..2].copy_from_slice(&(length as u16 | 0x8000).to_be_bytes());
                2
            }
            _ => {
                bytes[0] = FIVE;
                // Does not truncate: a client's string has at most 512 MiB.
                bytes[1..].copy_from_slice(&(length as u32).to_be_bytes());
                5
            }
        };
        Self { bytes, len }
    }

    fn front(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn back(&self) -> impl Iterator<Item = u8> {
        self.front().iter().rev().copied()
    }

    /// Decodes a length from its bytes, and returns it with their number.
    fn read(mut next: impl FnMut() -> Option<u8>) -> Option<(usize, usize)> {
        let first = next()?;
        if usize::from(first) < ONE_BYTE {
            return Some((first.into(), 1));
        }
        if first != FIVE {
            return Some((usize::from(u16::from_be_bytes([first, next()?])) & (TWO_BYTES - 1), 2));
        }
        let length = u32::from_be_bytes([next()?, next()?, next()?, next()?]);
        Some((length as usize, 5))
    }
}

/// Bytes that a string occupies.
pub(crate) fn packed_bytes(text: &[u8]) -> usize {
    text.len() + 2 * Head::new(text.len()).len
}

/// A double-ended iterator.
#[derive(Debug, Clone)]
pub(crate) struct Iter<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut head = self.bytes.iter().copied();
        let (length, width) = Head::read(|| head.next())?;
        let text = self.bytes.get(width..width + length)?;
        self.bytes = self.bytes.get(length + 2 * width..)?;
        Some(text)
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let mut head = self.bytes.iter().rev().copied();
        let (length, width) = Head::read(|| head.next())?;
        let end = self.bytes.len().checked_sub(width)?;
        let start = end.checked_sub(length)?;
        let text = &self.bytes[start..end];
        self.bytes = self.bytes.get(..start.checked_sub(width)?)?;
        Some(text)
    }
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes of all strings with their lengths.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Heap memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        allocation_bytes(self.bytes.capacity())
    }

    pub(crate) fn iter(&self) -> Iter<'_> {
        Iter { bytes: &self.bytes }
    }

    /// Strings from a position to the end.
    pub(crate) fn iter_from(&self, index: usize) -> Iter<'_> {
        Iter { bytes: &self.bytes[self.offset(index)..] }
    }

    /// Strings from the beginning to a position (exclusive).
    pub(crate) fn iter_until(&self, index: usize) -> Iter<'_> {
        Iter { bytes: &self.bytes[..self.offset(index)] }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter_from(index).next()
    }

    /// Inserts before `index`, or at the end.
    pub(crate) fn insert(&mut self, index: usize, text: &[u8]) {
        self.insert_parts(index, &[text]);
    }

    /// Inserts one string that is passed in parts.
    pub(crate) fn insert_parts(&mut self, index: usize, parts: &[&[u8]]) {
        let offset = self.offset(index);
        self.splice(offset..offset, parts);
        self.len += 1;
    }

    /// Replaces the string at a position.
    pub(crate) fn replace(&mut self, index: usize, text: &[u8]) {
        if let Some(old) = self.get(index) {
            let (offset, width) = (self.offset(index), packed_bytes(old));
            self.splice(offset..offset + width, &[text]);
        }
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.insert(self.len(), text);
    }

    /// Removes `count` strings from a position.
    pub(crate) fn remove(&mut self, index: usize, count: usize) {
        let (start, end) = (self.offset(index), self.offset(index + count));
        self.bytes.drain(start..end);
        self.len -= count.min(self.len().saturating_sub(index)) as u32;
        if self.bytes.len() < self.bytes.capacity() / 2 {
            self.bytes.shrink_to(room(self.bytes.len()));
        }
    }

    pub(crate) fn take(&mut self, index: usize) -> Option<ShortString> {
        let text = ShortString::new(self.get(index)?);
        self.remove(index, 1);
        Some(text)
    }

    /// Splits off the strings from a position onwards.
    pub(crate) fn split_off(&mut self, index: usize) -> Self {
        let offset = self.offset(index);
        let len = self.len().saturating_sub(index) as u32;
        let bytes = self.bytes.split_off(offset);
        self.len -= len;
        self.bytes.shrink_to(room(offset));
        Self { bytes, len }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.make_room(other.bytes.len());
        self.bytes.extend_from_slice(&other.bytes);
        self.len += other.len;
    }

    /// The offset of the string at a position, or of the end.
    fn offset(&self, index: usize) -> usize {
        let mut iter = self.iter();
        if index >= self.len() {
            return self.bytes.len();
        }
        if index <= self.len() / 2 {
            let _ = index.checked_sub(1).and_then(|last| iter.nth(last));
            return self.bytes.len() - iter.bytes.len();
        }
        let _ = iter.nth_back(self.len() - 1 - index);
        iter.bytes.len()
    }

    /// Replaces a range of bytes by one string that is passed in parts.
    fn splice(&mut self, old: std::ops::Range<usize>, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum();
        let head = Head::new(length);
        let width = length + 2 * head.len;
        let (start, tail) = (old.start, self.bytes.len() - old.end);
        self.make_room(width.saturating_sub(old.len()));
        let end = start + width;
        if width > old.len() {
            self.bytes.resize(end + tail, 0);
        }
        self.bytes.copy_within(old.end..old.end + tail, end);
        self.bytes.truncate(end + tail);
        let mut at = start;
        for part in std::iter::once(&head.front()).chain(parts) {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.bytes[at..end].iter_mut().zip(head.back()).for_each(|(byte, new)| *byte = new);
    }

    /// Grows by an eighth more than needed: most collections are small and few grow.
    fn make_room(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            self.bytes.reserve_exact(room(needed + self.bytes.len() / 8) - self.bytes.len());
        }
    }
}

/// The usable size of an allocation of at least this many bytes; the allocator uses one word of it.
fn room(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32) - 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn lengths_of_all_widths_from_both_ends() {
        let lengths = [0, 1, 127, 128, 129, 16_383, 16_384, 70_000];
        let mut packed = Packed::default();
        for length in lengths {
            packed.push(&vec![length as u8; length]);
        }
        let there: Vec<_> = packed.iter().map(<[u8]>::len).collect();
        let back: Vec<_> = packed.iter().rev().map(<[u8]>::len).collect();
        assert_eq!(there, lengths);
        assert!(back.iter().eq(lengths.iter().rev()));
        let taken: usize = lengths.iter().map(|length| packed_bytes(&vec![0; *length])).sum();
        assert_eq!(packed.byte_len(), taken);
    }

    #[test]
    fn behaves_like_a_vector() {
        let mut random = Random::new(11);
        let (mut packed, mut model) = (Packed::default(), Vec::<Vec<u8>>::new());
        for step in 0..20_000 {
            let at = random.below(model.len() + 1);
            let text = vec![step as u8; random.below(if step % 50 == 0 { 20_000 } else { 200 })];
            match random.below(if step % 4000 < 3000 { 6 } else { 12 }) {
                0..3 => {
                    packed.insert(at, &text);
                    model.insert(at, text);
                }
                3 if at < model.len() => {
                    packed.replace(at, &text);
                    model[at] = text;
                }
                4 => {
                    let rest = packed.split_off(at);
                    packed.append(&rest);
                }
                _ if at < model.len() => {
                    let count = random.below(model.len() - at).min(3);
                    packed.remove(at, count);
                    model.drain(at..at + count);
                    if let Some(taken) = packed.take(at) {
                        assert_eq!(taken.as_slice(), model.remove(at));
                    }
                }
                _ => {}
            }
            assert_eq!(packed.len(), model.len());
            if step % 100 == 0 {
                assert!(packed.iter().eq(model.iter().map(Vec::as_slice)));
                let at = random.below(model.len() + 1);
                assert!(packed.iter_from(at).eq(model[at..].iter().map(Vec::as_slice)));
                assert!(packed.iter_until(at).rev().eq(model[..at].iter().rev().map(Vec::as_slice)));
                assert_eq!(packed.get(at), model.get(at).map(Vec::as_slice));
            }
        }
    }

    #[test]
    fn little_capacity_is_unused() {
        let mut packed = Packed::default();
        (0..1000).for_each(|_| packed.push(b"0123456789"));
        assert!(packed.memory_bytes() < packed.byte_len() * 5 / 4);
        packed.remove(10, 990);
        assert!(packed.memory_bytes() < 200);
    }
}
