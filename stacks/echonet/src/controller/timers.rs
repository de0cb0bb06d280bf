//! Which node is due when. Each has one moment at the most; all costs are logarithmic in the nodes.

use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, u32)>,
}

impl Timers {
    /// Moves a node from one moment to another.
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

    /// A node whose moment has come. It stays until it is moved.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.due.first().filter(|(when, _)| *when <= now).map(|(_, slot)| *slot)
    }
}
