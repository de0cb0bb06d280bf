//! A segment of a table: entries ordered by hash, with gaps.

use super::entry::{Entry, EntryValue};

/// Entries whose hashes share the first `depth` bits.
#[derive(Debug)]
pub(crate) struct Segment<V> {
    depth: u32,
    len: u32,
    slots: Vec<Entry<V>>,
}

/// Maximum number of used slots out of sixteen.
const FULL_SIXTEENTHS: usize = 13;
/// The distance in slots to the next cache line.
const CACHE_LINE_SLOTS: usize = 2;
/// Slots of a segment with its first entries.
const SLOTS_MIN: usize = 4;

impl<V> Default for Segment<V> {
    fn default() -> Self {
        Self { depth: 0, len: 0, slots: Vec::new() }
    }
}

impl<V: EntryValue> Segment<V> {
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn slots(&self) -> &[Entry<V>] {
        &self.slots
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, slot: usize) -> &mut Entry<V> {
        &mut self.slots[slot]
    }

    pub(crate) fn has_room(&self) -> bool {
        let slots = self.slots.len();
        let max = if slots <= 8 { slots } else { slots * FULL_SIXTEENTHS / 16 };
        (self.len as usize) < max
    }

    #[inline]
    pub(crate) fn find(&self, hash: u32, key: &[u8]) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let home = self.home(hash);
        for (offset, entry) in self.slots[home..].iter().enumerate() {
            if entry.is_vacant() || entry.hash() > hash {
                return None;
            }
            if entry.hash() == hash && entry.key() == key {
                return Some(home + offset);
            }
        }
        None
    }

    /// Reads the slot where an entry with this hash probably is, and the next cache line, to load them into
    /// the cache.
    pub(crate) fn prefetch(&self, hash: u32) -> u32 {
        let home = self.lower_bound(hash);
        let at = |slot: usize| self.slots.get(slot).map_or(0, |entry| entry.hash());
        at(home) ^ at(home + CACHE_LINE_SLOTS)
    }

    /// The first entry with this hash that satisfies a predicate.
    pub(crate) fn find_where(&self, hash: u32, is_it: impl Fn(&Entry<V>) -> bool) -> Option<usize> {
        let home = self.lower_bound(hash);
        let run = self.slots[home..].iter().take_while(|entry| !entry.is_vacant() && entry.hash() <= hash);
        run.enumerate()
            .find(|(_, entry)| entry.hash() == hash && is_it(entry))
            .map(|(offset, _)| home + offset)
    }

    /// The first slot that can hold an entry with this hash or a higher one.
    pub(crate) fn lower_bound(&self, hash: u32) -> usize {
        if self.slots.is_empty() { 0 } else { self.home(hash) }
    }

    /// Inserts an entry; returns it if there is no gap after its position.
    pub(crate) fn insert(&mut self, entry: Entry<V>) -> Result<(), Entry<V>> {
        let mut at = self.home(entry.hash());
        while at < self.slots.len() && !self.slots[at].is_vacant() && self.slots[at].hash() <= entry.hash() {
            at += 1;
        }
        let Some(gap) = self.slots[at..].iter().position(Entry::is_vacant) else { return Err(entry) };
        self.slots[at..=at + gap].rotate_right(1);
        self.slots[at] = entry;
        self.len += 1;
        Ok(())
    }

    pub(crate) fn remove(&mut self, slot: usize) -> Entry<V> {
        let removed = std::mem::take(&mut self.slots[slot]);
        self.len -= 1;
        // Moves the entries after it up, so that no gap precedes a displaced entry.
        let mut end = slot + 1;
        while end < self.slots.len()
            && !self.slots[end].is_vacant()
            && self.home(self.slots[end].hash()) < end
        {
            end += 1;
        }
        self.slots[slot..end].rotate_left(1);
        if self.slots.len() > 4 * SLOTS_MIN && (self.len as usize) < self.slots.len() / 4 {
            self.rebuild(self.len as usize * 3 / 2 + SLOTS_MIN);
        }
        removed
    }

    pub(crate) fn grow(&mut self) {
        let slots = self.slots.len();
        self.rebuild(if slots < SLOTS_MIN { SLOTS_MIN } else { slots + slots / 4 + 2 });
    }

    /// Keeps the lower half of the hashes and returns the upper half.
    pub(crate) fn split(&mut self) -> Self {
        let old = std::mem::take(&mut self.slots);
        self.depth += 1;
        let bit = 1u32 << (32 - self.depth);
        let (upper, lower): (Vec<_>, Vec<_>) =
            old.into_iter().filter(|entry| !entry.is_vacant()).partition(|entry| entry.hash() & bit != 0);
        *self = Self::filled(self.depth, lower);
        Self::filled(self.depth, upper)
    }

    fn filled(depth: u32, entries: Vec<Entry<V>>) -> Self {
        let mut segment = Self { depth, len: 0, slots: Vec::new() };
        let slots = entries.len() * 8 / 5 + SLOTS_MIN;
        segment.fill(entries, slots);
        segment
    }

    fn rebuild(&mut self, slots: usize) {
        let old = std::mem::take(&mut self.slots);
        self.fill(old.into_iter().filter(|entry| !entry.is_vacant()).collect(), slots);
    }

    /// Places sorted entries.
    fn fill(&mut self, entries: Vec<Entry<V>>, slots: usize) {
        let mut slots = slots.max(entries.len());
        let last = |slots: usize| {
            let mut next = 0;
            for entry in &entries {
                next = home(entry.hash(), self.depth, slots).max(next) + 1;
            }
            next
        };
        // Entries with high hashes may need more slots at the end.
        while last(slots) > slots {
            slots += slots / 8 + 1;
        }
        self.len = entries.len() as u32;
        self.slots = Vec::with_capacity(slots);
        for entry in entries {
            let at = home(entry.hash(), self.depth, slots).max(self.slots.len());
            self.slots.resize_with(at, Entry::default);
            self.slots.push(entry);
        }
        self.slots.resize_with(slots, Entry::default);
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        home(hash, self.depth, self.slots.len())
    }
}

/// The preferred slot of a hash. The last slots are preferred by none; they take displaced entries.
fn home(hash: u32, depth: u32, slots: usize) -> usize {
    let homes = (slots - slots / 16).saturating_sub(1).max(1);
    ((u64::from(hash << depth) * homes as u64) >> 32) as usize
}
