//! Lists: one packed chunk while small, then a sequence of chunks.

use super::packed::Packed;
use super::sequence::{Chunk, Sequence};
use super::short::ShortString;

/// The elements of a list.
#[derive(Debug, Clone)]
pub(crate) enum List {
    Small(Packed),
    Large(Box<Sequence<Packed>>),
}

impl List {
    pub(crate) fn new() -> Self {
        Self::Small(Packed::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(chunk) => chunk.len(),
            Self::Large(sequence) => sequence.len(),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Small(chunk) => chunk.memory_bytes(),
            Self::Large(sequence) => size_of::<Sequence<Packed>>() + sequence.memory_bytes(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        match self {
            Self::Small(chunk) => chunk.get(index),
            Self::Large(sequence) => sequence.get(index),
        }
    }

    pub(crate) fn push_back(&mut self, element: &[u8]) {
        self.insert(self.len(), element);
    }

    pub(crate) fn push_front(&mut self, element: &[u8]) {
        self.insert(0, element);
    }

    /// Inserts before `index`, or at the end.
    pub(crate) fn insert(&mut self, index: usize, element: &[u8]) {
        if let Self::Small(chunk) = self {
            if !chunk.is_full_for(&element) {
                return chunk.insert(index, element);
            }
            let bytes = chunk.byte_len();
            *self = Self::Large(Box::new(Sequence::from_chunk(std::mem::take(chunk), bytes)));
        }
        if let Self::Large(sequence) = self {
            sequence.insert(index, element);
        }
    }

    /// Replaces the element at an existing position.
    pub(crate) fn replace(&mut self, index: usize, element: &[u8]) {
        if self.remove(index).is_some() {
            self.insert(index, element);
        }
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<ShortString> {
        match self {
            Self::Small(chunk) => chunk.take(index),
            Self::Large(sequence) => sequence.remove(index),
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<ShortString> {
        self.remove(0)
    }

    pub(crate) fn pop_back(&mut self) -> Option<ShortString> {
        self.remove(self.len().checked_sub(1)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.iter_from(0)
    }

    /// Elements from a position to the end.
    pub(crate) fn iter_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let (small, large) = self.parts();
        let small = small.into_iter().flat_map(move |chunk| chunk.iter_from(index));
        small.chain(large.into_iter().flat_map(move |sequence| sequence.iter_from(index)))
    }

    /// Elements from a position to the front.
    pub(crate) fn iter_back_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let (small, large) = self.parts();
        let small = small.into_iter().flat_map(move |chunk| chunk.iter_until(index + 1).rev());
        small.chain(large.into_iter().flat_map(move |sequence| sequence.iter_back_from(index)))
    }

    fn parts(&self) -> (Option<&Packed>, Option<&Sequence<Packed>>) {
        match self {
            Self::Small(chunk) => (Some(chunk), None),
            Self::Large(sequence) => (None, Some(sequence)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::CHUNK_MAX;

    #[test]
    fn order_is_preserved_when_growing() {
        let mut list = List::new();
        let numbers = |list: &List| -> Vec<usize> {
            list.iter().map(|text| std::str::from_utf8(text).unwrap().parse().unwrap()).collect()
        };
        for n in 0..3 * CHUNK_MAX {
            assert_eq!(matches!(list, List::Small(_)), n <= CHUNK_MAX);
            list.push_back(n.to_string().as_bytes());
        }
        assert!(numbers(&list).into_iter().eq(0..3 * CHUNK_MAX));
        list.replace(200, b"7");
        assert_eq!(
            (list.get(199), list.get(200), list.get(201)),
            (Some(&b"199"[..]), Some(&b"7"[..]), Some(&b"201"[..]))
        );
        assert_eq!(list.iter_back_from(1).collect::<Vec<_>>(), [b"1", b"0"]);
        assert_eq!(list.pop_front().unwrap().as_slice(), b"0");
        while list.pop_back().is_some() {}
        assert_eq!(list.len(), 0);
    }
}
