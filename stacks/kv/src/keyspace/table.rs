//! A hash table ordered by hash that grows one segment at a time.
//!
//! A directory maps the highest bits of a hash to a segment; within a segment, entries are ordered by hash,
//! with gaps. A full segment is split in two, so an insertion moves at most about a thousand entries, however
//! large the table is. Since the order never changes, a scan's cursor is a hash: a scan in steps visits every
//! entry that is present throughout, even if the table grows or shrinks.

use super::entry::{Entry, EntryValue};
use super::hasher::{Hasher, TableHasher};
use super::segment::Segment;
use crate::limits::{DIRECTORY_BITS_MAX, RANDOM_TRIES, SCAN_SLOTS_PER_ELEMENT, SEGMENT_ENTRIES_MAX};
use crate::random::Random;

/// The position of an entry; valid until the table is modified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    segment: usize,
    slot: usize,
}

/// Entries by their keys.
#[derive(Debug)]
pub(crate) struct Table<V> {
    hasher: TableHasher,
    len: usize,
    /// Heap memory of the entries, and the number of slots.
    heap: usize,
    slots: usize,
    /// The directory has 2^`bits` elements.
    bits: u32,
    directory: Vec<u32>,
    segments: Vec<Segment<V>>,
    /// Slots of the largest segment.
    widest: usize,
}

/// A table with string values.
pub(crate) type TextTable = Table<Vec<u8>>;

impl<V: EntryValue> Table<V> {
    pub(crate) fn new(hasher: &Hasher) -> Self {
        Self::with(hasher.for_table())
    }

    fn with(hasher: TableHasher) -> Self {
        Self {
            hasher,
            len: 0,
            heap: 0,
            slots: 0,
            bits: 0,
            directory: Vec::new(),
            segments: vec![Segment::default()],
            widest: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u32 {
        self.hasher.hash(key)
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let segments = self.segments.len() * (size_of::<Segment<V>>() + size_of::<usize>() * 2);
        self.heap + self.slots * size_of::<Entry<V>>() + segments + self.directory.len() * size_of::<u32>()
    }

    #[inline]
    pub(crate) fn find(&self, hash: u32, key: &[u8]) -> Option<Position> {
        let segment = self.segment_of(hash);
        self.segments[segment].find(hash, key).map(|slot| Position { segment, slot })
    }

    /// Prefetches the memory that [`find`](Self::find) will access. The result has no meaning.
    pub(crate) fn prefetch(&self, key: &[u8]) -> u32 {
        let hash = self.hash(key);
        self.segments[self.segment_of(hash)].prefetch(hash)
    }

    /// An entry with this hash that satisfies a predicate.
    pub(crate) fn find_where(&self, hash: u32, is_it: impl Fn(&Entry<V>) -> bool) -> Option<Position> {
        let segment = self.segment_of(hash);
        self.segments[segment].find_where(hash, is_it).map(|slot| Position { segment, slot })
    }

    #[inline]
    pub(crate) fn at(&self, position: Position) -> &Entry<V> {
        &self.segments[position.segment].slots()[position.slot]
    }

    /// For changes that do not affect the entry's size; otherwise use [`change`](Self::change).
    #[inline]
    pub(crate) fn at_mut(&mut self, position: Position) -> &mut Entry<V> {
        self.segments[position.segment].slot_mut(position.slot)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry<V>> {
        self.find(self.hash(key), key).map(|position| self.at(position))
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Modifies an entry and updates the memory accounting.
    pub(crate) fn change<R>(&mut self, position: Position, change: impl FnOnce(&mut Entry<V>) -> R) -> R {
        let entry = self.segments[position.segment].slot_mut(position.slot);
        let before = entry.heap_bytes();
        let result = change(entry);
        let after = entry.heap_bytes();
        self.heap = self.heap + after - before;
        result
    }

    /// Inserts an entry whose key does not exist.
    pub(crate) fn insert(&mut self, entry: Entry<V>) {
        let hash = entry.hash();
        self.heap += entry.heap_bytes();
        self.len += 1;
        let mut entry = entry;
        loop {
            let index = self.segment_of(hash);
            let segment = &mut self.segments[index];
            if segment.has_room() {
                match segment.insert(entry) {
                    Ok(()) => return,
                    Err(back) => entry = back,
                }
            }
            if self.segments[index].len() >= SEGMENT_ENTRIES_MAX
                && self.segments[index].depth() < DIRECTORY_BITS_MAX
            {
                self.split(index, hash);
            } else {
                let before = self.segments[index].slots().len();
                self.segments[index].grow();
                self.resized(index, before);
            }
        }
    }

    /// Sets a string entry; `true` if the key is new.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        let hash = self.hash(key);
        match self.find(hash, key) {
            Some(position) => {
                self.change(position, |entry| entry.set_string(value));
                false
            }
            None => {
                self.insert(Entry::text(hash, key, value));
                true
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Entry<V>> {
        let position = self.find(self.hash(key), key)?;
        Some(self.take(position))
    }

    pub(crate) fn take(&mut self, position: Position) -> Entry<V> {
        let before = self.segments[position.segment].slots().len();
        let entry = self.segments[position.segment].remove(position.slot);
        self.resized(position.segment, before);
        self.heap -= entry.heap_bytes();
        self.len -= 1;
        if self.len == 0 && self.segments.len() > 1 {
            *self = Self::with(self.hasher.clone());
        }
        entry
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<V>> {
        self.segments.iter().flat_map(|segment| segment.slots().iter().filter(|entry| !entry.is_vacant()))
    }

    /// A uniformly random entry.
    pub(crate) fn random(&self, random: &mut Random) -> Option<&Entry<V>> {
        if self.len == 0 {
            return None;
        }
        for _ in 0..RANDOM_TRIES {
            let segment = &self.segments[random.below(self.segments.len())];
            match segment.slots().get(random.below(self.widest)) {
                Some(entry) if !entry.is_vacant() => return Some(entry),
                _ => {}
            }
        }
        // Almost empty: takes the next entry after a random position, which is slightly biased.
        let start = random.below(self.segments.len());
        let (before, after) = self.segments.split_at(start);
        let mut all = after.iter().chain(before).flat_map(|segment| segment.slots());
        all.find(|entry| !entry.is_vacant())
    }

    /// Visits entries from a random hash onwards: candidates for eviction, adjacent in memory.
    pub(crate) fn sample(&self, random: &mut Random, count: usize, mut visit: impl FnMut(&Entry<V>)) {
        let mut left = count;
        // If there are no entries after the random position, continues from the beginning.
        for start in [random.next() as u32, 0] {
            let mut cursor = u64::from(start);
            while left > 0 {
                let wanted = left;
                cursor = self.scan(cursor, wanted, |entry| {
                    if left > 0 {
                        left -= 1;
                        visit(entry);
                    }
                });
                if cursor == 0 {
                    break;
                }
            }
        }
    }

    /// Visits at least `count` entries from `cursor`, unless most slots are empty. Returns the next cursor, 0
    /// at the end.
    pub(crate) fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&Entry<V>)) -> u64 {
        let Ok(start) = u32::try_from(cursor) else { return 0 };
        let (mut from, mut visited, mut looked_at) = (start, 0, 0);
        let slots_max = count.saturating_mul(SCAN_SLOTS_PER_ELEMENT);
        loop {
            let segment = &self.segments[self.segment_of(from)];
            let slots = segment.slots();
            let mut last = None;
            for entry in &slots[segment.lower_bound(from)..] {
                looked_at += 1;
                if entry.is_vacant() || entry.hash() < from {
                    continue;
                }
                if visited >= count && last != Some(entry.hash()) {
                    return u64::from(entry.hash());
                }
                last = Some(entry.hash());
                visited += 1;
                visit(entry);
            }
            let depth = segment.depth();
            let prefix = if depth == 0 { 0 } else { u64::from(from) >> (32 - depth) };
            let next = (prefix + 1) << (32 - depth);
            match u32::try_from(next) {
                Err(_) => return 0,
                Ok(next) if visited >= count || looked_at >= slots_max => return u64::from(next),
                Ok(next) => from = next,
            }
        }
    }

    #[inline]
    fn segment_of(&self, hash: u32) -> usize {
        if self.bits == 0 { 0 } else { self.directory[(hash >> (32 - self.bits)) as usize] as usize }
    }

    fn resized(&mut self, index: usize, before: usize) {
        let now = self.segments[index].slots().len();
        self.slots = self.slots + now - before;
        self.widest = self.widest.max(now);
    }

    fn split(&mut self, index: usize, hash: u32) {
        let depth = self.segments[index].depth();
        if depth == self.bits {
            let doubled = if self.directory.is_empty() {
                vec![0, 0]
            } else {
                self.directory.iter().flat_map(|at| [*at, *at]).collect()
            };
            self.directory = doubled;
            self.bits += 1;
        }
        let before = self.segments[index].slots().len();
        let upper = self.segments[index].split();
        let new = self.segments.len();
        self.slots += upper.slots().len();
        self.segments.push(upper);
        self.resized(index, before);
        // The upper half of the directory elements for the old segment now refers to the new one.
        let places = 1usize << (self.bits - depth);
        let first = if depth == 0 { 0 } else { (hash >> (32 - depth)) as usize * places };
        for place in &mut self.directory[first + places / 2..first + places] {
            *place = new as u32;
        }
        self.widest = self.widest.max(self.segments[new].slots().len());
    }
}

impl<V: EntryValue> Clone for Table<V> {
    fn clone(&self) -> Self {
        let mut copy = Self::with(self.hasher.clone());
        for entry in self.iter() {
            copy.insert(entry.copied(entry.hash(), entry.key()));
        }
        copy
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
