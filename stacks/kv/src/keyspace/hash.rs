//! Hashes: small ones keep the insertion order of fields, as clients of Redis expect; large ones are
//! unordered.

use super::entry::TextEntry;
use super::hasher::Hasher;
use super::packed::Packed;
use super::table::TextTable;
use crate::limits::SMALL_ENTRIES_MAX;
use crate::random::Random;

/// The configured limits of small collections. A collection that exceeds them is converted permanently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SmallLimits {
    /// Fields of a hash.
    pub(crate) hash_entries: usize,
    /// Bytes of a field or its value.
    pub(crate) hash_bytes: usize,
    /// Members of a set of integers.
    pub(crate) set_integers: usize,
    /// Members of a sorted set, and bytes of one of them.
    pub(crate) zset_entries: usize,
    pub(crate) zset_bytes: usize,
}

impl Default for SmallLimits {
    /// Redis' defaults.
    fn default() -> Self {
        Self { hash_entries: 512, hash_bytes: 64, set_integers: 512, zset_entries: 128, zset_bytes: 64 }
    }
}

/// Fields and their values.
#[derive(Debug, Clone)]
pub(crate) enum Hash {
    /// Each field followed by its value.
    Small(Packed, Hasher),
    Large(Box<TextTable>),
}

/// A field with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Field<'a> {
    fn from_entry(entry: &'a TextEntry) -> Self {
        Self { name: entry.key(), value: entry.string().unwrap_or_default() }
    }
}

fn unpacked(fields: &Packed) -> impl Iterator<Item = Field<'_>> {
    let mut texts = fields.iter();
    std::iter::from_fn(move || Some(Field { name: texts.next()?, value: texts.next()? }))
}

/// The position of a field.
fn find(fields: &Packed, name: &[u8]) -> Option<usize> {
    unpacked(fields).position(|field| field.name == name).map(|at| 2 * at)
}

impl Hash {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self::Small(Packed::default(), hasher)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(fields, _) => fields.len() / 2,
            Self::Large(fields) => fields.len(),
        }
    }

    pub(crate) fn is_small(&self) -> bool {
        matches!(self, Self::Small(..))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Small(fields, _) => fields.memory_bytes(),
            Self::Large(fields) => size_of::<TextTable>() + fields.memory_bytes(),
        }
    }

    /// The value of a field.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Small(fields, _) => {
                unpacked(fields).find(|field| field.name == name).map(|field| field.value)
            }
            Self::Large(fields) => fields.get(name).map(|entry| Field::from_entry(entry).value),
        }
    }

    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.get(name).is_some()
    }

    /// Sets a field; `true` if it is new.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8], small: SmallLimits) -> bool {
        if name.len().max(value.len()) > small.hash_bytes {
            self.grow();
        }
        let new = match self {
            Self::Large(fields) => return fields.set(name, value),
            Self::Small(fields, _) => match find(fields, name) {
                Some(at) => {
                    fields.replace(at + 1, value);
                    false
                }
                None => {
                    fields.push(name);
                    fields.push(value);
                    true
                }
            },
        };
        if self.len() > small.hash_entries.min(SMALL_ENTRIES_MAX) {
            self.grow();
        }
        new
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Small(fields, _) => find(fields, name).map(|at| fields.remove(at, 2)).is_some(),
            Self::Large(fields) => fields.remove(name).is_some(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let (small, large) = match self {
            Self::Small(fields, _) => (Some(fields), None),
            Self::Large(fields) => (None, Some(fields)),
        };
        let large = large.into_iter().flat_map(|fields| fields.iter()).map(Field::from_entry);
        small.into_iter().flat_map(unpacked).chain(large)
    }

    /// Visits all fields, faster than [`iter`](Self::iter).
    pub(crate) fn each(&self, mut visit: impl FnMut(Field<'_>)) {
        match self {
            Self::Small(fields, _) => unpacked(fields).for_each(visit),
            Self::Large(fields) => fields.iter().for_each(|entry| visit(Field::from_entry(entry))),
        }
    }

    /// A uniformly random field.
    pub(crate) fn random(&self, random: &mut Random) -> Option<Field<'_>> {
        match self {
            Self::Small(..) => self.iter().nth(random.below(self.len())),
            Self::Large(fields) => fields.random(random).map(Field::from_entry),
        }
    }

    /// Like a table's [`scan`](TextTable::scan). A small hash is visited in one call.
    pub(crate) fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(Field<'_>)) -> u64 {
        match self {
            Self::Small(fields, _) => {
                unpacked(fields).for_each(visit);
                0
            }
            Self::Large(fields) => fields.scan(cursor, count, |entry| visit(Field::from_entry(entry))),
        }
    }

    /// Converts to a table, which is unordered.
    fn grow(&mut self) {
        if let Self::Small(fields, hasher) = self {
            let mut table = TextTable::new(hasher);
            for field in unpacked(fields) {
                table.set(field.name, field.value);
            }
            *self = Self::Large(Box::new(table));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Vec<u8>, Vec<u8>);

    fn pairs(hash: &Hash) -> Vec<Pair> {
        hash.iter().map(|field| (field.name.to_vec(), field.value.to_vec())).collect()
    }

    #[test]
    fn behaves_like_a_list_of_pairs() {
        for (seed, fields) in [(1, 20), (2, 512), (3, 1400)] {
            let mut random = Random::new(seed);
            let mut hash = Hash::new(Hasher::new(&mut random));
            let mut model = Vec::<Pair>::new();
            for step in 0..6000 {
                let name = random.below(fields).to_string().into_bytes();
                let known = model.iter().position(|(other, _)| *other == name);
                if random.below(10) < if step < 3000 { 7 } else { 2 } {
                    let value = vec![b'v'; random.below(60)];
                    assert_eq!(hash.set(&name, &value, SmallLimits::default()), known.is_none());
                    match known {
                        Some(at) => model[at].1 = value,
                        None => model.push((name.clone(), value)),
                    }
                } else {
                    assert_eq!(hash.remove(&name), known.is_some());
                    known.map(|at| model.remove(at));
                }
                let known = model.iter().find(|(other, _)| *other == name);
                assert_eq!(hash.get(&name), known.map(|(_, value)| value.as_slice()));
                assert_eq!(hash.len(), model.len());
                if step % 50 == 0 {
                    let mut found = pairs(&hash);
                    let mut expected = model.clone();
                    if !hash.is_small() {
                        found.sort();
                        expected.sort();
                    }
                    assert_eq!(found, expected);
                    let drawn = hash.random(&mut random).map(|field| field.name.to_vec());
                    assert_eq!(drawn.is_none(), model.is_empty());
                    assert!(drawn.is_none_or(|drawn| model.iter().any(|(name, _)| *name == drawn)));
                }
            }
            assert_eq!(hash.is_small(), fields <= 512);
        }
    }

    #[test]
    fn small_hashes_have_little_overhead() {
        let (mut small, large) = (
            Hash::new(Hasher::new(&mut Random::new(7))),
            SmallLimits { hash_bytes: 0, ..SmallLimits::default() },
        );
        let mut table = small.clone();
        for n in 1..=512 {
            let name = format!("field:{n}");
            small.set(name.as_bytes(), b"value", SmallLimits::default());
            table.set(name.as_bytes(), b"value", large);
            assert!(small.memory_bytes() * 2 < table.memory_bytes(), "{n} fields");
        }
        assert!(size_of::<Hash>() <= 48);
    }
}
