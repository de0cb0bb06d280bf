//! Protocol numbers. Each type implements its wraparound.

use std::time::Duration;

/// Synchronisation source identifier (RFC 3550 section 3): 32 random bits, unique for each stream of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ssrc(pub u32);

/// Sequence number of a packet (RFC 3550 section 5.1): modulo 2^16, with a random start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sequence(pub u16);

impl Sequence {
    /// The next sequence number.
    pub fn next(self) -> Self {
        self.add(1)
    }

    /// The sequence number after `count` packets.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, count: u16) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// Distance from `other`, negative if before it. Correct for distances below 2^15.
    pub fn since(self, other: Self) -> i16 {
        self.0.wrapping_sub(other.0) as i16
    }
}

/// RTP timestamp in ticks of the media clock (RFC 3550 section 5.1; 90,000 per second for video): modulo 2^32, with a random
/// start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Timestamp(pub u32);

impl Timestamp {
    /// The timestamp after `ticks`.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks))
    }

    /// Distance from `other` in ticks, negative if before it. Correct for distances below 2^31.
    pub fn since(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

/// NTP timestamp (RFC 3550 section 4): seconds since 1900 in the upper 32 bits, their fraction in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NtpTime(pub u64);

/// Seconds from 1900 to 1970.
const UNIX_EPOCH_SECONDS: u64 = 2_208_988_800;

impl NtpTime {
    /// Converts a duration since 1970 (`SystemTime::duration_since(UNIX_EPOCH)`). Wraps in 2036.
    pub fn from_unix(since_1970: Duration) -> Self {
        let seconds = since_1970.as_secs().wrapping_add(UNIX_EPOCH_SECONDS);
        Self(seconds << 32 | fraction(since_1970.subsec_nanos()))
    }

    /// The middle 32 bits in report blocks: units of 1/65,536 s, wrapping after 18 hours (RFC 3550 section 6.4.1).
    pub fn middle(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// This time plus a duration.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, time: Duration) -> Self {
        Self(self.0.wrapping_add(time.as_secs() << 32 | fraction(time.subsec_nanos())))
    }

    /// This time minus a duration.
    #[allow(clippy::should_implement_trait)]
    pub fn sub(self, time: Duration) -> Self {
        Self(self.0.wrapping_sub(time.as_secs() << 32 | fraction(time.subsec_nanos())))
    }

    /// The duration since 1970, for times from 1970 to 2036.
    pub fn to_unix(self) -> Option<Duration> {
        let seconds = (self.0 >> 32).checked_sub(UNIX_EPOCH_SECONDS)?;
        let nanos = ((self.0 & 0xffff_ffff) * 1_000_000_000 + (1 << 31)) >> 32;
        Some(Duration::from_secs(seconds) + Duration::from_nanos(nanos))
    }
}

/// Converts nanoseconds to units of 1/2^32 s.
fn fraction(nanos: u32) -> u64 {
    (u64::from(nanos) << 32) / 1_000_000_000
}

/// Converts a duration to units of 1/65,536 s.
pub(crate) fn short_units(time: Duration) -> u32 {
    let units = time.as_nanos().saturating_mul(65_536) / 1_000_000_000;
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// Converts units of 1/65,536 s to a duration.
pub(crate) fn from_short_units(units: u32) -> Duration {
    Duration::from_nanos(u64::from(units) * 1_000_000_000 / 65_536)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_around() {
        for (a, b, distance) in [(0, 0, 0), (5, 65_535, 6), (65_535, 5, -6), (0x8000, 1, 0x7fff)] {
            assert_eq!(Sequence(a).since(Sequence(b)), distance);
        }
        assert_eq!(Sequence(65_535).next(), Sequence(0));
        assert_eq!(Timestamp(3).since(Timestamp(u32::MAX)), 4);
        assert_eq!(Timestamp(u32::MAX).add(4), Timestamp(3));
    }

    #[test]
    fn ntp_time_is_1900s() {
        // 1970 is second 2,208,988,800 (RFC 868).
        let time = NtpTime::from_unix(Duration::from_millis(1_500));
        assert_eq!(time, NtpTime(2_208_988_801 << 32 | 0x8000_0000));
        assert_eq!(time.to_unix(), Some(Duration::from_millis(1_500)));
        assert_eq!(time.middle(), 0x7e81_8000);
        assert_eq!(time.add(Duration::from_millis(250)).sub(Duration::from_millis(250)), time);
        assert_eq!(NtpTime(0).to_unix(), None);
    }

    #[test]
    fn short_units_saturate() {
        for (time, units) in [(0, 0), (1_500, 98_304), (u64::MAX, u32::MAX)] {
            assert_eq!(short_units(Duration::from_millis(time)), units);
        }
        assert_eq!(from_short_units(98_304), Duration::from_millis(1_500));
    }
}
