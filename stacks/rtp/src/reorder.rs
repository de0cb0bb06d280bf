//! A buffer that puts packets in order again, and tells what is missing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long and how much the buffer waits for a packet that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReorderLimits {
    /// Packets held behind a hole; one more, and the hole is given up.
    pub max_packets: usize,
    /// How long a hole may last, from when it is first seen. 0: what comes out of order is lost.
    pub max_wait: Duration,
}

impl Default for ReorderLimits {
    /// 512 packets, a little more than two pictures of 300 KB; 50 ms.
    fn default() -> Self {
        Self { max_packets: 512, max_wait: Duration::from_millis(50) }
    }
}

/// What comes out of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered<T> {
    /// The next packet.
    Packet {
        /// Its number.
        sequence: u64,
        /// What was given with it.
        item: T,
    },
    /// Packets that did not come in time.
    Gap {
        /// The number of the first.
        first: u64,
        /// How many.
        count: u64,
    },
}

/// Why a packet was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotTaken {
    /// Its place has been given out, as a packet or as a gap. It may be a duplicate.
    #[error("the packet came too late: its place was given out before")]
    Late,
    /// It is in the buffer.
    #[error("the packet came twice")]
    Duplicate,
}

#[derive(Debug, Clone)]
struct Held<T> {
    sequence: u64,
    arrived: Instant,
    item: T,
}

/// Packets in order of their numbers (of 64 bits, as [`Reception`](crate::Reception) gives them). What is in order goes
/// through at once; a hole is waited for, within the limits. The first packet decides where the stream begins.
///
/// After each [`insert`](Self::insert), and at [`next_deadline`](Self::next_deadline), call [`poll`](Self::poll) until it
/// gives nothing. In order a packet costs a few operations; out of order a search, and a move of those after it.
#[derive(Debug, Clone)]
pub struct ReorderBuffer<T> {
    limits: ReorderLimits,
    /// By ascending number, no number twice.
    held: VecDeque<Held<T>>,
    /// What comes out next; none before the first packet.
    next: Option<u64>,
    /// Since when the hole before the first held packet is known.
    hole_since: Option<Instant>,
}

impl<T> ReorderBuffer<T> {
    /// An empty buffer.
    pub fn new(limits: ReorderLimits) -> Self {
        Self { limits, held: VecDeque::new(), next: None, hole_since: None }
    }

    /// Takes a packet that arrived `now`.
    pub fn insert(&mut self, now: Instant, sequence: u64, item: T) -> Result<(), NotTaken> {
        if sequence < *self.next.get_or_insert(sequence) {
            return Err(NotTaken::Late);
        }
        let after = self.held.iter().rev().take_while(|held| held.sequence > sequence).count();
        let place = self.held.len() - after;
        if place.checked_sub(1).is_some_and(|before| self.held[before].sequence == sequence) {
            return Err(NotTaken::Duplicate);
        }
        self.held.insert(place, Held { sequence, arrived: now, item });
        self.look();
        Ok(())
    }

    /// The next packet or gap, as far as order, time and count allow.
    pub fn poll(&mut self, now: Instant) -> Option<Ordered<T>> {
        let (next, first) = (self.next?, self.held.front()?.sequence);
        if first > next {
            let is_over = self.held.len() > self.limits.max_packets
                || self.next_deadline().is_some_and(|deadline| deadline <= now);
            return is_over.then(|| self.give_up(next, first));
        }
        let Held { sequence, item, .. } = self.held.pop_front()?;
        self.next = Some(sequence.saturating_add(1));
        self.look();
        Some(Ordered::Packet { sequence, item })
    }

    /// The same without waiting: for the end of a stream.
    pub fn flush(&mut self) -> Option<Ordered<T>> {
        let (next, first) = (self.next?, self.held.front()?);
        if first.sequence > next {
            let first = first.sequence;
            return Some(self.give_up(next, first));
        }
        let now = first.arrived;
        self.poll(now)
    }

    /// When a hole is given up; none if there is none.
    pub fn next_deadline(&self) -> Option<Instant> {
        Some(self.hole_since? + self.limits.max_wait)
    }

    /// Packets held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Begins anew, with whatever comes next: the source restarted.
    pub fn reset(&mut self) {
        self.held.clear();
        (self.next, self.hole_since) = (None, None);
    }

    fn give_up(&mut self, next: u64, first: u64) -> Ordered<T> {
        self.next = Some(first);
        self.hole_since = None;
        Ordered::Gap { first: next, count: first - next }
    }

    /// Sees whether there is a hole before what is held, and since when: since the first of those behind it came.
    fn look(&mut self) {
        let has_hole = self.held.front().is_some_and(|first| Some(first.sequence) > self.next);
        match self.hole_since {
            _ if !has_hole => self.hole_since = None,
            None => self.hole_since = self.held.iter().map(|held| held.arrived).min(),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
