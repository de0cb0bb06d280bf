//! The meter: CPU time, memory, context switches and network traffic of a contender.
//!
//! All figures are kernel counters, read on request and never sampled. Each has its source; an unavailable figure is
//! "not measured" with the reason, never 0. The meter runs in the agent and costs nothing between readings.

mod cpu;
mod memory;
mod net;
mod switches;
mod tree;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

pub use net::{NetScope, NetSnapshot};

pub(crate) use cpu::CpuSource;
pub use tree::descendants;
pub(crate) use tree::{Tree, host_pid_of, members};

/// A figure and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The figure; `None` is "not measured".
    pub value: Option<u64>,
    /// The source, or why there is no figure.
    pub source: String,
}

impl Reading {
    pub(crate) fn of(value: u64, source: impl Into<String>) -> Self {
        Self { value: Some(value), source: source.into() }
    }

    pub(crate) fn not_measured(reason: impl Into<String>) -> Self {
        Self { value: None, source: reason.into() }
    }

    fn nothing_alive() -> Self {
        Self::not_measured("no process of the contender is alive")
    }
}

/// All readings of a contender's processes at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `CLOCK_MONOTONIC` in the middle of the CPU reading, which comes first and is the fastest.
    pub at_ns: u64,
    /// CPU time since the start. A count: subtract two readings.
    pub cpu_ns: Reading,
    /// User time. A count.
    pub cpu_user_ns: Reading,
    /// System time. A count.
    pub cpu_system_ns: Reading,
    /// Peak resident memory, summed over the living processes.
    pub peak_rss_bytes: Reading,
    /// Current resident memory.
    pub rss_bytes: Reading,
    /// Voluntary and involuntary context switches. A count.
    pub context_switches: Reading,
    /// Memory with shared pages divided among their users; only in deep readings.
    pub pss_bytes: Reading,
    /// Memory not shared with other processes; only in deep readings.
    pub private_bytes: Reading,
    /// Network counters.
    pub net: NetSnapshot,
}

impl Snapshot {
    /// All readings except those of the network, by field name.
    pub fn readings(&self) -> [(&'static str, &Reading); 8] {
        [
            ("cpu_ns", &self.cpu_ns),
            ("cpu_user_ns", &self.cpu_user_ns),
            ("cpu_system_ns", &self.cpu_system_ns),
            ("peak_rss_bytes", &self.peak_rss_bytes),
            ("rss_bytes", &self.rss_bytes),
            ("context_switches", &self.context_switches),
            ("pss_bytes", &self.pss_bytes),
            ("private_bytes", &self.private_bytes),
        ]
    }
}

/// Reads the snapshots of one contender.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) tree: Tree,
    cpu: CpuSource,
    net: NetScope,
    switches: switches::Ledger,
    /// A process whose memory is not counted, since it only starts the program under test.
    adapter: Option<i32>,
}

impl Meter {
    pub(crate) fn new(tree: Tree, cpu: CpuSource, net: NetScope, adapter: Option<i32>) -> Self {
        Self { tree, cpu, net, switches: switches::Ledger::default(), adapter }
    }

    /// Reads all figures now. `deep` walks every page table of the contender: use it outside timed windows only.
    pub(crate) fn read(&mut self, deep: bool) -> Snapshot {
        let before = monotonic_ns();
        let [cpu_ns, cpu_user_ns, cpu_system_ns] = self.cpu.read(&self.tree);
        let at_ns = before.midpoint(monotonic_ns());
        let net = self.net.read();
        let mut processes = self.tree.processes();
        let context_switches = self.switches.read(&processes);
        processes.retain(|process| Some(process.pid()) != self.adapter);
        let (peak_rss_bytes, rss_bytes) = memory::resident(&processes);
        let (pss_bytes, private_bytes) = match deep {
            true => memory::shared_out(&processes),
            false => {
                let skipped = || Reading::not_measured("read only outside timed windows");
                (skipped(), skipped())
            }
        };
        Snapshot {
            at_ns,
            cpu_ns,
            cpu_user_ns,
            cpu_system_ns,
            peak_rss_bytes,
            rss_bytes,
            context_switches,
            pss_bytes,
            private_bytes,
            net,
        }
    }
}

/// The current `CLOCK_MONOTONIC` in nanoseconds: the clock of the contenders' counters.
pub fn monotonic_ns() -> u64 {
    // This clock exists on every Linux, and counts up from boot.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, to_ns)
}

fn to_ns(time: nix::sys::time::TimeSpec) -> u64 {
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_cost_can_be_read() {
        let tree = || Tree { supervisor: nix::unistd::getppid().as_raw(), cgroup_procs: None };
        let mut meter = Meter::new(tree(), CpuSource::Processes, NetScope::Host, None);
        let first = meter.read(true);
        let counted = [&first.cpu_ns, &first.cpu_user_ns, &first.cpu_system_ns, &first.context_switches];
        for reading in counted.into_iter().chain([&first.peak_rss_bytes, &first.rss_bytes]) {
            assert!(reading.value.is_some(), "{reading:?}");
        }
        assert!(first.net.bytes.value.is_none());
        let second = meter.read(false);
        assert!(second.at_ns > first.at_ns);
        assert!(second.pss_bytes.value.is_none());
        let own = i32::try_from(std::process::id()).ok();
        let mut others = Meter::new(tree(), CpuSource::Processes, NetScope::Host, own);
        assert!(others.read(false).rss_bytes.value < second.rss_bytes.value, "this process is left out");
    }
}
