//! A bitmap of sequence numbers in a moving window, processed by words.

/// Bits in a word.
const WORD: u64 = 64;

/// A set of sequence numbers in a window as long as its capacity. The caller maintains the window, removes
/// what leaves it, and calls [`grow`](Self::grow) before it becomes longer.
#[derive(Debug, Default)]
pub(super) struct SeqSet {
    /// Bit `seq % 64` of word `seq / 64`, modulo the number of words, which is a power of two or 0.
    words: Vec<u64>,
    /// Number of bits set.
    count: usize,
}

impl SeqSet {
    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether `seq` is in the set.
    pub(super) fn contains(&self, seq: u64) -> bool {
        self.word(seq) & bit(seq) != 0
    }

    /// The word with the bit of this sequence number; 0 without memory.
    pub(super) fn word(&self, seq: u64) -> u64 {
        self.words.get(self.index(seq)).copied().unwrap_or(0)
    }

    /// Inserts `seq`; returns whether it is new.
    pub(super) fn insert(&mut self, seq: u64) -> bool {
        self.claim(seq, seq + 1).0 != 0
    }

    /// Removes `seq`; returns whether it was present.
    pub(super) fn remove(&mut self, seq: u64) -> bool {
        self.remove_word(seq, seq + 1) != 0
    }

    /// Inserts those of `from..to` that share the word of `from`. Returns the new bits, and where to
    /// continue.
    pub(super) fn claim(&mut self, from: u64, to: u64) -> (u64, u64) {
        let (mask, next) = piece(from, to);
        let index = self.index(from);
        let word = &mut self.words[index];
        let new = mask & !*word;
        *word |= new;
        self.count += new.count_ones() as usize;
        (new, next)
    }

    /// Removes `from..to`.
    pub(super) fn remove_range(&mut self, from: u64, to: u64) {
        let mut at = from;
        while at < to && self.count > 0 {
            self.remove_word(at, to);
            at = piece(at, to).1;
        }
    }

    /// The first of `from..to` that is in the set.
    pub(super) fn first(&self, from: u64, to: u64) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        first_bit(from, to, |seq| self.word(seq))
    }

    /// Grows to a window of `capacity` numbers, a power of two; `from..to` is the current window.
    pub(super) fn grow(&mut self, capacity: usize, from: u64, to: u64) {
        let words = capacity.div_ceil(WORD as usize);
        if words <= self.words.len() {
            return;
        }
        let old = std::mem::replace(self, Self { words: vec![0; words], count: 0 });
        let mut at = from;
        while at < to {
            let (mask, next) = piece(at, to);
            let kept = old.word(at) & mask;
            let index = self.index(at);
            self.words[index] |= kept;
            self.count += kept.count_ones() as usize;
            at = next;
        }
    }

    fn remove_word(&mut self, from: u64, to: u64) -> u64 {
        let (mask, _) = piece(from, to);
        let index = self.index(from);
        let Some(word) = self.words.get_mut(index) else { return 0 };
        let gone = *word & mask;
        *word &= !mask;
        self.count -= gone.count_ones() as usize;
        gone
    }

    fn index(&self, seq: u64) -> usize {
        (seq / WORD) as usize & self.words.len().wrapping_sub(1)
    }
}

/// The first of `from..to` whose bit is set in the words returned by `word`.
pub(super) fn first_bit(from: u64, to: u64, word: impl Fn(u64) -> u64) -> Option<u64> {
    let mut at = from;
    while at < to {
        let (mask, next) = piece(at, to);
        let found = word(at) & mask;
        if found != 0 {
            return Some(at - at % WORD + u64::from(found.trailing_zeros()));
        }
        at = next;
    }
    None
}

/// How many of `from..to` have their bit set in the words returned by `word`.
pub(super) fn count_bits(from: u64, to: u64, word: impl Fn(u64) -> u64) -> usize {
    let (mut at, mut count) = (from, 0);
    while at < to {
        let (mask, next) = piece(at, to);
        count += (word(at) & mask).count_ones() as usize;
        at = next;
    }
    count
}

/// The sequence numbers of the bits of a word in ascending order; `at` is any number of that word.
pub(super) fn numbers(at: u64, mut bits: u64) -> impl Iterator<Item = u64> {
    let first = at - at % WORD;
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| first + u64::from(bits.trailing_zeros()))?;
        bits &= bits - 1;
        Some(lowest)
    })
}

fn bit(seq: u64) -> u64 {
    1 << (seq % WORD)
}

/// The bits of `from..to` in the word of `from`, and the first number after that word.
fn piece(from: u64, to: u64) -> (u64, u64) {
    let next = (from - from % WORD + WORD).min(to);
    let length = next - from;
    let mask = if length == WORD { u64::MAX } else { ((1 << length) - 1) << (from % WORD) };
    (mask, next)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64),
        Remove(u64),
        Claim(u64, u64),
        Advance(u64),
        First(u64),
        Grow,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..256u64).prop_map(Step::Insert),
            (0..256u64).prop_map(Step::Remove),
            (0..256u64, 0..256u64).prop_map(|(a, b)| Step::Claim(a.min(b), a.max(b))),
            (0..100u64).prop_map(Step::Advance),
            (0..256u64).prop_map(Step::First),
            Just(Step::Grow),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(8260),
            ..ProptestConfig::default()
        })]

        #[test]
        fn does_what_a_tree_does(first in 0..1000u64, steps in steps()) {
            let (mut set, mut model) = (SeqSet::default(), BTreeSet::new());
            let (mut base, mut capacity) = (first, 16);
            set.grow(capacity, base, base);
            for step in steps {
                // The window is as long as the capacity.
                let end = base + capacity as u64;
                match step {
                    Step::Insert(at) if base + at < end => {
                        prop_assert_eq!(set.insert(base + at), model.insert(base + at));
                    }
                    Step::Remove(at) if base + at < end => {
                        prop_assert_eq!(set.remove(base + at), model.remove(&(base + at)));
                    }
                    Step::Claim(from, to) => {
                        let (mut at, to) = (base + from, end.min(base + to));
                        while at < to {
                            let (new, next) = set.claim(at, to);
                            let new: Vec<u64> = numbers(at, new).collect();
                            let expected: Vec<u64> = (at..next).filter(|&seq| model.insert(seq)).collect();
                            prop_assert_eq!(new, expected);
                            at = next;
                        }
                    }
                    Step::Advance(by) => {
                        let to = base + by.min(capacity as u64);
                        set.remove_range(base, to);
                        model = model.split_off(&to);
                        base = to;
                    }
                    Step::First(at) if base + at < end => {
                        prop_assert_eq!(set.first(base + at, end), model.range(base + at..).next().copied());
                        let count = count_bits(base + at, end, |seq| set.word(seq));
                        prop_assert_eq!(count, model.range(base + at..end).count());
                    }
                    Step::Grow if capacity < 4096 => {
                        capacity *= 2;
                        set.grow(capacity, base, end);
                    }
                    _ => {}
                }
                prop_assert_eq!(set.len(), model.len());
                let end = base + capacity as u64;
                prop_assert!((base..end).all(|seq| set.contains(seq) == model.contains(&seq)));
            }
        }
    }
}
