//! Memory fetched for commands that are about to come. With many keys each is a cache miss or two; of several that are
//! announced together the misses overlap.

use super::Keyspace;
use crate::limits::WARM_KEYS_MIN;

impl Keyspace {
    /// Whether a database has so many keys that fetching ahead pays.
    pub(crate) fn wants_warmth(&self, db: usize) -> bool {
        self.databases.get(db).is_some_and(|database| database.table.len() >= WARM_KEYS_MIN)
    }

    /// Has the memory fetched where a key of a database probably stands.
    pub(crate) fn warm(&self, db: usize, key: &[u8]) {
        if let Some(database) = self.databases.get(db) {
            // It is enough that the processor has begun to read.
            std::hint::black_box(database.table.warm(key));
        }
    }
}
