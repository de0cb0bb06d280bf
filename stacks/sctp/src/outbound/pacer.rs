//! Pacing: when the next packet may go out, at a rate that congestion control gives.
//!
//! A bucket: time fills it at that rate, what is sent empties it, by a packet below zero at the most. It holds a burst, so that
//! packets still go out in batches that one call of the system can carry.

use std::time::Duration;

use super::time::Time;

/// A burst is what the rate carries in this time ...
const BURST_TIME: Duration = Duration::from_millis(1);
/// ... up to a datagram of segments.
const BURST_BYTES_MAX: f64 = 65_536.0;
/// Bytes that may go out at once, at this rate: a packet at the least.
pub(super) fn burst_bytes(rate: f64, packet_bytes: usize) -> f64 {
    (rate * BURST_TIME.as_secs_f64()).min(BURST_BYTES_MAX).max(packet_bytes as f64)
}

/// The bucket.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Bytes that could go out at `at`.
    level: f64,
    at: Time,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { level: 0.0, at: Time::START }
    }

    fn level_at(&self, now: Time, rate: f64, burst: f64) -> f64 {
        (self.level + rate * now.since(self.at).as_secs_f64()).min(burst)
    }

    /// Whether a packet may go out.
    pub(super) fn may_send(&self, now: Time, rate: f64, packet_bytes: usize) -> bool {
        self.level_at(now, rate, burst_bytes(rate, packet_bytes)) > 0.0
    }

    /// So much has gone out.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize, rate: f64, packet_bytes: usize) {
        self.level = self.level_at(now, rate, burst_bytes(rate, packet_bytes)) - bytes as f64;
        self.at = now;
    }

    /// When half a burst may go out: sooner would be one packet at a time.
    pub(super) fn ready_at(&self, rate: f64, packet_bytes: usize) -> Time {
        let missing = burst_bytes(rate, packet_bytes) / 2.0 - self.level;
        let wait = (missing / rate).clamp(0.0, 3600.0);
        self.at.after(Duration::from_secs_f64(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_out_is_the_rate_in_bursts() {
        const PACKET: usize = 1000;
        for (rate, burst) in [(100_000.0, 1000.0), (10e6, 10_000.0), (1e9, 65_536.0)] {
            let begin = Time::START.after(Duration::from_secs(1));
            let (mut pacer, mut now, mut sent) = (Pacer::new(), begin, 0);
            let mut largest = 0;
            let end = begin.after(Duration::from_secs(1));
            while now < end {
                let mut batch = 0;
                while pacer.may_send(now, rate, PACKET) {
                    pacer.on_sent(now, PACKET, rate, PACKET);
                    batch += PACKET;
                }
                assert!(batch > 0, "woken for nothing at {rate}");
                largest = largest.max(batch);
                sent += batch;
                now = pacer.ready_at(rate, PACKET).max(now.after(Duration::from_nanos(1)));
            }
            assert!((sent as f64 / rate - 1.0).abs() < 0.03, "{rate}: {sent}");
            assert!(largest as f64 <= burst + 1000.0, "{rate}: {largest}");
        }
    }

    #[test]
    fn time_without_anything_to_send_saves_up_one_burst() {
        let mut pacer = Pacer::new();
        let now = Time::START.after(Duration::from_secs(100));
        let mut sent = 0;
        while pacer.may_send(now, 1e6, 1000) {
            pacer.on_sent(now, 1000, 1e6, 1000);
            sent += 1;
        }
        assert_eq!(sent, 1);
    }
}
