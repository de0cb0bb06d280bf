//! The source of secrets and random numbers.

use crate::random::Random;

/// Where an engine draws its secrets from: hash keys, the run ID, replication IDs, passwords of `ACL GENPASS`
/// and the seed of random commands.
///
/// Each secret is a separate draw, so that a published one (the run ID) reveals nothing about the others. A
/// seed makes all draws reproducible and thereby predictable; use it for tests only.
#[derive(Debug, Clone)]
pub struct Entropy(Source);

#[derive(Debug, Clone)]
enum Source {
    Host(fn(&mut [u8])),
    Seeded(Random),
}

impl Entropy {
    /// Draws from the host's cryptographically secure generator, which fills the whole buffer.
    pub const fn new(fill: fn(&mut [u8])) -> Self {
        Self(Source::Host(fill))
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        match &mut self.0 {
            Source::Host(fill) => fill(bytes),
            Source::Seeded(random) => {
                for part in bytes.chunks_mut(size_of::<u64>()) {
                    part.copy_from_slice(&random.next().to_le_bytes()[..part.len()]);
                }
            }
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let mut bytes = [0; size_of::<u64>()];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Hexadecimal digits.
    pub(crate) fn digits(&mut self, count: usize) -> String {
        let mut bytes = vec![0; count.div_ceil(2)];
        self.fill(&mut bytes);
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(count);
        digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    }
}

/// Reproducible draws, for tests.
impl From<u64> for Entropy {
    fn from(seed: u64) -> Self {
        Self(Source::Seeded(Random::new(seed)))
    }
}
