//! Messages of limited reliability (RFC 3758, RFC 7496): their limits, their chunks, and which expires next.
//! Reliable messages have no entry here and cost nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::time::Time;

/// Tolerated stale heap entries, in addition to one per message.
const STALE_MAX: usize = 64;

/// The entry of a message, or none if it is reliable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LimitId(u32);

impl LimitId {
    /// A reliable message.
    pub(super) const NONE: Self = Self(u32::MAX);

    pub(super) fn is_limited(self) -> bool {
        self != Self::NONE
    }
}

/// A message of limited reliability.
#[derive(Debug, Clone)]
pub(super) struct Limit {
    /// When it expires; may be `NEVER`.
    pub(super) expires: Time,
    /// Most retransmissions of each of its chunks.
    pub(super) max_retransmits: Option<u16>,
    /// The slot of its stream.
    pub(super) slot: usize,
    /// Its position in the queue: its number among all messages of the stream.
    pub(super) place: u32,
    /// Part of it is unsent.
    pub(super) is_queued: bool,
    /// It was abandoned.
    pub(super) is_abandoned: bool,
    /// Number of chunks in flight.
    pub(super) chunks: u32,
    /// Number of its first chunk in flight.
    pub(super) first: u64,
    /// Number of its last chunk in flight.
    pub(super) last: u64,
    /// Distinguishes the messages that have used this entry.
    generation: u32,
}

/// All messages of limited reliability.
#[derive(Debug, Default)]
pub(super) struct LimitTable {
    entries: Vec<Limit>,
    free: Vec<LimitId>,
    /// Expiries, the next one first. May contain entries of finished messages.
    expiries: BinaryHeap<Reverse<(Time, LimitId, u32)>>,
}

impl LimitTable {
    /// Number of entries in use.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Adds a message that waits in the queue of its stream.
    pub(super) fn add(
        &mut self,
        expires: Time,
        max_retransmits: Option<u16>,
        slot: usize,
        place: u32,
    ) -> LimitId {
        let mut limit = Limit {
            expires,
            max_retransmits,
            slot,
            place,
            is_queued: true,
            is_abandoned: false,
            chunks: 0,
            first: 0,
            last: 0,
            generation: 0,
        };
        let id = match self.free.pop() {
            Some(id) => {
                limit.generation = self.get(id).generation.wrapping_add(1);
                *self.get_mut(id) = limit;
                id
            }
            None => {
                self.entries.push(limit);
                LimitId(self.entries.len() as u32 - 1)
            }
        };
        if expires != Time::NEVER {
            self.compact();
            self.expiries.push(Reverse((expires, id, self.get(id).generation)));
        }
        id
    }

    pub(super) fn get(&self, id: LimitId) -> &Limit {
        &self.entries[id.0 as usize]
    }

    pub(super) fn get_mut(&mut self, id: LimitId) -> &mut Limit {
        &mut self.entries[id.0 as usize]
    }

    /// Records the first transmission of a chunk of the message. Returns the number of the previous one if
    /// that is in flight.
    pub(super) fn sent(&mut self, id: LimitId, seq: u64) -> Option<u64> {
        let limit = self.get_mut(id);
        let before = (limit.chunks > 0).then_some(limit.last);
        if limit.chunks == 0 {
            limit.first = seq;
        }
        limit.last = seq;
        limit.chunks += 1;
        before
    }

    /// The message has no unsent part any more.
    pub(super) fn dequeued(&mut self, id: LimitId) {
        self.get_mut(id).is_queued = false;
        self.release(id);
    }

    /// Its first chunk is no longer in flight; the next one, if any, is `next_fragment` further.
    pub(super) fn landed(&mut self, id: LimitId, seq: u64, next_fragment: u32) {
        let limit = self.get_mut(id);
        debug_assert_eq!(limit.first, seq);
        limit.chunks -= 1;
        limit.first = seq + u64::from(next_fragment);
        self.release(id);
    }

    /// Whether to abandon the message rather than retransmit it after this many transmissions.
    pub(super) fn is_exhausted(&self, id: LimitId, transmits: u16, now: Time) -> bool {
        let limit = self.get(id);
        limit.expires <= now || limit.max_retransmits.is_some_and(|max| transmits > max)
    }

    /// The next expiry.
    pub(super) fn next_expiry(&self) -> Time {
        self.expiries.peek().map_or(Time::NEVER, |Reverse((expires, ..))| *expires)
    }

    /// The next expired message, returned once.
    pub(super) fn pop_expired(&mut self, now: Time) -> Option<LimitId> {
        while self.next_expiry() <= now {
            let Reverse((_, id, generation)) = self.expiries.pop()?;
            if self.is_alive(id, generation) {
                return Some(id);
            }
        }
        None
    }

    /// Removes finished messages from the top of the heap, so that no deadline is spurious.
    pub(super) fn tidy(&mut self) {
        while let Some(&Reverse((_, id, generation))) = self.expiries.peek() {
            if self.is_alive(id, generation) {
                return;
            }
            self.expiries.pop();
        }
    }

    /// Releases the memory if there is no message.
    pub(super) fn shrink(&mut self) {
        if self.len() == 0 {
            *self = Self::default();
        }
    }

    fn is_alive(&self, id: LimitId, generation: u32) -> bool {
        let limit = self.get(id);
        limit.generation == generation && !limit.is_abandoned && (limit.is_queued || limit.chunks > 0)
    }

    fn release(&mut self, id: LimitId) {
        let limit = self.get(id);
        if !limit.is_queued && limit.chunks == 0 {
            self.free.push(id);
        }
    }

    /// Drops entries of finished messages once they are the majority.
    fn compact(&mut self) {
        if self.expiries.len() > 2 * self.len() + STALE_MAX {
            let mut expiries = std::mem::take(&mut self.expiries);
            expiries.retain(|&Reverse((_, id, generation))| self.is_alive(id, generation));
            self.expiries = expiries;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn expire_in_order_and_once() {
        let mut limits = LimitTable::default();
        let at = |ms| Time::START.after(Duration::from_millis(ms));
        let ids: Vec<LimitId> = [30, 10, 20].map(|ms| limits.add(at(ms), None, 0, 0)).to_vec();
        assert_eq!(limits.next_expiry(), at(10));
        assert_eq!(limits.pop_expired(at(9)), None);
        assert_eq!(limits.pop_expired(at(25)), Some(ids[1]));
        // Finishes before it expires; its entry is reused.
        limits.dequeued(ids[2]);
        assert_eq!(limits.add(at(40), None, 0, 0), ids[2]);
        assert_eq!(limits.pop_expired(at(25)), None);
        limits.tidy();
        assert_eq!(limits.next_expiry(), at(30));
    }

    #[test]
    fn the_heap_does_not_outgrow_the_messages() {
        let mut limits = LimitTable::default();
        for i in 0..100_000 {
            let id = limits.add(Time::START.after(Duration::from_secs(1000 + i)), None, 0, 0);
            limits.dequeued(id);
        }
        assert!(limits.expiries.len() <= STALE_MAX + 3, "{}", limits.expiries.len());
        assert_eq!(limits.entries.len(), 1);
        limits.shrink();
        assert_eq!(limits.next_expiry(), Time::NEVER);
    }

    #[test]
    fn fragments_are_counted() {
        let mut limits = LimitTable::default();
        let id = limits.add(Time::NEVER, Some(1), 0, 0);
        assert_eq!([limits.sent(id, 5), limits.sent(id, 8), limits.sent(id, 9)], [None, Some(5), Some(8)]);
        limits.dequeued(id);
        limits.landed(id, 5, 3);
        limits.landed(id, 8, 1);
        assert_eq!((limits.len(), limits.get(id).first), (1, 9));
        limits.landed(id, 9, 0);
        assert_eq!(limits.len(), 0);
        assert!(!limits.is_exhausted(id, 1, Time::START) && limits.is_exhausted(id, 2, Time::START));
    }
}
