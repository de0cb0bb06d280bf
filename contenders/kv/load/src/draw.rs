//! The choice of operations, by random numbers that are seeded from the seed and the connection.

use netdyno_contender::kv::{Distribution, Job, split_mix};

use crate::zipf::Zipf;

/// Separates the choice of operations from the values, which use the same generator and seed.
const CHOICE: u64 = 0x6f70_6572_6174_696f;
/// The number of bits that choose between SET and GET; the others choose the key.
const SET_BITS: u32 = 16;
const KEY_BITS: u32 = 64 - SET_BITS;
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// A SET or a GET of a key below 2^31, in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Operation(u32);

impl Operation {
    pub fn new(set: bool, key: u64) -> Self {
        Self((key as u32) << 1 | u32::from(set))
    }

    pub fn is_set(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn key(self) -> u64 {
        (self.0 >> 1).into()
    }
}

/// The random number generator of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    seed: u64,
    n: u64,
}

impl Draw {
    pub fn new(seed: u64, connection: usize) -> Self {
        Self { seed: split_mix(seed ^ CHOICE, connection as u64), n: 0 }
    }

    fn next(&mut self) -> u64 {
        self.n += 1;
        split_mix(self.seed, self.n)
    }
}

/// The distribution of operations of all connections.
#[derive(Debug)]
pub struct Mix {
    keys: u64,
    /// SET is chosen if the low bits are below this.
    sets: u64,
    zipf: Option<Zipf>,
    /// Ranks are mapped to keys by a multiplication with this number modulo `keys`. The two are coprime, so this is a permutation,
    /// which separates adjacent ranks.
    scramble: u64,
}

impl Mix {
    pub fn new(job: &Job) -> Self {
        Self {
            keys: job.keys,
            sets: (job.set_percent << SET_BITS) / 100,
            zipf: (job.distribution == Distribution::Zipf).then(|| Zipf::new(job.keys)),
            scramble: scramble(job.keys),
        }
    }

    /// The next operation of a connection.
    #[inline]
    pub fn next(&self, draw: &mut Draw) -> Operation {
        let bits = draw.next();
        let set = bits & ((1 << SET_BITS) - 1) < self.sets;
        let key = match &self.zipf {
            None => ((u128::from(bits >> SET_BITS) * u128::from(self.keys)) >> KEY_BITS) as u64,
            Some(zipf) => (zipf.rank(|| draw.next()) - 1) * self.scramble % self.keys,
        };
        Operation::new(set, key)
    }
}

fn scramble(keys: u64) -> u64 {
    let about = (keys as f64 * GOLDEN_RATIO) as u64;
    (about.max(1)..).find(|factor| gcd(*factor, keys) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(keys: u64, set_percent: u64, zipf: bool) -> Mix {
        Mix {
            keys,
            sets: (set_percent << SET_BITS) / 100,
            zipf: zipf.then(|| Zipf::new(keys)),
            scramble: scramble(keys),
        }
    }

    #[test]
    fn the_share_of_sets_is_as_configured() {
        for percent in [0, 1, 10, 50, 99, 100] {
            let (mix, mut draw) = (mix(1000, percent, false), Draw::new(3, 0));
            let sets = (0..100_000).filter(|_| mix.next(&mut draw).is_set()).count() as f64 / 1000.0;
            let exact = percent == 0 || percent == 100;
            assert!((sets - percent as f64).abs() < if exact { 1e-9 } else { 0.8 }, "{percent}: {sets}");
        }
    }

    #[test]
    fn uniform_keys_have_equal_frequencies() {
        for keys in [1, 3, 1000] {
            let (mix, mut draw, mut seen) =
                (mix(keys, 50, false), Draw::new(3, 1), vec![0u64; keys as usize]);
            (0..keys * 400).for_each(|_| seen[mix.next(&mut draw).key() as usize] += 1);
            assert!(seen.iter().all(|count| (280..=520).contains(count)), "{keys}: {seen:?}");
        }
    }

    #[test]
    fn the_scrambling_is_a_permutation_without_neighbours() {
        for keys in [1, 2, 3, 10, 1000, 99_991, 1 << 16] {
            let factor = scramble(keys);
            let mut seen = vec![false; keys as usize];
            (0..keys).for_each(|rank| seen[(rank * factor % keys) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{keys}");
            let apart = factor.min(keys - factor % keys);
            assert!(keys < 10 || apart > keys / 4, "{keys}: {factor}");
        }
    }

    #[test]
    fn the_same_seed_and_connection_give_the_same_operations() {
        let of = |seed, connection| {
            let (mix, mut draw) = (mix(10_000_000, 50, true), Draw::new(seed, connection));
            (0..50).map(|_| mix.next(&mut draw)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
        assert!(of(1, 2).iter().all(|operation| operation.key() < 10_000_000));
    }
}
