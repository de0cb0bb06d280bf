//! What the peer has had no room to tell of.
//!
//! A SACK has room for so many gap blocks: some 280 in a packet of 1,200 bytes, and some peers tell of 20 at the most. Where more is
//! lost, it ends before the highest TSN that has arrived. Of what lies beyond nobody knows whether it arrived; but what was sent a round
//! trip ago is under way no more, so that it must not hold up what is to be sent, nor be taken for lost because something that was
//! sent again, and so later, is told of.

use std::time::Duration;

use super::Outbound;
use super::time::Time;

/// A SACK with so many gap blocks may have had no room for more.
const GAP_BLOCKS_FULL: usize = 16;
/// The part of what is outstanding that makes much of it.
const MUCH: usize = 8;

/// Chunks from `from` to `to` are neither told of nor under way, if they are outstanding.
#[derive(Debug)]
pub(super) struct Untold {
    /// The last SACK says nothing from here on; `u64::MAX` if it told of all.
    pub(super) from: u64,
    /// What was sent before this was sent a round trip ago.
    to: u64,
    /// Bytes of them, about.
    bytes: usize,
}

impl Untold {
    pub(super) fn nothing() -> Self {
        Self { from: u64::MAX, to: 0, bytes: 0 }
    }

    pub(super) fn is_something(&self) -> bool {
        self.from != u64::MAX
    }

    /// A SACK told of chunks before `highest`, in so many gap blocks.
    pub(super) fn on_sack(&mut self, highest: u64, gap_blocks: usize) {
        if gap_blocks >= GAP_BLOCKS_FULL {
            self.from = highest;
        } else {
            *self = Self::nothing();
        }
    }
}

impl Outbound {
    /// Bytes that the network has, as far as can be known.
    pub(super) fn in_flight_bytes(&self) -> usize {
        self.flight.bytes().saturating_sub(self.untold.bytes)
    }

    /// So much is untold that what was lost, of what is told, is no measure.
    pub(super) fn is_much_untold(&self) -> bool {
        self.untold.bytes > self.flight.bytes() / MUCH
    }

    /// Finds out how far nothing is under way any more, though nobody has told of it. Takes time by a 64th of what is untold.
    pub(super) fn pass_untold(&mut self, window: Duration, now: Time) {
        if !self.untold.is_something() {
            return;
        }
        let mut to = self.untold.to.max(self.untold.from);
        while let Some(seq) = self.flight.first_outstanding(to) {
            let chunk = self.flight.chunk(seq);
            if chunk.transmits == 1 && !self.loss.is_late((chunk.sent_at, seq), window, now) {
                break;
            }
            to = seq + 1;
        }
        let chunks = self.flight.outstanding_between(self.untold.from, to);
        // Chunks are about equally long, or few.
        let average = self.flight.bytes().checked_div(self.flight.outstanding()).unwrap_or_default();
        (self.untold.to, self.untold.bytes) = (to, chunks * average);
    }
}
