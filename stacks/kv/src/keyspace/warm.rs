//! Prefetching of keys for the next commands. In a large keyspace each access has one or two cache misses;
//! those of keys that are announced together overlap.

use super::Keyspace;
use crate::limits::WARM_KEYS_MIN;

impl Keyspace {
    /// Whether a database has enough keys for prefetching to pay off.
    pub(crate) fn wants_warmth(&self, db: usize) -> bool {
        self.databases.get(db).is_some_and(|database| database.table.len() >= WARM_KEYS_MIN)
    }

    /// Prefetches the memory where a key probably is.
    pub(crate) fn warm(&self, db: usize, key: &[u8]) {
        if let Some(database) = self.databases.get(db) {
            // Starting the read is sufficient.
            std::hint::black_box(database.table.warm(key));
        }
    }
}
