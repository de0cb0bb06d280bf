//! Context switches of a contender.

use std::collections::HashMap;

use procfs::process::Process;

use super::Reading;

/// Context switches over several readings. The kernel only shows those of living threads; the last seen count of
/// ended threads is added, so that the sum never decreases.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    alive: HashMap<i32, u64>,
    ended: u64,
    ended_threads: u64,
}

impl Ledger {
    pub(crate) fn read(&mut self, processes: &[Process]) -> Reading {
        let now: HashMap<i32, u64> = processes
            .iter()
            .filter_map(|process| process.tasks().ok())
            .flat_map(|tasks| tasks.flatten())
            .filter_map(|task| {
                let status = task.status().ok()?;
                Some((task.tid, status.voluntary_ctxt_switches? + status.nonvoluntary_ctxt_switches?))
            })
            .collect();
        if now.is_empty() {
            return Reading::not_measured(
                "no thread of the contender is alive, or the kernel does not count",
            );
        }
        let threads = now.len();
        let total = self.add(now);
        let missed = match self.ended_threads {
            0 => String::new(),
            count => format!("; {count} threads that ended are counted up to their last reading"),
        };
        Reading::of(
            total,
            format!(
                "/proc/*/task/*/status of {threads} threads{missed}; a thread that exists only between two readings is missed"
            ),
        )
    }

    fn add(&mut self, now: HashMap<i32, u64>) -> u64 {
        for (tid, seen) in self.alive.drain() {
            // A count that decreased belongs to a new thread with a reused number.
            if now.get(&tid).is_none_or(|&count| count < seen) {
                self.ended += seen;
                self.ended_threads += 1;
            }
        }
        self.alive = now;
        self.ended + self.alive.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_threads_keep_their_count() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.add(HashMap::from([(1, 10), (2, 5)])), 15);
        assert_eq!(ledger.add(HashMap::from([(1, 12)])), 17);
        assert_eq!(ledger.add(HashMap::from([(1, 3)])), 20, "tid 1 was used again");
        assert_eq!(ledger.ended_threads, 2);
    }
}
