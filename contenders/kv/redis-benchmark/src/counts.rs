//! The current number of answered operations, computed from the kernel's counters: the program reports it only after each run.
//!
//! A run opens `connections` connections, performs `requests` operations, and closes the connections. The total number of opened
//! connections thus gives the number of started runs, and the bytes read from open connections the progress of the last one.

use std::fs;
use std::thread::sleep;

use crate::limits::{MAX_ATTEMPTS, RETRY_PAUSE};
use crate::sockets::Seen;

/// Connections that the program opens before its first run to query the server's configuration.
const BEFORE_THE_FIRST: u64 = 1;
/// The file with the counters of this network namespace.
const COUNTERS: &str = "/proc/self/net/snmp";
const OPENED: &str = "ActiveOpens";

/// The parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Connections.
    pub connections: u64,
    /// Operations.
    pub requests: u64,
    /// Length of one answer.
    pub answer_bytes: u64,
}

/// The progress of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished runs.
    pub runs: u64,
    /// Number of answered operations.
    pub operations: u64,
}

impl Run {
    /// Computes the progress from `opened`, the number of connections opened since the start, and `look`, the state of open
    /// connections.
    pub fn progress(
        &self,
        mut opened: impl FnMut() -> Result<u64, String>,
        mut look: impl FnMut() -> Result<Seen, String>,
    ) -> Result<Progress, String> {
        for _ in 0..MAX_ATTEMPTS {
            let before = opened()?;
            let of_runs = before.saturating_sub(BEFORE_THE_FIRST);
            let (begun, opening) = (of_runs / self.connections, of_runs % self.connections);
            if begun == 0 || opening != 0 {
                // The next run sends nothing until all of its connections are open.
                return Ok(self.after(begun));
            }
            let seen = look()?;
            if opened()? != before {
                sleep(RETRY_PAUSE);
                continue;
            }
            if seen.connections < self.connections {
                // The run is closing its connections.
                return Ok(self.after(begun));
            }
            let of_this = (seen.read_bytes / self.answer_bytes).min(self.requests);
            return Ok(Progress { runs: begun - 1, operations: (begun - 1) * self.requests + of_this });
        }
        Err(format!(
            "runs of redis-benchmark are too short to count: {MAX_ATTEMPTS} attempts were interrupted by the end of a run"
        ))
    }

    fn after(&self, runs: u64) -> Progress {
        Progress { runs, operations: runs * self.requests }
    }
}

/// The number of connections that this network namespace has opened.
pub fn opened() -> Result<u64, String> {
    let text = fs::read_to_string(COUNTERS).map_err(|e| format!("{COUNTERS}: {e}"))?;
    opened_of(&text).ok_or_else(|| format!("{COUNTERS} has no Tcp: {OPENED}"))
}

/// Parses a line of names followed by a line of values.
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
        let next = || Ok(*opened.next().expect("enough samples"));
        let look = || {
            let (connections, read_bytes) = *seen.next().expect("enough samples");
            Ok(Seen { connections, read_bytes })
        };
        RUN.progress(next, look).map(|p| (p.runs, p.operations))
    }

    #[test]
    fn operations_are_counted_at_any_time_of_a_run() {
        type Row = (&'static [u64], &'static [(u64, u64)], (u64, u64));
        let rows: [Row; 9] = [
            (&[0], &[], (0, 0)),
            (&[1], &[], (0, 0)),
            (&[3], &[], (0, 0)),
            // All connections are open; 19 bytes are two answers and a fraction.
            (&[6, 6], &[(5, 0)], (0, 0)),
            (&[6, 6], &[(5, 19)], (0, 2)),
            // They are being closed, then opened again.
            (&[6, 6], &[(4, 8000)], (1, 1000)),
            (&[8], &[], (1, 1000)),
            (&[11, 11], &[(5, 90)], (1, 1010)),
            // A run ended between two polls.
            (&[11, 13, 14], &[(2, 0)], (2, 2000)),
        ];
        for (opened, seen, wanted) in rows {
            assert_eq!(progress(opened, seen), Ok(wanted), "{opened:?} {seen:?}");
        }
    }

    #[test]
    fn uncountable_runs_are_an_error() {
        let mut opened = 1;
        let next = || {
            opened += 5;
            Ok(opened)
        };
        let message = RUN.progress(next, || Ok(Seen { connections: 5, read_bytes: 0 })).unwrap_err();
        assert!(message.contains("too short"), "{message}");
    }

    #[test]
    fn the_counter_of_the_system_is_found() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoMin ActiveOpens PassiveOpens\nTcp: 200 17 3\nUdp: ActiveOpens\nUdp: 9\n";
        assert_eq!(opened_of(text), Some(17));
        assert_eq!(opened_of("Tcp: A B\nTcp: 1 2\n"), None);
        assert!(opened().is_ok());
    }
}
