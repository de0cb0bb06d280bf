//! `strace -c`: system calls without perf's trace points. It needs no privileges, but stops the program twice per
//! call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::scratch::{Running, program, read};
use super::{Look, processes};
use netdyno_lab_analysis::explain::parse;
use netdyno_lab_store::probe::Found;

/// Time limit for attaching and detaching.
const STRACE_TIME: Duration = Duration::from_secs(10);

pub(super) struct Strace {
    strace: PathBuf,
    folder: PathBuf,
    why_not_perf: String,
    running: Option<Running>,
}

impl Strace {
    pub(super) fn new(folder: &Path, why_not_perf: &str) -> Result<Self, String> {
        let strace = program("strace", "strace").map_err(|e| format!("{why_not_perf}; {e}"))?;
        let (folder, why_not_perf) = (folder.to_owned(), why_not_perf.to_owned());
        Ok(Self { strace, folder, why_not_perf, running: None })
    }

    fn table(&self) -> PathBuf {
        self.folder.join("table")
    }
}

impl Look for Strace {
    fn source(&self) -> String {
        format!("strace, which slows every call down (perf: {})", self.why_not_perf)
    }

    /// Strace counts after it has attached, which it reports.
    fn begin(&mut self, root: i32) -> Result<(), String> {
        let mut command = Command::new(&self.strace);
        command.args(["-c", "-w", "-f", "-o"]).arg(self.table());
        for pid in processes(root) {
            command.args(["-p", &pid.to_string()]);
        }
        let mut strace = Running::start(command, &self.folder, Stdio::null())?;
        let deadline = Instant::now() + STRACE_TIME;
        while !strace.complaint().contains("attached") {
            if strace.wait(Duration::ZERO).is_some() || Instant::now() >= deadline {
                let said = strace.complaint();
                let remedy = "as root, or with sysctl kernel.yama.ptrace_scope=0";
                return Err(format!("strace cannot attach: {said}; {remedy} (perf: {})", self.why_not_perf));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.running = Some(strace);
        Ok(())
    }

    fn end(&mut self, _root: i32) -> Result<(), String> {
        let strace = self.running.as_mut().ok_or("strace does not run")?;
        let pid = i32::try_from(strace.child.id()).map_err(|e| e.to_string())?;
        kill(Pid::from_raw(pid), Signal::SIGINT).map_err(|e| format!("ending strace: {e}"))?;
        strace.wait(STRACE_TIME).map(drop).ok_or_else(|| "strace does not detach".to_owned())
    }

    fn found(&mut self) -> Result<Found, String> {
        Ok(Found::Syscalls { calls: parse::strace(&read(&self.table())?), lost: 0 })
    }
}
