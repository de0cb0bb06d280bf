//! Injected costs of a dummy's work, which the lab must detect and identify.

use std::time::Duration;

use clap::ValueEnum;

/// Allocated blocks per message.
const BLOCKS: usize = 3;
/// Length of a block.
const BLOCK_BYTES: usize = 200;
/// Least sleep per message.
const SLEEP: Duration = Duration::from_micros(50);
/// Arithmetic steps per message.
const STEPS: u64 = 4000;

/// An injected cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cost {
    /// A system call.
    Calls,
    /// Arithmetic, in a separate function.
    Cpu,
    /// Three memory blocks, freed immediately.
    Allocations,
    /// A short sleep.
    Sleep,
}

impl Cost {
    /// Runs once per message.
    pub(super) fn pay(self, seed: u64) {
        match self {
            Cost::Calls => _ = std::hint::black_box(nix::unistd::getppid()),
            Cost::Cpu => _ = std::hint::black_box(planted_arithmetic(seed)),
            Cost::Allocations => {
                let blocks: [Vec<u8>; BLOCKS] = std::array::from_fn(|_| Vec::with_capacity(BLOCK_BYTES));
                std::hint::black_box(&blocks);
            }
            Cost::Sleep => std::thread::sleep(SLEEP),
        }
    }
}

/// A profile must show its name.
#[inline(never)]
fn planted_arithmetic(seed: u64) -> u64 {
    (0..STEPS).fold(seed | 1, |x, _| {
        // Marsaglia's xorshift64.
        let x = x ^ (x << 13);
        let x = x ^ (x >> 7);
        x ^ (x << 17)
    })
}
