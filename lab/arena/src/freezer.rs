//! Freezes a contender and thaws it: all of its processes at once, where the kernel can.
//!
//! cgroup v2 does it best (`cgroup.freeze`, which needs no controller; a frozen process can be killed), then v1's freezer;
//! without either, SIGSTOP and SIGCONT to every process. What is frozen has no say in it and no code in it: the
//! contract is unchanged. Its clocks go on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::{ProcState, Process};

use super::cgroup::{Cgroup, V1_STATE};
use super::limits::{FREEZE_LOOK, FREEZE_TIME};
use super::messages::Freezing;
use crate::meter::Tree;

/// The way in which one contender is frozen.
#[derive(Debug)]
pub(crate) enum Freezer {
    /// `cgroup.freeze` of a v2 cgroup of its own.
    V2(PathBuf),
    /// `freezer.state` of a v1 cgroup of its own.
    V1(PathBuf),
    /// Signals to every process that is alive.
    Signals,
}

impl Freezer {
    /// The best that this contender's cgroups allow.
    pub(crate) fn of(cgroup: &Cgroup, best: Freezing) -> Self {
        let v2 = cgroup.v2().filter(|dir| best == Freezing::CgroupV2 && dir.join("cgroup.freeze").exists());
        match (v2, cgroup.v1_freezer().filter(|_| best != Freezing::Signals)) {
            (Some(dir), _) => Self::V2(dir.to_owned()),
            (None, Some(dir)) => Self::V1(dir.to_owned()),
            (None, None) => Self::Signals,
        }
    }

    /// For the report.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::V2(_) => "cgroup v2 freezer",
            Self::V1(_) => "cgroup v1 freezer",
            Self::Signals => "SIGSTOP to every process",
        }
    }

    /// Freezes or thaws, and waits until it is so.
    pub(crate) fn set(&self, frozen: bool, tree: &Tree) -> io::Result<()> {
        match self {
            Self::V2(dir) => {
                fs::write(dir.join("cgroup.freeze"), if frozen { "1" } else { "0" })?;
                // Processes run again once they are told to; that they have stopped has to be seen.
                until(|| Ok(!frozen || fs::read_to_string(dir.join("cgroup.events"))?.contains("frozen 1")))
            }
            Self::V1(dir) => set_v1(dir, frozen),
            Self::Signals => {
                let signal = if frozen { Signal::SIGSTOP } else { Signal::SIGCONT };
                until(|| {
                    for process in tree.processes() {
                        // One that has ended meanwhile is none of ours any more.
                        let _ = kill(Pid::from_raw(process.pid()), signal);
                    }
                    // Looked for again: one of them may have started another before its signal came.
                    Ok(!frozen || tree.processes().iter().all(is_stopped))
                })
            }
        }
    }
}

/// The kernel may need several goes at it: the state is written again until it holds.
fn set_v1(dir: &Path, frozen: bool) -> io::Result<()> {
    let (state, wanted) = (dir.join(V1_STATE), if frozen { "FROZEN" } else { "THAWED" });
    until(|| {
        fs::write(&state, wanted)?;
        Ok(fs::read_to_string(&state)?.trim() == wanted)
    })
}

/// Every thread of it, or it has ended. One in an uninterruptible wait counts as stopped: it will be before it runs a line of
/// its own again, and may wait for one that is (the parent in vfork(2) waits for its child to call execve(2)).
fn is_stopped(process: &Process) -> bool {
    let stopped = |state: ProcState| !matches!(state, ProcState::Running | ProcState::Sleeping);
    let Ok(tasks) = process.tasks() else { return true };
    tasks.flatten().filter_map(|task| task.stat().ok()?.state().ok()).all(stopped)
}

/// Looks until it is so, or says that it took too long.
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
