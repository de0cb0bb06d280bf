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

use crate::limits::{CONTENDER_OOM_SCORE, MAX_OPEN_FILES};
use crate::messages::{Launch, Report};
use crate::sys::{self, Reaped};
use crate::topology::pin_self;

/// The supervisor's ends of its pipes.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// The pipe for reports.
    pub(crate) report: OwnedFd,
    /// Closed by the agent, or by its end, to kill all processes.
    pub(crate) lifeline: OwnedFd,
}

/// Runs the contender to its end. In a PID namespace, returning kills the remaining processes.
pub(crate) fn run(launch: &Launch, ends: Ends, entrances: Vec<File>, private_pids: bool) {
    let mut reports = File::from(ends.report);
    let started = prepare(private_pids).and_then(|(signals, note)| {
        Ok((signals, note, start(launch, [ends.stdin, ends.stdout, ends.stderr], entrances)?))
    });
    let (signals, note, pid) = match started {
        Ok(started) => started,
        Err(reason) => return tell(&mut reports, &Report::NotStarted { reason }),
    };
    tell(&mut reports, &Report::Started { pid, note });
    let ended = wait_for(pid, &signals, &ends.lifeline);
    // Remaining processes end with the contender.
    let (ended_now, left_behind) = kill_everything(private_pids, pid);
    if let Some(Reaped { code, signal, usage, .. }) = ended_now.or(ended) {
        tell(&mut reports, &Report::Ended { code, signal, usage, left_behind });
    }
}

/// Sets up signals and orphan handling. The note says what is unavailable.
fn prepare(private_pids: bool) -> Result<(SignalFd, Option<String>), String> {
    let context = |what: &'static str| move |errno: Errno| format!("{what}: {errno}");
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block().map_err(context("blocking SIGCHLD"))?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(context("signalfd"))?;
    let note = if private_pids {
        set_pdeathsig(Signal::SIGKILL).map_err(context("PR_SET_PDEATHSIG"))?;
        own_proc().err().map(|errno| format!("/proc shows the host's process IDs ({errno})"))
    } else {
        set_child_subreaper(true).map_err(context("PR_SET_CHILD_SUBREAPER"))?;
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
    let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    i32::try_from(child.id()).map_err(|error| error.to_string())
}

/// Reaps until the contender has ended or the lifeline is closed.
fn wait_for(contender: i32, signals: &SignalFd, lifeline: &OwnedFd) -> Option<Reaped> {
    loop {
        if let Some(reaped) = reap_all(contender).contender {
            return Some(reaped);
        }
        let mut fds = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(lifeline.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(_) => return None,
            Ok(_) if fds[1].any().unwrap_or(true) => return None,
            Ok(_) => while let Ok(Some(_)) = signals.read_signal() {},
        }
    }
}

/// Kills and reaps until no child is left. Returns the contender's exit, if it was among them, and the number of
/// others.
fn kill_everything(private_pids: bool, contender: i32) -> (Option<Reaped>, u32) {
    let (mut ended, mut others) = (None, 0);
    loop {
        if private_pids {
            // In a PID namespace, -1 addresses all processes except this one.
            let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        } else {
            super::kill_descendants(i32::try_from(std::process::id()).unwrap_or(0));
        }
        let Reap { contender: reaped, others: more, children_left } = reap_all(contender);
        ended = reaped.or(ended);
        others += more;
        if !children_left {
            return (ended, others);
        }
        std::thread::sleep(crate::limits::RETRY_PAUSE);
    }
}

/// The result of reaping.
struct Reap {
    contender: Option<Reaped>,
    /// Number of other reaped processes.
    others: u32,
    children_left: bool,
}

/// Reaps every child that has ended.
fn reap_all(contender: i32) -> Reap {
    let (mut ended, mut others) = (None, 0);
    loop {
        let children_left = match sys::reap_any() {
            Ok(Some(reaped)) if reaped.pid == contender => {
                ended = Some(reaped);
                continue;
            }
            Ok(Some(_)) => {
                others += 1;
                continue;
            }
            Err(Errno::EINTR) => continue,
            Ok(None) => true,
            Err(_) => false,
        };
        return Reap { contender: ended, others, children_left };
    }
}

/// Writes one line to the agent. If the agent has ended, the lifeline is closed as well.
fn tell(reports: &mut File, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let _ = reports.write_all(&line);
    }
}
