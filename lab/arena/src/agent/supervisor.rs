//! The process between agent and contender: it starts the contender and reaps its processes, and ends only when none
//! is left.
//!
//! With a PID namespace, it is the namespace's init, so that the kernel kills all processes when it ends. Otherwise
//! it is the subreaper of the contender's orphans, and kills them one by one. It ends with its agent: in a PID
//! namespace by the parent-death signal, and in any case because the lifeline closes.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, setsid};

use crate::error::failed;
use crate::limits::{CONTENDER_OOM_SCORE, MAX_OPEN_FILES};
use crate::messages::{Launch, Reaped, Report, write_line};
use crate::sys;
use crate::topology::pin_self;

/// The supervisor's ends of its pipes: the contender's stdin, stdout and stderr, the pipe for reports, and the
/// lifeline, which the agent or its end closes to kill all processes.
pub(crate) type Ends = [OwnedFd; 5];

/// Runs the contender to its end. In a PID namespace, returning kills the remaining processes.
pub(crate) fn run(
    launch: &Launch,
    [stdin, stdout, stderr, report, lifeline]: Ends,
    entrances: Vec<File>,
    private_pids: bool,
) {
    let reports = File::from(report);
    // If the agent has ended, the lifeline is closed as well.
    let tell = |report: &Report| drop(write_line(&reports, report));
    let started = prepare(private_pids)
        .and_then(|(signals, note)| Ok((signals, note, start(launch, [stdin, stdout, stderr], entrances)?)));
    let (signals, note, contender) = match started {
        Ok(started) => started,
        Err(reason) => return tell(&Report::Started(Err(reason))),
    };
    tell(&Report::Started(Ok((contender, note))));
    let mut children = Children { contender, ended: None, others: 0 };
    children.wait(&signals, &lifeline);
    // Remaining processes end with the contender.
    children.kill(private_pids);
    if let Some(contender) = children.ended {
        tell(&Report::Ended { contender, left_behind: children.others });
    }
}

/// Sets up signals and orphan handling. The note says what is unavailable.
fn prepare(private_pids: bool) -> Result<(SignalFd, Option<String>), String> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block().map_err(failed("blocking SIGCHLD"))?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(failed("signalfd"))?;
    let note = if private_pids {
        set_pdeathsig(Signal::SIGKILL).map_err(failed("PR_SET_PDEATHSIG"))?;
        own_proc().err().map(|errno| format!("/proc shows the host's process IDs ({errno})"))
    } else {
        set_child_subreaper(true).map_err(failed("PR_SET_CHILD_SUBREAPER"))?;
        None
    };
    Ok((signals, note))
}

/// Mounts a /proc with the numbers of this PID namespace: Redis, for example, reads its memory by its own number.
fn own_proc() -> nix::Result<()> {
    let none = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, none)
}

fn start(
    launch: &Launch,
    [stdin, stdout, stderr]: [OwnedFd; 3],
    entrances: Vec<File>,
) -> Result<i32, String> {
    let [program, arguments @ ..] = launch.spec.argv.as_slice() else {
        return Err("no command to run".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(launch.spec.env.iter().cloned()).current_dir(&launch.spec.cwd);
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    let cpus = launch.spec.cpus.clone();
    sys::before_exec(&mut command, move || {
        setsid()?;
        SigSet::empty().thread_set_mask()?;
        // Success is checked afterwards from outside: without a cgroup, figures lose a source, but the trial can run.
        for mut entrance in &entrances {
            let _ = entrance.write_all(b"0");
        }
        if let Some(cpus) = &cpus {
            pin_self(cpus)?;
        }
        setrlimit(Resource::RLIMIT_CORE, 0, getrlimit(Resource::RLIMIT_CORE)?.1)?;
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, soft.max(hard.min(MAX_OPEN_FILES)), hard)?;
        let _ = std::fs::write("/proc/self/oom_score_adj", CONTENDER_OOM_SCORE.to_string());
        Ok(())
    });
    // The child is reaped by wait4 below, not by `Child`.
    let child = command.spawn().map_err(failed(program))?;
    i32::try_from(child.id()).map_err(|error| error.to_string())
}

struct Children {
    contender: i32,
    ended: Option<Reaped>,
    /// Number of others.
    others: u32,
}

impl Children {
    /// Reaps every child that has ended. Returns whether another one is left.
    fn reap(&mut self) -> bool {
        loop {
            match sys::reap_any() {
                Ok(Some(reaped)) if reaped.pid == self.contender => self.ended = Some(reaped),
                Ok(Some(_)) => self.others += 1,
                Ok(None) => return true,
                Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn wait(&mut self, signals: &SignalFd, lifeline: &OwnedFd) {
        loop {
            self.reap();
            if self.ended.is_some() {
                return;
            }
            let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut fds = [readable(signals.as_fd()), readable(lifeline.as_fd())];
            match poll(&mut fds, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                Err(_) => return,
                Ok(_) if fds[1].any().unwrap_or(true) => return,
                Ok(_) => while let Ok(Some(_)) = signals.read_signal() {},
            }
        }
    }

    /// Kills and reaps until no child is left, and counts the others that are left behind.
    fn kill(&mut self, private_pids: bool) {
        self.others = 0;
        loop {
            if private_pids {
                // In a PID namespace, -1 addresses all processes except this one.
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            } else {
                super::kill_own_descendants();
            }
            if !self.reap() {
                return;
            }
            std::thread::sleep(crate::limits::RETRY_PAUSE);
        }
    }
}
