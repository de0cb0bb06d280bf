//! Extension of wrapping sequence numbers and timestamps to 64 bits.

use crate::types::{Sequence, Timestamp};

/// Extends sequence numbers to 64 bits. The result is the value nearest to the highest one so far, which is correct within
/// 32,767 packets.
#[derive(Debug, Clone, Default)]
pub struct SequenceExtender {
    highest: Option<u64>,
}

impl SequenceExtender {
    /// Extends a sequence number. The first one is offset by 2^16, so that earlier packets have non-negative numbers.
    pub fn extend(&mut self, sequence: Sequence) -> u64 {
        let extended = self.peek(sequence);
        self.highest = self.highest.max(Some(extended));
        extended
    }

    /// Extends a sequence number without updating the highest one.
    pub fn peek(&self, sequence: Sequence) -> u64 {
        let Some(highest) = self.highest else { return (1 << 16) + u64::from(sequence.0) };
        let distance = sequence.since(Sequence(highest as u16));
        highest.saturating_add_signed(i64::from(distance))
    }

    /// The highest extended sequence number.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }
}

/// Extends timestamps to 64 bits. The result is the value nearest to the latest one, which is correct within 6.6 hours at
/// 90 kHz.
#[derive(Debug, Clone, Default)]
pub struct TimestampExtender {
    latest: Option<u64>,
}

impl TimestampExtender {
    /// Extends a timestamp. The first one is offset by 2^32, so that earlier ones have non-negative values.
    pub fn extend(&mut self, timestamp: Timestamp) -> u64 {
        let extended = match self.latest {
            None => (1 << 32) + u64::from(timestamp.0),
            Some(latest) => {
                let distance = timestamp.since(Timestamp(latest as u32));
                latest.saturating_add_signed(i64::from(distance))
            }
        };
        self.latest = self.latest.max(Some(extended));
        extended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Miri is much slower.
    const STEPS_MAX: usize = if cfg!(miri) { 20 } else { 300 };

    proptest! {
        #[test]
        fn sequence_numbers_within_range_are_extended(first: u16, steps in prop::collection::vec(-2000i64..30_000, 1..STEPS_MAX)) {
            let mut extender = SequenceExtender::default();
            let mut at = (1u64 << 16) + u64::from(first);
            prop_assert_eq!(extender.extend(Sequence(first)), at);
            let mut highest = at;
            for step in steps {
                at = highest.saturating_add_signed(step);
                prop_assert_eq!(extender.peek(Sequence(at as u16)), at);
                prop_assert_eq!(extender.extend(Sequence(at as u16)), at);
                highest = highest.max(at);
                prop_assert_eq!(extender.highest(), Some(highest));
            }
        }

        #[test]
        fn timestamps_within_range_are_extended(first: u32, steps in prop::collection::vec(-90_000i64..0x7fff_ffff, 1..STEPS_MAX)) {
            let mut extender = TimestampExtender::default();
            let mut highest = (1u64 << 32) + u64::from(first);
            prop_assert_eq!(extender.extend(Timestamp(first)), highest);
            for step in steps {
                let at = highest.saturating_add_signed(step);
                prop_assert_eq!(extender.extend(Timestamp(at as u32)), at);
                highest = highest.max(at);
            }
        }
    }
}
