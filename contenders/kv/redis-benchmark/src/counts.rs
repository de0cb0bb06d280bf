//! How many operations were answered, at any moment, by what the kernel knows: the program tells it at the end of each run only.
//!
//! A run opens `connections` connections, makes `requests` operations, and closes them. So connections that were ever opened
//! tell how many runs have begun, and bytes that were read from those that are open how far the last one is.

use std::fs;
use std::thread::sleep;

use crate::limits::{LOOK_AGAIN, MAX_LOOKS};
use crate::sockets::Seen;

/// Connections that the program opens before its first run, to ask for the server's configuration.
const BEFORE_THE_FIRST: u64 = 1;
/// Where this network namespace counts what it opens.
const COUNTERS: &str = "/proc/self/net/snmp";
const OPENED: &str = "ActiveOpens";

/// What a run is.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Connections.
    pub connections: u64,
    /// Operations.
    pub requests: u64,
    /// Length of one answer.
    pub answer_bytes: u64,
}

/// How far the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are over.
    pub runs: u64,
    /// Operations that were answered.
    pub operations: u64,
}

impl Run {
    /// How far it is, by `opened`, which tells the connections opened since before it was started, and `look`, which tells of those that are open.
    pub fn progress(
        &self,
        mut opened: impl FnMut() -> Result<u64, String>,
        mut look: impl FnMut() -> Result<Seen, String>,
    ) -> Result<Progress, String> {
        for _ in 0..MAX_LOOKS {
            let before = opened()?;
            let of_runs = before.saturating_sub(BEFORE_THE_FIRST);
            let (begun, opening) = (of_runs / self.connections, of_runs % self.connections);
            if begun == 0 || opening != 0 {
                // The next run sends nothing before it has all of its connections.
                return Ok(self.after(begun));
            }
            let seen = look()?;
            if opened()? != before {
                sleep(LOOK_AGAIN);
                continue;
            }
            if seen.connections < self.connections {
                // It is closing them.
                return Ok(self.after(begun));
            }
            let of_this = (seen.read_bytes / self.answer_bytes).min(self.requests);
            return Ok(Progress { runs: begun - 1, operations: (begun - 1) * self.requests + of_this });
        }
        Err(format!("runs of redis-benchmark are too short to be counted: {MAX_LOOKS} looks met an end"))
    }

    fn after(&self, runs: u64) -> Progress {
        Progress { runs, operations: runs * self.requests }
    }
}

/// Connections that this network namespace has opened.
pub fn opened() -> Result<u64, String> {
    let text = fs::read_to_string(COUNTERS).map_err(|e| format!("{COUNTERS}: {e}"))?;
    opened_of(&text).ok_or_else(|| format!("{COUNTERS} has no Tcp: {OPENED}"))
}

/// A line of names, then a line of values.
fn opened_of(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(name, _)| *name == OPENED)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Run = Run { connections: 5, requests: 1000, answer_bytes: 9 };

    fn progress(opened: &[u64], seen: &[(u64, u64)]) -> Result<(u64, u64), String> {
        let (mut opened, mut seen) = (opened.iter(), seen.iter());
        let next = || Ok(*opened.next().expect("not asked more often"));
        let look = || {
            let (connections, read_bytes) = *seen.next().expect("not asked more often");
            Ok(Seen { connections, read_bytes })
        };
        RUN.progress(next, look).map(|p| (p.runs, p.operations))
    }

    #[test]
    fn operations_are_counted_in_each_moment_of_a_run() {
        type Row = (&'static [u64], &'static [(u64, u64)], (u64, u64));
        let rows: [Row; 9] = [
            (&[0], &[], (0, 0)),
            (&[1], &[], (0, 0)),
            (&[3], &[], (0, 0)),
            // All connections are there; 19 bytes are two answers and a bit.
            (&[6, 6], &[(5, 0)], (0, 0)),
            (&[6, 6], &[(5, 19)], (0, 2)),
            // They are being closed, then opened again.
            (&[6, 6], &[(4, 8000)], (1, 1000)),
            (&[8], &[], (1, 1000)),
            (&[11, 11], &[(5, 90)], (1, 1010)),
            // A run ended between two looks.
            (&[11, 13, 14], &[(2, 0)], (2, 2000)),
        ];
        for (opened, seen, wanted) in rows {
            assert_eq!(progress(opened, seen), Ok(wanted), "{opened:?} {seen:?}");
        }
    }

    #[test]
    fn runs_that_cannot_be_counted_are_told() {
        let mut opened = 1;
        let next = || {
            opened += 5;
            Ok(opened)
        };
        let told = RUN.progress(next, || Ok(Seen { connections: 5, read_bytes: 0 })).unwrap_err();
        assert!(told.contains("too short"), "{told}");
    }

    #[test]
    fn the_systems_counter_is_found() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoMin ActiveOpens PassiveOpens\nTcp: 200 17 3\nUdp: ActiveOpens\nUdp: 9\n";
        assert_eq!(opened_of(text), Some(17));
        assert_eq!(opened_of("Tcp: A B\nTcp: 1 2\n"), None);
        assert!(opened().is_ok());
    }
}
