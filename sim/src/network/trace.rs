//! A hash over a whole run.

use std::time::Duration;

use super::Side;

/// A hash of every delivery. Processes eight bytes per step, fast enough for hundreds of megabytes. Not
/// collision-resistant against an adversary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trace(u64);

impl Trace {
    /// One delivery.
    pub(super) fn add(&mut self, at: Duration, to: Side, bytes: &[u8]) {
        self.mix(at.as_nanos() as u64);
        self.mix((bytes.len() as u64) << 1 | to.index() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
    }

    /// The number.
    pub(super) fn value(self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
