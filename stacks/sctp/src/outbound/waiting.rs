//! The unsent messages of a stream. With thousands of short messages, the overhead per message matters. Most
//! follow the previous one in the store and have the same options. Locations are therefore stored once per
//! contiguous span, and options once per run of equal ones. What remains is a length.

use std::collections::VecDeque;

use super::limited::LimitId;
use super::store::Stored;
use crate::types::Ppid;

/// Initial capacity in messages.
const MIN_CAPACITY: usize = 16;
/// Marks a length stored in `long`.
const LONG: u16 = u16::MAX;

/// Options of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) ppid: Ppid,
    pub(super) limit: LimitId,
    pub(super) unordered: bool,
}

/// Consecutive messages with the same options.
#[derive(Debug)]
struct Run {
    count: u32,
    terms: Terms,
}

/// Messages contiguous in the store, up to the next span. A message of limited reliability has its own span,
/// because it may be abandoned early.
#[derive(Debug)]
struct Span {
    /// The first of them.
    place: u32,
    block: u32,
    /// Start of the unsent part of the first message.
    start: u32,
}

/// A long message.
#[derive(Debug)]
struct Long {
    place: u32,
    length: u32,
}

/// Bytes removed from the front of a queue.
#[derive(Debug)]
#[must_use]
pub(super) struct Taken {
    pub(super) payload: Stored,
    pub(super) terms: Terms,
    /// Messages that have left the queue: the front one and abandoned ones behind it. 0: part of it is left.
    pub(super) gone: usize,
}

/// The queue. A message is identified by its place: its number among all messages of the queue, modulo 2^32.
/// An abandoned message is empty, and leaves when it reaches the front.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Unsent length of each message.
    lengths: VecDeque<u16>,
    /// Lengths that exceed 16 bits, by place.
    long: VecDeque<Long>,
    spans: VecDeque<Span>,
    runs: VecDeque<Run>,
    /// The place of the front.
    first: u32,
    /// Where the next message must be in the store to belong to the last span: block and start.
    end: Option<(u32, u32)>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The place of the front message.
    pub(super) fn first_place(&self) -> u32 {
        self.first
    }

    /// The place of the next message queued.
    pub(super) fn next_place(&self) -> u32 {
        self.first.wrapping_add(self.len() as u32)
    }

    #[inline]
    pub(super) fn push_back(&mut self, payload: Stored, terms: Terms) {
        let (place, length) = (self.next_place(), payload.len());
        let short = u16::try_from(length).unwrap_or(LONG);
        // Grows by an eighth: doubling would waste a third on average.
        make_room(&mut self.lengths, 8);
        self.lengths.push_back(short);
        if short == LONG {
            self.long.push_back(Long { place, length: length as u32 });
        }
        let (block, start) = payload.place();
        if self.spans.is_empty() || terms.limit.is_limited() || self.end != Some((block, start)) {
            make_room(&mut self.spans, 2);
            self.spans.push_back(Span { place, block, start });
        }
        self.end = (!terms.limit.is_limited()).then_some((block, start.wrapping_add(length as u32)));
        match self.runs.back_mut().filter(|run| run.terms == terms && run.count < u32::MAX) {
            Some(run) => run.count += 1,
            None => self.runs.push_back(Run { count: 1, terms }),
        }
    }

    /// Unsent length of the front message.
    #[inline]
    pub(super) fn front_bytes(&self) -> Option<usize> {
        match *self.lengths.front()? {
            LONG => Some(self.long.front()?.length as usize),
            short => Some(short.into()),
        }
    }

    /// Whether the front message is unordered.
    pub(super) fn is_front_unordered(&self) -> bool {
        self.runs.front().is_some_and(|run| run.terms.unordered)
    }

    /// Removes up to `bytes` from the front message.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> Option<Taken> {
        let left = self.front_bytes()?;
        debug_assert!(bytes <= left);
        let span = self.spans.front_mut()?;
        let payload = Stored::at((span.block, span.start), bytes);
        span.start += bytes as u32;
        let terms = self.runs.front()?.terms;
        if bytes == left {
            return Some(Taken { payload, terms, gone: self.leave() });
        }
        match self.lengths.front_mut()? {
            &mut LONG => self.long.front_mut()?.length -= bytes as u32,
            short => *short -= bytes as u16,
        }
        Some(Taken { payload, terms, gone: 0 })
    }

    /// Abandons a message of limited reliability: returns its unsent part, and how many messages have left
    /// the queue.
    pub(super) fn give_up(&mut self, place: u32) -> Option<(Stored, usize)> {
        let first = self.first;
        let ahead = |place: u32| place.wrapping_sub(first);
        let short = self.lengths.get_mut(ahead(place) as usize)?;
        let mut length = usize::from(std::mem::take(short));
        if length == usize::from(LONG) {
            let at = self.long.binary_search_by_key(&ahead(place), |long| ahead(long.place)).ok()?;
            length = std::mem::take(&mut self.long[at].length) as usize;
        }
        let at = self.spans.binary_search_by_key(&ahead(place), |span| ahead(span.place)).ok()?;
        let payload = Stored::at((self.spans[at].block, self.spans[at].start), length);
        let gone = if place == first { self.leave() } else { 0 };
        Some((payload, gone))
    }

    /// Makes all messages reliable.
    pub(super) fn lift_limits(&mut self) {
        self.runs.iter_mut().for_each(|run| run.terms.limit = LimitId::NONE);
    }

    /// Releases the memory if the queue is empty.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            *self = Self { first: self.first, ..Self::default() };
        }
    }

    /// Removes the front message and abandoned ones after it; returns their number.
    #[inline]
    fn leave(&mut self) -> usize {
        let mut gone = 0;
        while self.lengths.pop_front().is_some() {
            gone += 1;
            self.long.pop_front_if(|long| long.place == self.first);
            self.first = self.first.wrapping_add(1);
            if let Some(run) = self.runs.front_mut() {
                run.count -= 1;
                if run.count == 0 {
                    self.runs.pop_front();
                }
            }
            if self.lengths.is_empty() || self.spans.get(1).is_some_and(|next| next.place == self.first) {
                self.spans.pop_front();
            } else if let Some(span) = self.spans.front_mut() {
                span.place = self.first;
            }
            if self.lengths.front() != Some(&0) {
                break;
            }
        }
        gone
    }

    /// Unsent length of each message.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.lengths.iter().enumerate().map(|(at, &short)| match short {
            LONG => {
                let place = self.first.wrapping_add(at as u32);
                self.long.iter().find(|long| long.place == place).unwrap().length as usize
            }
            short => short.into(),
        })
    }

    /// Memory use in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.lengths.capacity() * size_of::<u16>()
            + self.long.capacity() * size_of::<Long>()
            + self.spans.capacity() * size_of::<Span>()
            + self.runs.capacity() * size_of::<Run>()
    }
}

/// Makes space for one more element, growing by a fraction of the length.
#[inline]
pub(super) fn make_room<T>(queue: &mut VecDeque<T>, part: usize) {
    if queue.len() == queue.capacity() {
        queue.reserve_exact((queue.len() / part).max(MIN_CAPACITY));
    }
}

#[cfg(test)]
mod tests {
    use super::super::limited::LimitTable;
    use super::super::store::{Keep, Store};
    use super::super::time::Time;
    use super::*;
    use crate::block_length::MAX_SHARED_BYTES;

    fn terms(ppid: u32) -> Terms {
        Terms { ppid: Ppid(ppid), limit: LimitId::NONE, unordered: ppid.is_multiple_of(2) }
    }

    #[test]
    fn messages_come_out_in_order_each_on_its_terms() {
        let (mut store, mut waiting) = (Store::default(), Waiting::default());
        let kinds = [1, 1, 1, 2, 1, 3, 3, 2, 2];
        let lengths = [1, 2, 70_000, 4, 65_535, 65_534, MAX_SHARED_BYTES, 8, 9];
        let message = |at: usize| vec![at as u8; lengths[at]];
        for (at, &kind) in kinds.iter().enumerate() {
            waiting.push_back(store.store(&message(at), Keep::UntilAcked), terms(kind));
        }
        assert_eq!((waiting.len(), waiting.runs.len()), (9, 5));
        assert_eq!(waiting.iter().collect::<Vec<_>>(), lengths);
        for (at, &kind) in kinds.iter().enumerate() {
            assert_eq!((waiting.first_place() as usize, waiting.front_bytes()), (at, Some(lengths[at])));
            assert_eq!(waiting.is_front_unordered(), kind.is_multiple_of(2));
            // In two parts if possible.
            let first = lengths[at] / 2;
            let mut found = Vec::new();
            for part in [first, lengths[at] - first].into_iter().filter(|&part| part > 0) {
                let taken = waiting.take(part).unwrap();
                assert_eq!(taken.terms, terms(kind));
                found.extend_from_slice(store.get(&taken.payload));
                assert_eq!(taken.gone, usize::from(found.len() == lengths[at]));
                store.release(taken.payload);
            }
            assert_eq!(found, message(at));
        }
        assert!(
            waiting.is_empty()
                && waiting.runs.is_empty()
                && waiting.spans.is_empty()
                && waiting.long.is_empty()
        );
        assert!(waiting.take(0).is_none());
        assert_eq!(store.live_bytes(), 0);
    }

    /// Every third message is limited and may be abandoned anywhere in the queue; places wrap.
    #[test]
    fn who_is_given_up_leaves_when_it_gets_to_the_front() {
        for given_up in 0..64_u32 {
            let (mut store, mut limits) = (Store::default(), LimitTable::default());
            let mut waiting = Waiting { first: u32::MAX - 7, ..Waiting::default() };
            let begin = waiting.first_place();
            let length = |at: u32| if at.is_multiple_of(5) { 70_000 } else { at as usize + 1 };
            for at in 0..18_u32 {
                let limited = at.is_multiple_of(3);
                let keep = if limited { Keep::Limited } else { Keep::UntilAcked };
                let limit = if limited { limits.add(Time::NEVER, None, 0, at) } else { LimitId::NONE };
                waiting
                    .push_back(store.store(&vec![at as u8; length(at)], keep), Terms { limit, ..terms(1) });
            }
            let is_given_up = |at: u32| at.is_multiple_of(3) && given_up >> (at / 3) & 1 == 1;
            let mut left = 0;
            for at in (0..18).rev().filter(|&at| is_given_up(at)) {
                let (payload, gone) = waiting.give_up(begin.wrapping_add(at)).unwrap();
                assert_eq!(store.get(&payload), vec![at as u8; length(at)]);
                assert_eq!(gone, usize::from(at == 0));
                store.release(payload);
                left += gone;
            }
            for at in (0..18).filter(|&at| !is_given_up(at)) {
                let bytes = waiting.front_bytes().unwrap();
                let taken = waiting.take(bytes).unwrap();
                assert_eq!(store.get(&taken.payload), vec![at as u8; length(at)], "{at} of {given_up:b}");
                store.release(taken.payload);
                left += taken.gone;
            }
            assert!(waiting.is_empty() && waiting.runs.is_empty() && waiting.spans.is_empty());
            assert!(waiting.long.is_empty());
            assert_eq!((left, store.live_bytes()), (18, 0));
        }
    }

    /// However many wait, each takes less than three bytes besides its payload.
    #[test]
    fn short_messages_take_little_beside_their_bytes() {
        let (mut store, mut waiting) = (Store::default(), Waiting::default());
        for count in 1..40_000 {
            let length = 30 + count as usize % 70;
            waiting.push_back(store.store(&vec![0; length], Keep::UntilAcked), terms(53));
            let each = waiting.memory_bytes() as f64 / f64::from(count);
            assert!(count < 1000 || each < 3.0, "{each} of {count}");
        }
    }
}
