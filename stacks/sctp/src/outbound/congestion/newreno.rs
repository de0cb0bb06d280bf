//! NewReno as in RFC 9260 section 7.2.

use super::{Ack, CongestionControl, INITIAL_WINDOW_PACKETS};

/// Slow start, then one packet per round trip; halved after a loss.
#[derive(Debug)]
pub(in crate::outbound) struct NewReno {
    /// cwnd
    window: usize,
    /// ssthresh
    threshold: usize,
    /// partial_bytes_acked
    partial: usize,
    packet_bytes: usize,
}

impl NewReno {
    pub(super) fn new(packet_bytes: usize) -> Self {
        Self {
            window: INITIAL_WINDOW_PACKETS * packet_bytes,
            threshold: usize::MAX,
            partial: 0,
            packet_bytes,
        }
    }

    /// Section 7.2.3: ssthresh = max(cwnd / 2, 4 * PMDCS).
    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(4 * self.packet_bytes);
        self.partial = 0;
    }
}

impl CongestionControl for NewReno {
    fn window_bytes(&self) -> usize {
        self.window
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.limited {
            return;
        }
        // Section 7.2.1, except when cwnd equals ssthresh: after a loss it would grow exponentially for
        // one more SACK.
        if self.window < self.threshold {
            self.window = self.window.saturating_add(ack.bytes);
            return;
        }
        // Section 7.2.2.
        self.partial += ack.bytes;
        if self.partial >= self.window {
            self.partial -= self.window;
            self.window = self.window.saturating_add(self.packet_bytes);
        }
    }

    fn on_loss(&mut self) {
        self.halve();
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, repeated: bool) {
        // A window already reduced by a timeout says nothing about the path (RFC 5681 section 3.1).
        if !repeated {
            self.halve();
        }
        self.window = self.packet_bytes;
    }

    fn on_path_change(&mut self) {
        *self = Self::new(self.packet_bytes);
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes;
        self.window = self.window.max(bytes);
    }
}
