//! The description of the machine, which is part of every result.

use std::collections::BTreeMap;
use std::fs;

use procfs::{CpuInfo, Current, Meminfo};

use netdyno_lab_store::Host;

/// Detects the machine. `toolchains` comes from [`crate::toolchains`].
pub fn detect(toolchains: BTreeMap<String, String>) -> Host {
    let cpuinfo = CpuInfo::current().ok();
    let topology = netdyno_lab_arena::Topology::of_this_machine();
    let cores = topology.as_ref().map_or(&[][..], netdyno_lab_arena::Topology::cores);
    Host {
        cpu: cpuinfo.as_ref().and_then(|info| info.model_name(0)).map_or_else(unknown, str::to_owned),
        cpus: cores.iter().map(Vec::len).sum(),
        cores: cores.len(),
        smt: line("/sys/devices/system/cpu/smt/control"),
        memory_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
        kernel: line("/proc/sys/kernel/osrelease"),
        os: os_name(&read("/etc/os-release")),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        virtual_machine: cpuinfo
            .and_then(|info| Some(info.flags(0)?.contains(&"hypervisor")))
            .unwrap_or(false),
        steal_percent: steal_percent(&read("/proc/stat")),
        cgroup: cgroup_version(&read("/proc/mounts")),
        mitigations: mitigations(),
        toolchains,
    }
}

/// This machine in one line, as the header of a run has it.
pub fn this_machine() -> String {
    detect(BTreeMap::new()).headline()
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> String {
    let text = read(path);
    let text = text.trim();
    if text.is_empty() { unknown() } else { text.to_owned() }
}

fn os_name(os_release: &str) -> String {
    let line = os_release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    line.map_or_else(unknown, |v| v.trim_matches('"').to_owned())
}

/// proc(5), `/proc/stat`: the eighth figure of `cpu` is the stolen time.
fn steal_percent(stat: &str) -> f64 {
    let figures: Vec<f64> =
        stat.lines().next().unwrap_or("").split_whitespace().skip(1).filter_map(|f| f.parse().ok()).collect();
    let total: f64 = figures.iter().take(8).sum();
    match figures.get(7) {
        Some(steal) if total > 0.0 => 100.0 * steal / total,
        _ => 0.0,
    }
}

fn cgroup_version(mounts: &str) -> String {
    let has = |kind: &str| mounts.lines().any(|l| l.split(' ').nth(2) == Some(kind));
    match (has("cgroup"), has("cgroup2")) {
        (true, true) => "hybrid",
        (true, false) => "v1",
        (false, true) => "v2",
        (false, false) => "none",
    }
    .to_owned()
}

fn mitigations() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return Vec::new() };
    let mut active: Vec<String> = entries
        .flatten()
        .filter_map(|e| {
            let state = fs::read_to_string(e.path()).ok()?;
            let what = state.trim().strip_prefix("Mitigation: ")?.to_owned();
            Some(format!("{}: {what}", e.file_name().to_string_lossy()))
        })
        .collect();
    active.sort();
    active
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        assert_eq!(os_name("NAME=x\nPRETTY_NAME=\"A B\"\n"), "A B");
        assert!((steal_percent("cpu  50 0 0 40 0 0 0 10 7 7\n") - 10.0).abs() < 1e-9);
        assert!(steal_percent("").abs() < 1e-9);
        assert_eq!(cgroup_version("a /x cgroup rw 0 0\nb /y cgroup2 rw 0 0\n"), "hybrid");
        assert_eq!(cgroup_version(""), "none");
    }
}
