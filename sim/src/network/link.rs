//! One direction of the network: the fate of each datagram.

use std::time::{Duration, Instant};

use rand::RngExt;

use crate::profile::{Profile, Rate};
use crate::random::Random;

/// Counters of one direction, from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams delivered, including copies.
    pub delivered: u64,
    /// Lost at random, individually or in a burst.
    pub lost: u64,
    /// Lost because the queue of the bottleneck was full.
    pub queue_drops: u64,
    /// Lost because they exceeded the MTU.
    pub too_long: u64,
    /// Lost in a partition.
    pub cut_off: u64,
    /// Arrived at an address that is not (or no longer) in use.
    pub unknown_address: u64,
    /// Duplicates created.
    pub duplicated: u64,
    /// Delivered with bits flipped.
    pub corrupted: u64,
    /// Delayed so that others overtake them.
    pub held_back: u64,
}

/// One arrival of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// The time.
    pub(super) at: Instant,
    /// With bits flipped.
    pub(super) corrupt: bool,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Link {
    profile: Profile,
    /// Whether this is the direction from A to B.
    forward: bool,
    random: Random,
    /// Whether the burst model is in its bad state.
    bad: bool,
    /// The start time of the stall pattern.
    start: Instant,
    /// When the bottleneck's queue will be empty.
    idle_at: Instant,
    /// The latest arrival so far among in-order datagrams.
    last_arrival: Instant,
    stats: LinkStats,
}

/// The random draws for one datagram. All are made for each datagram, needed or not: the fate of the n-th
/// datagram then depends only on the seed and on n, and removing one disturbance from a profile leaves the
/// others unchanged.
struct Draws {
    loss: f64,
    burst_change: f64,
    burst_loss: f64,
    corrupt: f64,
    duplicate: f64,
    reorder: f64,
    reorder_delay: f64,
    jitter: f64,
    copy_delay: f64,
}

impl Link {
    pub(super) fn new(profile: Profile, forward: bool, random: Random, start: Instant) -> Self {
        let stats = LinkStats::default();
        Self { profile, forward, random, bad: false, start, idle_at: start, last_arrival: start, stats }
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.profile
    }

    pub(super) fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
    }

    pub(super) fn stats(&self) -> LinkStats {
        self.stats
    }

    pub(super) fn count_delivery(&mut self) {
        self.stats.delivered += 1;
    }

    pub(super) fn count_unknown_address(&mut self) {
        self.stats.unknown_address += 1;
    }

    /// The arrivals of a datagram of this length: none, one or two.
    pub(super) fn send(
        &mut self,
        now: Instant,
        elapsed: Duration,
        bytes: usize,
    ) -> impl Iterator<Item = Arrival> + use<> {
        self.stats.sent += 1;
        let draws = self.draw();
        let lost_by_chance = self.is_lost(&draws);
        let departure = self.departure(now, elapsed, bytes);
        let (mut first, mut second) = (None, None);
        match departure {
            Some(_) if lost_by_chance => self.stats.lost += 1,
            Some(departure) => {
                let corrupt = draws.corrupt < self.profile.corrupt;
                self.stats.corrupted += u64::from(corrupt);
                first = Some(Arrival { at: self.arrival(departure, &draws), corrupt });
                let copies = self.profile.duplicate.filter(|copies| draws.duplicate < copies.probability);
                if let Some(copies) = copies {
                    self.stats.duplicated += 1;
                    let at = departure + self.profile.delay + copies.delay.mul_f64(draws.copy_delay);
                    second = Some(Arrival { at, corrupt: false });
                }
            }
            None => {}
        }
        first.into_iter().chain(second)
    }

    /// Flips one to eight bits.
    pub(super) fn flip_bits(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        let first = self.random.random_range(0..bytes.len() * 8);
        bytes[first / 8] ^= 1 << (first % 8);
        for _ in 0..self.random.random_range(0..8) {
            let bit = self.random.random_range(0..bytes.len() * 8);
            // Never the first bit again: at least one bit stays flipped.
            if bit != first {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    fn draw(&mut self) -> Draws {
        let mut next = || self.random.random::<f64>();
        Draws {
            loss: next(),
            burst_change: next(),
            burst_loss: next(),
            corrupt: next(),
            duplicate: next(),
            reorder: next(),
            reorder_delay: next(),
            jitter: next(),
            copy_delay: next(),
        }
    }

    /// Whether it is lost at random.
    fn is_lost(&mut self, draws: &Draws) -> bool {
        let mut lost = draws.loss < self.profile.loss;
        match self.profile.burst {
            Some(burst) => {
                let change = if self.bad { burst.end } else { burst.begin };
                self.bad ^= draws.burst_change < change;
                lost |= self.bad && draws.burst_loss < burst.loss;
            }
            None => self.bad = false,
        }
        lost
    }

    /// When the last bit leaves the bottleneck; `None` if the datagram is dropped.
    fn departure(&mut self, now: Instant, elapsed: Duration, bytes: usize) -> Option<Instant> {
        if self.profile.is_partitioned_at(elapsed, self.forward) {
            self.stats.cut_off += 1;
            return None;
        }
        if bytes > self.profile.mtu_bytes_at(elapsed) {
            self.stats.too_long += 1;
            return None;
        }
        let Some(rate) = self.profile.rate else { return Some(now) };
        let bytes = bytes + self.profile.overhead_bytes;
        let backlog = self.idle_at.saturating_duration_since(now);
        if bytes_sent_in(backlog, rate) + bytes as u64 > rate.queue_bytes as u64 {
            self.stats.queue_drops += 1;
            return None;
        }
        self.idle_at = self.idle_at.max(now) + time_to_send(bytes, rate);
        Some(if rate.polices { now } else { self.idle_at })
    }

    /// When a datagram that left the bottleneck at `departure` arrives. The order is kept, unless the
    /// datagram is held back.
    fn arrival(&mut self, departure: Instant, draws: &Draws) -> Instant {
        let at = departure + self.profile.delay + self.profile.jitter.mul_f64(draws.jitter);
        let at = self.profile.stalls.map_or(at, |stalls| self.start + stalls.after(at - self.start));
        match self.profile.reorder {
            Some(reorder) if draws.reorder < reorder.probability => {
                self.stats.held_back += 1;
                at + reorder.delay.mul_f64(draws.reorder_delay)
            }
            _ => {
                self.last_arrival = self.last_arrival.max(at);
                self.last_arrival
            }
        }
    }
}

fn time_to_send(bytes: usize, rate: Rate) -> Duration {
    Duration::from_nanos((bytes as u128 * 8_000_000_000 / u128::from(rate.bits_per_s)) as u64)
}

fn bytes_sent_in(time: Duration, rate: Rate) -> u64 {
    (time.as_nanos() * u128::from(rate.bits_per_s) / 8_000_000_000) as u64
}
