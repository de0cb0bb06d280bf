//! Pacing: when the next packet may be sent, at the rate of congestion control.
//!
//! A token bucket: it fills at the rate and is drained by what is sent, down to one packet below zero. It
//! holds a burst, so that packets are still sent in batches that one system call can carry. If a burst has
//! many packets, the clock is read when the bucket is empty, not per packet: after an idle period, the rest
//! of one burst and another burst may be sent.
//!
//! If the caller polls late, for example because it serves a thousand connections, everything due since then
//! is sent. Otherwise the rate would be limited to one burst per poll.

use std::time::Duration;

use super::congestion::Pacing;
use super::time::Time;

/// Packets per burst above which the clock is read less often.
const MANY: f64 = 16.0;

/// Most bytes sent at once after a late poll: one segmented send.
const LATE_BYTES_MAX: f64 = 65_536.0;

/// The token bucket.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Bytes that could be sent at `at`.
    level: f64,
    at: Time,
    /// Something has waited since then.
    waits: bool,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { level: 0.0, at: Time::START, waits: false }
    }

    fn level_at(&self, now: Time, pacing: Pacing) -> f64 {
        let most = if self.waits { pacing.burst_bytes.max(LATE_BYTES_MAX) } else { pacing.burst_bytes };
        (self.level + pacing.rate * now.since(self.at).as_secs_f64()).min(most).max(self.level)
    }

    /// Whether a packet may be sent.
    pub(super) fn may_send(&self, now: impl FnOnce() -> Time, pacing: Pacing) -> bool {
        self.level > 0.0 || self.level_at(now(), pacing) > 0.0
    }

    /// Bytes were sent.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize, pacing: Pacing) {
        if self.level <= 0.0 || bytes as f64 * MANY > pacing.burst_bytes {
            (self.level, self.at) = (self.level_at(now, pacing), now);
            self.waits = false;
        }
        self.level -= bytes as f64;
    }

    /// Records whether anything waits, if pacing is the limit.
    pub(super) fn note_waiting(&mut self, something: bool) {
        self.waits |= self.level <= 0.0 && something;
    }

    /// When half a burst may be sent: earlier would send single packets.
    pub(super) fn ready_at(&self, pacing: Pacing) -> Time {
        let missing = pacing.burst_bytes / 2.0 - self.level;
        let wait = (missing / pacing.rate).clamp(0.0, 3600.0);
        self.at.after(Duration::from_secs_f64(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_out_is_the_rate_in_bursts() {
        const PACKET: usize = 1000;
        for (rate, burst_bytes) in [(100_000.0, 1000.0), (10e6, 10_000.0), (1e9, 65_536.0)] {
            let pacing = Pacing { rate, burst_bytes };
            let begin = Time::START.after(Duration::from_secs(1));
            let (mut pacer, mut now, mut sent) = (Pacer::new(), begin, 0);
            let mut largest = 0;
            let end = begin.after(Duration::from_secs(1));
            while now < end {
                let mut batch = 0;
                while pacer.may_send(|| now, pacing) {
                    pacer.on_sent(now, PACKET, pacing);
                    batch += PACKET;
                }
                assert!(batch > 0, "unnecessary wake-up at {rate}");
                largest = largest.max(batch);
                sent += batch;
                now = pacer.ready_at(pacing).max(now.after(Duration::from_nanos(1)));
            }
            assert!((sent as f64 / rate - 1.0).abs() < 0.03, "{rate}: {sent}");
            assert!(largest as f64 <= burst_bytes + 1000.0, "{rate}: {largest}");
        }
    }

    #[test]
    fn time_without_anything_to_send_saves_up_one_burst() {
        // burst, rest of the previous one -> packets sent at once
        for (burst_bytes, left, expected) in [
            (1000.0, 0.0, 1),
            (1000.0, 900.0, 1),
            (10_000.0, 4000.0, 10),
            (20_000.0, 0.0, 20),
            (20_000.0, 4000.0, 24),
        ] {
            let mut pacer = Pacer { level: left, ..Pacer::new() };
            let pacing = Pacing { rate: 1e6, burst_bytes };
            let (now, mut sent) = (Time::START.after(Duration::from_secs(100)), 0);
            while pacer.may_send(|| now, pacing) {
                pacer.on_sent(now, 1000, pacing);
                sent += 1;
            }
            assert_eq!(sent, expected, "{burst_bytes} {left}");
        }
    }

    #[test]
    fn what_waits_and_is_asked_for_late_is_sent_with_all_that_was_due() {
        let pacing = Pacing { rate: 1e6, burst_bytes: 1000.0 };
        // late by ms, something waits -> packets
        for (late_ms, waits, expected) in [(1, true, 1), (20, true, 20), (20, false, 1), (1000, true, 66)] {
            let mut pacer = Pacer::new();
            let begin = Time::START.after(Duration::from_secs(1));
            pacer.on_sent(begin, 1000, pacing);
            pacer.note_waiting(waits);
            let (now, mut sent) = (begin.after(Duration::from_millis(late_ms)), 0);
            while pacer.may_send(|| now, pacing) {
                pacer.on_sent(now, 1000, pacing);
                sent += 1;
            }
            assert_eq!(sent, expected, "{late_ms} ms, {waits}");
        }
    }
}
