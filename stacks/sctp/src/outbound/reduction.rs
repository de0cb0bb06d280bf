//! Proportional rate reduction (RFC 9937). When a burst of losses is found, most of cwnd is free at once, and
//! filling it would overflow the queue again. Therefore no more is sent than deliveries allow.

/// State of a rate reduction while losses are repaired.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes in flight when the first loss was found, including those of the SACK that showed it (RecoverFS).
    flight_before: usize,
    /// Bytes delivered since.
    delivered: usize,
    /// Bytes sent since.
    sent: usize,
    /// Bytes that may be sent now.
    allowance: usize,
}

impl Pace {
    pub(super) fn new(flight_before: usize) -> Self {
        Self { flight_before, delivered: 0, sent: 0, allowance: 0 }
    }

    /// Bytes were delivered; `on_the_way` bytes are in flight, and `window` may be. `grace` is one packet if
    /// the SACK advanced the cumulative TSN and showed no further loss (SafeACK), else 0: repeated losses
    /// must not increase the rate.
    pub(super) fn on_delivery(&mut self, bytes: usize, on_the_way: usize, window: usize, grace: usize) {
        self.delivered += bytes;
        self.allowance = if on_the_way > window {
            let share = (self.delivered as u128 * window as u128).div_ceil(self.flight_before.max(1) as u128);
            (share as usize).saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(bytes) + grace;
            limit.min(window - on_the_way)
        };
    }

    pub(super) fn may_send(&self) -> bool {
        self.allowance > 0
    }

    pub(super) fn on_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In packets of one byte: 100 were in flight when a loss was found, and cwnd is 50 from then on.
    #[test]
    fn what_goes_out_in_a_recovery_follows_what_arrives() {
        // delivered before, sent before; delivered now, in flight, grace -> may be sent
        let rows = [
            // More in flight than allowed: half of what is delivered, rounded up.
            (0, 0, 3, 90, 0, 2),
            (3, 2, 3, 87, 1, 1),
            (40, 20, 1, 51, 1, 1),
            // Less than allowed: as much as is delivered, plus one after a safe SACK, up to cwnd.
            (40, 20, 2, 40, 0, 10),
            (40, 40, 2, 40, 0, 2),
            (40, 40, 2, 40, 1, 3),
            (40, 40, 0, 40, 1, 1),
            (40, 40, 0, 40, 0, 0),
            (40, 40, 20, 45, 1, 5),
        ];
        for (delivered, sent, arrives, on_the_way, grace, expected) in rows {
            let mut pace = Pace { delivered, sent, ..Pace::new(100) };
            pace.on_delivery(arrives, on_the_way, 50, grace);
            assert_eq!(pace.allowance, expected, "{delivered} {sent} {arrives} {on_the_way} {grace}");
        }
    }
}
