//! The receive window: what is charged to it, how it grows, and what of it the peer is told.

use std::time::{Duration, Instant};

use crate::config::Config;

/// Charged for each message that waits for the application, besides its bytes: its place in the queue.
pub(super) const MESSAGE_OVERHEAD: usize = 64;
/// Charged for each chunk or message that waits for one before it, besides its bytes: its own allocation, and its
/// places in the maps.
pub(super) const HELD_OVERHEAD: usize = 256;
/// Charged for each message in pieces, besides the bytes that are put together.
pub(super) const PARTIAL_OVERHEAD: usize = 256;

/// RFC 9260 section 6: an SCTP receiver MUST NOT indicate less than 1,500 bytes in its first window.
const INITIAL_BYTES_MIN: usize = 1500;
/// Round trip that is assumed until one was measured.
const RTT_UNKNOWN: Duration = Duration::from_millis(100);
/// Below this, a round trip says less about the path than about how often the application gets to run.
const RTT_MIN: Duration = Duration::from_micros(500);
/// Above this, it says nothing.
const RTT_MAX: Duration = Duration::from_secs(10);
/// What the application takes is counted for this long at the least. On short paths data comes in batches, each of them as
/// large as the window: in a single round trip any window would look too small.
const ROUND_MIN: Duration = Duration::from_millis(10);
/// No window is larger, whatever the limits say: sums of it do not overflow.
const LIMIT_MAX: usize = 1 << 30;

/// The receive window.
///
/// Everything that is held is charged, with an overhead for what it costs besides its bytes, until the application has
/// taken it. The peer counts payload only, so chunks are taken up to a quarter beyond the window: a peer that sends
/// messages of more than about 256 bytes never has one dropped that it was allowed to send.
#[derive(Debug)]
pub(super) struct Window {
    /// The window now, and the most that it may grow to.
    limit: usize,
    limit_max: usize,
    /// Charged by what is held.
    charged: usize,
    /// What is charged never exceeds this.
    charged_max: usize,
    /// Messages that wait for the application.
    messages: usize,
    messages_max: usize,
    /// What the peer may still send by its own count: what it was told last, less what has come since.
    credit: usize,
    /// A usual packet: what a window must open by at least.
    packet_bytes: usize,
    rtt: Option<Duration>,
    /// The application has taken this much in the round that ends then.
    taken: usize,
    round_end: Option<Instant>,
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let limits = &config.limits;
        let limit = limits.receive_window_bytes.clamp(INITIAL_BYTES_MIN, LIMIT_MAX);
        // A message in pieces cannot be taken by the application: the window must be able to hold the largest.
        let limit_max = limits.max_receive_window_bytes.max(limits.max_message_bytes).clamp(limit, LIMIT_MAX);
        let charged_max = limit_max.saturating_add(limit_max / 4).saturating_add(limits.max_message_bytes);
        Self {
            limit,
            limit_max,
            charged: 0,
            charged_max: charged_max.saturating_add(1 << 16),
            messages: 0,
            messages_max: limits.max_waiting_messages.clamp(1, u32::MAX as usize),
            credit: limit,
            packet_bytes: config.packet_bytes,
            rtt: None,
            taken: 0,
            round_end: None,
        }
    }

    /// The window, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// What is charged, in bytes.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    /// Whether this much more is within the window and its quarter of grace, and one more message within their limit.
    #[inline]
    pub(super) fn has_room(&self, cost: usize) -> bool {
        self.charged + cost <= self.limit + self.limit / 4 && self.messages < self.messages_max
    }

    /// Whether this much more is within what is never exceeded.
    pub(super) fn has_last_room(&self, cost: usize) -> bool {
        self.charged + cost <= self.charged_max
    }

    /// So much is held.
    #[inline]
    pub(super) fn charge(&mut self, bytes: usize) {
        self.charged += bytes;
    }

    /// So much is no longer held.
    #[inline]
    pub(super) fn release(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.charged, "only what was charged");
        self.charged = self.charged.saturating_sub(bytes);
    }

    /// New payload has come, of so many bytes.
    #[inline]
    pub(super) fn spend(&mut self, payload_bytes: usize) {
        self.credit = self.credit.saturating_sub(payload_bytes);
    }

    /// A message waits for the application.
    #[inline]
    pub(super) fn charge_message(&mut self, bytes: usize) {
        self.messages += 1;
        self.charged += bytes + MESSAGE_OVERHEAD;
    }

    /// The application takes a message. Gives whether the peer should be told that the window has opened.
    ///
    /// RFC 9260 section 6.2 asks for a window update when the window opens again, and RFC 1122 section 4.2.3.3 that it
    /// open by half of itself or by a full segment at the least, lest the peer send in dribs and drabs. We wait until
    /// the peer has less than half of the window left, what it has left would at least double, and that by two packets.
    #[inline]
    pub(super) fn take_message(&mut self, bytes: usize) -> bool {
        self.messages -= 1;
        self.release(bytes + MESSAGE_OVERHEAD);
        self.taken += bytes;
        self.credit < self.limit / 2 && self.has_opened()
    }

    /// What a SACK says now, in bytes.
    ///
    /// It is what is free, but for two things. If that is less than a packet (or half of the window), it is not offered
    /// as new: the peer keeps what it had. And it can be less than what the peer has left by its own count: when
    /// messages are short and their overhead takes room that the peer does not count, or when many of them wait. Memory
    /// comes first then; chunks that are under way still have the quarter of grace.
    pub(super) fn advertised(&self) -> u32 {
        let free = self.free();
        let window = if free < self.packet_bytes.min(self.limit / 2) { free.min(self.credit) } else { free };
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// A SACK has told the peer.
    pub(super) fn told(&mut self, window: u32) {
        self.credit = window as usize;
    }

    /// The round trip, for autotuning.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        if self.rtt.replace(rtt.clamp(RTT_MIN, RTT_MAX)).is_none() {
            // The round under way is as long as was assumed.
            (self.taken, self.round_end) = (0, None);
        }
    }

    /// Autotuning, once a packet. The window doubles when the application takes more than a quarter of it in a round trip:
    /// in slow start the peer sends twice as much in the next one, and only by the end of that can it hear of more room.
    /// It also doubles when half of it is filled by what the application cannot take yet: data beyond a loss, and
    /// messages in pieces. A window that is larger than that does harm: what is in flight has left the caches.
    #[inline]
    pub(super) fn tune(&mut self, now: Instant) {
        let is_stuffed = self.messages == 0 && self.charged > self.limit / 2;
        let is_round_over = self.round_end.is_none_or(|end| now >= end);
        if is_stuffed || is_round_over {
            let rtt = self.rtt.unwrap_or(RTT_UNKNOWN);
            let round = rtt.max(ROUND_MIN);
            let taken = self.taken as f64 * rtt.div_duration_f64(round);
            if is_stuffed || taken > (self.limit / 4) as f64 {
                self.limit = (2 * self.limit).min(self.limit_max);
            }
            if is_round_over {
                self.taken = 0;
                self.round_end = Some(now + round);
            }
        }
    }

    /// What is free, in bytes: of the bytes, or in the same proportion of the messages, whichever is scarcer.
    fn free(&self) -> usize {
        let bytes = self.limit.saturating_sub(self.charged);
        let places = self.messages_max.saturating_sub(self.messages);
        // The product does not fit where usize has 32 bits; the quotient is no more than the limit.
        let share = self.limit as u64 * places as u64 / self.messages_max as u64;
        bytes.min(share as usize)
    }

    fn has_opened(&self) -> bool {
        let step = (2 * self.packet_bytes).min(self.limit / 2);
        self.free() >= self.credit + self.credit.max(step)
    }
}

#[cfg(test)]
mod tests;
