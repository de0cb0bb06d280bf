//! A few entries in the order in which they came, found by their hashes: what small hashes and sets stand in.
//!
//! One byte of each hash stands apart. To find an entry these bytes are looked through, many at a step, and only entries whose
//! byte fits are compared. What is removed leaves a gap, so that nothing moves; more gaps than entries are closed.

use super::entry::TextEntry;
use super::hasher::Hasher;
use super::table::TextTable;
use super::weight::allocation_bytes;
use crate::limits::RANDOM_TRIES;
use crate::random::Random;

/// Entries with strings, in order.
#[derive(Debug)]
pub(crate) struct Ordered {
    hasher: Hasher,
    /// Of each entry, a byte of its hash; [`GAP`] where one was removed.
    tags: Vec<u8>,
    entries: Vec<TextEntry>,
    len: usize,
    /// Bytes that the entries hold.
    heap: usize,
}

/// No entry's tag.
const GAP: u8 = 0;

fn tag(hash: u32) -> u8 {
    (hash as u8).max(GAP + 1)
}

impl Ordered {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { hasher, tags: Vec::new(), entries: Vec::new(), len: 0, heap: 0 }
    }

    pub(crate) fn hasher(&self) -> Hasher {
        self.hasher.clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<TextEntry>();
        self.heap + entries + allocation_bytes(self.tags.capacity())
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&TextEntry> {
        self.find(self.hasher.hash(key), key).map(|at| &self.entries[at])
    }

    /// Sets an entry, which keeps its place, or puts it at the end: `true` if the key is new.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        let hash = self.hasher.hash(key);
        if let Some(at) = self.find(hash, key) {
            let entry = &mut self.entries[at];
            self.heap -= entry.heap_bytes();
            entry.set_string(value);
            self.heap += entry.heap_bytes();
            return false;
        }
        let entry = TextEntry::text(hash, key, value);
        self.heap += entry.heap_bytes();
        if self.entries.len() == self.entries.capacity() {
            let more = self.entries.len() / 8 + 2;
            self.entries.reserve_exact(more);
            self.tags.reserve_exact(more);
        }
        self.entries.push(entry);
        self.tags.push(tag(hash));
        self.len += 1;
        true
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let Some(at) = self.find(self.hasher.hash(key), key) else { return false };
        self.tags[at] = GAP;
        self.heap -= std::mem::take(&mut self.entries[at]).heap_bytes();
        self.len -= 1;
        if self.len * 2 < self.entries.len() {
            self.entries.retain(|entry| !entry.is_vacant());
            self.tags.retain(|tag| *tag != GAP);
            self.entries.shrink_to(self.len + self.len / 8 + 2);
            self.tags.shrink_to(self.len + self.len / 8 + 2);
        }
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TextEntry> {
        self.entries.iter().filter(|entry| !entry.is_vacant())
    }

    /// Any entry, each as likely as the others.
    pub(crate) fn random(&self, random: &mut Random) -> Option<&TextEntry> {
        if self.len == 0 {
            return None;
        }
        // At least half of the places are taken.
        let drawn = (0..RANDOM_TRIES).map(|_| &self.entries[random.below(self.entries.len())]);
        drawn.into_iter().find(|entry| !entry.is_vacant()).or_else(|| self.iter().next())
    }

    /// The same entries in a table, which has no order.
    pub(crate) fn into_table(self) -> TextTable {
        let mut table = TextTable::new(self.hasher);
        self.entries.into_iter().filter(|entry| !entry.is_vacant()).for_each(|entry| table.insert(entry));
        table
    }

    fn find(&self, hash: u32, key: &[u8]) -> Option<usize> {
        memchr::memchr_iter(tag(hash), &self.tags)
            .find(|at| self.entries[*at].hash() == hash && self.entries[*at].key() == key)
    }
}

impl Clone for Ordered {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.hasher.clone());
        copy.entries = self.iter().map(|entry| entry.copied(entry.hash(), entry.key())).collect();
        copy.tags = copy.entries.iter().map(|entry| tag(entry.hash())).collect();
        (copy.len, copy.heap) = (self.len, self.heap);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Vec<u8>, Vec<u8>);

    fn pairs<'a>(entries: impl Iterator<Item = &'a TextEntry>) -> Vec<Pair> {
        entries.map(|entry| (entry.key().to_vec(), entry.string().unwrap().to_vec())).collect()
    }

    /// The books agree with what is there.
    fn check(ordered: &Ordered, model: &[Pair]) {
        assert_eq!(pairs(ordered.iter()), model);
        assert_eq!(ordered.len(), model.len());
        assert_eq!(ordered.iter().map(TextEntry::heap_bytes).sum::<usize>(), ordered.heap);
        assert_eq!(ordered.tags.len(), ordered.entries.len());
        assert!(ordered.entries.len() <= 2 * ordered.len());
    }

    #[test]
    fn as_a_list_of_pairs() {
        for seed in 0..8 {
            let mut random = Random::new(seed);
            let mut ordered = Ordered::new(Hasher::new(&mut random));
            let mut model = Vec::<Pair>::new();
            for step in 0..6000 {
                let key = random.below(300).to_string().into_bytes();
                let known = model.iter().position(|(other, _)| *other == key);
                if random.below(10) < if step < 3000 { 7 } else { 2 } {
                    let value = vec![b'v'; random.below(60)];
                    assert_eq!(ordered.set(&key, &value), known.is_none());
                    match known {
                        Some(at) => model[at].1 = value,
                        None => model.push((key, value)),
                    }
                } else {
                    assert_eq!(ordered.remove(&key), known.is_some());
                    known.map(|at| model.remove(at));
                }
                if step % 50 == 0 {
                    check(&ordered, &model);
                    check(&ordered.clone(), &model);
                    let drawn = ordered.random(&mut random).map(|entry| entry.key().to_vec());
                    assert_eq!(drawn.is_none(), model.is_empty());
                    assert!(drawn.is_none_or(|drawn| model.iter().any(|(key, _)| *key == drawn)));
                }
            }
            check(&ordered, &model);
            let mut table = pairs(ordered.clone().into_table().iter());
            table.sort();
            model.sort();
            assert_eq!(table, model);
        }
    }

    #[test]
    fn no_more_memory_than_a_table() {
        for length in [1, 10, 40] {
            let hasher = Hasher::new(&mut Random::new(7));
            let (mut ordered, mut table) = (Ordered::new(hasher.clone()), TextTable::new(hasher));
            for n in 1..=512 {
                let (key, value) = (format!("field:{n}"), vec![b'v'; length]);
                ordered.set(key.as_bytes(), &value);
                table.set(key.as_bytes(), &value);
                assert!(ordered.memory_bytes() <= table.memory_bytes(), "{n} fields of {length} bytes");
            }
        }
        assert!(size_of::<Ordered>() <= size_of::<TextTable>());
    }
}
