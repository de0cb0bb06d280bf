//! Recognises a multicast message that was received on another interface before.

use std::time::{Duration, Instant};

use crate::address::NodeAddress;
use crate::hash::hash;
use crate::limits::REMEMBERED_MULTICASTS;

#[derive(Debug, Default)]
pub(super) struct RecentMessages {
    last: [Option<(Instant, NodeAddress, u64)>; REMEMBERED_MULTICASTS],
    /// The index of the next entry.
    at: usize,
}

impl RecentMessages {
    /// Whether the same message was received within `window`; records it if not.
    pub(super) fn is_duplicate(
        &mut self,
        now: Instant,
        window: Duration,
        from: NodeAddress,
        datagram: &[u8],
    ) -> bool {
        let hash = hash(datagram);
        let is_duplicate = self.last.iter().flatten().any(|(time, address, other)| {
            (*address, *other) == (from, hash) && now.saturating_duration_since(*time) < window
        });
        if !is_duplicate {
            self.last[self.at] = Some((now, from, hash));
            self.at = (self.at + 1) % REMEMBERED_MULTICASTS;
        }
        is_duplicate
    }
}
