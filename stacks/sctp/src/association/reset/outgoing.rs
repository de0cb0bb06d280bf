//! Resets of our own streams (RFC 6525 section 5.1.2), one request at a time.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

use crate::types::{StreamId, Tsn};
use crate::wire::{ReConfigResult, ReConfigSeq};

/// Most streams per request: fits even the shortest packet.
const STREAMS_MAX: usize = 128;
/// Streams checked per call while other data is in flight.
const LOOKS: usize = 16;
/// How often a deferred request is repeated under its number before it gets a new one.
const PUT_OFFS_MAX: u32 = 3;
/// Most doublings of the wait for an answer.
const DOUBLINGS_MAX: u32 = 10;

/// Streams to be reset, and the pending request.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Sequence number of the next request.
    next: ReConfigSeq,
    /// Closed streams; their data may still be in flight.
    closing: BTreeSet<StreamId>,
    /// Where to continue checking in `closing`.
    look_after: Option<StreamId>,
    request: Option<Request>,
}

/// A reset request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: ReConfigSeq,
    /// The last TSN assigned when the request was made. Repetitions keep it, so that the reset completes
    /// however much data other streams send.
    pub(super) last_tsn: Tsn,
    /// In ascending order.
    pub(super) streams: Vec<StreamId>,
    /// To be written.
    is_due: bool,
    /// The peer answered "in progress": to be repeated. Under the same number, so that the peer recognises
    /// it. If that does not succeed, under a new one, because some peers repeat their first answer
    /// indefinitely.
    is_put_off: bool,
    /// "In progress" answers under this number.
    put_offs: u32,
    /// Timeouts without an answer.
    timeouts: u32,
}

/// Meaning of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done(Vec<StreamId>),
    Refused(Vec<StreamId>),
    /// Ask again when the timer expires.
    Later,
}

impl Outgoing {
    pub(super) fn new(first: ReConfigSeq) -> Self {
        Self { next: first, closing: BTreeSet::new(), look_after: None, request: None }
    }

    /// Whether nothing is to be written, now or after an acknowledgement.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        match &self.request {
            Some(request) => !request.is_due,
            None => self.closing.is_empty(),
        }
    }

    /// Marks the stream for a reset; false if it already was.
    pub(super) fn close(&mut self, stream: StreamId) -> bool {
        let is_under_way = self.request.as_ref().is_some_and(|r| r.streams.binary_search(&stream).is_ok());
        !is_under_way && self.closing.insert(stream)
    }

    /// Creates a request for streams whose data has arrived, unless one is pending.
    pub(super) fn gather(
        &mut self,
        last_tsn: Tsn,
        all_are_drained: bool,
        is_drained: impl Fn(StreamId) -> bool,
    ) {
        if self.request.is_some() || self.closing.is_empty() {
            return;
        }
        let mut streams = self.look(all_are_drained, is_drained);
        if streams.is_empty() {
            return;
        }
        streams.sort_unstable();
        for stream in &streams {
            self.closing.remove(stream);
        }
        let number = self.take_number();
        let request =
            Request { number, last_tsn, streams, is_due: true, is_put_off: false, put_offs: 0, timeouts: 0 };
        self.request = Some(request);
    }

    /// The request, if it is due.
    pub(super) fn due_request(&self) -> Option<&Request> {
        self.request.as_ref().filter(|request| request.is_due)
    }

    /// Records that the request was sent, and returns how long to wait for the answer.
    pub(super) fn request_written(&mut self, rto: Duration, rto_max: Duration) -> Duration {
        let Some(request) = &mut self.request else { return rto };
        request.is_due = false;
        rto.saturating_mul(1 << request.timeouts.min(DOUBLINGS_MAX)).min(rto_max.max(rto))
    }

    /// Handles an answer; `None` if it does not match the pending request.
    pub(super) fn handle_answer(&mut self, number: ReConfigSeq, result: ReConfigResult) -> Option<Answer> {
        let request = self.request.as_mut().filter(|request| request.number == number)?;
        match result {
            ReConfigResult::InProgress | ReConfigResult::AlreadyInProgress => {
                request.is_put_off = true;
                request.put_offs += 1;
                request.is_due = false;
                request.timeouts = 0;
                Some(Answer::Later)
            }
            ReConfigResult::NothingToDo | ReConfigResult::Performed => {
                self.request.take().map(|request| Answer::Done(request.streams))
            }
            _ => self.request.take().map(|request| Answer::Refused(request.streams)),
        }
    }

    /// The timer has expired without a final answer. Returns the number of consecutive timeouts.
    pub(super) fn handle_timeout(&mut self) -> u32 {
        let is_exhausted = |request: &Request| request.is_put_off && request.put_offs > PUT_OFFS_MAX;
        let number =
            if self.request.as_ref().is_some_and(is_exhausted) { Some(self.take_number()) } else { None };
        let Some(request) = &mut self.request else { return 0 };
        request.is_due = true;
        request.timeouts += u32::from(!std::mem::take(&mut request.is_put_off));
        if let Some(number) = number {
            (request.number, request.put_offs) = (number, 0);
        }
        request.timeouts
    }

    fn take_number(&mut self) -> ReConfigSeq {
        let number = self.next;
        self.next = number.next();
        number
    }

    /// Returns drained streams. If all are drained, in one pass; otherwise each call checks a few.
    fn look(&mut self, all_are_drained: bool, is_drained: impl Fn(StreamId) -> bool) -> Vec<StreamId> {
        if all_are_drained {
            return self.closing.iter().take(STREAMS_MAX).copied().collect();
        }
        let from = self.look_after.map_or(Bound::Unbounded, Bound::Excluded);
        let looked: Vec<StreamId> =
            self.closing.range((from, Bound::Unbounded)).take(LOOKS).copied().collect();
        // At the end it starts over.
        self.look_after = looked.last().copied().filter(|_| looked.len() == LOOKS);
        looked.into_iter().filter(|&stream| is_drained(stream)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_secs(1);

    fn ids(ids: impl IntoIterator<Item = u16>) -> Vec<StreamId> {
        ids.into_iter().map(StreamId).collect()
    }

    fn written(outgoing: &mut Outgoing) -> Option<(u32, Vec<StreamId>)> {
        let request = outgoing.due_request()?;
        let seen = (request.number.0, request.streams.clone());
        outgoing.request_written(RTO, 60 * RTO);
        Some(seen)
    }

    #[test]
    fn a_stream_waits_for_its_data_and_for_the_request_before() {
        let mut outgoing = Outgoing::new(ReConfigSeq(u32::MAX));
        assert!(outgoing.close(StreamId(1)) && outgoing.close(StreamId(2)) && !outgoing.close(StreamId(1)));
        outgoing.gather(Tsn(9), false, |_| false);
        assert_eq!(written(&mut outgoing), None);
        outgoing.gather(Tsn(9), false, |stream| stream.0 == 2);
        assert_eq!(written(&mut outgoing), Some((u32::MAX, ids([2]))));
        assert!(!outgoing.close(StreamId(2)));
        outgoing.gather(Tsn(9), true, |_| true);
        assert_eq!(written(&mut outgoing), None);
        assert_eq!(outgoing.handle_answer(ReConfigSeq(0), ReConfigResult::Performed), None);
        let done = outgoing.handle_answer(ReConfigSeq(u32::MAX), ReConfigResult::Performed);
        assert_eq!(done, Some(Answer::Done(ids([2]))));
        outgoing.gather(Tsn(9), true, |_| true);
        assert_eq!(written(&mut outgoing), Some((0, ids([1]))));
    }

    #[test]
    fn a_request_without_an_answer_is_repeated_ever_more_slowly() {
        let mut outgoing = Outgoing::new(ReConfigSeq(5));
        outgoing.close(StreamId(1));
        outgoing.gather(Tsn(9), true, |_| true);
        let mut waits = Vec::new();
        for timeouts in 1..8 {
            assert_eq!(outgoing.due_request().map(|r| r.number), Some(ReConfigSeq(5)));
            waits.push(outgoing.request_written(RTO, 20 * RTO).as_secs());
            assert_eq!(outgoing.handle_timeout(), timeouts);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 20, 20]);
    }

    #[test]
    fn not_yet_means_again_under_a_new_number_at_last_and_with_the_same_tsn() {
        let mut outgoing = Outgoing::new(ReConfigSeq(5));
        outgoing.close(StreamId(1));
        outgoing.gather(Tsn(9), true, |_| true);
        assert_eq!(written(&mut outgoing), Some((5, ids([1]))));
        for round in 0..100 {
            let number = 5 + round / (PUT_OFFS_MAX + 1);
            let later = outgoing.handle_answer(ReConfigSeq(number), ReConfigResult::InProgress);
            assert_eq!(later, Some(Answer::Later));
            assert_eq!(written(&mut outgoing), None);
            assert_eq!(outgoing.handle_timeout(), 0);
            outgoing.gather(Tsn(99), true, |_| true);
            assert_eq!(outgoing.due_request().map(|r| r.last_tsn), Some(Tsn(9)));
            let next = 5 + (round + 1) / (PUT_OFFS_MAX + 1);
            assert_eq!(written(&mut outgoing), Some((next, ids([1]))));
        }
    }

    #[test]
    fn many_streams_take_turns() {
        let mut outgoing = Outgoing::new(ReConfigSeq(1));
        let all = ids(0..1000);
        assert!(all.iter().all(|&stream| outgoing.close(stream)));
        let mut seen = BTreeSet::new();
        for round in 0..200 {
            outgoing.gather(Tsn(9), round > 100, |stream| stream.0 % 2 == 1);
            if let Some((number, streams)) = written(&mut outgoing) {
                assert!(streams.len() <= STREAMS_MAX);
                seen.extend(streams);
                outgoing.handle_answer(ReConfigSeq(number), ReConfigResult::NothingToDo);
            }
            if round == 100 {
                assert!(seen.iter().copied().eq(ids((0..500).map(|i| 2 * i + 1))));
            }
        }
        assert!(seen.into_iter().eq(all) && outgoing.is_at_rest());
    }
}
