//! Eviction of keys at the memory limit.

use super::{Database, EventClass, Keyspace, Policy};
use crate::limits::EVICTED_PER_COMMAND;
use crate::random::Random;

impl Keyspace {
    /// Evicts keys until memory is below `maxmemory`; `false` if that is not possible. The number of keys per
    /// call is bounded; the next call continues.
    pub(crate) fn make_room(&mut self) -> bool {
        if self.memory_max == 0 {
            return true;
        }
        for _ in 0..EVICTED_PER_COMMAND {
            if self.memory_bytes() <= self.memory_max {
                return true;
            }
            if self.policy == Policy::NoEviction || !self.evict_one() {
                return false;
            }
        }
        true
    }

    fn evict_one(&mut self) -> bool {
        let mut best: Option<(u64, usize, Box<[u8]>)> = None;
        let (policy, now) = (self.policy, self.now);
        for (at, database) in self.databases.iter().enumerate().filter(|(_, d)| d.table.len() > 0) {
            let mut consider = |entry: &super::Entry| {
                let rank = match policy {
                    Policy::AllKeysRandom | Policy::VolatileRandom => self.random.next() >> 1,
                    _ => policy.rank(entry, now),
                };
                if best.as_ref().is_none_or(|(other, _, _)| rank > *other) {
                    best = Some((rank, at, entry.key().into()));
                }
            };
            let mut draw = Random::new(database.table.len() as u64 ^ self.counters.evicted << 20);
            if policy.is_volatile() {
                candidates(database, policy, self.samples, &mut draw, &mut consider);
            } else {
                database.table.sample(&mut draw, self.samples, &mut consider);
            }
        }
        let Some((_, db, key)) = best else { return false };
        let before = std::mem::replace(&mut self.db, db);
        if self.take(&key).is_some() {
            self.counters.evicted += 1;
            self.watch.touch(db, &key);
            self.log.append(db, &[b"DEL", &key]);
            self.event(EventClass::EVICTED, "evicted", &key);
        }
        self.db = before;
        true
    }
}

/// Candidates among keys with a deadline: the nearest ones for TTL, otherwise those from a random time
/// onwards.
fn candidates(
    database: &Database,
    policy: Policy,
    samples: usize,
    random: &mut Random,
    consider: &mut impl FnMut(&super::Entry),
) {
    let (Some(first), Some(last)) = (database.deadlines.first(), database.deadlines.last()) else { return };
    let span = usize::try_from(last.0 - first.0).unwrap_or(usize::MAX);
    let from = match policy {
        Policy::VolatileTtl => *first,
        _ => (first.0 + random.below(span.saturating_add(1)) as u64, random.next() as u32),
    };
    let count = if policy == Policy::VolatileTtl { 1 } else { samples };
    let after = database.deadlines.range(from..);
    for (at, hash) in after.chain(database.deadlines.iter()).take(count) {
        if let Some(position) = database.table.find_where(*hash, |entry| entry.deadline() == Some(*at)) {
            consider(database.table.at(position));
        }
    }
}
