//! The time of the last access to a key, or its access frequency, in 24 bits; used for eviction.

use super::value::Entry;
use crate::random::Random;
use crate::rdb::Usage;
use crate::timestamp::Timestamp;

/// Which keys are evicted at the memory limit (`maxmemory-policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// None: commands that need memory are refused.
    #[default]
    NoEviction,
    /// The least recently used key.
    AllKeysLru,
    /// The least frequently used key.
    AllKeysLfu,
    /// A random key.
    AllKeysRandom,
    /// The least recently used key with a deadline.
    VolatileLru,
    /// The least frequently used key with a deadline.
    VolatileLfu,
    /// A random key with a deadline.
    VolatileRandom,
    /// The key with the nearest deadline.
    VolatileTtl,
}

const NAMES: [(Policy, &str); 8] = [
    (Policy::NoEviction, "noeviction"),
    (Policy::AllKeysLru, "allkeys-lru"),
    (Policy::AllKeysLfu, "allkeys-lfu"),
    (Policy::AllKeysRandom, "allkeys-random"),
    (Policy::VolatileLru, "volatile-lru"),
    (Policy::VolatileLfu, "volatile-lfu"),
    (Policy::VolatileRandom, "volatile-random"),
    (Policy::VolatileTtl, "volatile-ttl"),
];

/// Initial access counter, so that new keys are not evicted first.
const LFU_INITIAL: u32 = 5;
/// A larger factor requires more accesses to reach the maximum.
const LFU_LOG_FACTOR: f64 = 10.0;
const CLOCK_MASK: u32 = 0xff_ffff;
const MINUTES_MASK: u32 = 0xffff;

/// Seconds modulo 2^24, which wrap after 194 days.
fn seconds(now: Timestamp) -> u32 {
    (now.unix_ms / 1000) as u32 & CLOCK_MASK
}

fn minutes(now: Timestamp) -> u32 {
    (now.unix_ms / 60_000) as u32 & MINUTES_MASK
}

impl Policy {
    /// Parses the name used by `CONFIG SET`.
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, text)| name.eq_ignore_ascii_case(text)).map(|(policy, _)| *policy)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(policy, _)| *policy == self).map_or("noeviction", |(_, name)| name)
    }

    /// Whether entries store an access counter instead of the last access time.
    pub(crate) fn counts_uses(self) -> bool {
        matches!(self, Self::AllKeysLfu | Self::VolatileLfu)
    }

    pub(crate) fn is_volatile(self) -> bool {
        matches!(self, Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl)
    }

    pub(crate) fn made(self, entry: &mut Entry, now: Timestamp) {
        entry.set_access(if self.counts_uses() { minutes(now) << 8 | LFU_INITIAL } else { seconds(now) });
    }

    #[inline]
    pub(crate) fn used(self, entry: &mut Entry, now: Timestamp, random: &mut Random) {
        if !self.counts_uses() {
            return entry.set_access(seconds(now));
        }
        let mut uses = self.uses(entry, now);
        if uses < 255 {
            let base = f64::from(uses.saturating_sub(LFU_INITIAL));
            if random.unit() < 1.0 / (base * LFU_LOG_FACTOR + 1.0) {
                uses += 1;
            }
        }
        entry.set_access(minutes(now) << 8 | uses);
    }

    /// The logarithmic access counter, decremented once per idle minute.
    pub(crate) fn uses(self, entry: &Entry, now: Timestamp) -> u32 {
        let idle = minutes(now).wrapping_sub(entry.access() >> 8) & MINUTES_MASK;
        (entry.access() & 0xff).saturating_sub(idle)
    }

    /// The access information for a snapshot.
    pub(crate) fn usage(self, entry: &Entry, now: Timestamp) -> Usage {
        match self {
            Self::AllKeysLfu | Self::VolatileLfu => Usage::Uses(self.uses(entry, now) as u8),
            Self::AllKeysLru | Self::VolatileLru => Usage::Idle(u64::from(Self::idle_seconds(entry, now))),
            _ => Usage::Unknown,
        }
    }

    /// Restores access information, unless it is of the other kind.
    pub(crate) fn restored(self, entry: &mut Entry, now: Timestamp, usage: Usage) {
        match usage {
            Usage::Uses(uses) if self.counts_uses() => entry.set_access(minutes(now) << 8 | u32::from(uses)),
            Usage::Idle(idle) if !self.counts_uses() => {
                let idle = u32::try_from(idle).unwrap_or(CLOCK_MASK).min(CLOCK_MASK);
                entry.set_access(seconds(now).wrapping_sub(idle) & CLOCK_MASK);
            }
            _ => {}
        }
    }

    pub(crate) fn idle_seconds(entry: &Entry, now: Timestamp) -> u32 {
        seconds(now).wrapping_sub(entry.access()) & CLOCK_MASK
    }

    /// Entries with a higher rank are evicted first.
    pub(crate) fn rank(self, entry: &Entry, now: Timestamp) -> u64 {
        match self {
            Self::AllKeysLfu | Self::VolatileLfu => u64::from(255 - self.uses(entry, now).min(255)),
            Self::VolatileTtl => u64::MAX - entry.deadline().unwrap_or(u64::MAX),
            _ => u64::from(Self::idle_seconds(entry, now)),
        }
    }
}
