//! Received TSNs: everything up to the cumulative TSN, and a bitmap ring for those beyond.

use crate::types::Tsn;

/// How far beyond the cumulative TSN chunks are tracked. A gap block can express 65,535; one word less
/// ensures that the first and last word of the ring never coincide.
pub(super) const SPAN: u64 = 65_472;

/// Initial length of the ring in words.
const WORDS_AT_FIRST: u64 = 16;

/// Classification of a TSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// New, at this position.
    New(u64),
    /// Already received.
    Duplicate,
    /// Too far ahead to be tracked.
    TooFar,
}

/// The received TSNs.
///
/// Internally a TSN is a *position*: a 64-bit number that does not wrap and whose lower half is the TSN.
#[derive(Debug)]
pub(super) struct Received {
    /// Everything up to this has arrived.
    cumulative: u64,
    /// The highest received; equal to the cumulative one if there is no gap.
    highest: u64,
    /// One bit per position: position `p` is in word `p / 64` modulo the length, which is 0 or a power of
    /// two. Bits outside `cumulative + 1 ..= highest` are 0.
    words: Vec<u64>,
}

impl Received {
    /// Nothing received yet; `initial` is the first TSN expected.
    pub(super) fn new(initial: Tsn) -> Self {
        // Starts at 2^32, so that no position is negative.
        let cumulative = (1 << 32) + u64::from(initial.0) - 1;
        Self { cumulative, highest: cumulative, words: Vec::new() }
    }

    /// Everything up to this TSN has arrived.
    pub(super) fn cumulative_tsn(&self) -> Tsn {
        tsn(self.cumulative)
    }

    /// The same as a position.
    pub(super) fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Whether a TSN is missing before a received one.
    #[inline]
    pub(super) fn has_gap(&self) -> bool {
        self.highest != self.cumulative
    }

    /// Whether this is the next TSN and nothing is beyond it.
    #[inline]
    pub(super) fn is_next_in_line(&self, candidate: Tsn) -> bool {
        !self.has_gap() && candidate == tsn(self.cumulative + 1)
    }

    /// Accepts the TSN for which [`is_next_in_line`](Self::is_next_in_line) returned true.
    #[inline]
    pub(super) fn take_next_in_line(&mut self) {
        debug_assert!(!self.has_gap(), "only without a gap");
        self.cumulative += 1;
        self.highest = self.cumulative;
    }

    /// The position of a TSN after the cumulative one; `None` if it is not after it.
    pub(super) fn position_after(&self, candidate: Tsn) -> Option<u64> {
        let ahead = candidate.since(self.cumulative_tsn());
        u64::try_from(ahead).ok().filter(|&ahead| ahead > 0).map(|ahead| self.cumulative + ahead)
    }

    /// Classifies a TSN; one farther ahead than `span`, at most [`SPAN`], is too far.
    pub(super) fn classify(&self, candidate: Tsn, span: u64) -> Arrival {
        match self.position_after(candidate) {
            None => Arrival::Duplicate,
            Some(position) if position > self.cumulative + span => Arrival::TooFar,
            Some(position) if position <= self.highest && self.is_set(position) => Arrival::Duplicate,
            Some(position) => Arrival::New(position),
        }
    }

    /// Accepts a position that was classified as new.
    pub(super) fn insert(&mut self, position: u64) {
        debug_assert!(position > self.cumulative && position <= self.cumulative + SPAN, "as classified");
        if position == self.cumulative + 1 {
            self.cumulative = position;
            self.highest = self.highest.max(position);
            self.absorb();
            return;
        }
        self.make_room_for(position);
        let at = self.word_index(position);
        self.words[at] |= 1 << (position % 64);
        self.highest = self.highest.max(position);
    }

    /// Counts everything up to `position`, which is after the cumulative one, as received. At most one step
    /// per word, however far it moves.
    pub(super) fn advance_to(&mut self, position: u64) {
        if position >= self.highest {
            self.words.fill(0);
            self.highest = position;
        } else {
            let mut at = self.cumulative + 1;
            while at <= position {
                let last = position.min(at | 63);
                let word = self.word_index(at);
                self.words[word] &= !mask(at % 64, last - at + 1);
                at = last + 1;
            }
        }
        self.cumulative = position;
        self.absorb();
    }

    /// The gap ack blocks of a SACK (RFC 9260 section 3.3.4): (first, last) as offsets from the cumulative TSN.
    pub(super) fn gap_blocks(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let mut from = self.cumulative + 1;
        std::iter::from_fn(move || {
            let first = self.next_set(from)?;
            let after = self.next_clear(first);
            from = after;
            // Offsets are at most `SPAN`, which fits.
            Some(((first - self.cumulative) as u16, (after - 1 - self.cumulative) as u16))
        })
    }

    /// Frees the ring if there is no gap.
    pub(super) fn release(&mut self) {
        if !self.has_gap() {
            self.words = Vec::new();
        }
    }

    /// Heap bytes in use.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    /// Moves the cumulative TSN over the contiguous positions that follow it.
    fn absorb(&mut self) {
        while self.has_gap() {
            let (at, bit) = (self.word_index(self.cumulative + 1), (self.cumulative + 1) % 64);
            let ones = u64::from((self.words[at] >> bit).trailing_ones());
            if ones == 0 {
                return;
            }
            self.words[at] &= !mask(bit, ones);
            self.cumulative += ones;
        }
    }

    /// The first received position from `from`.
    fn next_set(&self, from: u64) -> Option<u64> {
        let mut at = from;
        while at <= self.highest {
            let rest = self.words[self.word_index(at)] >> (at % 64);
            if rest != 0 {
                return Some(at + u64::from(rest.trailing_zeros()));
            }
            at = (at | 63) + 1;
        }
        None
    }

    /// The first missing position from `from`.
    fn next_clear(&self, from: u64) -> u64 {
        let mut at = from;
        while at <= self.highest {
            let ones = u64::from((self.words[self.word_index(at)] >> (at % 64)).trailing_ones());
            at += ones;
            if ones == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at
    }

    fn is_set(&self, position: u64) -> bool {
        self.words[self.word_index(position)] >> (position % 64) & 1 != 0
    }

    #[inline]
    fn word_index(&self, position: u64) -> usize {
        (position / 64) as usize & (self.words.len() - 1)
    }

    /// Grows the ring so that no two words from the cumulative position to this one coincide.
    fn make_room_for(&mut self, position: u64) {
        let first = (self.cumulative + 1) / 64;
        let needed = (position / 64 - first + 1).next_power_of_two().max(WORDS_AT_FIRST) as usize;
        if needed <= self.words.len() {
            return;
        }
        let mut longer = vec![0; needed];
        if self.has_gap() {
            for word in first..=self.highest / 64 {
                longer[word as usize & (needed - 1)] = self.words[word as usize & (self.words.len() - 1)];
            }
        }
        self.words = longer;
    }
}

/// `count` ones starting at `bit`; `count` is 1 to 64 and ends within the word.
fn mask(bit: u64, count: u64) -> u64 {
    (u64::MAX >> (64 - count)) << bit
}

/// The TSN of a position.
fn tsn(position: u64) -> Tsn {
    Tsn(position as u32)
}

#[cfg(test)]
mod tests;
