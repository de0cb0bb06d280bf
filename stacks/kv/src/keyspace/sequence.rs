//! A sequence with quick access by position, at both ends and in the middle: what lists and sorted sets stand in.
//!
//! Elements in chunks, chunks in blocks, each with its count. A change moves one chunk's elements; a position is found by
//! adding up blocks, then chunks.

use std::collections::VecDeque;

use super::weight::Weigh;
use crate::limits::CHUNK_MAX;

#[derive(Debug, Clone)]
struct Block<T> {
    len: usize,
    chunks: VecDeque<VecDeque<T>>,
}

/// Elements by position.
#[derive(Debug, Clone)]
pub(crate) struct Sequence<T> {
    len: usize,
    heap: usize,
    blocks: VecDeque<Block<T>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    block: usize,
    chunk: usize,
    offset: usize,
}

impl<T: Weigh> Sequence<T> {
    pub(crate) fn new() -> Self {
        Self { len: 0, heap: 0, blocks: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory, about: chunks are seldom full.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.heap + self.len * size_of::<T>() * 5 / 4 + self.blocks.len() * CHUNK_MAX
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let place = self.place(index)?;
        self.blocks[place.block].chunks[place.chunk].get(place.offset)
    }

    /// Puts another element at a position that exists.
    pub(crate) fn replace(&mut self, index: usize, value: T) {
        if let Some(place) = self.place(index) {
            self.heap += value.heap_bytes();
            let old =
                std::mem::replace(&mut self.blocks[place.block].chunks[place.chunk][place.offset], value);
            self.heap -= old.heap_bytes();
        }
    }

    pub(crate) fn push_back(&mut self, value: T) {
        self.insert(self.len, value);
    }

    pub(crate) fn push_front(&mut self, value: T) {
        self.insert(0, value);
    }

    /// Inserts before `index`, or at the end.
    pub(crate) fn insert(&mut self, index: usize, value: T) {
        self.heap += value.heap_bytes();
        let place =
            if index >= self.len { self.end() } else { self.place(index).unwrap_or_else(|| self.end()) };
        self.len += 1;
        if self.blocks.is_empty() {
            self.blocks.push_back(Block { len: 0, chunks: VecDeque::from([VecDeque::new()]) });
        }
        let block = &mut self.blocks[place.block];
        block.len += 1;
        let chunk = &mut block.chunks[place.chunk];
        chunk.insert(place.offset, value);
        if chunk.len() > CHUNK_MAX {
            // Sequences mostly grow at an end: a full chunk stays behind there.
            let at = match place.offset {
                0 => 1,
                offset if offset + 1 == chunk.len() => CHUNK_MAX,
                _ => CHUNK_MAX / 2,
            };
            let rest = chunk.split_off(at);
            block.chunks.insert(place.chunk + 1, rest);
            if block.chunks.len() > CHUNK_MAX {
                self.split_block(place.block);
            }
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        self.remove(0)
    }

    pub(crate) fn pop_back(&mut self) -> Option<T> {
        self.remove(self.len.checked_sub(1)?)
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        let place = self.place(index)?;
        let block = &mut self.blocks[place.block];
        let chunk = &mut block.chunks[place.chunk];
        let value = chunk.remove(place.offset)?;
        self.heap -= value.heap_bytes();
        self.len -= 1;
        block.len -= 1;
        let small = chunk.len() < CHUNK_MAX / 4;
        if small
            && let Some(next) = block.chunks.get(place.chunk + 1)
            && next.len() < CHUNK_MAX / 2
        {
            // Neighbours that are mostly empty become one.
            if let Some(mut next) = block.chunks.remove(place.chunk + 1) {
                block.chunks[place.chunk].append(&mut next);
            }
        }
        if block.chunks[place.chunk].is_empty() {
            block.chunks.remove(place.chunk);
            if block.chunks.is_empty() {
                self.blocks.remove(place.block);
            }
        }
        Some(value)
    }

    /// Elements from a position on.
    pub(crate) fn iter_from(&self, index: usize) -> impl Iterator<Item = &T> {
        let place = self.place(index).unwrap_or_else(|| self.end());
        let first = self.blocks.get(place.block).and_then(|block| block.chunks.get(place.chunk));
        let head = first.into_iter().flat_map(move |chunk| chunk.range(place.offset.min(chunk.len())..));
        let chunks =
            self.blocks.get(place.block).into_iter().flat_map(move |b| b.chunks.iter().skip(place.chunk + 1));
        let blocks = self.blocks.iter().skip(place.block + 1).flat_map(|block| block.chunks.iter());
        head.chain(chunks.chain(blocks).flatten())
    }

    /// Elements from a position on, towards the front.
    pub(crate) fn iter_back_from(&self, index: usize) -> impl Iterator<Item = &T> {
        let place = self.place(index);
        let (block, chunk, offset) = place.map_or((0, 0, None), |p| (p.block, p.chunk, Some(p.offset)));
        let first = self.blocks.get(block).and_then(|b| b.chunks.get(chunk));
        let head = first.into_iter().flat_map(move |c| c.range(..offset.map_or(0, |o| o + 1)).rev());
        let chunks = self.blocks.get(block).into_iter().flat_map(move |b| b.chunks.range(..chunk).rev());
        let blocks =
            self.blocks.range(..block.min(self.blocks.len())).rev().flat_map(|b| b.chunks.iter().rev());
        head.chain(chunks.chain(blocks).flat_map(|c| c.iter().rev()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flat_map(|block| block.chunks.iter()).flatten()
    }

    /// The position of the first element for which `before` is false, in a sequence that is ordered by it.
    pub(crate) fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let first = |block: &Block<T>| block.chunks.front().and_then(VecDeque::front).is_some_and(&before);
        let block_at = self.blocks.partition_point(first).saturating_sub(1);
        let Some(block) = self.blocks.get(block_at) else { return 0 };
        let chunk_at = block.chunks.partition_point(|c| c.front().is_some_and(&before)).saturating_sub(1);
        let Some(chunk) = block.chunks.get(chunk_at) else { return 0 };
        let skipped: usize = self.blocks.range(..block_at).map(|b| b.len).sum();
        let chunks: usize = block.chunks.range(..chunk_at).map(VecDeque::len).sum();
        skipped + chunks + chunk.partition_point(before)
    }

    fn split_block(&mut self, at: usize) {
        let block = &mut self.blocks[at];
        let chunks = block.chunks.split_off(CHUNK_MAX / 2);
        let len = chunks.iter().map(VecDeque::len).sum();
        block.len -= len;
        self.blocks.insert(at + 1, Block { len, chunks });
    }

    /// Behind the last element.
    fn end(&self) -> Place {
        let block = self.blocks.len().saturating_sub(1);
        let chunks = self.blocks.get(block).map(|b| &b.chunks);
        let chunk = chunks.map_or(0, |c| c.len().saturating_sub(1));
        let offset = chunks.and_then(|c| c.get(chunk)).map_or(0, VecDeque::len);
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
    use crate::keyspace::short::Short;
    use crate::random::Random;

    fn texts(items: impl Iterator<Item = Short>) -> Vec<Vec<u8>> {
        items.map(|s| s.as_slice().to_vec()).collect()
    }

    #[test]
    fn as_a_vector() {
        let mut random = Random::new(5);
        let (mut sequence, mut model) = (Sequence::new(), Vec::<Vec<u8>>::new());
        for step in 0..40_000 {
            let growing = step < 25_000;
            let at = match random.below(4) {
                0 => 0,
                1 => model.len(),
                _ => random.below(model.len() + 1),
            };
            if random.below(10) < if growing { 8 } else { 1 } {
                let value = vec![b'a' + (step % 26) as u8; random.below(40)];
                model.insert(at, value.clone());
                sequence.insert(at, Short::new(&value));
            } else {
                let expected = (at < model.len()).then(|| model.remove(at));
                assert_eq!(sequence.remove(at).map(|s| s.as_slice().to_vec()), expected);
            }
            assert_eq!(sequence.len(), model.len());
            if step % 2500 == 0 || model.len() < 3 {
                assert_eq!(texts(sequence.iter().cloned()), model);
                assert_eq!(texts(sequence.iter_from(at).cloned()), model[at.min(model.len())..]);
                let back: Vec<_> = model.iter().take(at + 1).rev().cloned().collect();
                if at < model.len() {
                    assert_eq!(texts(sequence.iter_back_from(at).cloned()), back);
                }
            }
        }
        while sequence.pop_back().is_some() {}
        assert_eq!((sequence.len(), sequence.heap), (0, 0));
    }
}
