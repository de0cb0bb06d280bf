//! Counters of `/proc` that trials do not store: context switches by kind, and page faults. Reading them has no side
//! effects.

use procfs::process::Process;

use super::{Look, processes};
use netdyno_lab_store::probe::{Found, KernelCounts};

#[derive(Debug, Default)]
pub(super) struct Counters {
    begin: KernelCounts,
    end: KernelCounts,
}

impl Look for Counters {
    fn source(&self) -> String {
        "/proc/*/stat, /proc/*/task/*/status and schedstat".to_owned()
    }

    fn begin(&mut self, root: i32) -> Result<(), String> {
        self.begin = read(root);
        Ok(())
    }

    fn end(&mut self, root: i32) -> Result<(), String> {
        self.end = read(root);
        Ok(())
    }

    /// Counts of threads that ended in between are lost, so that differences may be negative; they count as 0.
    fn found(&mut self) -> Result<Found, String> {
        let (a, b) = (self.begin, self.end);
        Ok(Found::Kernel(KernelCounts {
            voluntary: b.voluntary.saturating_sub(a.voluntary),
            involuntary: b.involuntary.saturating_sub(a.involuntary),
            queued_ns: b.queued_ns.saturating_sub(a.queued_ns),
            minor_faults: b.minor_faults.saturating_sub(a.minor_faults),
            major_faults: b.major_faults.saturating_sub(a.major_faults),
        }))
    }
}

fn read(root: i32) -> KernelCounts {
    let mut sum = KernelCounts::default();
    for process in processes(root).into_iter().filter_map(|pid| Process::new(pid).ok()) {
        if let Ok(stat) = process.stat() {
            sum.minor_faults += stat.minflt;
            sum.major_faults += stat.majflt;
        }
        for task in process.tasks().into_iter().flatten().flatten() {
            if let Ok(status) = task.status() {
                sum.voluntary += status.voluntary_ctxt_switches.unwrap_or(0);
                sum.involuntary += status.nonvoluntary_ctxt_switches.unwrap_or(0);
            }
            sum.queued_ns += task.schedstat().map_or(0, |stat| stat.run_delay);
        }
    }
    sum
}
