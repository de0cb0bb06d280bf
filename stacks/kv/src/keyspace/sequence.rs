//! A sequence with fast access by position at both ends and in the middle: the representation of long lists
//! and sorted sets.
//!
//! Elements are stored in chunks, and chunks in blocks, each with its count. A change moves the elements of
//! one chunk; a position is found by summing the counts of blocks, then of chunks.

use std::collections::VecDeque;

use super::packed::{Packed, packed_bytes};
use super::short::ShortString;
use super::weight::Weigh;
use crate::limits::{CHUNK_BYTES, CHUNK_MAX};

/// Adjacent elements of a sequence.
pub(crate) trait Chunk: Default {
    /// The type that is inserted.
    type New<'a>;
    /// A reference to a stored element.
    type Element<'a>
    where
        Self: 'a;
    /// The type that is removed.
    type Taken;

    fn len(&self) -> usize;
    /// Whether another element would exceed the chunk's limit.
    fn is_full_for(&self, new: &Self::New<'_>) -> bool;
    /// Whether the chunk should be merged with the next one.
    fn joins(&self, next: &Self) -> bool;
    /// Approximate memory of an element, in bytes.
    fn weight(element: &Self::New<'_>) -> usize;
    fn weight_taken(element: &Self::Taken) -> usize;
    fn insert(&mut self, at: usize, new: Self::New<'_>);
    fn remove(&mut self, at: usize) -> Option<Self::Taken>;
    fn split_off(&mut self, at: usize) -> Self;
    fn append(&mut self, next: Self);
    /// Elements from a position to the end.
    fn iter_from(&self, at: usize) -> impl Iterator<Item = Self::Element<'_>>;
    /// Elements before a position, in reverse.
    fn iter_back_from(&self, end: usize) -> impl Iterator<Item = Self::Element<'_>>;
    fn get(&self, at: usize) -> Option<Self::Element<'_>> {
        self.iter_from(at).next()
    }
    /// The number of leading elements that satisfy a predicate, in a chunk that is partitioned by it.
    fn partition_point(&self, before: impl Fn(Self::Element<'_>) -> bool) -> usize;
}

/// Elements of a fixed size.
impl<T: Weigh> Chunk for VecDeque<T> {
    type New<'a> = T;
    type Element<'a>
        = &'a T
    where
        T: 'a;
    type Taken = T;

    fn len(&self) -> usize {
        self.len()
    }

    fn is_full_for(&self, _: &T) -> bool {
        self.len() >= CHUNK_MAX
    }

    fn joins(&self, next: &Self) -> bool {
        self.len() < CHUNK_MAX / 4 && next.len() < CHUNK_MAX / 2
    }

    fn weight(element: &T) -> usize {
        size_of::<T>() + element.heap_bytes()
    }

    fn weight_taken(element: &T) -> usize {
        Self::weight(element)
    }

    fn insert(&mut self, at: usize, new: T) {
        self.insert(at, new);
    }

    fn remove(&mut self, at: usize) -> Option<T> {
        self.remove(at)
    }

    fn split_off(&mut self, at: usize) -> Self {
        self.split_off(at)
    }

    fn append(&mut self, mut next: Self) {
        Self::append(self, &mut next);
    }

    fn iter_from(&self, at: usize) -> impl Iterator<Item = &T> {
        self.range(at.min(self.len())..)
    }

    fn iter_back_from(&self, end: usize) -> impl Iterator<Item = &T> {
        self.range(..end.min(self.len())).rev()
    }

    fn get(&self, at: usize) -> Option<&T> {
        self.get(at)
    }

    fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        self.partition_point(before)
    }
}

/// Strings. A string that is longer than a chunk has its own.
impl Chunk for Packed {
    type New<'a> = &'a [u8];
    type Element<'a> = &'a [u8];
    type Taken = ShortString;

    fn len(&self) -> usize {
        self.len()
    }

    fn is_full_for(&self, new: &&[u8]) -> bool {
        self.len() > 0 && (self.len() >= CHUNK_MAX || self.byte_len() + new.len() > CHUNK_BYTES)
    }

    fn joins(&self, next: &Self) -> bool {
        self.len() < CHUNK_MAX / 4
            && next.len() < CHUNK_MAX / 2
            && self.byte_len() + next.byte_len() < CHUNK_BYTES / 2
    }

    fn weight(element: &&[u8]) -> usize {
        packed_bytes(element)
    }

    fn weight_taken(element: &ShortString) -> usize {
        packed_bytes(element.as_slice())
    }

    fn insert(&mut self, at: usize, new: &[u8]) {
        self.insert(at, new);
    }

    fn remove(&mut self, at: usize) -> Option<ShortString> {
        self.take(at)
    }

    fn split_off(&mut self, at: usize) -> Self {
        self.split_off(at)
    }

    fn append(&mut self, next: Self) {
        self.append(&next);
    }

    fn iter_from(&self, at: usize) -> impl Iterator<Item = &[u8]> {
        self.iter_from(at)
    }

    fn iter_back_from(&self, end: usize) -> impl Iterator<Item = &[u8]> {
        self.iter_until(end).rev()
    }

    fn partition_point(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        self.iter().take_while(|text| before(text)).count()
    }
}

#[derive(Debug, Clone)]
struct Block<C> {
    len: usize,
    chunks: VecDeque<C>,
}

/// Elements by position.
#[derive(Debug, Clone)]
pub(crate) struct Sequence<C> {
    len: usize,
    weight: usize,
    blocks: VecDeque<Block<C>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    block: usize,
    chunk: usize,
    offset: usize,
}

impl<C: Chunk> Sequence<C> {
    pub(crate) fn new() -> Self {
        Self { len: 0, weight: 0, blocks: VecDeque::new() }
    }

    /// A sequence that starts with a chunk, whose elements use `weight` bytes.
    pub(crate) fn from_chunk(chunk: C, weight: usize) -> Self {
        let len = chunk.len();
        Self { len, weight, blocks: VecDeque::from([Block { len, chunks: VecDeque::from([chunk]) }]) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Approximate memory in bytes; chunks are rarely full.
    pub(crate) fn memory_bytes(&self) -> usize {
        let chunks: usize = self.blocks.iter().map(|block| block.chunks.len()).sum();
        self.weight * 9 / 8 + chunks * (size_of::<C>() + 16) + self.blocks.len() * size_of::<Block<C>>()
    }

    pub(crate) fn get(&self, index: usize) -> Option<C::Element<'_>> {
        let place = self.place(index)?;
        self.blocks[place.block].chunks[place.chunk].get(place.offset)
    }

    /// Inserts before `index`, or at the end.
    pub(crate) fn insert(&mut self, index: usize, new: C::New<'_>) {
        self.weight += C::weight(&new);
        let mut place =
            if index >= self.len { self.end() } else { self.place(index).unwrap_or_else(|| self.end()) };
        self.len += 1;
        if self.blocks.is_empty() {
            self.blocks.push_back(Block { len: 0, chunks: VecDeque::from([C::default()]) });
        }
        let block = &mut self.blocks[place.block];
        block.len += 1;
        if block.chunks[place.chunk].is_full_for(&new) {
            // Sequences mostly grow at the ends: a full chunk stays full there.
            let before = place.chunk.checked_sub(1).filter(|_| place.offset == 0);
            if let Some(before) = before.filter(|at| !block.chunks[*at].is_full_for(&new)) {
                place = Place { chunk: before, offset: block.chunks[before].len(), ..place };
            } else {
                if place.offset > 0 {
                    let rest = block.chunks[place.chunk].split_off(place.offset);
                    place.chunk += 1;
                    if rest.len() > 0 {
                        block.chunks.insert(place.chunk, rest);
                    }
                }
                block.chunks.insert(place.chunk, C::default());
                place.offset = 0;
            }
        }
        block.chunks[place.chunk].insert(place.offset, new);
        if block.chunks.len() > CHUNK_MAX {
            self.split_block(place.block);
        }
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<C::Taken> {
        let place = self.place(index)?;
        let block = &mut self.blocks[place.block];
        let taken = block.chunks[place.chunk].remove(place.offset)?;
        self.weight -= C::weight_taken(&taken);
        self.len -= 1;
        block.len -= 1;
        if let Some(next) = block.chunks.get(place.chunk + 1)
            && block.chunks[place.chunk].joins(next)
            && let Some(next) = block.chunks.remove(place.chunk + 1)
        {
            // Adjacent chunks that are mostly empty are merged.
            block.chunks[place.chunk].append(next);
        }
        if block.chunks[place.chunk].len() == 0 {
            block.chunks.remove(place.chunk);
            if block.chunks.is_empty() {
                self.blocks.remove(place.block);
            }
        }
        Some(taken)
    }

    /// Elements from a position to the end.
    pub(crate) fn iter_from(&self, index: usize) -> impl Iterator<Item = C::Element<'_>> {
        let place = self.place(index).unwrap_or_else(|| self.end());
        let first = self.blocks.get(place.block).and_then(|block| block.chunks.get(place.chunk));
        let head = first.into_iter().flat_map(move |chunk| chunk.iter_from(place.offset));
        let chunks =
            self.blocks.get(place.block).into_iter().flat_map(move |b| b.chunks.iter().skip(place.chunk + 1));
        let blocks = self.blocks.iter().skip(place.block + 1).flat_map(|block| block.chunks.iter());
        head.chain(chunks.chain(blocks).flat_map(|chunk| chunk.iter_from(0)))
    }

    /// Elements from a position to the front.
    pub(crate) fn iter_back_from(&self, index: usize) -> impl Iterator<Item = C::Element<'_>> {
        let place = self.place(index);
        let (block, chunk, end) = place.map_or((0, 0, 0), |p| (p.block, p.chunk, p.offset + 1));
        let first = self.blocks.get(block).and_then(|b| b.chunks.get(chunk));
        let head = first.into_iter().flat_map(move |c| c.iter_back_from(end));
        let chunks = self.blocks.get(block).into_iter().flat_map(move |b| b.chunks.range(..chunk).rev());
        let blocks =
            self.blocks.range(..block.min(self.blocks.len())).rev().flat_map(|b| b.chunks.iter().rev());
        head.chain(chunks.chain(blocks).flat_map(|c| c.iter_back_from(c.len())))
    }

    /// The position of the first element for which `before` is false, in a sequence that is partitioned by
    /// it.
    pub(crate) fn partition_point(&self, before: impl Fn(C::Element<'_>) -> bool) -> usize {
        let first = |block: &Block<C>| block.chunks.front().and_then(|c| c.get(0)).is_some_and(&before);
        let block_at = self.blocks.partition_point(first).saturating_sub(1);
        let Some(block) = self.blocks.get(block_at) else { return 0 };
        let chunk_at = block.chunks.partition_point(|c| c.get(0).is_some_and(&before)).saturating_sub(1);
        let Some(chunk) = block.chunks.get(chunk_at) else { return 0 };
        let skipped: usize = self.blocks.range(..block_at).map(|b| b.len).sum();
        let chunks: usize = block.chunks.range(..chunk_at).map(C::len).sum();
        skipped + chunks + chunk.partition_point(before)
    }

    fn split_block(&mut self, at: usize) {
        let block = &mut self.blocks[at];
        let chunks = block.chunks.split_off(CHUNK_MAX / 2);
        let len = chunks.iter().map(C::len).sum();
        block.len -= len;
        self.blocks.insert(at + 1, Block { len, chunks });
    }

    /// The position after the last element.
    fn end(&self) -> Place {
        let block = self.blocks.len().saturating_sub(1);
        let chunks = self.blocks.get(block).map(|b| &b.chunks);
        let chunk = chunks.map_or(0, |c| c.len().saturating_sub(1));
        let offset = chunks.and_then(|c| c.get(chunk)).map_or(0, C::len);
        Place { block, chunk, offset }
    }

    fn place(&self, index: usize) -> Option<Place> {
        if index >= self.len {
            return None;
        }
        if index + 1 == self.len {
            let end = self.end();
            return Some(Place { offset: end.offset.checked_sub(1)?, ..end });
        }
        let mut left = index;
        for (block_at, block) in self.blocks.iter().enumerate() {
            if left >= block.len {
                left -= block.len;
                continue;
            }
            for (chunk_at, chunk) in block.chunks.iter().enumerate() {
                if left < chunk.len() {
                    return Some(Place { block: block_at, chunk: chunk_at, offset: left });
                }
                left -= chunk.len();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Applies the same changes to a sequence and a vector.
    fn as_a_vector<C: Chunk>(
        new: impl for<'a> Fn(&'a [u8]) -> C::New<'a>,
        text: impl Fn(C::Element<'_>) -> Vec<u8>,
        taken: impl Fn(C::Taken) -> Vec<u8>,
    ) {
        let mut random = Random::new(5);
        let (mut sequence, mut model) = (Sequence::<C>::new(), Vec::<Vec<u8>>::new());
        for step in 0..40_000 {
            let growing = step < 25_000;
            let at = match random.below(4) {
                0 => 0,
                1 => model.len(),
                _ => random.below(model.len() + 1),
            };
            if random.below(10) < if growing { 8 } else { 1 } {
                let length = random.below(if step % 100 == 0 { 2 * CHUNK_BYTES } else { 40 });
                let value = vec![b'a' + (step % 26) as u8; length];
                sequence.insert(at, new(&value));
                model.insert(at, value);
            } else {
                let expected = (at < model.len()).then(|| model.remove(at));
                assert_eq!(sequence.remove(at).map(&taken), expected);
            }
            assert_eq!(sequence.len(), model.len());
            if step % 2500 == 0 || model.len() < 3 {
                assert!(sequence.iter_from(0).map(&text).eq(model.iter().cloned()));
                let rest = model[at.min(model.len())..].iter().cloned();
                assert!(sequence.iter_from(at).map(&text).eq(rest));
                if at < model.len() {
                    assert_eq!(sequence.get(at).map(&text).as_ref(), Some(&model[at]));
                    let back = model[..=at].iter().rev().cloned();
                    assert!(sequence.iter_back_from(at).map(&text).eq(back));
                }
            }
        }
        while sequence.remove(sequence.len().saturating_sub(1)).is_some() {}
        assert_eq!((sequence.len(), sequence.weight, sequence.blocks.len()), (0, 0, 0));
    }

    #[test]
    fn strings_behave_like_a_vector() {
        as_a_vector::<Packed>(|text| text, <[u8]>::to_vec, |taken| taken.as_slice().to_vec());
    }

    #[test]
    fn fixed_size_elements_behave_like_a_vector() {
        as_a_vector::<VecDeque<ShortString>>(
            ShortString::new,
            |text| text.as_slice().to_vec(),
            |taken| taken.as_slice().to_vec(),
        );
    }

    #[test]
    fn chunks_filled_at_an_end_are_full() {
        for front in [true, false] {
            let mut sequence = Sequence::<Packed>::new();
            (0..10 * CHUNK_MAX).for_each(|n| sequence.insert(if front { 0 } else { n }, b"element"));
            let chunks: usize = sequence.blocks.iter().map(|block| block.chunks.len()).sum();
            assert_eq!(chunks, 10);
        }
    }
}
