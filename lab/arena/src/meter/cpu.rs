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
    /// `cpuacct.usage` of its own cgroup; user and system time are in the same folder.
    CgroupV1(PathBuf),
    /// The CPU clocks of its processes.
    Processes,
}

/// CPU time since the contender started.
#[derive(Debug)]
pub(super) struct CpuTime {
    /// User and system time.
    pub(super) total: Reading,
    /// User time.
    pub(super) user: Reading,
    /// System time.
    pub(super) system: Reading,
}

impl CpuSource {
    pub(super) fn read(&self, tree: &Tree) -> CpuTime {
        match self {
            Self::CgroupV2(path) => {
                let text = fs::read_to_string(path);
                let of = |key| match &text {
                    Ok(text) => of_cpu_stat(text, key),
                    Err(error) => Reading::not_measured(format!("cgroup v2 cpu.stat {key}: {error}")),
                };
                CpuTime { total: of("usage_usec"), user: of("user_usec"), system: of("system_usec") }
            }
            Self::CgroupV1(path) => CpuTime {
                total: of_cpuacct(path, "cpuacct.usage"),
                user: of_cpuacct(path, "cpuacct.usage_user"),
                system: of_cpuacct(path, "cpuacct.usage_sys"),
            },
            Self::Processes => of_processes(tree),
        }
    }
}

/// A line of `cpu.stat`, in ns.
fn of_cpu_stat(text: &str, key: &str) -> Reading {
    let source = format!("cgroup v2 cpu.stat {key}");
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse::<u64>().ok());
    match value {
        Some(microseconds) => Reading::of(microseconds * 1_000, source),
        None => Reading::not_measured(format!("{source}: not readable")),
    }
}

/// A file of the cpuacct controller, in the same folder as the total.
fn of_cpuacct(usage: &Path, name: &str) -> Reading {
    let source = format!("cgroup v1 {name}");
    match fs::read_to_string(usage.with_file_name(name)) {
        Ok(text) => match text.trim().parse() {
            Ok(value) => Reading::of(value, source),
            Err(_) => Reading::not_measured(format!("{source}: not readable")),
        },
        Err(error) => Reading::not_measured(format!("{source}: {error}")),
    }
}

/// A process's CPU clock counts nanoseconds, including those of ended threads. The time of reaped processes is in
/// their parent's accounting, in ticks; the supervisor reaps orphans.
fn of_processes(tree: &Tree) -> CpuTime {
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    let tick_ms = tick_ns / 1_000_000;
    let processes = tree.processes();
    if processes.is_empty() {
        let none = || Reading::not_measured("no process of the contender is alive");
        return CpuTime { total: none(), user: none(), system: none() };
    }
    let stats: Vec<Stat> = processes.iter().filter_map(|process| process.stat().ok()).collect();
    let supervisor = Process::new(tree.supervisor()).and_then(|process| process.stat()).ok();
    let reaped = |of: fn(&Stat) -> i64| {
        stats.iter().chain(&supervisor).map(|stat| of(stat).max(0).unsigned_abs()).sum::<u64>() * tick_ns
    };
    let alive = |of: fn(&Stat) -> u64| stats.iter().map(of).sum::<u64>() * tick_ns;
    let (user_reaped, system_reaped) = (reaped(|stat| stat.cutime), reaped(|stat| stat.cstime));
    let clocks = processes.iter().map(|process| clock_ns(process.pid())).sum::<u64>();
    let count = processes.len();
    let parts = || format!("/proc/*/stat of {count} processes, in ticks of {tick_ms} ms");
    CpuTime {
        total: Reading::of(
            clocks + user_reaped + system_reaped,
            format!(
                "CPU clocks of {count} processes; ended child processes from /proc/*/stat in ticks of {tick_ms} ms"
            ),
        ),
        user: Reading::of(alive(|stat| stat.utime) + user_reaped, parts()),
        system: Reading::of(alive(|stat| stat.stime) + system_reaped, parts()),
    }
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
        let tree = Tree::new(0, None);
        let reading = |source: CpuSource| {
            let cpu = source.read(&tree);
            [cpu.total, cpu.user, cpu.system].map(|reading| (reading.value, reading.source))
        };
        let v2 = reading(CpuSource::CgroupV2(dir.join("cpu.stat")));
        assert_eq!(v2[0], (Some(30_000), "cgroup v2 cpu.stat usage_usec".to_owned()));
        assert_eq!(v2[1], (Some(20_000), "cgroup v2 cpu.stat user_usec".to_owned()));
        assert_eq!(v2[2], (None, "cgroup v2 cpu.stat system_usec: not readable".to_owned()));
        let v1 = reading(CpuSource::CgroupV1(dir.join("cpuacct.usage")));
        assert_eq!(v1[0].0, Some(700));
        assert_eq!(v1[1], (Some(500), "cgroup v1 cpuacct.usage_user".to_owned()));
        assert!(v1[2].0.is_none() && v1[2].1.starts_with("cgroup v1 cpuacct.usage_sys: "), "{v1:?}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
