//! What a network does to datagrams.

use std::time::Duration;

use rand::RngExt;

use crate::random::{Random, duration_between, magnitude_between};

/// Bytes of IPv4 and UDP headers, which use up the rate too.
pub const UDP_OVERHEAD_BYTES: usize = 28;

/// What a network does to datagrams. `Profile::default()` delivers everything at once and unharmed; each
/// field is one trouble. Probabilities are 0.0 to 1.0 for each datagram, times count from the start of the
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Time that a datagram is under way, one way.
    pub delay: Duration,
    /// Up to so much is added to the delay, evenly. Does not change the order.
    pub jitter: Duration,
    /// Times when what would arrive waits.
    pub stalls: Option<Stalls>,
    /// Probability that a datagram is lost, each by itself.
    pub loss: f64,
    /// Losses that come in bursts.
    pub burst: Option<Burst>,
    /// Datagrams that others overtake.
    pub reorder: Option<Reorder>,
    /// Datagrams that come twice.
    pub duplicate: Option<Duplicate>,
    /// Probability that some of a datagram's bits flip.
    pub corrupt: f64,
    /// A bottleneck and the queue before it.
    pub rate: Option<Rate>,
    /// Longest UDP payload that gets through. Longer ones vanish without a sign.
    pub mtu_bytes: usize,
    /// The path comes to take less.
    pub black_hole: Option<BlackHole>,
    /// Times when nothing gets through.
    pub partitions: Vec<Partition>,
    /// Whether A sits behind a NAT, and when the NAT forgets it and gives it another address: once for each
    /// entry.
    pub rebinds: Option<Vec<Duration>>,
    /// Bytes that the layers below add to each datagram, for the rate.
    pub overhead_bytes: usize,
}

/// Again and again nothing arrives for a while, and then all of it at once: a radio whose turn it is not, or a system with something better to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// From the begin of one to that of the next.
    pub every: Duration,
    /// How long each lasts.
    pub length: Duration,
}

impl Stalls {
    /// When what would arrive after so much time does arrive.
    pub(crate) fn after(self, elapsed: Duration) -> Duration {
        let into = Duration::from_nanos((elapsed.as_nanos() % self.every.as_nanos()) as u64);
        elapsed + self.length.saturating_sub(into)
    }
}

/// Losses in bursts (Gilbert and Elliott): a good state that loses nothing, and a bad one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Probability of going from good to bad, for each datagram.
    pub begin: f64,
    /// Probability of going from bad to good, for each datagram.
    pub end: f64,
    /// Probability of loss while bad.
    pub loss: f64,
}

/// Datagrams that others overtake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reorder {
    /// Probability of being held back.
    pub probability: f64,
    /// For how long at the most; the time is drawn evenly.
    pub delay: Duration,
}

/// Datagrams that come twice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicate {
    /// Probability of a copy.
    pub probability: f64,
    /// How much later than usual the copy comes at the most; the time is drawn evenly.
    pub delay: Duration,
}

/// A bottleneck: so many bits in a second, and a queue that drops what does not fit at its tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bits in a second, headers included. Above zero.
    pub bits_per_s: u64,
    /// Bytes that wait at the most, headers included.
    pub queue_bytes: usize,
    /// Nothing waits: what comes faster goes through at once, as long as it would have had a place in the queue (a token bucket of
    /// `queue_bytes`).
    pub polices: bool,
}

/// The path takes shorter datagrams from some time on, and nobody says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlackHole {
    /// Since when.
    pub from: Duration,
    /// Longest UDP payload that still gets through.
    pub mtu_bytes: usize,
}

/// A time when nothing gets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Since when.
    pub from: Duration,
    /// Until when.
    pub until: Duration,
    /// Which way.
    pub way: Way,
}

/// One way or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From A to B.
    Forward,
    /// From B to A.
    Backward,
    /// Both ways.
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
    /// The networks that have names.
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

    /// A network drawn by chance. Each trouble is there in some draws only, in any combination; everything is
    /// over by `troubles_end`, and no partition is longer than 8 s, so that a peer with default settings
    /// bears it.
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

    /// The same path without its troubles: what stays is delay, rate, the NAT, and the MTU as it is at the
    /// end.
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

    /// Longest UDP payload that gets through after so much time.
    pub fn mtu_bytes_at(&self, time: Duration) -> usize {
        match self.black_hole {
            Some(hole) if time >= hole.from => hole.mtu_bytes.min(self.mtu_bytes),
            _ => self.mtu_bytes,
        }
    }

    /// Whether nothing gets through after so much time, `forward` or back.
    pub fn is_partitioned_at(&self, time: Duration, forward: bool) -> bool {
        let against = if forward { Way::Backward } else { Way::Forward };
        self.partitions.iter().any(|cut| cut.way != against && (cut.from..cut.until).contains(&time))
    }
}

/// One to three times when nothing gets through.
fn random_partitions(random: &mut Random, troubles_end: Duration) -> Vec<Partition> {
    let count = random.random_range(1..=3);
    let mut partitions = Vec::new();
    for _ in 0..count {
        let from = troubles_end.mul_f64(random.random::<f64>());
        let length = duration_between(random, Duration::from_millis(10), Duration::from_secs(8));
        let way = [Way::Forward, Way::Backward, Way::Both][random.random_range(0..3)];
        partitions.push(Partition { from, until: (from + length).min(troubles_end), way });
    }
    partitions
}
