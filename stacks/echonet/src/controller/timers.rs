//! Deadlines of nodes, at most one for each. All operations are logarithmic in the number of nodes.

use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, u32)>,
}

impl Timers {
    /// Changes the deadline of a node.
    pub(super) fn change(&mut self, slot: u32, from: Option<Instant>, to: Option<Instant>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.due.remove(&(from, slot));
        }
        self.due.extend(to.map(|to| (to, slot)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(when, _)| *when)
    }

    /// A node whose deadline has passed. It stays until its deadline is changed.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.due.first().filter(|(when, _)| *when <= now).map(|(_, slot)| *slot)
    }
}
