//! Smoothed round trip and retransmission timeout (RFC 9260 section 6.3).

use std::time::Duration;

use super::time::Time;
use crate::config::Config;

/// Timer resolution of an operating system and scheduling delay; a timeout keeps this margin.
const GRANULARITY: Duration = Duration::from_millis(10);

/// The minimum round trip covers the last two of these periods: a path that has become longer must not look
/// congested permanently. Five minutes in total, as in Linux TCP (RFC 8985 section 6.2 leaves it open).
const LOWEST_AGE: Duration = Duration::from_secs(150);

/// The recent minimum round trip.
#[derive(Debug)]
pub(super) struct LowestRtt {
    /// The minimum since `from`, and of the period before.
    lowest: [Duration; 2],
    from: Time,
}

impl LowestRtt {
    pub(super) fn new() -> Self {
        Self { lowest: [Duration::MAX; 2], from: Time::START }
    }

    /// `Duration::MAX` before the first sample.
    pub(super) fn get(&self) -> Duration {
        let [now, before] = self.lowest;
        now.min(before)
    }

    pub(super) fn sample(&mut self, now: Time, rtt: Duration) {
        let [lowest, _] = self.lowest;
        if now.since(self.from) >= LOWEST_AGE {
            (self.lowest, self.from) = ([rtt, lowest], now);
        } else {
            self.lowest[0] = lowest.min(rtt);
        }
    }
}

/// The estimator of one path.
#[derive(Debug)]
pub(super) struct Rtt {
    /// SRTT.
    smoothed: Option<Duration>,
    /// RTTVAR.
    variation: Duration,
    lowest: LowestRtt,
    /// RTO without back-off.
    base: Duration,
    /// Number of doublings.
    doublings: u32,
    min: Duration,
    max: Duration,
    sack_delay: Duration,
}

impl Rtt {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: Duration::ZERO,
            lowest: LowestRtt::new(),
            base: config.rto_initial,
            doublings: 0,
            min: config.rto_min,
            max: config.rto_max,
            sack_delay: config.sack_delay,
        }
    }

    /// SRTT.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The recent minimum round trip; `Duration::MAX` before the first sample.
    pub(super) fn lowest(&self) -> Duration {
        self.lowest.get()
    }

    /// RTO.
    pub(super) fn rto(&self) -> Duration {
        self.base.saturating_mul(1 << self.doublings.min(16)).min(self.max)
    }

    /// Adds a round trip of something sent only once (Karn's rule, section 6.3.1 C5). It resets the back-off.
    pub(super) fn sample(&mut self, now: Time, rtt: Duration) {
        self.lowest.sample(now, rtt);
        let smoothed = match self.smoothed {
            // C2.
            None => {
                self.variation = rtt / 2;
                rtt
            }
            // C3: RTTVAR first, with the old SRTT.
            Some(smoothed) => {
                self.variation = self.variation * 3 / 4 + smoothed.abs_diff(rtt) / 4;
                smoothed * 7 / 8 + rtt / 8
            }
        };
        self.smoothed = Some(smoothed);
        // A delayed SACK must not look like a loss: C6 with a minimum that includes the delay.
        let delayed = smoothed + self.sack_delay + GRANULARITY;
        let rto = (smoothed + self.variation * 4).max(delayed);
        self.base = rto.clamp(self.min, self.max);
        self.doublings = 0;
    }

    /// The timer has expired (section 6.3.3 E2).
    pub(super) fn back_off(&mut self) {
        if self.rto() < self.max {
            self.doublings += 1;
        }
    }

    /// Another path is used: nothing is known of it.
    pub(super) fn reset(&mut self, rto_initial: Duration) {
        (self.smoothed, self.variation, self.lowest) = (None, Duration::ZERO, LowestRtt::new());
        (self.base, self.doublings) = (rto_initial, 0);
    }

    /// Recent timeouts say nothing about the path.
    pub(super) fn forgive(&mut self) {
        self.doublings = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn config() -> Config {
        Config { rto_min: ms(200), rto_max: ms(10_000), ..Config::default() }
    }

    /// Samples, and SRTT, RTTVAR and RTO after them, in milliseconds.
    #[test]
    fn estimates() {
        for (samples, smoothed, variation, rto) in [
            // First: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 * RTTVAR.
            (&[100][..], 100, 50, 300),
            // RTTVAR = 3/4 * 50 + 1/4 * |100 - 180|, SRTT = 7/8 * 100 + 1/8 * 180.
            (&[100, 180], 110, 57, 340),
            (&[1000], 1000, 500, 3000),
            // Never below the minimum or above the maximum.
            (&[10], 10, 5, 200),
            (&[60_000], 60_000, 30_000, 10_000),
        ] {
            let mut rtt = Rtt::new(&config());
            samples.iter().for_each(|&sample| rtt.sample(Time::START, ms(sample)));
            assert_eq!(rtt.smoothed().map(|s| s.as_millis()), Some(smoothed), "{samples:?}");
            assert_eq!(rtt.variation.as_millis(), variation, "{samples:?}");
            assert_eq!(rtt.rto().as_millis(), rto, "{samples:?}");
        }
    }

    #[test]
    fn backs_off_until_there_is_a_sample() {
        let mut rtt = Rtt::new(&config());
        let mut seen = Vec::new();
        for _ in 0..7 {
            seen.push(rtt.rto().as_millis());
            rtt.back_off();
        }
        assert_eq!(seen, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        (0..100).for_each(|_| rtt.back_off());
        rtt.sample(Time::START, ms(100));
        assert_eq!(rtt.rto(), ms(300));
    }

    #[test]
    fn a_delayed_sack_is_no_timeout() {
        let config =
            Config { rto_min: ms(1), rto_initial: ms(500), sack_delay: ms(400), ..Config::default() };
        let mut rtt = Rtt::new(&config);
        (0..100).for_each(|_| rtt.sample(Time::START, Duration::from_micros(50)));
        assert!(rtt.rto() > ms(400) + Duration::from_micros(50), "{:?}", rtt.rto());
    }

    #[test]
    fn the_lowest_is_kept_for_some_minutes() {
        let mut rtt = Rtt::new(&config());
        assert_eq!(rtt.lowest(), Duration::MAX);
        for (seconds, sample, lowest) in [
            (0, 30, 30),
            (1, 20, 20),
            (2, 40, 20),
            (140, 60, 20),
            (151, 60, 20),
            (299, 60, 20),
            (302, 60, 60),
        ] {
            rtt.sample(Time::START.after(Duration::from_secs(seconds)), ms(sample));
            assert_eq!(rtt.lowest(), ms(lowest), "after {seconds} s");
        }
    }
}
