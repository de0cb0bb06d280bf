//! Keeps idle CPUs awake, to exclude wake-up latency.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

use nix::unistd::gettid;

use super::ArenaError;
use super::cgroup::awake_name;
use super::hierarchy::{Hierarchy, hierarchies};
use super::sys::schedule_when_idle;
use super::topology::{allowed_cpus, pin_self};

/// The kernel's interface for latency requests. A request is valid while the file is open.
const LATENCY_FILE: &str = "/dev/cpu_dma_latency";

const DRIVER_FILE: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Whether the scheduler divides CPU time between sessions first (sched(7), autogrouping). Contenders have sessions of their
/// own, so the priority of a thread of ours does not count against them.
const AUTOGROUP_FILE: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// While this value exists, idle CPUs poll for work instead of entering an idle state.
#[derive(Debug)]
pub struct Awake {
    /// A request for a wake-up latency of 0 us on all CPUs. In a virtual machine whose kernel has the polling state, idle CPUs
    /// then also do not exit to the hypervisor.
    _request: Option<File>,
    _polling: Option<Polling>,
}

/// A thread on each CPU that runs when nothing else does. Without a driver, an idle CPU halts, and a halted virtual CPU is
/// woken by the hypervisor.
#[derive(Debug)]
struct Polling {
    has_ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Removed after the threads have ended.
    _group: Option<IdleGroup>,
}

/// A cgroup of the CPU controller that is idle (`cpu.idle`): its threads run when no thread outside is runnable. Removed on
/// drop.
#[derive(Debug)]
struct IdleGroup(PathBuf);

impl Awake {
    /// Requests polling from the kernel, or polls by threads of idle priority on a machine without a driver of idle states.
    ///
    /// # Errors
    /// If the request is not permitted, or if the threads could take CPU time from contenders.
    pub fn hold() -> Result<Awake, ArenaError> {
        let driver = fs::read_to_string(DRIVER_FILE).unwrap_or_default();
        Ok(match driver.trim() {
            "" | "none" => Awake { _request: None, _polling: Some(Polling::start()?) },
            _ => Awake { _request: Some(Self::request()?), _polling: None },
        })
    }

    fn request() -> Result<File, ArenaError> {
        let refused = |e: std::io::Error| {
            invalid(format!("{LATENCY_FILE}: {e}; it needs root and a kernel with CPU idle states"))
        };
        let mut file = OpenOptions::new().write(true).open(LATENCY_FILE).map_err(refused)?;
        // In us, 32 bits, native byte order (the kernel's pm_qos_interface).
        file.write_all(&0i32.to_ne_bytes()).map_err(refused)?;
        Ok(file)
    }
}

impl Polling {
    fn start() -> Result<Self, ArenaError> {
        let hierarchies = hierarchies();
        let group = hierarchies.iter().filter(|one| one.has_controller("cpu")).find_map(IdleGroup::below);
        let refused = |reason: &str| {
            Err(invalid(format!(
                "no CPU idle driver on this machine, and {reason}, so polling would take CPU time from contenders"
            )))
        };
        if hierarchies.iter().any(shares_cpu_time) {
            return refused(
                "this cgroup shares the CPU controller with theirs (run netdyno in the root cgroup or in a container)",
            );
        }
        if group.is_none() && fs::read_to_string(AUTOGROUP_FILE).is_ok_and(|text| text.trim() != "0") {
            return refused(
                "the scheduler groups threads by session (sysctl -w kernel.sched_autogroup_enabled=0)",
            );
        }
        let tasks = group.as_ref().map(|group| group.0.join("tasks"));
        let cpus = allowed_cpus().map_err(|e| invalid(format!("the CPUs of this process: {e}")))?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let mut polling = Self { has_ended: Arc::clone(&has_ended), threads: Vec::new(), _group: group };
        for cpu in cpus {
            let (has_ended, tasks) = (Arc::clone(&has_ended), tasks.clone());
            let thread = std::thread::Builder::new().name(format!("awake-{cpu}")).spawn(move || {
                let joined = tasks.is_none_or(|tasks| join(&tasks).is_ok());
                if joined && schedule_when_idle().is_ok() && pin_self(&[cpu]).is_ok() {
                    // A thread that only spins would keep the CPU for a whole time slice now and then. One that yields gives it
                    // back at once.
                    while !has_ended.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                }
            });
            polling.threads.push(thread.map_err(|e| invalid(format!("a thread for CPU {cpu}: {e}")))?);
        }
        Ok(polling)
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl IdleGroup {
    /// Creates one below this process's cgroup in the hierarchy; `None` if that is not permitted.
    fn below(hierarchy: &Hierarchy) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = hierarchy.places().first()?.join(awake_name(std::process::id(), number));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join("cpu.idle"), "1").ok()?;
        Some(group)
    }
}

impl Drop for IdleGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn join(tasks: &Path) -> io::Result<()> {
    fs::write(tasks, gettid().to_string())
}

fn invalid(rule: String) -> ArenaError {
    ArenaError::Invalid { field: "--awake", rule }
}

/// Whether a contender's cgroup may be a sibling of ours under the CPU controller. The scheduler then divides CPU time between
/// the two cgroups first, and idle priority has no effect beyond ours. Below our own cgroup, it has.
fn shares_cpu_time(hierarchy: &Hierarchy) -> bool {
    let places = hierarchy.places();
    let controllers = |place: &Path| fs::read_to_string(place.join("cgroup.controllers")).unwrap_or_default();
    hierarchy.is_v2()
        && places.len() > 1
        && places.iter().any(|place| controllers(place).split_whitespace().any(|name| name == "cpu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a thread that runs or is runnable on a CPU, by its name.
    fn policies(prefix: &str) -> Vec<String> {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
        let is_ours = |path: &std::path::PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with(prefix))
        };
        // The policy is field 41, 38 after the state, which follows the name.
        let policy = |path: std::path::PathBuf| {
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            Some(stat.rsplit_once(") ")?.1.split(' ').nth(38)?.to_owned())
        };
        tasks.filter(is_ours).filter_map(policy).collect()
    }

    #[test]
    fn polling_threads_have_idle_priority_and_end() {
        let Ok(polling) = Polling::start() else {
            println!("skipped: polling would take CPU time from others");
            return;
        };
        let cpus = allowed_cpus().unwrap().len();
        let idle = libc::SCHED_IDLE.to_string();
        while policies("awake-").iter().filter(|policy| **policy == idle).count() < cpus {
            std::thread::yield_now();
        }
        let group = polling._group.as_ref().map_or_else(PathBuf::new, |group| group.0.clone());
        if group.is_dir() {
            let idle = fs::read_to_string(group.join("cpu.idle")).unwrap();
            let tasks = fs::read_to_string(group.join("tasks")).unwrap();
            assert_eq!((idle.trim(), tasks.lines().count()), ("1", cpus));
        }
        drop(polling);
        assert_eq!(policies("awake-"), [""; 0]);
        assert!(!group.exists());
    }
}
