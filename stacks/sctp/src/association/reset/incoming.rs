//! The peer's requests (RFC 6525 section 5.2): checked by number, and answered again when repeated.

use crate::types::{StreamId, Tsn};
use crate::wire::{ReConfigItem, ReConfigResult, ReConfigSeq};

/// The peer's reset requests.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Sequence number of the peer's next request.
    next: ReConfigSeq,
    /// Result of the last one.
    last_result: ReConfigResult,
    /// The last request, while it waits for data sent before it.
    deferred: Option<Deferred>,
    /// The last request was answered with "in progress".
    was_put_off: bool,
    /// The last request performed, if it had been answered with "in progress". It may be repeated under a new
    /// number if our second answer was late.
    done: Option<Deferred>,
    /// The last request has to be answered.
    is_answer_due: bool,
    /// An out-of-sequence request to be answered.
    out_of_turn: Option<ReConfigSeq>,
}

#[derive(Debug, PartialEq, Eq)]
struct Deferred {
    last_tsn: Tsn,
    streams: Vec<StreamId>,
}

impl Incoming {
    pub(super) fn new(first: ReConfigSeq) -> Self {
        Self {
            next: first,
            last_result: ReConfigResult::NothingToDo,
            deferred: None,
            was_put_off: false,
            done: None,
            is_answer_due: false,
            out_of_turn: None,
        }
    }

    /// Whether no answer is pending.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        !self.is_answer_due && self.out_of_turn.is_none()
    }

    #[inline]
    pub(super) fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// Number of the last request in sequence.
    pub(super) fn last_request(&self) -> ReConfigSeq {
        self.next.previous()
    }

    /// Registers a request and returns whether it is the next one. If not, it is only answered. A request
    /// that replaces a waiting one (a peer may ask again under a new number) ends that wait.
    pub(super) fn begin(&mut self, request: ReConfigSeq) -> bool {
        if request == self.next {
            self.next = request.next();
            self.deferred = None;
            self.was_put_off = false;
            self.is_answer_due = true;
            return true;
        }
        if request == self.last_request() {
            self.is_answer_due = true;
        } else {
            self.out_of_turn = Some(request);
        }
        false
    }

    /// Refuses a request.
    pub(super) fn refuse(&mut self, request: ReConfigSeq) {
        if self.begin(request) {
            self.last_result = ReConfigResult::Denied;
        }
    }

    /// Refuses a request that names streams that do not exist.
    pub(super) fn refuse_stream(&mut self) {
        self.last_result = ReConfigResult::WrongStream;
    }

    /// The request names only streams that were never used.
    pub(super) fn find_nothing_to_do(&mut self) {
        self.last_result = ReConfigResult::NothingToDo;
    }

    /// Answers a request that one of ours follows, or not.
    pub(super) fn accept(&mut self, is_accepted: bool) {
        self.last_result = if is_accepted { ReConfigResult::InProgress } else { ReConfigResult::Denied };
    }

    /// Defers the request until the data up to a TSN has arrived. If the same reset was just performed after
    /// "in progress", this is a repetition, and the application is not notified again. Otherwise it is a new
    /// request even if no data was sent in between: a channel may close without a message.
    pub(super) fn defer(&mut self, last_tsn: Tsn, streams: Vec<StreamId>) {
        let request = Deferred { last_tsn, streams };
        if self.done.take().as_ref() == Some(&request) {
            self.last_result = ReConfigResult::Performed;
        } else {
            self.last_result = ReConfigResult::InProgress;
            self.deferred = Some(request);
        }
    }

    /// What the deferred request needs: a TSN, and space to report this many streams.
    pub(super) fn deferred(&self) -> Option<(Tsn, usize)> {
        self.deferred.as_ref().map(|deferred| (deferred.last_tsn, deferred.streams.len()))
    }

    /// Performs the deferred request. Answers even if it was answered before, so that the peer need not wait
    /// for its timer.
    pub(super) fn perform_deferred(&mut self) -> Vec<StreamId> {
        self.last_result = ReConfigResult::Performed;
        self.is_answer_due = true;
        let Some(deferred) = self.deferred.take() else { return Vec::new() };
        let streams = deferred.streams.clone();
        self.done = self.was_put_off.then_some(deferred);
        streams
    }

    /// The next answer.
    pub(super) fn answer(&self) -> Option<ReConfigItem<'static>> {
        let (response, result) = match self.out_of_turn {
            _ if self.is_answer_due => (self.last_request(), self.last_result),
            Some(request) => (request, ReConfigResult::BadSequenceNumber),
            None => return None,
        };
        Some(ReConfigItem::Response { response, result, next_tsns: None })
    }

    /// The answer was written.
    pub(super) fn answer_written(&mut self) {
        if self.is_answer_due {
            self.is_answer_due = false;
            self.was_put_off |= self.last_result == ReConfigResult::InProgress;
        } else {
            self.out_of_turn = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(incoming: &mut Incoming) -> Option<(u32, ReConfigResult)> {
        let item = incoming.answer();
        incoming.answer_written();
        match item {
            Some(ReConfigItem::Response { response, result, .. }) => Some((response.0, result)),
            _ => None,
        }
    }

    #[test]
    fn requests_are_checked_by_number_and_answered_again() {
        let mut incoming = Incoming::new(ReConfigSeq(7));
        incoming.refuse(ReConfigSeq(7));
        for _ in 0..3 {
            assert_eq!(answer(&mut incoming), Some((7, ReConfigResult::Denied)));
            assert!(!incoming.begin(ReConfigSeq(7)));
        }
        assert_eq!(answer(&mut incoming), Some((7, ReConfigResult::Denied)));
        for wrong in [6, 5, 9, 0, u32::MAX] {
            assert!(!incoming.begin(ReConfigSeq(wrong)));
            assert_eq!(answer(&mut incoming), Some((wrong, ReConfigResult::BadSequenceNumber)));
        }
        assert!(incoming.is_at_rest() && incoming.begin(ReConfigSeq(8)));
    }

    #[test]
    fn a_deferred_request_is_answered_twice() {
        let mut incoming = Incoming::new(ReConfigSeq(7));
        assert!(incoming.begin(ReConfigSeq(7)));
        incoming.defer(Tsn(5), vec![StreamId(1)]);
        assert_eq!(answer(&mut incoming), Some((7, ReConfigResult::InProgress)));
        assert_eq!((incoming.deferred(), answer(&mut incoming)), (Some((Tsn(5), 1)), None));
        assert_eq!(incoming.perform_deferred(), [StreamId(1)]);
        assert_eq!(answer(&mut incoming), Some((7, ReConfigResult::Performed)));
        assert!(!incoming.begin(ReConfigSeq(7)) && !incoming.is_deferred());
        assert_eq!(answer(&mut incoming), Some((7, ReConfigResult::Performed)));
    }

    #[test]
    fn a_request_that_comes_again_under_a_new_number_is_done_once() {
        let mut incoming = Incoming::new(ReConfigSeq(7));
        // Number, last TSN, whether it is answered with "in progress", whether it is a new request.
        let rows = [
            (7, 5, true, true),
            (8, 5, false, false),
            // The one before was not deferred, so this is a new request.
            (9, 5, false, true),
            (10, 5, true, true),
            (11, 6, true, true),
            (12, 6, false, false),
        ];
        for (number, last_tsn, puts_off, is_new) in rows {
            assert!(incoming.begin(ReConfigSeq(number)));
            incoming.defer(Tsn(last_tsn), vec![StreamId(1)]);
            assert_eq!(incoming.is_deferred(), is_new, "{number}");
            if puts_off {
                assert_eq!(answer(&mut incoming), Some((number, ReConfigResult::InProgress)));
            }
            if is_new {
                incoming.perform_deferred();
            }
            assert_eq!(answer(&mut incoming), Some((number, ReConfigResult::Performed)));
        }
    }
}
