//! The source of all randomness: one seed.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The generator of the simulator: small, fast, and identical on every machine.
pub type Random = Pcg64Mcg;

/// The purpose of a generator. Each purpose has its own, so that a change in one part of a run, such as
/// another workload, leaves the draws of the others unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The fates of the datagrams, from A to B.
    Forward,
    /// The fates of the datagrams, from B to A.
    Backward,
    /// The network profile.
    Profile,
    /// Settings and workload.
    Plan,
    /// Events during the run.
    Run,
    /// The seeds of the two cores.
    Cores,
}

/// A generator for one purpose of one run.
pub fn generator(seed: u64, purpose: Purpose) -> Random {
    let purpose = (purpose as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Random::seed_from_u64(seed ^ purpose)
}

/// A random duration in this range, log-uniformly distributed. `low` must be above zero.
pub fn duration_between(random: &mut Random, low: Duration, high: Duration) -> Duration {
    Duration::from_secs_f64(magnitude_between(random, low.as_secs_f64(), high.as_secs_f64()))
}

/// A random number in this range, log-uniformly distributed. `low` must be above zero.
pub fn magnitude_between(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + random.random::<f64>() * (high / low).ln()).exp()
}

/// Thirty-two bytes, as a core's seed.
pub fn seed_bytes(random: &mut Random) -> [u8; 32] {
    let mut seed = [0; 32];
    random.fill(&mut seed);
    seed
}
