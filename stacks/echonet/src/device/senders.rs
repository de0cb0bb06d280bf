//! The busiest senders, to report and to limit a flood by its source.

use std::time::{Duration, Instant};

use crate::address::NodeAddress;
use crate::limits::COUNTED_SENDERS;

/// The time in which messages are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts the messages of each sender in the current window. With more senders than entries, counts are too
/// low, never too high (Misra and Gries, 1982).
#[derive(Debug, Default)]
pub(super) struct Senders {
    begin: Option<Instant>,
    counts: [Option<(NodeAddress, u32)>; COUNTED_SENDERS],
}

impl Senders {
    /// Counts a message. Returns true when the sender exceeds `max` messages in a window, once a window.
    pub(super) fn exceeds(&mut self, now: Instant, from: NodeAddress, max: u32) -> bool {
        self.count(now, from) == max.saturating_add(1)
    }

    /// Counts a message. Returns the number of the sender's messages in this window, 0 if it has no entry.
    pub(super) fn count(&mut self, now: Instant, from: NodeAddress) -> u32 {
        if self.begin.is_none_or(|begin| now.saturating_duration_since(begin) >= WINDOW) {
            *self = Self { begin: Some(now), ..Self::default() };
        }
        if let Some((_, count)) = self.counts.iter_mut().flatten().find(|(known, _)| *known == from) {
            *count = count.saturating_add(1);
            return *count;
        }
        if let Some(free) = self.counts.iter_mut().find(|entry| entry.is_none()) {
            *free = Some((from, 1));
            return 1;
        }
        for entry in &mut self.counts {
            *entry = entry.map(|(known, count)| (known, count - 1)).filter(|(_, count)| *count > 0);
        }
        0
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    fn node(number: u32) -> NodeAddress {
        std::net::IpAddr::from(number.to_be_bytes()).into()
    }

    #[test]
    fn a_flood_is_reported_once_in_a_window() {
        let (mut senders, begin) = (Senders::default(), Instant::now());
        for window in 0..3 {
            let now = begin + window * WINDOW;
            let reported = (0..1000).filter(|_| senders.exceeds(now, node(7), 99)).count();
            assert_eq!(reported, 1, "{window}");
            assert!(!(0..99).any(|_| senders.exceeds(now, node(8), 99)), "as many as allowed");
        }
    }

    #[test]
    fn forged_sources_hide_no_flood_and_accuse_no_other_node() {
        let (mut senders, now) = (Senders::default(), Instant::now());
        let mut reported = Vec::new();
        for round in 0..10_000 {
            // Three messages of the flood, a forged one, and seldom an honest one.
            let honest = if round % 10 == 0 { 8 } else { 7 };
            for from in [7, 7, 7, honest, 1000 + round].map(node) {
                if senders.exceeds(now, from, 2500) {
                    reported.push(from);
                }
            }
        }
        assert!(!reported.is_empty() && reported.iter().all(|from| *from == node(7)), "{reported:?}");
    }
}
