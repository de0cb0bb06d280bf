//! A buffer that reorders packets and reports missing ones.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Limits of a reordering buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReorderLimits {
    /// Maximum number of packets after a gap; beyond it, the gap is treated as lost.
    pub max_packets: usize,
    /// Maximum duration of a gap since its detection. With 0, reordered packets are lost.
    pub max_wait: Duration,
}

impl Default for ReorderLimits {
    /// 512 packets (about two pictures of 300 KB), 50 ms.
    fn default() -> Self {
        Self { max_packets: 512, max_wait: Duration::from_millis(50) }
    }
}

/// Output of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered<T> {
    /// The next packet.
    Packet {
        /// Its extended sequence number.
        sequence: u64,
        /// The inserted value.
        item: T,
    },
    /// Packets that did not arrive in time.
    Gap {
        /// Extended sequence number of the first.
        first: u64,
        /// Number of packets.
        count: u64,
    },
}

/// The reason why a packet was not inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The packet or the gap at its position has been output. It may be a duplicate.
    #[error("the packet arrived after its position was output")]
    Late,
    /// The packet is in the buffer.
    #[error("duplicate packet")]
    Duplicate,
}

#[derive(Debug, Clone)]
struct Held<T> {
    sequence: u64,
    arrived: Instant,
    item: T,
}

/// Reorders packets by extended sequence number (see [`Reception`](crate::Reception)). Packets in order are output at once. A gap
/// delays later packets within the limits. The stream starts with the first packet.
///
/// After each [`insert`](Self::insert), and at [`next_deadline`](Self::next_deadline), call [`poll`](Self::poll) until it
/// returns `None`. A packet in order takes constant time, any other a search and a move.
#[derive(Debug, Clone)]
pub struct ReorderBuffer<T> {
    limits: ReorderLimits,
    /// Sorted by sequence number without duplicates.
    held: VecDeque<Held<T>>,
    /// Next sequence number to output; `None` before the first packet.
    next: Option<u64>,
    /// Detection of the gap before the first stored packet.
    hole_since: Option<Instant>,
}

impl<T> ReorderBuffer<T> {
    /// Creates an empty buffer.
    pub fn new(limits: ReorderLimits) -> Self {
        Self { limits, held: VecDeque::new(), next: None, hole_since: None }
    }

    /// Inserts a packet that arrived `now`.
    pub fn insert(&mut self, now: Instant, sequence: u64, item: T) -> Result<(), InsertError> {
        if sequence < *self.next.get_or_insert(sequence) {
            return Err(InsertError::Late);
        }
        let after = self.held.iter().rev().take_while(|held| held.sequence > sequence).count();
        let place = self.held.len() - after;
        if place.checked_sub(1).is_some_and(|before| self.held[before].sequence == sequence) {
            return Err(InsertError::Duplicate);
        }
        self.held.insert(place, Held { sequence, arrived: now, item });
        self.update_gap();
        Ok(())
    }

    /// Returns the next packet or gap, as order and limits permit.
    pub fn poll(&mut self, now: Instant) -> Option<Ordered<T>> {
        let (next, first) = (self.next?, self.held.front()?.sequence);
        if first > next {
            let is_over = self.held.len() > self.limits.max_packets
                || self.next_deadline().is_some_and(|deadline| deadline <= now);
            return is_over.then(|| self.skip_gap(next, first));
        }
        let Held { sequence, item, .. } = self.held.pop_front()?;
        self.next = Some(sequence.saturating_add(1));
        self.update_gap();
        Some(Ordered::Packet { sequence, item })
    }

    /// Returns the next packet or gap without waiting, at the end of a stream.
    pub fn flush(&mut self) -> Option<Ordered<T>> {
        let (next, first) = (self.next?, self.held.front()?);
        if first.sequence > next {
            let first = first.sequence;
            return Some(self.skip_gap(next, first));
        }
        let now = first.arrived;
        self.poll(now)
    }

    /// The time at which a gap is treated as lost; `None` without a gap.
    pub fn next_deadline(&self) -> Option<Instant> {
        Some(self.hole_since? + self.limits.max_wait)
    }

    /// Number of stored packets.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether no packet is stored.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Resets the buffer after a restart of the source.
    pub fn reset(&mut self) {
        self.held.clear();
        (self.next, self.hole_since) = (None, None);
    }

    fn skip_gap(&mut self, next: u64, first: u64) -> Ordered<T> {
        self.next = Some(first);
        self.hole_since = None;
        Ordered::Gap { first: next, count: first - next }
    }

    /// Updates the detection time of the gap before the stored packets.
    fn update_gap(&mut self) {
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
