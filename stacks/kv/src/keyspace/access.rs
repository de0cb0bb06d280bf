//! When or how often a key was used, in 24 bits: what eviction goes by.

use super::value::Entry;
use crate::now::Now;
use crate::random::Random;
use crate::rdb::Usage;

/// What goes first when memory is full (`maxmemory-policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Nothing: commands that need memory are refused.
    #[default]
    NoEviction,
    /// The key unused for longest.
    AllKeysLru,
    /// The key used least.
    AllKeysLfu,
    /// Any key.
    AllKeysRandom,
    /// Of those with a deadline, the one unused for longest.
    VolatileLru,
    /// Of those with a deadline, the one used least.
    VolatileLfu,
    /// Of those with a deadline, any.
    VolatileRandom,
    /// The key whose deadline is nearest.
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

/// A new key's count of uses, so that it is not the first to go.
const LFU_INITIAL: u32 = 5;
/// The larger, the more uses it takes to reach the highest count.
const LFU_LOG_FACTOR: f64 = 10.0;
const CLOCK_MASK: u32 = 0xff_ffff;
const MINUTES_MASK: u32 = 0xffff;

/// Seconds that wrap after 194 days.
fn seconds(now: Now) -> u32 {
    (now.unix_ms / 1000) as u32 & CLOCK_MASK
}

fn minutes(now: Now) -> u32 {
    (now.unix_ms / 60_000) as u32 & MINUTES_MASK
}

impl Policy {
    /// By its name in `CONFIG SET`.
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, text)| name.eq_ignore_ascii_case(text)).map(|(policy, _)| *policy)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(policy, _)| *policy == self).map_or("noeviction", |(_, name)| name)
    }

    /// Whether keys carry a count of uses, not the time of the last one.
    pub(crate) fn counts_uses(self) -> bool {
        matches!(self, Self::AllKeysLfu | Self::VolatileLfu)
    }

    pub(crate) fn is_volatile(self) -> bool {
        matches!(self, Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl)
    }

    pub(crate) fn made(self, entry: &mut Entry, now: Now) {
        entry.set_access(if self.counts_uses() { minutes(now) << 8 | LFU_INITIAL } else { seconds(now) });
    }

    #[inline]
    pub(crate) fn used(self, entry: &mut Entry, now: Now, random: &mut Random) {
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

    /// The logarithmic count of uses, one less for each minute without any.
    pub(crate) fn uses(self, entry: &Entry, now: Now) -> u32 {
        let idle = minutes(now).wrapping_sub(entry.access() >> 8) & MINUTES_MASK;
        (entry.access() & 0xff).saturating_sub(idle)
    }

    /// What a snapshot is told of a key's use.
    pub(crate) fn usage(self, entry: &Entry, now: Now) -> Usage {
        match self {
            Self::AllKeysLfu | Self::VolatileLfu => Usage::Uses(self.uses(entry, now) as u8),
            Self::AllKeysLru | Self::VolatileLru => Usage::Idle(u64::from(Self::idle_seconds(entry, now))),
            _ => Usage::Unknown,
        }
    }

    /// An entry comes back that was used so; unless it was kept in the other way.
    pub(crate) fn restored(self, entry: &mut Entry, now: Now, usage: Usage) {
        match usage {
            Usage::Uses(uses) if self.counts_uses() => entry.set_access(minutes(now) << 8 | u32::from(uses)),
            Usage::Idle(idle) if !self.counts_uses() => {
                let idle = u32::try_from(idle).unwrap_or(CLOCK_MASK).min(CLOCK_MASK);
                entry.set_access(seconds(now).wrapping_sub(idle) & CLOCK_MASK);
            }
            _ => {}
        }
    }

    pub(crate) fn idle_seconds(entry: &Entry, now: Now) -> u32 {
        seconds(now).wrapping_sub(entry.access()) & CLOCK_MASK
    }

    /// The higher, the sooner it goes.
    pub(crate) fn rank(self, entry: &Entry, now: Now) -> u64 {
        match self {
            Self::AllKeysLfu | Self::VolatileLfu => u64::from(255 - self.uses(entry, now).min(255)),
            Self::VolatileTtl => u64::MAX - entry.deadline().unwrap_or(u64::MAX),
            _ => u64::from(Self::idle_seconds(entry, now)),
        }
    }
}
