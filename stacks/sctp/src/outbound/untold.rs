//! Chunks that the peer's SACKs have no space to report.
//!
//! A SACK has space for a limited number of gap blocks: about 280 in a packet of 1,200 bytes, and some peers
//! report at most 20. With more losses it ends before the highest TSN that has arrived. Whether chunks beyond
//! its end have arrived is unknown. Those sent more than a round trip ago are no longer in flight, so they
//! must not block new data. Nor do they count as lost because a later retransmission is reported.

use std::time::Duration;

use super::Outbound;
use super::time::Time;

/// A SACK with this many gap blocks may have had no space for more.
const GAP_BLOCKS_FULL: usize = 16;
/// Fraction of the outstanding chunks that counts as a large part.
const MUCH: usize = 8;

/// Outstanding chunks from `from` to `to` are neither reported nor in flight.
#[derive(Debug)]
pub(super) struct Untold {
    /// The last SACK reports nothing from here; `u64::MAX` if it reported everything.
    pub(super) from: u64,
    /// Chunks before this were sent more than a round trip ago.
    to: u64,
    /// Their approximate length in bytes.
    bytes: usize,
}

impl Untold {
    pub(super) fn nothing() -> Self {
        Self { from: u64::MAX, to: 0, bytes: 0 }
    }

    pub(super) fn is_something(&self) -> bool {
        self.from != u64::MAX
    }

    /// A SACK reported chunks before `highest` in this many gap blocks.
    pub(super) fn on_sack(&mut self, highest: u64, gap_blocks: usize) {
        if gap_blocks >= GAP_BLOCKS_FULL {
            self.from = highest;
        } else {
            *self = Self::nothing();
        }
    }
}

impl Outbound {
    /// Best estimate of the bytes in the network.
    pub(super) fn in_flight_bytes(&self) -> usize {
        self.flight.bytes().saturating_sub(self.untold.bytes)
    }

    /// Whether so much is unreported that the reported losses are not representative.
    pub(super) fn is_much_untold(&self) -> bool {
        self.untold.bytes > self.flight.bytes() / MUCH
    }

    /// Determines up to where nothing is in flight although it is unreported. Costs a 64th of the unreported
    /// range.
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
        // Chunks are of similar length, or few.
        let average = self.flight.bytes().checked_div(self.flight.outstanding()).unwrap_or_default();
        (self.untold.to, self.untold.bytes) = (to, chunks * average);
    }
}
