//! Numbers that wrap, made to numbers of 64 bits that do not.

use crate::types::{Sequence, Timestamp};

/// Makes sequence numbers of 16 bits to ones of 64. Each is taken for the one nearest to the highest so far, so that it
/// is right within 32,767 packets. One operation a call.
#[derive(Debug, Clone, Default)]
pub struct SequenceExtender {
    highest: Option<u64>,
}

impl SequenceExtender {
    /// The number in 64 bits. The first is itself plus 2^16, so that packets from before it have numbers too.
    pub fn extend(&mut self, sequence: Sequence) -> u64 {
        let extended = self.peek(sequence);
        self.highest = self.highest.max(Some(extended));
        extended
    }

    /// The same, without taking note of it.
    pub fn peek(&self, sequence: Sequence) -> u64 {
        let Some(highest) = self.highest else { return (1 << 16) + u64::from(sequence.0) };
        let distance = sequence.since(Sequence(highest as u16));
        highest.saturating_add_signed(i64::from(distance))
    }

    /// The highest so far.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }
}

/// Makes timestamps of 32 bits to ones of 64. Each is taken for the one nearest to the latest so far: at 90 kHz right
/// within 6.6 hours. One operation a call.
#[derive(Debug, Clone, Default)]
pub struct TimestampExtender {
    latest: Option<u64>,
}

impl TimestampExtender {
    /// The timestamp in 64 bits. The first is itself plus 2^32, so that earlier ones have a value too.
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

    proptest! {
        #[test]
        fn any_walk_within_reach_is_followed(first: u16, steps in prop::collection::vec(-2000i64..30_000, 1..300)) {
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
        fn timestamps_too(first: u32, steps in prop::collection::vec(-90_000i64..0x7fff_ffff, 1..100)) {
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
