//! Freezes and thaws all processes of a contender, atomically if the kernel supports that.
//!
//! The first available of: cgroup v2 (`cgroup.freeze`, which needs no controller and permits kills), the v1 freezer,
//! and SIGSTOP and SIGCONT for every process. Freezing needs no cooperation from the contender. Its clocks continue.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::{ProcState, Process};

use super::cgroup::{Cgroup, V1_STATE};
use super::limits::{FREEZE_LOOK, FREEZE_TIME};
use super::messages::Freezing;
use crate::meter::Tree;

#[derive(Debug)]
pub(crate) enum Freezer {
    V2(PathBuf),
    V1(PathBuf),
    Signals,
}

impl Freezer {
    /// The best mechanism that the contender's cgroups permit.
    pub(crate) fn of(cgroup: &Cgroup, best: Freezing) -> Self {
        match (cgroup.v2.clone(), cgroup.freezer.clone()) {
            (Some(dir), _) if best == Freezing::CgroupV2 && dir.join("cgroup.freeze").exists() => {
                Self::V2(dir)
            }
            (_, Some(dir)) if best != Freezing::Signals => Self::V1(dir),
            _ => Self::Signals,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::V2(_) => "cgroup v2 freezer",
            Self::V1(_) => "cgroup v1 freezer",
            Self::Signals => "SIGSTOP to every process",
        }
    }

    pub(crate) fn set(&self, frozen: bool, tree: &Tree) -> io::Result<()> {
        match self {
            Self::V2(dir) => {
                fs::write(dir.join("cgroup.freeze"), if frozen { "1" } else { "0" })?;
                // A thaw takes effect immediately; a freeze must be awaited.
                until(|| Ok(!frozen || fs::read_to_string(dir.join("cgroup.events"))?.contains("frozen 1")))
            }
            Self::V1(dir) => {
                let (state, wanted) = (dir.join(V1_STATE), if frozen { "FROZEN" } else { "THAWED" });
                // The kernel may need several attempts: the state is written again until it holds.
                until(|| {
                    fs::write(&state, wanted)?;
                    Ok(fs::read_to_string(&state)?.trim() == wanted)
                })
            }
            Self::Signals => {
                let signal = if frozen { Signal::SIGSTOP } else { Signal::SIGCONT };
                until(|| {
                    for process in tree.processes() {
                        // A process that has ended in the meantime does not matter.
                        let _ = kill(Pid::from_raw(process.pid()), signal);
                    }
                    // Repeated, since a process may have forked before its signal arrived.
                    Ok(!frozen || tree.processes().iter().all(is_stopped))
                })
            }
        }
    }
}

/// Whether every thread has stopped, or the process has ended. An uninterruptible wait counts as stopped: the thread
/// stops before it returns to user space, and may wait for a stopped one (the parent in vfork(2) waits for execve(2)
/// of its child).
fn is_stopped(process: &Process) -> bool {
    let stopped = |state: ProcState| !matches!(state, ProcState::Running | ProcState::Sleeping);
    let Ok(tasks) = process.tasks() else { return true };
    tasks.flatten().filter_map(|task| task.stat().ok()?.state().ok()).all(stopped)
}

fn until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + FREEZE_TIME;
    while !done()? {
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "not all of its processes stopped in time"));
        }
        std::thread::sleep(FREEZE_LOOK);
    }
    Ok(())
}
