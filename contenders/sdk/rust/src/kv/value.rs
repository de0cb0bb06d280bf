//! The values of keys.

use crate::{HEADER_BYTES, fill};

/// Length of the prefix of a value that depends on the key.
pub const LEAD_BYTES: usize = 8;
/// The payload stream from which the rest of each value is taken.
const BODY_STREAM: u32 = u32::MAX;
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Output number `n`, from 0, of the generator SplitMix64 with this seed.
pub const fn split_mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The values of all keys: a prefix that depends on the key, then a body that all keys share. A value is thus generated and
/// compared at the speed of a copy, and nothing is stored per key.
#[derive(Debug)]
pub struct Values {
    seed: u64,
    value_bytes: usize,
    body: Box<[u8]>,
}

impl Values {
    /// Creates values of this length for this seed.
    pub fn new(seed: u64, value_bytes: usize) -> Self {
        let mut payload = vec![0; HEADER_BYTES + value_bytes.saturating_sub(LEAD_BYTES)];
        fill(&mut payload, seed, BODY_STREAM, 0);
        Self { seed, value_bytes, body: payload.split_off(HEADER_BYTES).into() }
    }

    /// Length of every value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Length of the prefix that depends on the key.
    pub fn lead_bytes(&self) -> usize {
        self.value_bytes.min(LEAD_BYTES)
    }

    /// The prefix of a key's value. Only the first [`lead_bytes`](Self::lead_bytes) bytes are valid.
    pub fn lead(&self, key: u64) -> [u8; LEAD_BYTES] {
        split_mix(self.seed, key).to_be_bytes()
    }

    /// The rest of every value.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Appends a key's value.
    pub fn append(&self, out: &mut Vec<u8>, key: u64) {
        out.extend_from_slice(&self.lead(key)[..self.lead_bytes()]);
        out.extend_from_slice(&self.body);
    }

    /// Whether `value` equals the key's value, by comparing every byte.
    pub fn matches(&self, key: u64, value: &[u8]) -> bool {
        value.len() == self.value_bytes
            && value[..self.lead_bytes()] == self.lead(key)[..self.lead_bytes()]
            && value[self.lead_bytes()..] == *self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_matches_the_reference() {
        // The first outputs of the reference implementation with the seed 1234567.
        let wanted = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|n| split_mix(1_234_567, n)), wanted);
    }

    #[test]
    fn a_value_is_a_prefix_and_the_body() {
        let mut payload = vec![0; 16 + 92];
        fill(&mut payload, 5, u32::MAX, 0);
        for value_bytes in [1, 3, 7, 8, 9, 100] {
            let values = Values::new(5, value_bytes);
            let mut value = Vec::new();
            values.append(&mut value, 77);
            let mut whole = split_mix(5, 77).to_be_bytes().to_vec();
            whole.extend_from_slice(&payload[16..]);
            assert_eq!(value, whole[..value_bytes], "{value_bytes}");
        }
    }

    #[test]
    fn every_byte_of_a_value_is_compared() {
        for value_bytes in [1, 3, 8, 9, 100] {
            let values = Values::new(5, value_bytes);
            let mut value = Vec::new();
            values.append(&mut value, 77);
            assert!(values.matches(77, &value));
            assert!(!values.matches(77, &value[1..]) && !values.matches(78, &value), "{value_bytes}");
            for at in 0..value_bytes {
                value[at] ^= 1;
                assert!(!values.matches(77, &value), "{value_bytes}: {at}");
                value[at] ^= 1;
            }
        }
    }
}
