//! Counters, sender reports and round-trip times of a local source
//! ([RFC 3550 section 6.4.1](https://www.rfc-editor.org/rfc/rfc3550#section-6.4.1)).

use std::time::{Duration, Instant};

use crate::clock::MediaClock;
use crate::rtcp::{ReportBlock, SenderInfo};
use crate::types::{NtpTime, Ssrc, from_short_units};

/// Counters of a local source.
#[derive(Debug, Clone)]
pub struct Sending {
    ssrc: Ssrc,
    clock: MediaClock,
    packets: u64,
    octets: u64,
}

impl Sending {
    /// Creates the counters of a source with the timestamps of `clock`.
    pub fn new(ssrc: Ssrc, clock: MediaClock) -> Self {
        Self { ssrc, clock, packets: 0, octets: 0 }
    }

    /// Handles sent packets and the length of their payloads without headers and padding.
    pub fn handle_sent(&mut self, packets: u64, payload_bytes: u64) {
        self.packets += packets;
        self.octets += payload_bytes;
    }

    /// Number of sent packets.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of sent payload bytes.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Creates the sender information of a report for one time on both clocks.
    pub fn report(&self, now: Instant, ntp: NtpTime) -> SenderInfo {
        SenderInfo {
            ssrc: self.ssrc,
            ntp,
            rtp: self.clock.at(now),
            packets: self.packets as u32,
            octets: self.octets as u32,
        }
    }
}

/// Computes the round-trip time from a report block on a local source that arrived at `arrived`. `None` if the peer has not
/// received a sender report, or if the result is implausible.
pub fn round_trip(arrived: NtpTime, block: &ReportBlock) -> Option<Duration> {
    if block.last_sr == 0 {
        return None;
    }
    let since_report = arrived.middle().wrapping_sub(block.last_sr);
    // Clock drift and coarse clocks may yield a slightly negative value; treat it as 0.
    let units = since_report.wrapping_sub(block.delay_since_last_sr) as i32;
    (units > -COARSE_UNITS).then(|| from_short_units(units.max(0) as u32))
}

/// Largest negative value that is treated as 0: 10 ms in units of 1/65,536 s.
const COARSE_UNITS: i32 = 655;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    #[test]
    fn report_has_one_time_on_both_clocks() {
        let start = Instant::now();
        let mut sending = Sending::new(Ssrc(7), MediaClock::new(start, Timestamp(1_000), 90_000));
        sending.handle_sent(3, 4_000);
        sending.handle_sent(1, u64::from(u32::MAX));
        let ntp = NtpTime::from_unix(Duration::from_secs(5));
        let info = sending.report(start + Duration::from_millis(100), ntp);
        let expected = SenderInfo { ssrc: Ssrc(7), ntp, rtp: Timestamp(10_000), packets: 4, octets: 3_999 };
        assert_eq!(info, expected);
    }

    #[test]
    fn round_trip_time_matches_the_example_of_the_rfc() {
        // The example of RFC 3550 section 6.4.1, figure 2.
        let block = |last_sr, delay_since_last_sr| ReportBlock {
            last_sr,
            delay_since_last_sr,
            ..ReportBlock::default()
        };
        let arrived = NtpTime(0xb710_8000 << 16);
        let rtt = round_trip(arrived, &block(0xb705_2000, 0x0005_4000)).unwrap();
        assert_eq!(rtt, Duration::from_millis(6_125));
        for (last_sr, delay, expected) in [
            (0, 0, None),
            (0xb710_8000, 0, Some(Duration::ZERO)),
            (0xb710_8000, 600, Some(Duration::ZERO)),
            (0xb710_8000, 65_536, None),
        ] {
            assert_eq!(round_trip(arrived, &block(last_sr, delay)), expected, "{last_sr:#x} {delay}");
        }
    }
}
