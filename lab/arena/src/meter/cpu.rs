//! CPU time of a contender, and its division into user and system time.
//!
//! The total is exact. Most kernels sample the division at clock ticks, so that it is inexact for short windows and
//! need not add up to the total.

use std::fs;
use std::path::{Path, PathBuf};

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::process::{Process, Stat};

use super::{Reading, Tree, to_ns};

/// Sources of CPU time, best first.
#[derive(Debug)]
pub(crate) enum CpuSource {
    /// `cpu.stat` of its own cgroup.
    CgroupV2(PathBuf),
    /// The directory of its own cpuacct cgroup.
    CgroupV1(PathBuf),
    /// The CPU clocks of its processes.
    Processes,
}

impl CpuSource {
    /// CPU time since the contender started: the total, and its user and system parts.
    pub(super) fn read(&self, tree: &Tree) -> [Reading; 3] {
        match self {
            Self::CgroupV2(path) => {
                let text = fs::read_to_string(path);
                ["usage_usec", "user_usec", "system_usec"].map(|key| match &text {
                    Ok(text) => of_cpu_stat(text, key),
                    Err(error) => Reading::not_measured(format!("cgroup v2 cpu.stat {key}: {error}")),
                })
            }
            Self::CgroupV1(dir) => ["cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys"]
                .map(|name| of_cpuacct(&dir.join(name), name)),
            Self::Processes => of_processes(tree),
        }
    }
}

fn of_cpu_stat(text: &str, key: &str) -> Reading {
    let source = format!("cgroup v2 cpu.stat {key}");
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse::<u64>().ok());
    match value {
        Some(microseconds) => Reading::of(microseconds * 1_000, source),
        None => Reading::not_measured(format!("{source}: not readable")),
    }
}

fn of_cpuacct(path: &Path, name: &str) -> Reading {
    let source = format!("cgroup v1 {name}");
    match fs::read_to_string(path).map(|text| text.trim().parse()) {
        Ok(Ok(value)) => Reading::of(value, source),
        Ok(Err(_)) => Reading::not_measured(format!("{source}: not readable")),
        Err(error) => Reading::not_measured(format!("{source}: {error}")),
    }
}

/// A process's CPU clock counts nanoseconds, including those of ended threads. The time of reaped processes is in
/// their parent's accounting, in ticks; the supervisor reaps orphans.
fn of_processes(tree: &Tree) -> [Reading; 3] {
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    let tick_ms = tick_ns / 1_000_000;
    let processes = tree.processes();
    if processes.is_empty() {
        return [(); 3].map(|()| Reading::nothing_alive());
    }
    let stats: Vec<Stat> = processes.iter().filter_map(|process| process.stat().ok()).collect();
    let supervisor = Process::new(tree.supervisor).and_then(|process| process.stat()).ok();
    let reaped = |of: fn(&Stat) -> i64| {
        stats.iter().chain(&supervisor).map(|stat| of(stat).max(0).unsigned_abs()).sum::<u64>() * tick_ns
    };
    let alive = |of: fn(&Stat) -> u64| stats.iter().map(of).sum::<u64>() * tick_ns;
    let (user_reaped, system_reaped) = (reaped(|stat| stat.cutime), reaped(|stat| stat.cstime));
    let clocks = processes.iter().map(|process| clock_ns(process.pid())).sum::<u64>();
    let count = processes.len();
    let parts = || format!("/proc/*/stat of {count} processes, in ticks of {tick_ms} ms");
    let total = format!(
        "CPU clocks of {count} processes; ended child processes from /proc/*/stat in ticks of {tick_ms} ms"
    );
    [
        Reading::of(clocks + user_reaped + system_reaped, total),
        Reading::of(alive(|stat| stat.utime) + user_reaped, parts()),
        Reading::of(alive(|stat| stat.stime) + system_reaped, parts()),
    ]
}

fn clock_ns(pid: i32) -> u64 {
    ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).and_then(ClockId::now).map_or(0, to_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_tells_the_whole_and_its_parts() {
        let dir = std::env::temp_dir().join(format!("netdyno-cpu-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("cpu.stat"), "usage_usec 30\nuser_usec 20\nsystem_usec x\n").unwrap();
        fs::write(dir.join("cpuacct.usage"), "700\n").unwrap();
        fs::write(dir.join("cpuacct.usage_user"), "500\n").unwrap();
        let tree = Tree { supervisor: 0, cgroup_procs: None };
        let reading = |source: CpuSource| source.read(&tree).map(|reading| (reading.value, reading.source));
        let v2 = reading(CpuSource::CgroupV2(dir.join("cpu.stat")));
        assert_eq!(v2[0], (Some(30_000), "cgroup v2 cpu.stat usage_usec".to_owned()));
        assert_eq!(v2[1], (Some(20_000), "cgroup v2 cpu.stat user_usec".to_owned()));
        assert_eq!(v2[2], (None, "cgroup v2 cpu.stat system_usec: not readable".to_owned()));
        let v1 = reading(CpuSource::CgroupV1(dir.clone()));
        assert_eq!(v1[0].0, Some(700));
        assert_eq!(v1[1], (Some(500), "cgroup v1 cpuacct.usage_user".to_owned()));
        assert!(v1[2].0.is_none() && v1[2].1.starts_with("cgroup v1 cpuacct.usage_sys: "), "{v1:?}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
