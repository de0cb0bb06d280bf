//! Reception statistics of one source ([RFC 3550 sections 6.4 and A](https://www.rfc-editor.org/rfc/rfc3550#appendix-A)):
//! validation, loss, jitter and report blocks.

use std::time::{Duration, Instant};

use crate::clock::{duration, ticks};
use crate::limits::{MAX_DROPOUT, MAX_MISORDER, MIN_SEQUENTIAL};
use crate::packet::Header;
use crate::rtcp::{ReportBlock, SenderInfo};
use crate::types::{NtpTime, Sequence, Ssrc, Timestamp, short_units};

/// Classification of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// Valid, with its extended sequence number. Includes duplicates and late packets.
    Valid(u64),
    /// The source restarted with this packet; discard all earlier state.
    Restarted(u64),
    /// From a source on probation (section A.1), with the extended sequence number if the source proves valid.
    Probation(u64),
    /// The sequence number is implausible. Two consecutive ones are a restart.
    OutOfReach,
}

/// Offset of extended sequence numbers, so that slightly earlier packets have non-negative numbers.
const FIRST_CYCLE: u64 = 1 << 16;

/// Reception statistics of one source. A packet takes constant time and no memory.
#[derive(Debug, Clone)]
pub struct Reception {
    ssrc: Ssrc,
    rate_hz: u32,
    /// Reference time of arrivals.
    epoch: Instant,
    /// Consecutive packets that are still needed until the source is valid.
    probation: u16,
    /// First and highest extended sequence number.
    base: u64,
    highest: u64,
    /// Next sequence number of a potentially restarted source.
    next_if_restarted: Option<Sequence>,
    received: u64,
    expected_prior: u64,
    received_prior: u64,
    /// Transit time of the last packet in ticks modulo 2^32.
    transit: Option<u32>,
    /// 16 times the jitter in ticks (section A.8).
    jitter_16: u32,
    last_report: Option<(SenderInfo, Instant)>,
}

/// Reception statistics since the start or the last restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceptionStats {
    /// Received packets, including duplicates and late ones.
    pub received: u64,
    /// Expected packets, from the first to the highest sequence number.
    pub expected: u64,
    /// Expected minus received packets; negative if there are more duplicates than losses.
    pub lost: i64,
    /// Interarrival jitter in ticks.
    pub jitter_ticks: u32,
    /// Interarrival jitter as a duration.
    pub jitter: Duration,
}

impl Reception {
    /// Creates the statistics of a source whose first packet arrived `now`. `rate_hz` is the clock rate of its payload type. The
    /// first packet must also be passed to [`handle_packet`](Self::handle_packet).
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
        books.start_at(first.sequence);
        books.highest -= 1;
        books
    }

    /// Creates the statistics of a source that is valid at once, because signalling announced it.
    pub fn announced(now: Instant, first: &Header, rate_hz: u32) -> Self {
        Self { probation: 0, ..Self::new(now, first, rate_hz) }
    }

    /// The SSRC of the source.
    pub fn ssrc(&self) -> Ssrc {
        self.ssrc
    }

    /// Handles a packet of this source that arrived `now`.
    pub fn handle_packet(&mut self, now: Instant, header: &Header) -> Arrival {
        let arrival = self.validate(header.sequence);
        if matches!(arrival, Arrival::Valid(_) | Arrival::Restarted(_)) {
            self.received += 1;
            self.count_jitter(now, header.timestamp);
        }
        arrival
    }

    /// Handles a sender report of this source that arrived `now`.
    pub fn handle_sender_report(&mut self, now: Instant, info: &SenderInfo) {
        if info.ssrc == self.ssrc {
            self.last_report = Some((*info, now));
        }
    }

    /// The current statistics.
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

    /// Creates a report block (section 6.4.1) and starts the next interval; `None` during probation.
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
            // A complete loss would be 256, which exceeds the field.
            fraction_lost: (lost * 256).checked_div(expected).map_or(0, |part| part.min(255) as u8),
            cumulative_lost: self.stats().lost.clamp(-0x80_0000, 0x7f_ffff) as i32,
            highest_sequence: (self.highest - FIRST_CYCLE) as u32,
            jitter_ticks: self.jitter_16 >> 4,
            last_sr,
            delay_since_last_sr,
        })
    }

    /// Converts a timestamp to the sender's wall-clock time, based on its last report (within 6.6 hours at 90 kHz). It
    /// synchronises streams of one sender (section 6.4.1).
    pub fn wallclock(&self, timestamp: Timestamp) -> Option<NtpTime> {
        let (info, _) = self.last_report.as_ref().filter(|(info, _)| info.ntp != NtpTime(0))?;
        let distance = timestamp.since(info.rtp);
        let time = duration(distance.unsigned_abs(), self.rate_hz);
        Some(if distance < 0 { info.ntp.sub(time) } else { info.ntp.add(time) })
    }

    /// The last sender report and its arrival.
    pub fn last_sender_report(&self) -> Option<(SenderInfo, Instant)> {
        self.last_report
    }

    /// Starts the stream at this sequence number.
    fn start_at(&mut self, first: Sequence) {
        self.base = FIRST_CYCLE + u64::from(first.0);
        self.highest = self.base;
        self.next_if_restarted = None;
        (self.received, self.expected_prior, self.received_prior) = (0, 0, 0);
        (self.transit, self.jitter_16) = (None, 0);
    }

    /// Validates a sequence number (section A.1).
    fn validate(&mut self, sequence: Sequence) -> Arrival {
        let distance = sequence.since(Sequence(self.highest as u16));
        if self.probation > 0 {
            if distance != 1 {
                self.probation = MIN_SEQUENTIAL;
                self.start_at(sequence);
            }
            self.probation -= 1;
            self.highest = self.base.max(self.highest + u64::from(distance == 1));
            if self.probation > 0 {
                return Arrival::Probation(self.highest);
            }
            // Of the packets during probation, only the last is counted (section A.1).
            let highest = self.highest;
            self.start_at(sequence);
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
            self.start_at(sequence);
            return Arrival::Restarted(self.highest);
        }
        self.next_if_restarted = Some(sequence.next());
        Arrival::OutOfReach
    }

    /// Updates the jitter (section A.8). Packets of a video frame share a timestamp, so that pacing within a frame counts as
    /// jitter, as the RFC specifies.
    fn count_jitter(&mut self, now: Instant, timestamp: Timestamp) {
        let arrival = ticks(now.saturating_duration_since(self.epoch), self.rate_hz) as u32;
        let transit = arrival.wrapping_sub(timestamp.0);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            let decayed = self.jitter_16 - ((self.jitter_16 + 8) >> 4);
            // Saturate to avoid an overflow after a clock step.
            self.jitter_16 = decayed.saturating_add(difference).min(u32::MAX - 8);
        }
    }

    /// Number of expected packets; 0 during probation.
    fn expected(&self) -> u64 {
        if self.received == 0 { 0 } else { self.highest + 1 - self.base }
    }
}

#[cfg(test)]
mod tests;
