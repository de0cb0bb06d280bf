//! Memory of a contender.

use procfs::process::Process;

use super::Reading;

/// Peak and current resident memory, summed over the processes.
pub(crate) fn resident(processes: &[Process]) -> (Reading, Reading) {
    let statuses = processes.iter().filter_map(|process| process.status().ok());
    let found: Vec<(u64, u64)> = statuses.filter_map(|s| s.vmhwm.zip(s.vmrss)).collect();
    let count = found.len();
    if count == 0 {
        return (Reading::nothing_alive(), Reading::nothing_alive());
    }
    let sum = |of: fn(&(u64, u64)) -> u64| found.iter().map(of).sum::<u64>() * 1024;
    (
        Reading::of(sum(|f| f.0), format!("VmHWM of {count} processes, each at its own peak")),
        Reading::of(sum(|f| f.1), format!("VmRSS of {count} processes")),
    )
}

/// Proportional and private memory, from the kernel's page-table walk.
pub(crate) fn shared_out(processes: &[Process]) -> (Reading, Reading) {
    let (mut pss, mut private, mut read, mut refused) = (0, 0, 0, None);
    for process in processes {
        match process.smaps_rollup() {
            Ok(rollup) => {
                read += 1;
                for map in &rollup.memory_map_rollup {
                    let field = |name| map.extension.map.get(name).copied().unwrap_or(0);
                    pss += field("Pss");
                    private += field("Private_Clean") + field("Private_Dirty");
                }
            }
            // A process that has ended in the meantime has no memory.
            Err(procfs::ProcError::NotFound(_)) => {}
            Err(error) => refused = Some(error.to_string()),
        }
    }
    match (read, refused) {
        (_, Some(error)) => {
            let none = || Reading::not_measured(format!("smaps_rollup: {error}"));
            (none(), none())
        }
        (0, None) => (Reading::nothing_alive(), Reading::nothing_alive()),
        (count, None) => (
            Reading::of(pss, format!("smaps_rollup Pss of {count} processes")),
            Reading::of(private, format!("smaps_rollup Private_Clean + Private_Dirty of {count} processes")),
        ),
    }
}
