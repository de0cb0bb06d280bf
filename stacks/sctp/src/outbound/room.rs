//! How much `send` accepts before it returns `WouldBlock`.
//!
//! Queued data should be available at once when something is acknowledged, and still be in the caches then.
//! The queue limit therefore follows the bytes in flight. A longer queue is not faster: it costs CPU time and
//! delays later messages. A shorter one would run empty if the application polls once per round trip; then
//! less would be in flight, and the limit would shrink further.

use std::time::Duration;

use super::congestion::CongestionControl;
use super::time::Time;
use super::{MESSAGE_BYTES, Outbound};

/// Most bytes accepted without a preceding `WouldBlock`, unsent and unacknowledged together, so that a burst
/// after an idle period is accepted although nothing is in flight yet.
const BURST_BYTES: usize = 1 << 20;
/// Smallest queue limit after a `WouldBlock`: two batches, so that one is left while the application reacts
/// to `Writable`.
const QUEUE_BYTES: usize = 128 << 10;
/// An association with nothing to send or in flight for this long is idle. In shorter gaps a busy application
/// may find its queue empty, which does not call for a longer queue.
const SILENCE: Duration = Duration::from_millis(10);

/// State of the queue limit.
#[derive(Debug)]
pub(super) struct Room {
    /// `send` has returned `WouldBlock` since the last idle period: the application is faster than the path.
    is_pressed: bool,
    /// Most bytes in flight in the previous round trip and in the current one.
    pub(super) most: [usize; 2],
    /// The current round trip ends when everything before this is acknowledged.
    round_end: u64,
    /// When everything was last acknowledged.
    done_at: Time,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { is_pressed: false, most: [0; 2], round_end: 0, done_at: Time::START }
    }

    /// Bytes are in flight.
    pub(super) fn on_sent(&mut self, in_flight: usize) {
        self.most[1] = self.most[1].max(in_flight);
    }

    /// Everything before `acked` has arrived; `next` is the next new chunk.
    pub(super) fn on_acked(&mut self, acked: u64, next: u64, in_flight: usize) {
        if acked >= self.round_end {
            self.most = [self.most[1], in_flight];
            self.round_end = next;
        }
    }

    /// Everything has been acknowledged.
    pub(super) fn on_done(&mut self, now: Time) {
        self.done_at = now;
    }

    /// Nothing is queued or in flight.
    pub(super) fn on_nothing(&mut self, now: Time) {
        self.is_pressed &= now.since(self.done_at) < SILENCE;
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.most[0].max(self.most[1])
    }
}

impl Outbound {
    /// A message of this length was refused.
    pub(super) fn refuse(&mut self, length: usize) {
        self.room.is_pressed = true;
        self.events.refuse(length);
    }

    /// Most unsent payload including a message of this length. There is always space for two messages of that
    /// length, so that one is left when the other was sent.
    fn unsent_bytes_max(&self, length: usize) -> usize {
        let queue = if self.room.is_pressed {
            self.room.most_in_flight().max(QUEUE_BYTES)
        } else {
            let in_flight_max = self.congestion.window_bytes().min(self.window_max);
            let sent_bytes = self.held - self.unsent_bytes - self.unsent * MESSAGE_BYTES;
            in_flight_max.max(BURST_BYTES.saturating_sub(sent_bytes))
        };
        queue.max(2 * length)
    }

    /// Releases payload bytes and messages.
    pub(super) fn free(&mut self, bytes: usize, messages: usize) {
        self.held -= bytes + messages * MESSAGE_BYTES;
        self.tell_writable();
    }

    /// Reports `Writable` once there is enough space for what was refused.
    pub(super) fn tell_writable(&mut self) {
        let Some(length) = self.events.refused() else { return };
        let is_half_free = self.held <= self.settings.send_buffer_bytes / 2
            && self.unsent_bytes <= self.unsent_bytes_max(length) / 2;
        if is_half_free && self.has_room(length) {
            self.events.tell_writable();
        }
    }

    /// Whether a message of this length would be accepted. One longer than the whole buffer is accepted
    /// alone.
    pub(super) fn has_room(&self, length: usize) -> bool {
        (self.held == 0 || self.held + length + MESSAGE_BYTES <= self.settings.send_buffer_bytes)
            && (self.unsent == 0 || self.unsent_bytes + length <= self.unsent_bytes_max(length))
    }
}
