//! How much `send` takes before it says "not now".
//!
//! What waits should follow at once when something was acknowledged, and be in the caches still when its time comes. So what may wait
//! follows what is in flight. A queue that is longer carries nothing faster: it costs time of the processor, and all who send later wait for
//! it. A shorter one would run dry where the application looks once in a round trip, and then less would be in flight, and less again.

use std::time::Duration;

use super::congestion::CongestionControl;
use super::time::Time;
use super::{MESSAGE_BYTES, Outbound};

/// What `send` takes at the least from whoever was not told "not now", unsent and unacknowledged together: so that what comes at once
/// after a silence is taken, though nothing is in flight yet.
const BURST_BYTES: usize = 1 << 20;
/// What may wait at the least, of who has been told so: what goes out in two batches, so that one is there while the
/// application hears of room.
const QUEUE_BYTES: usize = 128 << 10;
/// Without anything to send and in flight for so long, it is silent. In between an application that is busy elsewhere may find its
/// queue empty: that does not call for a longer one.
const SILENCE: Duration = Duration::from_millis(10);

/// What decides how much may wait.
#[derive(Debug)]
pub(super) struct Room {
    /// `send` has said "not now" since the last silence: the application is faster than the path.
    is_pressed: bool,
    /// Most bytes that were in flight in the round trip before this one, and in this one.
    pub(super) most: [usize; 2],
    /// This round trip ends when everything before this was acknowledged.
    round_end: u64,
    /// When all had been acknowledged last.
    done_at: Time,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { is_pressed: false, most: [0; 2], round_end: 0, done_at: Time::START }
    }

    /// So many bytes are in flight.
    pub(super) fn on_sent(&mut self, in_flight: usize) {
        self.most[1] = self.most[1].max(in_flight);
    }

    /// Everything before `acked` has arrived; `next` is sent next.
    pub(super) fn on_acked(&mut self, acked: u64, next: u64, in_flight: usize) {
        if acked >= self.round_end {
            self.most = [self.most[1], in_flight];
            self.round_end = next;
        }
    }

    /// All has been acknowledged.
    pub(super) fn on_done(&mut self, now: Time) {
        self.done_at = now;
    }

    /// Nothing waits, and nothing is in flight.
    pub(super) fn on_nothing(&mut self, now: Time) {
        self.is_pressed &= now.since(self.done_at) < SILENCE;
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.most[0].max(self.most[1])
    }
}

impl Outbound {
    /// There was no room for a message of this length.
    pub(super) fn refuse(&mut self, length: usize) {
        self.room.is_pressed = true;
        self.events.refuse(length);
    }

    /// Payload that may wait to be sent, if a message of this length is to be among it. Beside one of its length there is always room, so
    /// that one is there when the other was sent.
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

    /// So much payload, and so many messages, need not be kept any longer.
    pub(super) fn free(&mut self, bytes: usize, messages: usize) {
        self.held -= bytes + messages * MESSAGE_BYTES;
        self.tell_writable();
    }

    /// There is room again for what was turned away, and not just a little.
    pub(super) fn tell_writable(&mut self) {
        let Some(length) = self.events.refused() else { return };
        let is_half_free = self.held <= self.settings.send_buffer_bytes / 2
            && self.unsent_bytes <= self.unsent_bytes_max(length) / 2;
        if is_half_free && self.has_room(length) {
            self.events.tell_writable();
        }
    }

    /// Whether a message of this length would be taken. One that is longer than the whole buffer can go out too, alone.
    pub(super) fn has_room(&self, length: usize) -> bool {
        (self.held == 0 || self.held + length + MESSAGE_BYTES <= self.settings.send_buffer_bytes)
            && (self.unsent == 0 || self.unsent_bytes + length <= self.unsent_bytes_max(length))
    }
}
