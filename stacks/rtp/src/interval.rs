//! RTCP transmission intervals ([RFC 3550 sections 6.2, 6.3 and A.7](https://www.rfc-editor.org/rfc/rfc3550#section-6.2)). They
//! scale with the size of the session and are randomised, so that members do not transmit simultaneously.

use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Settings of report intervals.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IntervalConfig {
    /// Total RTCP bandwidth of all members in bytes per second, including UDP and IP headers: 5 % of the session bandwidth
    /// (section 6.2).
    pub rtcp_bytes_per_s: f64,
    /// Minimum mean interval; 5 s (section 6.2) or a [reduced minimum](reduced_minimum).
    pub minimum: Duration,
    /// Length of UDP and IP headers (section 6.2): 28 for IPv4, 48 for IPv6.
    pub overhead_bytes: usize,
}

impl Default for IntervalConfig {
    /// 5 % of 100 Mbit/s; 5 s; IPv4.
    fn default() -> Self {
        Self { rtcp_bytes_per_s: 625_000.0, minimum: MINIMUM, overhead_bytes: 28 }
    }
}

/// Section 6.2.
const MINIMUM: Duration = Duration::from_secs(5);
/// > 360 divided by the session bandwidth in kilobits/second (section 6.2)
const REDUCED_MINIMUM_SECONDS: f64 = 360.0;
/// Share of the bandwidth for senders if they are at most this share of the members (section 6.2).
const SENDER_SHARE: f64 = 0.25;
/// e - 3/2: compensates for timer reconsideration, which would otherwise stay below the intended bandwidth (section 6.3.1).
const COMPENSATION: f64 = std::f64::consts::E - 1.5;
/// Maximum mean interval, which avoids an overflow for tiny bandwidths.
const MAXIMUM_SECONDS: f64 = 86_400.0;
/// Number of members from which BYE is delayed (section 6.3.7).
const BYE_BACKOFF_MEMBERS: usize = 50;

/// The reduced minimum interval for a session bandwidth (section 6.2). It exceeds 5 s for bandwidths below 72 kbit/s.
pub fn reduced_minimum(session_bits_per_s: f64) -> Duration {
    let seconds = REDUCED_MINIMUM_SECONDS / (session_bits_per_s / 1000.0);
    Duration::from_secs_f64(if seconds.is_finite() {
        seconds.clamp(0.0, MAXIMUM_SECONDS)
    } else {
        MAXIMUM_SECONDS
    })
}

/// The transmission timer of a session. All methods take constant time.
///
/// At [`next_deadline`](Self::next_deadline), call [`handle_timeout`](Self::handle_timeout). If it returns true, send a report
/// and call [`handle_sent`](Self::handle_sent). Pass in changes of membership and every received RTCP datagram.
#[derive(Debug, Clone)]
pub struct Interval {
    config: IntervalConfig,
    rng: ChaCha8Rng,
    /// Times of the last and the next transmission (tp, tn).
    last: Instant,
    next: Instant,
    members: usize,
    /// Number of members at the last computation of the next transmission (pmembers).
    members_before: usize,
    senders: usize,
    we_sent: bool,
    is_first: bool,
    /// Mean length of RTCP datagrams with UDP and IP headers (avg_rtcp_size).
    mean_bytes: f64,
    is_leaving: bool,
}

impl Interval {
    /// Creates the timer of a member that joins `now`. `first_bytes` is the expected length of its first datagram.
    pub fn new(now: Instant, config: IntervalConfig, first_bytes: usize, seed: [u8; 32]) -> Self {
        let mean_bytes = (first_bytes + config.overhead_bytes) as f64;
        let mut interval = Self {
            config,
            rng: ChaCha8Rng::from_seed(seed),
            last: now,
            next: now,
            members: 1,
            members_before: 1,
            senders: 0,
            we_sent: false,
            is_first: true,
            mean_bytes,
            is_leaving: false,
        };
        interval.next = now + interval.draw();
        interval
    }

    /// The time of the next transmission.
    pub fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Handles the number of members including this one, the number of senders, and whether this member sends. Fewer members
    /// advance the next report (section 6.3.4). Ignored while [leaving](Self::leave).
    pub fn handle_members(&mut self, now: Instant, members: usize, senders: usize, we_sent: bool) {
        if self.is_leaving {
            return;
        }
        (self.members, self.senders, self.we_sent) = (members.max(1), senders, we_sent);
        if self.members < self.members_before {
            let part = self.members as f64 / self.members_before as f64;
            self.next = now + self.next.saturating_duration_since(now).mul_f64(part);
            self.last =
                now.checked_sub(now.saturating_duration_since(self.last).mul_f64(part)).unwrap_or(now);
            self.members_before = self.members;
        }
    }

    /// Handles the length of a received RTCP datagram (section 6.3.3).
    pub fn handle_received(&mut self, bytes: usize) {
        self.count(bytes);
    }

    /// Handles another member's BYE. While leaving, only these are counted (section 6.3.7).
    pub fn handle_bye(&mut self) {
        if self.is_leaving {
            self.members += 1;
        }
    }

    /// Returns whether to send a report now. If the session has grown, the deadline moves instead (timer reconsideration, section
    /// 6.3.6). Early calls have no effect.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let reconsidered = self.last + self.draw();
        self.members_before = self.members;
        if reconsidered > now {
            self.next = reconsidered;
            return false;
        }
        true
    }

    /// Handles the length of a sent report or BYE (section 6.3.6).
    pub fn handle_sent(&mut self, now: Instant, bytes: usize) {
        self.count(bytes);
        self.last = now;
        self.is_first = false;
        self.next = now + self.draw();
        self.members_before = self.members;
    }

    /// Starts to leave with a BYE of this length. Returns whether to send it at once. In sessions of more than 50 members, it is due
    /// at the deadline instead (section 6.3.7). A member that never sent a packet sends no BYE.
    pub fn leave(&mut self, now: Instant, bytes: usize) -> bool {
        if self.members <= BYE_BACKOFF_MEMBERS {
            return true;
        }
        self.is_leaving = true;
        (self.members, self.members_before, self.senders, self.we_sent) = (1, 1, 0, false);
        self.is_first = true;
        self.mean_bytes = (bytes + self.config.overhead_bytes) as f64;
        self.last = now;
        self.next = now + self.draw();
        false
    }

    /// The deterministic interval (Td, section 6.3.1). Members time out after five of them (section 6.3.5).
    pub fn mean(&self) -> Duration {
        self.mean_of(self.is_first)
    }

    fn mean_of(&self, is_first: bool) -> Duration {
        let (members, senders) = (self.members as f64, self.senders as f64);
        let (count, share) = match senders <= members * SENDER_SHARE {
            true if self.we_sent => (senders, SENDER_SHARE),
            true => (members - senders, 1.0 - SENDER_SHARE),
            false => (members, 1.0),
        };
        let seconds = self.mean_bytes * count / (self.config.rtcp_bytes_per_s * share);
        let seconds = if seconds.is_finite() { seconds.clamp(0.0, MAXIMUM_SECONDS) } else { MAXIMUM_SECONDS };
        let minimum = if is_first { self.config.minimum / 2 } else { self.config.minimum };
        Duration::from_secs_f64(seconds).max(minimum)
    }

    /// Draws an interval between 0.5 and 1.5 times the mean.
    fn draw(&mut self) -> Duration {
        let random = f64::from(self.rng.next_u32()) / f64::from(u32::MAX) + 0.5;
        self.mean_of(self.is_first).mul_f64(random / COMPENSATION)
    }

    /// Updates the mean length with weight 1/16 (section 6.3.3).
    fn count(&mut self, bytes: usize) {
        let bytes = (bytes + self.config.overhead_bytes) as f64;
        self.mean_bytes += (bytes - self.mean_bytes) / 16.0;
    }
}

#[cfg(test)]
mod tests;
