//! CPU sets of roles: whole physical cores among those available to this process.

use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::ArenaError;
use netdyno_lab_manifest::Placement;

/// The CPUs of each role and of the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuPlan {
    /// One set per role.
    pub roles: Vec<Vec<usize>>,
    /// Cores that no role uses, for the lab and its agents; `None` if there are none.
    pub lab: Option<Vec<usize>>,
    /// Names a requested feature that is unavailable.
    pub warning: Option<String>,
}

impl CpuPlan {
    /// Whether all roles share one CPU.
    pub fn on_one_cpu(&self) -> bool {
        let mut cpus: Vec<usize> = self.roles.iter().flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus.len() == 1 && self.roles.len() > 1
    }
}

/// The CPUs available to this process, by physical core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    cores: Vec<Vec<usize>>,
}

impl Topology {
    /// Reads this process's affinity mask and the kernel's view of the cores.
    pub fn of_this_machine() -> Result<Self, ArenaError> {
        let allowed =
            allowed_cpus().map_err(|errno| ArenaError::process("reading the CPU affinity", errno.into()))?;
        Ok(Self::group(&allowed, Path::new("/sys/devices/system/cpu")))
    }

    /// Groups the permitted CPUs by core: fast cores first, and that of CPU 0, which handles most interrupts, last.
    fn group(allowed: &[usize], sysfs: &Path) -> Self {
        let mut cores: Vec<Vec<usize>> = Vec::new();
        for &cpu in allowed {
            let siblings = siblings(sysfs, cpu);
            match cores.iter_mut().find(|core| core.iter().any(|other| siblings.contains(other))) {
                Some(core) => core.push(cpu),
                None => cores.push(vec![cpu]),
            }
        }
        cores.sort_by_key(|core| {
            (std::cmp::Reverse(max_frequency_khz(sysfs, core[0])), core.contains(&0), core[0])
        });
        Self { cores }
    }

    /// The physical cores, each as the CPUs (hardware threads) available to this process.
    pub fn cores(&self) -> &[Vec<usize>] {
        &self.cores
    }

    /// Assigns CPUs to every role.
    pub fn place(&self, placement: Placement, roles: usize) -> CpuPlan {
        let mut all: Vec<usize> = self.cores.concat();
        all.sort_unstable();
        let shared = |warning| CpuPlan { roles: vec![all.clone(); roles], lab: None, warning };
        match placement {
            Placement::Shared => shared(None),
            Placement::Apart if self.cores.len() < roles => shared(Some(format!(
                "{roles} roles apart need {roles} physical cores, and there are {}: all roles share all CPUs",
                self.cores.len()
            ))),
            Placement::Apart => {
                let (used, spare) = self.cores.split_at(roles);
                CpuPlan {
                    roles: used.iter().map(|core| vec![core[0]]).collect(),
                    lab: (!spare.is_empty()).then(|| spare.concat()),
                    warning: None,
                }
            }
        }
    }
}

/// The CPUs on which this thread may run.
pub(crate) fn allowed_cpus() -> nix::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Moves this thread, and all threads and processes that it starts later, to these CPUs.
pub fn pin_self(cpus: &[usize]) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Restores this thread's CPUs when dropped.
#[derive(Debug)]
pub struct CpusBack(Option<CpuSet>);

impl CpusBack {
    /// Saves the current CPUs.
    pub fn of_now() -> CpusBack {
        CpusBack(sched_getaffinity(Pid::from_raw(0)).ok())
    }
}

impl Drop for CpusBack {
    fn drop(&mut self) {
        let back = self.0.map(|cpus| sched_setaffinity(Pid::from_raw(0), &cpus));
        tracing::debug!(?back, "the CPUs of the lab are restored");
    }
}

/// The hardware threads of this CPU's core, including itself; only itself if unknown.
fn siblings(sysfs: &Path, cpu: usize) -> Vec<usize> {
    let topology = sysfs.join(format!("cpu{cpu}/topology"));
    ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .find_map(|name| fs::read_to_string(topology.join(name)).ok())
        .map(|list| parse_cpu_list(&list))
        .filter(|list| list.contains(&cpu))
        .unwrap_or_else(|| vec![cpu])
}

fn max_frequency_khz(sysfs: &Path, cpu: usize) -> u64 {
    let path = sysfs.join(format!("cpu{cpu}/cpufreq/cpuinfo_max_freq"));
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Parses the kernel's list format: `0-2,5`. Invalid parts are ignored.
fn parse_cpu_list(text: &str) -> Vec<usize> {
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?.min(CpuSet::count()))
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four_threads_on_two_cores() -> Topology {
        Topology { cores: vec![vec![1, 3], vec![0, 2]] }
    }

    #[test]
    fn what_was_pinned_has_its_cpus_back() {
        let now = || sched_getaffinity(Pid::from_raw(0)).unwrap();
        let before = now();
        let one = (0..CpuSet::count()).find(|&cpu| before.is_set(cpu).unwrap()).unwrap();
        let back = CpusBack::of_now();
        pin_self(&[one]).unwrap();
        drop(back);
        assert_eq!(now(), before);
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpu_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(parse_cpu_list("7"), [7]);
        assert_eq!(parse_cpu_list(""), [0_usize; 0]);
        assert_eq!(parse_cpu_list("x,3-1,2"), [2]);
    }

    #[test]
    fn apart_takes_one_thread_of_a_core() {
        let plan = four_threads_on_two_cores().place(Placement::Apart, 2);
        assert_eq!(plan, CpuPlan { roles: vec![vec![1], vec![0]], lab: None, warning: None });
        let plan = four_threads_on_two_cores().place(Placement::Apart, 1);
        assert_eq!(plan.lab, Some(vec![0, 2]));
    }

    #[test]
    fn too_few_cores_is_a_warning() {
        let plan = four_threads_on_two_cores().place(Placement::Apart, 3);
        assert_eq!(plan.roles, vec![vec![0, 1, 2, 3]; 3]);
        assert!(plan.warning.is_some_and(|warning| warning.contains("3 physical cores")));
    }

    #[test]
    fn siblings_are_grouped_and_core_zero_comes_last() {
        let sysfs = std::env::temp_dir().join(format!("netdyno-topology-{}", std::process::id()));
        for (cpu, list) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            let topology = sysfs.join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("thread_siblings_list"), list).unwrap();
        }
        assert_eq!(Topology::group(&[0, 1, 2, 3], &sysfs), four_threads_on_two_cores());
        assert_eq!(Topology::group(&[0, 3], &sysfs).cores, [[3], [0]]);
        fs::remove_dir_all(&sysfs).unwrap();
    }

    #[test]
    fn this_machine_has_a_core() {
        let topology = Topology::of_this_machine().unwrap();
        assert!(!topology.cores().is_empty());
    }
}
