//! Hashes of keys, with a secret: whoever does not know it cannot choose keys that collide.

use std::hash::{BuildHasher, Hasher as _};
use std::sync::Arc;

use crate::random::Random;

/// The same for all tables of an engine, so that small values need no more of it than a pointer.
#[derive(Debug, Clone)]
pub(crate) struct Hasher(Arc<HasherAtHand>);

impl Hasher {
    pub(crate) fn new(random: &mut Random) -> Self {
        let seeds = [(); 4].map(|()| random.next());
        let state = ahash::RandomState::with_seeds(seeds[0], seeds[1], seeds[2], seeds[3]);
        Self(Arc::new(HasherAtHand(state)))
    }

    /// What a table has at hand, so that no pointer is followed for each key.
    pub(crate) fn at_hand(&self) -> HasherAtHand {
        (*self.0).clone()
    }
}

/// The same hashes, in 32 bytes.
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
    /// The secret is not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HasherAtHand")
    }
}
