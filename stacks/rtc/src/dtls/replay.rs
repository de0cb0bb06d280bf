//! Replay protection, RFC 6347 section 4.1.2.6 and RFC 9147 section 4.5.1.

/// The size of the replay window. The standard requires at least 32 and recommends 64; batches of segments on
/// two paths are reordered much further.
const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;

/// One bit for each of the last `WINDOW` sequence numbers, in a ring. Numbers have 48 bits.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplayWindow {
    /// One more than the highest received number; initially 0.
    next: u64,
    /// Bit `number % WINDOW`: received. Bits of numbers that left the window are cleared when reused.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// One more than the highest received number.
    #[inline]
    pub(super) fn expected(&self) -> u64 {
        self.next
    }

    /// Whether a record with this number may be opened.
    #[inline]
    pub(super) fn is_new(&self, number: u64) -> bool {
        // "If the sequence number falls to the left of the window, it is old."
        number >= self.next || (self.next - number <= WINDOW && self.seen[word(number)] & bit(number) == 0)
    }

    /// "The receive window is updated only if the MAC verification succeeds."
    #[inline]
    pub(super) fn mark(&mut self, number: u64) {
        if number >= self.next {
            if number != self.next {
                self.skip_to(number);
            }
            self.next = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }

    /// Clears the skipped numbers, in at most `WINDOW` steps.
    #[cold]
    fn skip_to(&mut self, number: u64) {
        let first = self.next.max(number.saturating_sub(WINDOW - 1));
        for skipped in first..number {
            self.seen[word(skipped)] &= !bit(skipped);
        }
    }
}

#[inline]
fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

#[inline]
fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The accepted numbers among these, in order.
    fn taken(numbers: &[u64]) -> Vec<u64> {
        let mut window = ReplayWindow::default();
        let mut take = |number| {
            let new = window.is_new(number);
            if new {
                window.mark(number);
            }
            new
        };
        numbers.iter().copied().filter(|&number| take(number)).collect()
    }

    #[test]
    fn window() {
        let last = (1 << 48) - 1;
        for (numbers, expected) in [
            (&[0, 0, 1, 1, 0][..], &[0, 1][..]),
            (&[5, 3, 5, 4, 3], &[5, 3, 4]),
            (&[1023, 0, 0, 1024, 0, 1], &[1023, 0, 1024, 1]),
            (&[0, 1024, 0, 1, 1025, 1, 2], &[0, 1024, 1, 1025, 2]),
            (&[9, 9 + 1024, 9], &[9, 9 + 1024]),
            (&[7, last, last - 1023, last - 1024, 7, last], &[7, last, last - 1023]),
        ] {
            assert_eq!(taken(numbers), expected, "{numbers:?}");
        }
    }

    proptest! {
        /// Compared with the set of all received numbers.
        #[test]
        fn takes_each_once_and_none_that_is_old(numbers in prop::collection::vec(0u64..4000, 0..300)) {
            let (mut seen, mut highest, mut expected) = (BTreeSet::new(), 0, Vec::new());
            for &number in &numbers {
                if number + WINDOW > highest && seen.insert(number) {
                    expected.push(number);
                    highest = highest.max(number);
                }
            }
            prop_assert_eq!(taken(&numbers), expected);
        }
    }
}
