//! How much `send` takes before it says "not now".

use super::congestion::CongestionControl;
use super::{MESSAGE_BYTES, Outbound};

/// What `send` takes at the least, unsent and unacknowledged together: a few of the largest messages.
const MIN_SEND_BUFFER_BYTES: usize = 1 << 20;

impl Outbound {
    /// Payload that may wait to be sent: as much as can be in flight, so that it can follow at once. More would only wait,
    /// and would have left the caches when its time comes.
    fn unsent_bytes_max(&self) -> usize {
        let in_flight_max = self.congestion.window_bytes().min(self.window_max);
        let sent_bytes = self.held - self.unsent_bytes - self.unsent * MESSAGE_BYTES;
        in_flight_max.max(MIN_SEND_BUFFER_BYTES.saturating_sub(sent_bytes))
    }

    /// So much payload, and so many messages, need not be kept any longer.
    pub(super) fn free(&mut self, bytes: usize, messages: usize) {
        self.held -= bytes + messages * MESSAGE_BYTES;
        self.tell_writable();
    }

    /// There is room again for what was turned away, and not just a little.
    pub(super) fn tell_writable(&mut self) {
        let is_half_free = self.held <= self.settings.send_buffer_bytes / 2
            && self.unsent_bytes <= self.unsent_bytes_max() / 2;
        if is_half_free && self.events.refused().is_some_and(|length| self.has_room(length)) {
            self.events.tell_writable();
        }
    }

    /// Whether a message of this length would be taken. One that is longer than the whole buffer can go out too, alone.
    pub(super) fn has_room(&self, length: usize) -> bool {
        (self.held == 0 || self.held + length + MESSAGE_BYTES <= self.settings.send_buffer_bytes)
            && (self.unsent == 0 || self.unsent_bytes + length <= self.unsent_bytes_max())
    }
}
