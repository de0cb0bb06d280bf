//! Keyed hashing: without the secret, clients cannot construct keys that collide.

use std::hash::{BuildHasher, Hasher as _};
use std::sync::Arc;

/// Shared by all tables of an engine, so that small values hold only a pointer.
#[derive(Debug, Clone)]
pub(crate) struct Hasher(Arc<TableHasher>);

impl Hasher {
    pub(crate) fn with_keys([a, b, c, d]: [u64; 4]) -> Self {
        Self(Arc::new(TableHasher(ahash::RandomState::with_seeds(a, b, c, d))))
    }

    #[cfg(test)]
    pub(crate) fn new(random: &mut crate::random::Random) -> Self {
        Self::with_keys([(); 4].map(|()| random.next()))
    }

    /// A copy for a table, which avoids an indirection per key.
    pub(crate) fn for_table(&self) -> TableHasher {
        (*self.0).clone()
    }
}

/// The same hash function, in 32 bytes.
#[derive(Clone)]
pub(crate) struct TableHasher(ahash::RandomState);

impl TableHasher {
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u32 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        (hasher.finish() >> 32) as u32
    }
}

impl std::fmt::Debug for TableHasher {
    /// The secret must not appear in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableHasher")
    }
}
