//! The processes of a contender.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::process::{Process, all_processes};

/// How a contender's processes are found.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The process that started the contender and inherits its orphans. Not part of the tree.
    pub(crate) supervisor: i32,
    /// The contender's cgroup, if any: complete, and faster than searching all processes.
    pub(crate) cgroup_procs: Option<PathBuf>,
}

impl Tree {
    /// The living processes, without those that end in the meantime.
    pub(crate) fn processes(&self) -> Vec<Process> {
        match &self.cgroup_procs {
            Some(procs) => members(procs).into_iter().filter_map(|pid| Process::new(pid).ok()).collect(),
            None => descendants(self.supervisor),
        }
    }
}

/// All descendants of `ancestor`, found by their parents.
pub fn descendants(ancestor: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all_processes().into_iter().flatten().flatten() {
        if let Ok(stat) = process.stat() {
            children.entry(stat.ppid).or_default().push(process);
        }
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.pid()).unwrap_or_default());
        next += 1;
    }
    found
}

/// The number, in our PID namespace, of the descendant of `ancestor` with number `inner_pid` in its own namespace.
pub(crate) fn host_pid_of(ancestor: i32, inner_pid: i32) -> Option<i32> {
    descendants(ancestor).iter().find_map(|process| {
        let names = process.status().ok()?.nspid?;
        (names.last() == Some(&inner_pid)).then(|| process.pid())
    })
}

/// The process ids in a `cgroup.procs` file.
pub(crate) fn members(procs: &Path) -> Vec<i32> {
    fs::read_to_string(procs)
        .map(|text| text.lines().filter_map(|line| line.parse().ok()).filter(|&pid| pid > 0).collect())
        .unwrap_or_default()
}
