//! A private cgroup for each role, if permitted: v2, v1, or both.
//!
//! It is created below the cgroup of this process, so that existing limits also apply to contenders. Its name
//! contains the lab's process id; the next run removes leftovers of a killed one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::errno::Errno;
use procfs::{Current, Meminfo};

use super::hierarchy::{Hierarchy, hierarchies};
use super::limits::{CGROUP_REMOVE_TIME, MEMORY_SHARE, RETRY_PAUSE};
use super::messages::{Freezing, LaunchSpec};
use super::meter::members;

const NAME_PREFIX: &str = "netdyno-";
/// Follows [`NAME_PREFIX`] in the name of the group of polling threads.
const AWAKE: &str = "awake-";
/// The file that controls v1's freezer and shows its state.
pub(super) const V1_STATE: &str = "freezer.state";

pub(crate) fn name(lab_pid: u32, number: u64) -> String {
    format!("{NAME_PREFIX}{lab_pid}-{number}")
}

/// The name of a group of polling threads ([`super::awake`]), which is also removed after the lab was killed.
pub(crate) fn awake_name(lab_pid: u32, number: u32) -> String {
    format!("{NAME_PREFIX}{AWAKE}{lab_pid}-{number}")
}

/// The directories of a role's cgroup, one per usable hierarchy.
#[derive(Debug, Default)]
pub(crate) struct Cgroup {
    pub(crate) v2: Option<PathBuf>,
    pub(crate) cpuacct: Option<PathBuf>,
    /// v1's freezer, if there is no v2 or on request.
    pub(crate) freezer: Option<PathBuf>,
    /// Present if the memory limit is enforced.
    pub(crate) memory: Option<PathBuf>,
    pids: Option<PathBuf>,
    processes_max: u32,
    pub(crate) memory_limit: String,
    pub(crate) notes: Vec<String>,
}

impl Cgroup {
    /// Creates the cgroup in the available hierarchies; `notes` lists the others.
    ///
    /// The default limits of memory and processes are best effort; a requested memory limit that is unavailable is in
    /// `notes`.
    pub(crate) fn create(name: &str, spec: &LaunchSpec) -> Self {
        let LaunchSpec { memory_limit_bytes, processes_max, freezing, .. } = *spec;
        let all = hierarchies();
        let limit = memory_limit_bytes.unwrap_or_else(default_memory_limit);
        let origin =
            if memory_limit_bytes.is_some() { "" } else { ", the default: --memory-limit sets another" };
        let memory_limit = format!("{} MiB{origin}", limit >> 20);
        let mut group = Self { memory_limit, processes_max, ..Self::default() };
        group.create_v2(&all, name, limit, memory_limit_bytes.is_some());
        if group.v2.is_none() {
            group.cpuacct = create_v1(&all, "cpuacct", name).ok();
        }
        if group.v2.is_none() || freezing == Freezing::CgroupV1 {
            group.freezer = create_v1(&all, "freezer", name).ok();
        }
        if group.memory.is_none() {
            let made = create_v1(&all, "memory", name).and_then(|dir| limit_v1(&dir, limit).map(|()| dir));
            if let (Err(error), Some(_)) = (&made, memory_limit_bytes) {
                group.notes.push(format!("memory limit not enforced: no usable memory cgroup ({error})"));
            }
            group.memory = made.ok();
        }
        let limited = |dir: &PathBuf| fs::write(dir.join("pids.max"), processes_max.to_string()).is_ok();
        group.pids = group.v2.clone().filter(limited);
        if group.pids.is_none() {
            group.pids = create_v1(&all, "pids", name).ok().filter(limited);
        }
        let pids = group.pids.is_some().then_some("pids");
        let kinds = group.by_kind().into_iter().filter_map(|(dir, kind)| dir.is_some().then_some(kind));
        let kinds: Vec<&str> = kinds.chain(pids).collect();
        group.notes.push(match kinds.as_slice() {
            [] => "no cgroup: none is writable".to_owned(),
            kinds => format!("cgroup {}", kinds.join(" + ")),
        });
        group
    }

    /// v2 permits two places: below our own cgroup, and next to it, where a session manager may have enabled the
    /// memory controller. The controller cannot be enabled in a cgroup with processes, such as ours.
    fn create_v2(&mut self, all: &[Hierarchy], name: &str, limit: u64, is_requested: bool) {
        for parent in all.iter().filter(|hierarchy| hierarchy.is_v2()).flat_map(Hierarchy::places) {
            let dir = parent.join(name);
            if make(&dir).is_err() {
                continue;
            }
            let limited = limit_v2(&dir, limit).is_ok();
            if limited || self.v2.is_none() {
                if let Some(plain) = self.v2.replace(dir.clone()) {
                    let _ = fs::remove_dir(plain);
                }
                self.memory = limited.then_some(dir);
            } else {
                let _ = fs::remove_dir(dir);
            }
            if limited || !is_requested {
                return;
            }
        }
    }

    /// The files to which a process writes `0` to enter.
    pub(crate) fn entrances(&self) -> Vec<File> {
        self.dirs()
            .filter_map(|dir| OpenOptions::new().write(true).open(dir.join("cgroup.procs")).ok())
            .collect()
    }

    /// Drops every hierarchy that the process has not entered: migration may be denied where creation was not, and an
    /// empty cgroup would measure 0. A process that has already ended is in none. `pids` is kept, because only its
    /// events are read: they name the limit that ended such a process.
    pub(crate) fn keep_entered(&mut self, pid: i32) {
        let mut notes = Vec::new();
        for (dir, kind) in self.by_kind() {
            if dir.take_if(|dir| !members(&dir.join("cgroup.procs")).contains(&pid)).is_some() {
                notes.push(format!("cgroup {kind} not used: the process could not enter it, or has ended"));
            }
        }
        self.notes.append(&mut notes);
    }

    /// The directories that the process enters, except `pids`.
    fn by_kind(&mut self) -> [(&mut Option<PathBuf>, &'static str); 4] {
        [
            (&mut self.v2, "v2"),
            (&mut self.cpuacct, "v1 cpuacct"),
            (&mut self.freezer, "v1 freezer"),
            (&mut self.memory, "memory"),
        ]
    }

    pub(crate) fn procs(&self) -> Option<PathBuf> {
        self.dirs().next().map(|dir| dir.join("cgroup.procs"))
    }

    /// The number of processes that the kernel killed for exceeding the memory limit.
    pub(crate) fn memory_kills(&self) -> u64 {
        let Some(dir) = &self.memory else { return 0 };
        let files = ["memory.events", "memory.oom_control"];
        let text = files.iter().find_map(|file| fs::read_to_string(dir.join(file)).ok()).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
    }

    /// The limit because of which a process or thread could not be created, if so.
    pub(crate) fn process_limit_hit(&self) -> Option<u32> {
        let events = fs::read_to_string(self.pids.as_ref()?.join("pids.events")).ok()?;
        let count = events.lines().find_map(|line| line.strip_prefix("max "))?;
        (count.trim() != "0").then_some(self.processes_max)
    }

    /// Kills every process of the cgroup, in one step if the kernel supports that.
    pub(crate) fn kill(&self) {
        if let Some(dir) = &self.v2
            && fs::write(dir.join("cgroup.kill"), "1").is_ok()
        {
            return;
        }
        if let Some(procs) = self.procs() {
            members(&procs).into_iter().for_each(super::sys::kill_quietly);
        }
        self.freezer.iter().for_each(|dir| thaw_v1(dir));
    }

    fn dirs(&self) -> impl Iterator<Item = &PathBuf> {
        let others = self.memory.iter().chain(&self.pids).filter(|dir| self.v2.as_ref() != Some(dir));
        self.v2.iter().chain(&self.cpuacct).chain(&self.freezer).chain(others)
    }
}

/// Removes a role's cgroup from all hierarchies. Its processes must be dead or dying.
pub(crate) fn remove(name: &str) {
    let dirs: Vec<PathBuf> =
        hierarchies().iter().flat_map(Hierarchy::places).map(|place| place.join(name)).collect();
    // Before the first removal: until the thaw, frozen processes keep the directories of all hierarchies in use.
    dirs.iter().for_each(|dir| thaw_v1(dir));
    let deadline = Instant::now() + CGROUP_REMOVE_TIME;
    for dir in dirs {
        while let Err(error) = fs::remove_dir(&dir) {
            if error.raw_os_error() != Some(Errno::EBUSY as i32) || Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

/// Removes empty cgroups of labs that have ended. A cgroup with processes cannot be removed, and stays.
pub(crate) fn sweep() {
    for place in hierarchies().iter().flat_map(Hierarchy::places) {
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        for entry in entries {
            let lab = entry.file_name().to_str().and_then(lab_pid);
            if lab.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                thaw_v1(&entry.path());
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// v1's freezer even delays kills: processes killed while frozen end after the thaw.
fn thaw_v1(dir: &Path) {
    let state = dir.join(V1_STATE);
    if state.exists() {
        let _ = fs::write(state, "THAWED");
    }
}

fn lab_pid(name: &str) -> Option<u32> {
    let name = name.strip_prefix(NAME_PREFIX)?;
    let (pid, number) = name.strip_prefix(AWAKE).unwrap_or(name).split_once('-')?;
    number.parse::<u64>().ok()?;
    pid.parse().ok()
}

fn make(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)?;
    let usable = OpenOptions::new().write(true).open(dir.join("cgroup.procs")).map(drop);
    if usable.is_err() {
        let _ = fs::remove_dir(dir);
    }
    usable
}

fn create_v1(all: &[Hierarchy], controller: &str, name: &str) -> io::Result<PathBuf> {
    let hierarchy = all.iter().find(|hierarchy| hierarchy.has_controller(controller));
    let place = hierarchy.and_then(|hierarchy| hierarchy.places().into_iter().next());
    let dir = place.ok_or_else(|| io::Error::other("not mounted"))?.join(name);
    match make(&dir) {
        // cpu and cpuacct, or others, may be one hierarchy.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(dir),
    }
}

/// A share of this machine's memory; no limit if its size is unknown.
fn default_memory_limit() -> u64 {
    Meminfo::current().map_or(u64::MAX >> 1, |memory| (memory.mem_total as f64 * MEMORY_SHARE) as u64)
}

fn limit_v2(dir: &Path, bytes: u64) -> io::Result<()> {
    fs::write(dir.join("memory.max"), bytes.to_string())?;
    // Swap would circumvent the limit; if swap is accounted, it is disabled as well.
    let _ = fs::write(dir.join("memory.swap.max"), "0");
    let _ = fs::write(dir.join("memory.oom.group"), "1");
    Ok(())
}

fn limit_v1(dir: &Path, bytes: u64) -> io::Result<()> {
    fs::write(dir.join("memory.limit_in_bytes"), bytes.to_string())?;
    let _ = fs::write(dir.join("memory.memsw.limit_in_bytes"), bytes.to_string());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_limit_of_a_contender_that_ended_early_is_known() {
        let dir = std::env::temp_dir().join(format!("netdyno-cgroup-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("cgroup.procs"), "").unwrap();
        fs::write(dir.join("pids.events"), "max 1\n").unwrap();
        let (cpuacct, pids) = (Some(dir.clone()), Some(dir.clone()));
        let mut group = Cgroup { cpuacct, pids, processes_max: 20, ..Cgroup::default() };
        group.keep_entered(42);
        assert_eq!(group.process_limit_hit(), Some(20));
        assert_eq!((group.cpuacct, group.notes.len()), (None, 1));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn names_carry_the_labs_pid() {
        assert_eq!(lab_pid(&name(42, 7)), Some(42));
        assert_eq!(lab_pid(&awake_name(42, 7)), Some(42));
        for other in [
            "netdyno-42",
            "netdyno-awake-42",
            "netdyno-awake-awake-4-2",
            "netdyno-x-1",
            "netdyno-1-x",
            "user.slice",
            "netdyno--1",
        ] {
            assert_eq!(lab_pid(other), None, "{other}");
        }
    }
}
