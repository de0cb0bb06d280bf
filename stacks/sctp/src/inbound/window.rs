//! The receive window: what is charged to it, how it grows, and what is advertised to the peer.

use std::time::{Duration, Instant};

use crate::config::Config;

/// Charge per message waiting for the application, besides its bytes: its queue entry.
pub(super) const MESSAGE_OVERHEAD: usize = 64;
/// Charge per chunk or message waiting for an earlier one, besides its bytes: its allocation and map entries.
pub(super) const HELD_OVERHEAD: usize = 256;
/// Charge per incomplete message, besides the assembled bytes.
pub(super) const PARTIAL_OVERHEAD: usize = 256;

/// RFC 9260 section 6: an SCTP receiver MUST NOT indicate less than 1,500 bytes in its first window.
const INITIAL_BYTES_MIN: usize = 1500;
/// Round trip assumed until one is measured.
const RTT_UNKNOWN: Duration = Duration::from_millis(100);
/// Shorter round trips depend more on how often the application runs than on the path.
const RTT_MIN: Duration = Duration::from_micros(500);
/// Longer round trips are not meaningful.
const RTT_MAX: Duration = Duration::from_secs(10);
/// Shortest interval over which received data is counted. On short paths data arrives in batches as large as
/// the window: within a single round trip, any window would look too small.
const ROUND_MIN: Duration = Duration::from_millis(10);
/// Upper bound of any window, whatever the limits: sums do not overflow.
const LIMIT_MAX: usize = 1 << 30;

/// The receive window.
///
/// Everything held is charged, including an overhead, until the application has received it. The peer counts
/// only payload, so chunks are accepted up to a quarter beyond the window. A peer that sends messages of more
/// than about 256 bytes thus never has an allowed message dropped.
#[derive(Debug)]
pub(super) struct Window {
    /// The current window and its upper limit.
    limit: usize,
    limit_max: usize,
    /// Bytes currently charged.
    charged: usize,
    /// Hard upper bound of the charge.
    charged_max: usize,
    /// Messages waiting for the application.
    messages: usize,
    messages_max: usize,
    /// What the peer may still send by its own count: the last advertised window less what has arrived since.
    credit: usize,
    /// A typical packet: the least amount by which a window must open.
    packet_bytes: usize,
    rtt: Option<Duration>,
    /// Bytes received by the application in the round that ends at `round_end`.
    taken: usize,
    round_end: Option<Instant>,
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let limits = &config.limits;
        let limit = limits.receive_window_bytes.clamp(INITIAL_BYTES_MIN, LIMIT_MAX);
        // The application cannot receive an incomplete message, so the window must hold the largest one.
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

    /// The window in bytes.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The charge in bytes.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    /// Whether `cost` more bytes fit into the window plus a quarter, and one more message into the message
    /// limit.
    #[inline]
    pub(super) fn has_room(&self, cost: usize) -> bool {
        self.charged + cost <= self.limit + self.limit / 4 && self.messages < self.messages_max
    }

    /// Whether `cost` more bytes fit into the hard bound.
    pub(super) fn has_last_room(&self, cost: usize) -> bool {
        self.charged + cost <= self.charged_max
    }

    /// Charges bytes.
    #[inline]
    pub(super) fn charge(&mut self, bytes: usize) {
        self.charged += bytes;
    }

    /// Releases charged bytes.
    #[inline]
    pub(super) fn release(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.charged, "only charged bytes");
        self.charged = self.charged.saturating_sub(bytes);
    }

    /// Payload of this length has arrived.
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

    /// The application receives a message. Returns whether to advertise the opened window.
    ///
    /// RFC 9260 section 6.2 asks for a window update when the window opens again. RFC 1122 section 4.2.3.3
    /// asks that it open by half of its size or a full segment, to avoid the silly window syndrome. Here the
    /// update waits until the peer has less than half of the window left, and the update at least doubles
    /// what it has left and adds two packets.
    #[inline]
    pub(super) fn take_message(&mut self, bytes: usize) -> bool {
        self.messages -= 1;
        self.release(bytes + MESSAGE_OVERHEAD);
        self.taken += bytes;
        self.credit < self.limit / 2 && self.has_opened()
    }

    /// The window to advertise, in bytes.
    ///
    /// This is the free space, with two exceptions. If that is less than a packet or half of the window, no
    /// increase is advertised. It can also be less than what the peer has left by its own count, when
    /// messages are short and overhead uses space that the peer does not count, or when many messages wait.
    /// The memory limit takes precedence then; chunks in flight still have the extra quarter.
    pub(super) fn advertised(&self) -> u32 {
        let free = self.free();
        let window = if free < self.packet_bytes.min(self.limit / 2) { free.min(self.credit) } else { free };
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// A SACK has advertised this window.
    pub(super) fn set_advertised(&mut self, window: u32) {
        self.credit = window as usize;
    }

    /// Sets the round trip, for autotuning.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        if self.rtt.replace(rtt.clamp(RTT_MIN, RTT_MAX)).is_none() {
            // The current round has the assumed length.
            (self.taken, self.round_end) = (0, None);
        }
    }

    /// Autotuning, once per packet. The window doubles when the application receives more than a quarter of
    /// it per round trip: in slow start the peer sends twice as much in the next one, and learns of the
    /// larger window only at its end. It also doubles when half of it is filled by data that the application
    /// cannot receive yet: chunks beyond a loss, and incomplete messages. A larger window than needed is
    /// harmful, because data in flight then no longer fits the caches.
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

    /// Free space in bytes: of the bytes, or in proportion of the message limit, whichever is scarcer.
    fn free(&self) -> usize {
        let bytes = self.limit.saturating_sub(self.charged);
        let places = self.messages_max.saturating_sub(self.messages);
        // The product may exceed a 32-bit usize; the quotient is at most the limit.
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
