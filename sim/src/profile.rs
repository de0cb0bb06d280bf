//! Network profiles.

use std::time::Duration;

use rand::RngExt;

use crate::random::{Random, duration_between, magnitude_between};

/// Bytes of IPv4 and UDP headers, which count towards the rate.
pub const UDP_OVERHEAD_BYTES: usize = 28;

/// How a network treats datagrams. `Profile::default()` delivers everything at once and unchanged; each field
/// is one disturbance. Probabilities are 0.0 to 1.0 for each datagram, times are relative to the start of the
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum additional delay, uniformly distributed. Does not change the order.
    pub jitter: Duration,
    /// Periods in which arrivals are delayed.
    pub stalls: Option<Stalls>,
    /// Probability of independent loss.
    pub loss: f64,
    /// Losses that come in bursts.
    pub burst: Option<Burst>,
    /// Reordering.
    pub reorder: Option<Reorder>,
    /// Duplication.
    pub duplicate: Option<Duplicate>,
    /// Probability that bits of a datagram flip.
    pub corrupt: f64,
    /// A bottleneck with a queue.
    pub rate: Option<Rate>,
    /// Longest UDP payload that is delivered. Longer ones are dropped silently.
    pub mtu_bytes: usize,
    /// A reduction of the MTU.
    pub black_hole: Option<BlackHole>,
    /// Periods in which nothing is delivered.
    pub partitions: Vec<Partition>,
    /// Whether A is behind a NAT, and when the NAT changes its mapping: once for each entry.
    pub rebinds: Option<Vec<Duration>>,
    /// Bytes of lower layers added to each datagram, counted towards the rate.
    pub overhead_bytes: usize,
}

/// Periodic pauses in which nothing arrives, followed by a burst: a radio that waits for its slot, or a busy
/// system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// From the start of one to the start of the next.
    pub every: Duration,
    /// Duration of each.
    pub length: Duration,
}

impl Stalls {
    /// When a datagram actually arrives that is due after this time.
    pub(crate) fn after(self, elapsed: Duration) -> Duration {
        let into = Duration::from_nanos((elapsed.as_nanos() % self.every.as_nanos()) as u64);
        elapsed + self.length.saturating_sub(into)
    }
}

/// Bursty losses (Gilbert-Elliott model): a good state without loss, and a bad one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Probability of changing from good to bad, for each datagram.
    pub begin: f64,
    /// Probability of changing from bad to good, for each datagram.
    pub end: f64,
    /// Probability of loss in the bad state.
    pub loss: f64,
}

/// Reordering.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reorder {
    /// Probability of being held back.
    pub probability: f64,
    /// Maximum delay; uniformly distributed.
    pub delay: Duration,
}

/// Duplication.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicate {
    /// Probability of a copy.
    pub probability: f64,
    /// Maximum additional delay of the copy; uniformly distributed.
    pub delay: Duration,
}

/// A bottleneck: a bit rate, and a drop-tail queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bits per second, headers included. Above zero.
    pub bits_per_s: u64,
    /// Capacity of the queue in bytes, headers included.
    pub queue_bytes: usize,
    /// A policer instead of a queue: excess datagrams pass at once while the queue would have had room for
    /// them (a token bucket of `queue_bytes`).
    pub polices: bool,
}

/// From some time on, the path silently drops datagrams that it carried before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlackHole {
    /// Start time.
    pub from: Duration,
    /// Longest UDP payload that is still delivered.
    pub mtu_bytes: usize,
}

/// A period in which nothing is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Start time.
    pub from: Duration,
    /// End time.
    pub until: Duration,
    /// The affected direction.
    pub way: Direction,
}

/// One or both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From A to B.
    Forward,
    /// From B to A.
    Backward,
    /// Both directions.
    Both,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            stalls: None,
            loss: 0.0,
            burst: None,
            reorder: None,
            duplicate: None,
            corrupt: 0.0,
            rate: None,
            mtu_bytes: 65_507,
            black_hole: None,
            partitions: Vec::new(),
            rebinds: None,
            overhead_bytes: UDP_OVERHEAD_BYTES,
        }
    }
}

impl Profile {
    /// The named profiles.
    pub fn table() -> [(&'static str, Self); 8] {
        let path = |delay_us, jitter_us, loss| Self {
            delay: Duration::from_micros(delay_us),
            jitter: Duration::from_micros(jitter_us),
            loss,
            mtu_bytes: 1472,
            ..Self::default()
        };
        let rate = |bits_per_s, queue_bytes| Some(Rate { bits_per_s, queue_bytes, polices: false });
        [
            ("loopback", Self { delay: Duration::from_micros(10), ..Self::default() }),
            ("lan", Self { rate: rate(1_000_000_000, 500_000), ..path(100, 20, 0.0) }),
            (
                "wifi",
                Self {
                    burst: Some(Burst { begin: 0.002, end: 0.3, loss: 0.5 }),
                    reorder: Some(Reorder { probability: 0.005, delay: Duration::from_millis(5) }),
                    rate: rate(50_000_000, 250_000),
                    ..path(2_000, 3_000, 0.001)
                },
            ),
            (
                "lossy",
                Self {
                    reorder: Some(Reorder { probability: 0.01, delay: Duration::from_millis(20) }),
                    duplicate: Some(Duplicate { probability: 0.01, delay: Duration::from_millis(5) }),
                    ..path(20_000, 5_000, 0.1)
                },
            ),
            (
                "satellite",
                Self {
                    burst: Some(Burst { begin: 0.001, end: 0.2, loss: 0.8 }),
                    rate: rate(20_000_000, 1_500_000),
                    ..path(300_000, 10_000, 0.001)
                },
            ),
            ("long_fat", Self { rate: rate(100_000_000, 1_250_000), ..path(50_000, 0, 0.01) }),
            ("mobile", Self { rate: rate(10_000_000, 500_000), ..path(30_000, 20_000, 0.002) }),
            ("bufferbloat", Self { rate: rate(2_000_000, 1_000_000), ..path(10_000, 0, 0.0) }),
        ]
    }

    /// A network by its name in [`table`](Self::table).
    pub fn named(name: &str) -> Option<Self> {
        Self::table().into_iter().find(|(known, _)| *known == name).map(|(_, profile)| profile)
    }

    /// A random profile. Each disturbance is present in some draws only, in any combination; all end by
    /// `troubles_end`, and no partition is longer than 8 s, so that a peer with default settings survives it.
    pub fn random(random: &mut Random, troubles_end: Duration) -> Self {
        let micros = Duration::from_micros;
        let delay = duration_between(random, micros(10), micros(200_000));
        let mut profile = Self { delay, mtu_bytes: 1200, ..Self::default() };
        if random.random_bool(0.5) {
            profile.jitter = delay.mul_f64(random.random::<f64>());
        }
        if random.random_bool(0.6) {
            profile.loss = magnitude_between(random, 0.001, 0.2);
        }
        if random.random_bool(0.25) {
            profile.burst = Some(Burst {
                begin: magnitude_between(random, 0.001, 0.05),
                end: magnitude_between(random, 0.1, 0.8),
                loss: random.random_range(0.3..1.0),
            });
        }
        if random.random_bool(0.4) {
            profile.reorder = Some(Reorder {
                probability: magnitude_between(random, 0.002, 0.5),
                delay: duration_between(random, micros(10), micros(100_000)),
            });
        }
        if random.random_bool(0.4) {
            profile.duplicate = Some(Duplicate {
                probability: magnitude_between(random, 0.001, 0.3),
                delay: duration_between(random, micros(10), micros(5_000_000)),
            });
        }
        if random.random_bool(0.3) {
            profile.rate = Some(Rate {
                bits_per_s: magnitude_between(random, 1e6, 1e9) as u64,
                queue_bytes: magnitude_between(random, 4_000.0, 1e6) as usize,
                polices: false,
            });
        }
        if random.random_bool(0.3) {
            profile.partitions = random_partitions(random, troubles_end);
        }
        profile
    }

    /// The same path without its disturbances: delay, rate, the NAT, and the final MTU remain.
    pub fn healed(&self) -> Self {
        Self {
            delay: self.delay,
            rate: self.rate,
            mtu_bytes: self.black_hole.map_or(self.mtu_bytes, |hole| hole.mtu_bytes.min(self.mtu_bytes)),
            rebinds: self.rebinds.clone(),
            overhead_bytes: self.overhead_bytes,
            ..Self::default()
        }
    }

    /// Longest UDP payload delivered at this time.
    pub fn mtu_bytes_at(&self, time: Duration) -> usize {
        match self.black_hole {
            Some(hole) if time >= hole.from => hole.mtu_bytes.min(self.mtu_bytes),
            _ => self.mtu_bytes,
        }
    }

    /// Whether nothing is delivered at this time, `forward` or back.
    pub fn is_partitioned_at(&self, time: Duration, forward: bool) -> bool {
        let against = if forward { Direction::Backward } else { Direction::Forward };
        self.partitions.iter().any(|cut| cut.way != against && (cut.from..cut.until).contains(&time))
    }
}

/// One to three partitions.
fn random_partitions(random: &mut Random, troubles_end: Duration) -> Vec<Partition> {
    let count = random.random_range(1..=3);
    let mut partitions = Vec::new();
    for _ in 0..count {
        let from = troubles_end.mul_f64(random.random::<f64>());
        let length = duration_between(random, Duration::from_millis(10), Duration::from_secs(8));
        let way = [Direction::Forward, Direction::Backward, Direction::Both][random.random_range(0..3)];
        partitions.push(Partition { from, until: (from + length).min(troubles_end), way });
    }
    partitions
}
