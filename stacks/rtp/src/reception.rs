//! What is received of one source ([RFC 3550 sections 6.4 and A](https://www.rfc-editor.org/rfc/rfc3550#appendix-A)):
//! validation, loss, jitter, report blocks.

use std::time::{Duration, Instant};

use crate::clock::{duration, ticks};
use crate::limits::{MAX_DROPOUT, MAX_MISORDER, MIN_SEQUENTIAL};
use crate::packet::Header;
use crate::rtcp::{ReportBlock, SenderInfo};
use crate::types::{NtpTime, Sequence, Ssrc, Timestamp, short_units};

/// How a packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// It counts; its number in 64 bits, which never wraps. Duplicates and late ones arrive so too.
    Valid(u64),
    /// The source began anew, with this packet: what is held of before belongs to the past.
    Restarted(u64),
    /// Of a source that has not yet sent two packets in a row (section A.1). Its number, should it prove valid.
    Probation(u64),
    /// Its number is out of reach. Two such in a row are a restart.
    OutOfReach,
}

/// Where the numbers of a source in 64 bits begin, so that those a little earlier have one too.
const FIRST_CYCLE: u64 = 1 << 16;

/// The books of one source. A few operations a packet; no memory but its own.
#[derive(Debug, Clone)]
pub struct Reception {
    ssrc: Ssrc,
    rate_hz: u32,
    /// The moment that arrival times are counted from.
    epoch: Instant,
    /// Packets in a row that are still wanted before the source counts.
    probation: u16,
    /// First number of the stream, and the highest.
    base: u64,
    highest: u64,
    /// The number that a restarted source would send next.
    next_if_restarted: Option<Sequence>,
    received: u64,
    expected_prior: u64,
    received_prior: u64,
    /// Transit time of the last packet, ticks modulo 2^32.
    transit: Option<u32>,
    /// Sixteen times the jitter, ticks (section A.8).
    jitter_16: u32,
    last_report: Option<(SenderInfo, Instant)>,
}

/// What the books say. Counts are since the start or the last restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceptionStats {
    /// Packets received, duplicates and late ones too.
    pub received: u64,
    /// Packets that were to come, from the first number to the highest.
    pub expected: u64,
    /// The difference: negative where duplicates outweigh losses.
    pub lost: i64,
    /// Interarrival jitter, ticks of the stream's clock.
    pub jitter_ticks: u32,
    /// The same as a time.
    pub jitter: Duration,
}

impl Reception {
    /// Books of a source, whose first packet was received `now`, with this header. `rate_hz` is the clock's rate of its
    /// payload type. Call [`handle_packet`](Self::handle_packet) for the first packet too.
    pub fn new(now: Instant, first: &Header, rate_hz: u32) -> Self {
        let mut books = Self {
            ssrc: first.ssrc,
            rate_hz,
            epoch: now,
            probation: MIN_SEQUENTIAL,
            base: 0,
            highest: 0,
            next_if_restarted: None,
            received: 0,
            expected_prior: 0,
            received_prior: 0,
            transit: None,
            jitter_16: 0,
            last_report: None,
        };
        books.begin(first.sequence);
        books.highest -= 1;
        books
    }

    /// The same for a source that need not prove itself: signalling has named it.
    pub fn announced(now: Instant, first: &Header, rate_hz: u32) -> Self {
        Self { probation: 0, ..Self::new(now, first, rate_hz) }
    }

    /// The source.
    pub fn ssrc(&self) -> Ssrc {
        self.ssrc
    }

    /// Takes note of a packet of this source that arrived `now`.
    pub fn handle_packet(&mut self, now: Instant, header: &Header) -> Arrival {
        let arrival = self.validate(header.sequence);
        if matches!(arrival, Arrival::Valid(_) | Arrival::Restarted(_)) {
            self.received += 1;
            self.count_jitter(now, header.timestamp);
        }
        arrival
    }

    /// Takes note of a sender report of this source that arrived `now`.
    pub fn handle_sender_report(&mut self, now: Instant, info: &SenderInfo) {
        if info.ssrc == self.ssrc {
            self.last_report = Some((*info, now));
        }
    }

    /// The books as they are.
    pub fn stats(&self) -> ReceptionStats {
        let expected = self.expected();
        ReceptionStats {
            received: self.received,
            expected,
            lost: expected as i64 - self.received as i64,
            jitter_ticks: self.jitter_16 >> 4,
            jitter: duration(self.jitter_16 >> 4, self.rate_hz),
        }
    }

    /// A report block (section 6.4.1), and the beginning of the next interval; none while the source has to prove
    /// itself.
    pub fn report(&mut self, now: Instant) -> Option<ReportBlock> {
        if self.received == 0 {
            return None;
        }
        let expected = self.expected() - self.expected_prior;
        let received = self.received - self.received_prior;
        (self.expected_prior, self.received_prior) = (self.expected(), self.received);
        let lost = expected.saturating_sub(received);
        let (last_sr, delay_since_last_sr) = match &self.last_report {
            Some((info, at)) => (info.ntp.middle(), short_units(now.saturating_duration_since(*at))),
            None => (0, 0),
        };
        Some(ReportBlock {
            ssrc: self.ssrc,
            // All lost would be 256, which the field cannot say.
            fraction_lost: (lost * 256).checked_div(expected).map_or(0, |part| part.min(255) as u8),
            cumulative_lost: self.stats().lost.clamp(-0x80_0000, 0x7f_ffff) as i32,
            highest_sequence: (self.highest - FIRST_CYCLE) as u32,
            jitter_ticks: self.jitter_16 >> 4,
            last_sr,
            delay_since_last_sr,
        })
    }

    /// The sender's wall clock time of a timestamp, by its last report; within 6.6 hours of it at 90 kHz. This is what
    /// synchronises streams of one sender (section 6.4.1).
    pub fn wallclock(&self, timestamp: Timestamp) -> Option<NtpTime> {
        let (info, _) = self.last_report.as_ref().filter(|(info, _)| info.ntp != NtpTime(0))?;
        let distance = timestamp.since(info.rtp);
        let time = duration(distance.unsigned_abs(), self.rate_hz);
        Some(if distance < 0 { info.ntp.sub(time) } else { info.ntp.add(time) })
    }

    /// The last sender report, and when it arrived.
    pub fn last_sender_report(&self) -> Option<(SenderInfo, Instant)> {
        self.last_report
    }

    /// The stream begins with this number.
    fn begin(&mut self, first: Sequence) {
        self.base = FIRST_CYCLE + u64::from(first.0);
        self.highest = self.base;
        self.next_if_restarted = None;
        (self.received, self.expected_prior, self.received_prior) = (0, 0, 0);
        (self.transit, self.jitter_16) = (None, 0);
    }

    /// Section A.1: does the number belong to the stream?
    fn validate(&mut self, sequence: Sequence) -> Arrival {
        let distance = sequence.since(Sequence(self.highest as u16));
        if self.probation > 0 {
            if distance != 1 {
                self.probation = MIN_SEQUENTIAL;
                self.begin(sequence);
            }
            self.probation -= 1;
            self.highest = self.base.max(self.highest + u64::from(distance == 1));
            if self.probation > 0 {
                return Arrival::Probation(self.highest);
            }
            // The packets that proved it are not counted, but the last (section A.1).
            let highest = self.highest;
            self.begin(sequence);
            (self.base, self.highest) = (highest, highest);
            return Arrival::Valid(highest);
        }
        let is_near = match distance {
            1.. => (distance as u16) < MAX_DROPOUT,
            _ => distance.unsigned_abs() <= MAX_MISORDER,
        };
        if is_near {
            let extended = self.highest.saturating_add_signed(i64::from(distance));
            self.highest = self.highest.max(extended);
            self.next_if_restarted = None;
            return Arrival::Valid(extended);
        }
        if self.next_if_restarted == Some(sequence) {
            self.begin(sequence);
            return Arrival::Restarted(self.highest);
        }
        self.next_if_restarted = Some(sequence.next());
        Arrival::OutOfReach
    }

    /// Section A.8: a mean of how transit times of neighbours differ, in integers. Packets of one video frame share their
    /// timestamp, so that pacing within the frame counts as jitter, as it does for every receiver that keeps to the RFC.
    fn count_jitter(&mut self, now: Instant, timestamp: Timestamp) {
        let arrival = ticks(now.saturating_duration_since(self.epoch), self.rate_hz) as u32;
        let transit = arrival.wrapping_sub(timestamp.0);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            let decayed = self.jitter_16 - ((self.jitter_16 + 8) >> 4);
            // A clock set anew must not overflow: a jitter of hours is as bad as one of days.
            self.jitter_16 = decayed.saturating_add(difference).min(u32::MAX - 8);
        }
    }

    /// Packets from the first to the highest; none while the source has to prove itself.
    fn expected(&self) -> u64 {
        if self.received == 0 { 0 } else { self.highest + 1 - self.base }
    }
}

#[cfg(test)]
mod tests;
