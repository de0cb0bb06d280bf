//! Samples of the delivery rate (draft-ietf-ccwg-bbr, section "Delivery rate samples").
//!
//! The send-time state that a sample needs changes only with a SACK, or when the application has nothing more
//! to send. It is therefore stored once for everything sent in between, and looked up by transmission time.

use std::collections::VecDeque;
use std::time::Duration;

use crate::outbound::time::Time;

/// Most intervals stored; beyond that, pairs are merged.
const STRETCHES_MAX: usize = 4096;

/// State at transmission, for chunks sent from `from` until the next interval begins.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    /// Bytes in flight after the last of them was sent.
    in_flight: u64,
    app_limited: bool,
}

/// A rate sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// Bytes per second; `None` if the time is too short to measure.
    pub(super) rate: Option<f64>,
    /// Bytes delivered before the chunk was sent: an RTT ends when this exceeds the amount delivered at its
    /// start.
    pub(super) prior_delivered: u64,
    /// Bytes lost since.
    pub(super) lost: u64,
    /// Bytes in flight when it was sent.
    pub(super) sent_in_flight: u64,
    pub(super) app_limited: bool,
}

/// The rate sampler of a path.
#[derive(Debug)]
pub(super) struct Rates {
    stretches: VecDeque<Stretch>,
    /// Bytes delivered and lost since the beginning.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// Until more than this is delivered, samples are application-limited; 0: they are not.
    app_limited_until: u64,
    /// The next transmission starts a new interval.
    changed: bool,
}

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            stretches: VecDeque::new(),
            delivered: 0,
            lost: 0,
            delivered_at: Time::START,
            first_sent_at: Time::START,
            app_limited_until: 0,
            changed: true,
        }
    }

    /// Data was sent; `in_flight` includes it. `after_idle`: nothing was in flight or waiting for
    /// retransmission.
    pub(super) fn on_sent(&mut self, now: Time, in_flight: usize, after_idle: bool) {
        if after_idle {
            // Idle time does not count.
            (self.first_sent_at, self.delivered_at, self.changed) = (now, now, true);
        }
        if let Some(stretch) = self.stretches.back_mut().filter(|_| !self.changed) {
            stretch.in_flight = in_flight as u64;
            return;
        }
        self.changed = false;
        if self.stretches.len() >= STRETCHES_MAX {
            self.thin_out();
        }
        self.stretches.push_back(Stretch {
            from: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight: in_flight as u64,
            app_limited: self.app_limited_until > 0,
        });
    }

    /// Merges pairs of intervals: a sample for the second then covers both, from the start of the first.
    fn thin_out(&mut self) {
        let mut older = std::mem::take(&mut self.stretches).into_iter();
        while let Some(mut first) = older.next() {
            if let Some(second) = older.next() {
                first.in_flight = first.in_flight.max(second.in_flight);
                first.app_limited |= second.app_limited;
            }
            self.stretches.push_back(first);
        }
    }

    /// The application has nothing more to send although more could be in flight.
    pub(super) fn on_app_limited(&mut self, in_flight: usize) {
        self.changed |= self.app_limited_until == 0;
        self.app_limited_until = (self.delivered + in_flight as u64).max(1);
    }

    /// Bytes were acknowledged, the last of them sent at `sent_at`, and `lost` more are lost. Returns a
    /// sample unless all of them precede the last sample. Intervals below `min_interval`, the minimum RTT,
    /// are ignored.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        bytes: usize,
        lost: usize,
        sent_at: Time,
        min_interval: Duration,
    ) -> Option<Sample> {
        self.changed = true;
        self.delivered += bytes as u64;
        self.lost += lost as u64;
        self.delivered_at = now;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if now.since(sent_at) < min_interval {
            // The SACK answers an earlier transmission of the chunk.
            return None;
        }
        while self.stretches.get(1).is_some_and(|next| next.from <= sent_at) {
            self.stretches.pop_front();
        }
        let stretch = *self.stretches.front().filter(|stretch| stretch.from <= sent_at)?;
        self.first_sent_at = self.first_sent_at.max(sent_at);
        // Neither faster than it was sent nor than it arrived.
        let interval = sent_at.since(stretch.first_sent_at).max(now.since(stretch.delivered_at));
        let delivered = self.delivered - stretch.delivered;
        let rate = (!interval.is_zero()).then(|| delivered as f64 / interval.as_secs_f64());
        Some(Sample {
            rate,
            prior_delivered: stretch.delivered,
            lost: self.lost - stretch.lost,
            sent_in_flight: stretch.in_flight,
            app_limited: stretch.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START.after(Duration::from_millis(ms))
    }

    #[test]
    fn a_rate_is_what_arrives_in_the_longer_of_both_times() {
        let mut rates = Rates::new();
        // Ten packets of 1,000 bytes in 9 ms; all are acknowledged by one SACK 100 ms after the first.
        for n in 0..10 {
            rates.on_sent(at(n), 1000 * (n as usize + 1), n == 0);
        }
        let sample = rates.on_ack(at(100), 10_000, 0, at(9), Duration::ZERO).unwrap();
        assert_eq!(
            (sample.rate, sample.prior_delivered, sample.sent_in_flight),
            (Some(100_000.0), 0, 10_000)
        );
        // The next ten are acknowledged together: the time in which they were sent counts.
        for n in 0..10 {
            rates.on_sent(at(100 + 10 * n), 1000 * (n as usize + 1), n == 0);
        }
        let sample = rates.on_ack(at(191), 10_000, 2000, at(190), Duration::ZERO).unwrap();
        assert_eq!((sample.rate, sample.lost), (Some(10_000.0 / 0.091), 2000));
    }

    #[test]
    fn idle_time_and_answers_that_are_too_soon_do_not_count() {
        let mut rates = Rates::new();
        rates.on_sent(at(0), 1000, true);
        assert!(rates.on_ack(at(10), 1000, 0, at(0), Duration::ZERO).is_some());
        rates.on_sent(at(5000), 1000, true);
        let sample = rates.on_ack(at(5010), 1000, 0, at(5000), Duration::ZERO).unwrap();
        assert_eq!(sample.rate, Some(100_000.0));
        rates.on_sent(at(6000), 1000, true);
        assert_eq!(rates.on_ack(at(6001), 1000, 0, at(6000), Duration::from_millis(10)), None);
    }

    #[test]
    fn what_the_application_limited_says_so_until_it_has_arrived() {
        let mut rates = Rates::new();
        rates.on_sent(at(0), 1000, true);
        rates.on_app_limited(1000);
        rates.on_sent(at(1), 2000, false);
        assert!(!rates.on_ack(at(10), 1000, 0, at(0), Duration::ZERO).unwrap().app_limited);
        assert!(rates.on_ack(at(11), 1000, 0, at(1), Duration::ZERO).unwrap().app_limited);
        rates.on_sent(at(12), 1000, true);
        assert!(!rates.on_ack(at(22), 1000, 0, at(12), Duration::ZERO).unwrap().app_limited);
    }

    /// One packet per RTT: no sample reflects the path's capacity, except the first, which was not known to
    /// be the only one.
    #[test]
    fn requests_and_answers_are_limited_by_the_application() {
        let mut rates = Rates::new();
        let limited = |n: u64| {
            rates.on_sent(at(20 * n), 1000, true);
            rates.on_app_limited(1000);
            rates.on_ack(at(20 * n + 10), 1000, 0, at(20 * n), Duration::ZERO).unwrap().app_limited
        };
        assert_eq!((0..5).map(limited).collect::<Vec<_>>(), [false, true, true, true, true]);
    }

    #[test]
    fn stretches_are_bounded() {
        let mut rates = Rates::new();
        for n in 0..3 * STRETCHES_MAX as u64 {
            rates.on_sent(at(n), 1000 * (n as usize + 1), n == 0);
            rates.on_app_limited(n as usize);
            rates.lost += 1;
        }
        assert!(rates.stretches.len() <= STRETCHES_MAX, "{}", rates.stretches.len());
        // The first chunk is still known, and so is one in the middle, within the merged intervals.
        for sent_at in [0, 6000] {
            assert!(rates.on_ack(at(100_000), 1000, 0, at(sent_at), Duration::ZERO).is_some(), "{sent_at}");
        }
    }
}
