//! Hashes: fields in the order in which they came while they are few and short, as clients of Redis expect; else in no order.

use super::entry::TextEntry;
use super::hasher::Hasher;
use super::ordered::Ordered;
use super::table::TextTable;
use crate::limits::ORDERED_ENTRIES_MAX;
use crate::random::Random;

/// Up to where hashes and sets keep an order, as the configuration has it. What has passed it once stays without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Small {
    /// Fields of a hash.
    pub(crate) hash_entries: usize,
    /// Bytes of a field, and of its value.
    pub(crate) hash_bytes: usize,
    /// Members of a set of integers.
    pub(crate) set_integers: usize,
    /// Members of a sorted set, and bytes of one: as far as OBJECT ENCODING tells.
    pub(crate) zset_entries: usize,
    pub(crate) zset_bytes: usize,
}

impl Default for Small {
    /// Redis' defaults.
    fn default() -> Self {
        Self { hash_entries: 512, hash_bytes: 64, set_integers: 512, zset_entries: 128, zset_bytes: 64 }
    }
}

/// Fields and their values.
#[derive(Debug, Clone)]
pub(crate) enum Hash {
    Small(Ordered),
    Large(TextTable),
}

impl Hash {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self::Small(Ordered::new(hasher))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(fields) => fields.len(),
            Self::Large(fields) => fields.len(),
        }
    }

    pub(crate) fn is_small(&self) -> bool {
        matches!(self, Self::Small(_))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Small(fields) => fields.memory_bytes(),
            Self::Large(fields) => fields.memory_bytes(),
        }
    }

    /// A field with its value.
    pub(crate) fn get(&self, field: &[u8]) -> Option<&TextEntry> {
        match self {
            Self::Small(fields) => fields.get(field),
            Self::Large(fields) => fields.get(field),
        }
    }

    pub(crate) fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets a field: `true` if it is new.
    pub(crate) fn set(&mut self, field: &[u8], value: &[u8], small: Small) -> bool {
        if let Self::Small(fields) = self {
            let most = small.hash_entries.min(ORDERED_ENTRIES_MAX);
            if field.len().max(value.len()) <= small.hash_bytes {
                let new = fields.set(field, value);
                if fields.len() > most {
                    self.grow();
                }
                return new;
            }
            self.grow();
        }
        match self {
            Self::Small(fields) => fields.set(field, value),
            Self::Large(fields) => fields.set(field, value),
        }
    }

    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        match self {
            Self::Small(fields) => fields.remove(field),
            Self::Large(fields) => fields.remove(field).is_some(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TextEntry> {
        let (small, large) = match self {
            Self::Small(fields) => (Some(fields), None),
            Self::Large(fields) => (None, Some(fields)),
        };
        small.into_iter().flat_map(Ordered::iter).chain(large.into_iter().flat_map(TextTable::iter))
    }

    /// Any field, each as likely as the others.
    pub(crate) fn random(&self, random: &mut Random) -> Option<&TextEntry> {
        match self {
            Self::Small(fields) => fields.random(random),
            Self::Large(fields) => fields.random(random),
        }
    }

    /// As a table's [`scan`](TextTable::scan). A small hash is told at once.
    pub(crate) fn scan(&self, cursor: u64, count: usize, visit: impl FnMut(&TextEntry)) -> u64 {
        match self {
            Self::Small(fields) => {
                fields.iter().for_each(visit);
                0
            }
            Self::Large(fields) => fields.scan(cursor, count, visit),
        }
    }

    fn grow(&mut self) {
        if let Self::Small(fields) = self {
            let hasher = fields.hasher();
            let fields = std::mem::replace(fields, Ordered::new(hasher));
            *self = Self::Large(fields.into_table());
        }
    }
}
