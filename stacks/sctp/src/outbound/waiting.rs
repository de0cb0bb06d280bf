//! The messages of a stream that were not sent. Where thousands of short ones wait, what each takes beside its bytes counts: most are sent
//! on the same terms as the one before, so terms are kept once for all of a run.

use std::collections::VecDeque;

use super::limited::LimitId;
use super::store::Stored;
use crate::types::Ppid;

/// Messages for which there is memory at first.
const MIN_CAPACITY: usize = 16;

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) ppid: Ppid,
    pub(super) limit: LimitId,
    pub(super) unordered: bool,
}

/// Messages of the same terms, one after the other.
#[derive(Debug)]
struct Run {
    count: u32,
    terms: Terms,
}

/// The queue. What is left of a message may be empty: it was given up, and leaves when it gets to the front.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    payloads: VecDeque<Stored>,
    runs: VecDeque<Run>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.payloads.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    #[inline]
    pub(super) fn push_back(&mut self, payload: Stored, terms: Terms) {
        if self.payloads.len() == self.payloads.capacity() {
            // By half: twice as much would on average be a third for nothing.
            self.payloads.reserve_exact((self.payloads.len() / 2).max(MIN_CAPACITY));
        }
        self.payloads.push_back(payload);
        match self.runs.back_mut().filter(|run| run.terms == terms && run.count < u32::MAX) {
            Some(run) => run.count += 1,
            None => self.runs.push_back(Run { count: 1, terms }),
        }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Stored> {
        self.payloads.front()
    }

    /// What is left of the message at the front, and its terms.
    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<(&mut Stored, Terms)> {
        Some((self.payloads.front_mut()?, self.runs.front()?.terms))
    }

    /// What is left of the message at this place, counted from the front.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Stored> {
        self.payloads.get_mut(place)
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<(Stored, Terms)> {
        let payload = self.payloads.pop_front()?;
        let run = self.runs.front_mut()?;
        let terms = run.terms;
        run.count -= 1;
        if run.count == 0 {
            self.runs.pop_front();
        }
        Some((payload, terms))
    }

    /// None of them is limited any more.
    pub(super) fn lift_limits(&mut self) {
        self.runs.iter_mut().for_each(|run| run.terms.limit = LimitId::NONE);
    }

    /// What is left of each.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stored> {
        self.payloads.iter()
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.payloads.capacity() * size_of::<Stored>() + self.runs.capacity() * size_of::<Run>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::{Keep, Store};
    use super::*;

    fn terms(ppid: u32) -> Terms {
        Terms { ppid: Ppid(ppid), limit: LimitId::NONE, unordered: ppid.is_multiple_of(2) }
    }

    #[test]
    fn messages_come_out_in_order_each_on_its_terms() {
        let (mut store, mut waiting) = (Store::default(), Waiting::default());
        let kinds = [1, 1, 1, 2, 1, 3, 3, 2, 2];
        for (length, &kind) in (1..).zip(&kinds) {
            waiting.push_back(store.store(&vec![0; length], Keep::UntilAcked), terms(kind));
        }
        assert_eq!((waiting.len(), waiting.runs.len()), (9, 5));
        assert_eq!(waiting.get_mut(5).map(|payload| payload.len()), Some(6));
        for (length, &kind) in (1..).zip(&kinds) {
            let (payload, of) = waiting.front_mut().unwrap();
            assert_eq!((payload.len(), of), (length, terms(kind)));
            let (payload, of) = waiting.pop_front().unwrap();
            assert_eq!((payload.len(), of), (length, terms(kind)));
            store.release(payload);
        }
        assert!(waiting.is_empty() && waiting.runs.is_empty() && waiting.pop_front().is_none());
    }

    /// However many wait: with its 64 bytes each takes less than 1.3 times of them.
    #[test]
    fn short_messages_take_little_beside_their_bytes() {
        let (mut store, mut waiting) = (Store::default(), Waiting::default());
        for count in 1..40_000 {
            waiting.push_back(store.store(&[0; 64], Keep::UntilAcked), terms(53));
            let each = waiting.memory_bytes() as f64 / f64::from(count);
            assert!(count < 100 || each < 19.0, "{each} of {count}");
        }
    }
}
