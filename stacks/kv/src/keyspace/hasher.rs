//! Keyed hashing: without the secret, clients cannot construct keys that collide.

use std::hash::{BuildHasher, Hasher as _};
use std::sync::Arc;

use crate::random::Random;

/// Shared by all tables of an engine, so that small values hold only a pointer.
#[derive(Debug, Clone)]
pub(crate) struct Hasher(Arc<HasherAtHand>);

impl Hasher {
    pub(crate) fn new(random: &mut Random) -> Self {
        let seeds = [(); 4].map(|()| random.next());
        let state = ahash::RandomState::with_seeds(seeds[0], seeds[1], seeds[2], seeds[3]);
        Self(Arc::new(HasherAtHand(state)))
    }

    /// A copy for a table, which avoids an indirection per key.
    pub(crate) fn at_hand(&self) -> HasherAtHand {
        (*self.0).clone()
    }
}

/// The same hash function, in 32 bytes.
#[derive(Clone)]
pub(crate) struct HasherAtHand(ahash::RandomState);

impl HasherAtHand {
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u32 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        (hasher.finish() >> 32) as u32
    }
}

impl std::fmt::Debug for HasherAtHand {
    /// The secret must not appear in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HasherAtHand")
    }
}
