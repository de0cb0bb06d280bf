//! Resets of our own streams (RFC 6525 section 5.1.2): one request at a time.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

use crate::types::{StreamId, Tsn};
use crate::wire::{ReConfigResult, ReConfigSeq};

/// Streams in one request: even the shortest packet has room for it.
const STREAMS_MAX: usize = 128;
/// Streams whose data is looked after at a time, while there is other data under way.
const LOOKS: usize = 16;
/// A request that is put off is made again under its number so often, and only then under a new one.
const PUT_OFFS_MAX: u32 = 3;
/// The wait for an answer doubles so often.
const DOUBLINGS_MAX: u32 = 10;

/// Streams that are to be reset, and the request under way.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Number of the next request.
    next: ReConfigSeq,
    /// Closed; their data may still be on its way.
    closing: BTreeSet<StreamId>,
    /// Where to go on looking in `closing`.
    look_after: Option<StreamId>,
    request: Option<Request>,
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: ReConfigSeq,
    /// The last TSN of ours when it was made. A request that is made again keeps it, so that it comes to an end however
    /// much data other streams send.
    pub(super) last_tsn: Tsn,
    /// In order.
    pub(super) streams: Vec<StreamId>,
    /// To be written.
    is_due: bool,
    /// The peer said "not yet": to be made again. Under the same number, so that the peer knows it again; if that leads to
    /// nothing under a new one, since there are peers that answer the old one for ever as they did first.
    is_put_off: bool,
    /// "Not yet"s under this number.
    put_offs: u32,
    /// Timeouts without an answer.
    timeouts: u32,
}

/// What an answer means.
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

    /// Nothing to write, now or when data was acknowledged.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        match &self.request {
            Some(request) => !request.is_due,
            None => self.closing.is_empty(),
        }
    }

    /// The stream is to be reset. Gives false if it is known already.
    pub(super) fn close(&mut self, stream: StreamId) -> bool {
        let is_under_way = self.request.as_ref().is_some_and(|r| r.streams.binary_search(&stream).is_ok());
        !is_under_way && self.closing.insert(stream)
    }

    /// Makes a request of streams whose data has arrived, unless there is one already.
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

    /// The request, if it is time to write it.
    pub(super) fn due_request(&self) -> Option<&Request> {
        self.request.as_ref().filter(|request| request.is_due)
    }

    /// It was written. Gives how long to wait for the answer.
    pub(super) fn request_written(&mut self, rto: Duration, rto_max: Duration) -> Duration {
        let Some(request) = &mut self.request else { return rto };
        request.is_due = false;
        rto.saturating_mul(1 << request.timeouts.min(DOUBLINGS_MAX)).min(rto_max.max(rto))
    }

    /// An answer has come; `None` if it is not one to the request under way.
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

    /// No answer has come, or it is time to ask again. Gives the timeouts in a row.
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

    /// Streams that are drained: all of them can be found out at once, else each call looks at some.
    fn look(&mut self, all_are_drained: bool, is_drained: impl Fn(StreamId) -> bool) -> Vec<StreamId> {
        if all_are_drained {
            return self.closing.iter().take(STREAMS_MAX).copied().collect();
        }
        let from = self.look_after.map_or(Bound::Unbounded, Bound::Excluded);
        let looked: Vec<StreamId> =
            self.closing.range((from, Bound::Unbounded)).take(LOOKS).copied().collect();
        // At the end it begins at the front again.
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
