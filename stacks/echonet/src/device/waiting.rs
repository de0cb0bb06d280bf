//! Writes that wait for the application.

use std::collections::VecDeque;
use std::time::Instant;

use crate::address::Source;
use crate::device::event::{Decision, WriteId};

/// A request with properties that the application was asked about.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) datagram: Vec<u8>,
    pub(super) from: Source,
    /// Where the object is in its device.
    pub(super) object: usize,
    /// The number of the first property that was asked about; the others follow.
    first: u64,
    decisions: Vec<Option<Decision>>,
    until: Instant,
}

impl Waiting {
    /// What the application decided; what it did not is refused.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.decisions.iter().map(|decision| decision.unwrap_or(Decision::Refuse)).collect()
    }
}

/// All of them, the oldest first. All wait equally long, so that the first is the next to end.
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

    /// Whether this very request waits: it was sent again by a node that has no patience.
    pub(super) fn has(&self, datagram: &[u8], from: Source, object: usize) -> bool {
        self.waiting.iter().chain(&self.decided).any(|other| {
            other.from.reply() == from.reply() && other.object == object && other.datagram == datagram
        })
    }

    /// Adds a request; gives the number of the first of `asked` properties.
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

    /// Says whether it still waited.
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
