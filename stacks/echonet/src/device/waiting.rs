//! Writes that wait for the application's decision.

use std::collections::VecDeque;
use std::time::Instant;

use crate::address::Source;
use crate::device::event::{Decision, WriteId};

/// A request with properties that need a decision.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) datagram: Vec<u8>,
    pub(super) from: Source,
    /// The index of the object in its device.
    pub(super) object: usize,
    /// The number of the first such property; the others follow.
    first: u64,
    decisions: Vec<Option<Decision>>,
    until: Instant,
}

impl Waiting {
    /// The decisions; properties without one are refused.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.decisions.iter().map(|decision| decision.unwrap_or(Decision::Refuse)).collect()
    }
}

/// All waiting requests, the oldest first. They wait equally long, so that the first one expires first.
#[derive(Debug, Default)]
pub(super) struct WaitingList {
    waiting: VecDeque<Waiting>,
    /// To be answered.
    decided: VecDeque<Waiting>,
    next: u64,
}

impl WaitingList {
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.decided.len()
    }

    /// Whether the same request already waits, because the node sent it again.
    pub(super) fn has(&self, datagram: &[u8], from: Source, object: usize) -> bool {
        self.waiting.iter().chain(&self.decided).any(|other| {
            other.from.reply() == from.reply() && other.object == object && other.datagram == datagram
        })
    }

    /// Adds a request; returns the number of the first of `asked` properties.
    pub(super) fn add(
        &mut self,
        datagram: &[u8],
        from: Source,
        object: usize,
        asked: usize,
        until: Instant,
    ) -> u64 {
        let first = self.next;
        self.next += asked as u64;
        let (datagram, decisions) = (datagram.to_vec(), vec![None; asked]);
        self.waiting.push_back(Waiting { datagram, from, object, first, decisions, until });
        first
    }

    /// Records a decision; returns whether the request still waited.
    pub(super) fn decide(&mut self, id: WriteId, decision: Decision) -> bool {
        let Some(at) = self.waiting.partition_point(|waiting| waiting.first <= id.0).checked_sub(1) else {
            return false;
        };
        let waiting = &mut self.waiting[at];
        let slot =
            usize::try_from(id.0 - waiting.first).ok().and_then(|slot| waiting.decisions.get_mut(slot));
        let Some(slot @ None) = slot else { return false };
        *slot = Some(decision);
        if waiting.decisions.iter().all(Option::is_some) {
            self.decided.extend(self.waiting.remove(at));
        }
        true
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while self.next_deadline().is_some_and(|until| until <= now) {
            self.decided.extend(self.waiting.pop_front());
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.front().map(|waiting| waiting.until)
    }

    pub(super) fn next_decided(&mut self) -> Option<Waiting> {
        self.decided.pop_front()
    }
}
