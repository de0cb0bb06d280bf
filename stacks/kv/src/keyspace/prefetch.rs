//! Prefetching of keys for the next commands. In a large keyspace each access has one or two cache misses;
//! those of keys that are announced together overlap.

use super::Keyspace;
use crate::limits::PREFETCH_KEYS_MIN;

impl Keyspace {
    /// Whether a database has enough keys for prefetching to pay off.
    pub(crate) fn prefetch_pays(&self, db: usize) -> bool {
        self.databases.get(db).is_some_and(|database| database.table.len() >= PREFETCH_KEYS_MIN)
    }

    /// Prefetches the memory where a key probably is.
    pub(crate) fn prefetch(&self, db: usize, key: &[u8]) {
        if let Some(database) = self.databases.get(db) {
            // Starting the read is sufficient.
            std::hint::black_box(database.table.prefetch(key));
        }
    }
}
