//! CPU time of a contender.

use std::fs;
use std::path::PathBuf;

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::process::Process;

use super::{Reading, Tree, to_ns};

/// Where CPU time is read from, best first.
#[derive(Debug)]
pub(crate) enum CpuSource {
    /// `cpu.stat` of a cgroup of its own.
    CgroupV2(PathBuf),
    /// `cpuacct.usage` of a cgroup of its own.
    CgroupV1(PathBuf),
    /// The clocks of its processes.
    Processes,
}

impl CpuSource {
    pub(crate) fn read(&self, tree: &Tree) -> Reading {
        match self {
            Self::CgroupV2(path) => from_file(path, "cgroup v2 cpu.stat usage_usec", |text| {
                let microseconds: u64 =
                    text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()?;
                Some(microseconds * 1_000)
            }),
            Self::CgroupV1(path) => {
                from_file(path, "cgroup v1 cpuacct.usage", |text| text.trim().parse().ok())
            }
            Self::Processes => from_processes(tree),
        }
    }
}

fn from_file(path: &PathBuf, source: &str, parse: impl Fn(&str) -> Option<u64>) -> Reading {
    match fs::read_to_string(path) {
        Ok(text) => match parse(&text) {
            Some(value) => Reading::of(value, source),
            None => Reading::not_measured(format!("{source}: not understood")),
        },
        Err(error) => Reading::not_measured(format!("{source}: {error}")),
    }
}

/// A process's CPU clock counts nanoseconds, its ended threads included. What a process that was reaped had used is in its
/// parent's account, in ticks; orphans are reaped by the supervisor.
fn from_processes(tree: &Tree) -> Reading {
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    let processes = tree.processes();
    if processes.is_empty() {
        return Reading::not_measured("no process of the contender is alive");
    }
    let reaped = |process: &Process| {
        let ticks = process.stat().map_or(0, |stat| stat.cutime.max(0) + stat.cstime.max(0));
        ticks.unsigned_abs() * tick_ns
    };
    let orphans = Process::new(tree.supervisor()).map_or(0, |supervisor| reaped(&supervisor));
    let total =
        processes.iter().map(|process| clock_ns(process.pid()) + reaped(process)).sum::<u64>() + orphans;
    Reading::of(
        total,
        format!(
            "CPU clocks of {} processes; ended child processes from /proc/*/stat in ticks of {} ms",
            processes.len(),
            tick_ns / 1_000_000
        ),
    )
}

fn clock_ns(pid: i32) -> u64 {
    ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).and_then(ClockId::now).map_or(0, to_ns)
}
