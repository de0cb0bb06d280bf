//! What a dummy does beside its work for each message, when asked to: the lab must find it, and name it.

use std::time::Duration;

use clap::ValueEnum;

/// Blocks that are allocated a message.
const BLOCKS: usize = 3;
/// Their length.
const BLOCK_BYTES: usize = 200;
/// How long it sleeps a message, or a little longer.
const SLEEP: Duration = Duration::from_micros(50);
/// Steps of arithmetic a message.
const STEPS: u64 = 4000;

/// A cost that is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cost {
    /// A system call.
    Calls,
    /// Arithmetic, in a function of its own.
    Cpu,
    /// Three blocks of memory, given back at once.
    Allocations,
    /// A short sleep.
    Sleep,
}

impl Cost {
    /// Once a message.
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

/// Its name is what a profile must show.
#[inline(never)]
fn planted_arithmetic(seed: u64) -> u64 {
    (0..STEPS).fold(seed | 1, |x, _| {
        // Marsaglia's xorshift64.
        let x = x ^ (x << 13);
        let x = x ^ (x >> 7);
        x ^ (x << 17)
    })
}
