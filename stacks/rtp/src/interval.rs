//! When the next RTCP packet is due ([RFC 3550 sections 6.2, 6.3 and A.7](https://www.rfc-editor.org/rfc/rfc3550#section-6.2)):
//! as rarely as the session's size wants it, at random, so that members do not all speak at once.

use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a session wants of its reports.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IntervalConfig {
    /// Bandwidth of RTCP for all members together, bytes a second, headers of UDP and IP counted: 5 % of the session's
    /// (section 6.2).
    pub rtcp_bytes_per_s: f64,
    /// Least mean interval; 5 s by section 6.2, less by [`reduced_minimum`].
    pub minimum: Duration,
    /// Bytes of UDP and IP headers that count with each packet (section 6.2): 28 for IPv4, 48 for IPv6.
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
/// Senders get this part of the bandwidth, as long as they are no more than this part of the members (section 6.2).
const SENDER_SHARE: f64 = 0.25;
/// e - 3/2: makes up for timer reconsideration, which would end below the bandwidth wanted (section 6.3.1).
const COMPENSATION: f64 = std::f64::consts::E - 1.5;
/// The longest mean interval, so that no bandwidth, however small, makes times that cannot be.
const MAXIMUM_SECONDS: f64 = 86_400.0;
/// Members from whose number on even a BYE waits for its turn (section 6.3.7).
const BYE_BACKOFF_MEMBERS: usize = 50;

/// The least mean interval that a session of so much bandwidth may take in place of 5 s (section 6.2). For bandwidths
/// below 72 kbit/s it is longer than those.
pub fn reduced_minimum(session_bits_per_s: f64) -> Duration {
    let seconds = REDUCED_MINIMUM_SECONDS / (session_bits_per_s / 1000.0);
    Duration::from_secs_f64(if seconds.is_finite() {
        seconds.clamp(0.0, MAXIMUM_SECONDS)
    } else {
        MAXIMUM_SECONDS
    })
}

/// When to send. One a session; all methods cost a few operations.
///
/// Sleep until [`next_deadline`](Self::next_deadline), call [`handle_timeout`](Self::handle_timeout), and where it gives
/// true send a report and call [`handle_sent`](Self::handle_sent). Tell it of members and of every RTCP datagram.
#[derive(Debug, Clone)]
pub struct Interval {
    config: IntervalConfig,
    rng: ChaCha8Rng,
    /// Time of the last transmission, and of the next (tp, tn).
    last: Instant,
    next: Instant,
    members: usize,
    /// Members when the next transmission was last computed (pmembers).
    members_before: usize,
    senders: usize,
    we_sent: bool,
    is_first: bool,
    /// Mean size of RTCP datagrams, headers below counted (avg_rtcp_size).
    mean_bytes: f64,
    is_leaving: bool,
}

impl Interval {
    /// A member that joins `now`. `first_bytes` is the probable size of its first datagram.
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

    /// When something is next due.
    pub fn next_deadline(&self) -> Instant {
        self.next
    }

    /// How many members the session has, ourselves counted, and how many of them send; whether we do. Fewer members than
    /// before bring the next report forward (section 6.3.4). While leaving it is not heard: see [`leave`](Self::leave).
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

    /// An RTCP datagram of so many bytes came (section 6.3.3).
    pub fn handle_received(&mut self, bytes: usize) {
        self.count(bytes);
    }

    /// Another member's BYE came: while leaving, those are what counts (section 6.3.7).
    pub fn handle_bye(&mut self) {
        if self.is_leaving {
            self.members += 1;
        }
    }

    /// Whether a report is to be sent now. Early calls do no harm. Timer reconsideration (section 6.3.6): if the session
    /// has grown, the deadline moves instead.
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

    /// A report, or the BYE, of so many bytes was sent (section 6.3.6).
    pub fn handle_sent(&mut self, now: Instant, bytes: usize) {
        self.count(bytes);
        self.last = now;
        self.is_first = false;
        self.next = now + self.draw();
        self.members_before = self.members;
    }

    /// We leave, with a BYE of so many bytes. True: send it at once. False, in sessions of more than 50: it is due at the
    /// deadline, as if all were joining (section 6.3.7). A member that never sent anything leaves without a word.
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

    /// The mean interval (Td, section 6.3.1), before it is made random: after five of them without a sign a member is
    /// gone (section 6.3.5).
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

    /// An interval, drawn from half to one and a half of the mean.
    fn draw(&mut self) -> Duration {
        let random = f64::from(self.rng.next_u32()) / f64::from(u32::MAX) + 0.5;
        self.mean_of(self.is_first).mul_f64(random / COMPENSATION)
    }

    /// Section 6.3.3: the mean moves by a sixteenth.
    fn count(&mut self, bytes: usize) {
        let bytes = (bytes + self.config.overhead_bytes) as f64;
        self.mean_bytes += (bytes - self.mean_bytes) / 16.0;
    }
}

#[cfg(test)]
mod tests;
