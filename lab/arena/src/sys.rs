//! System calls without a safe interface in the standard library or nix.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, Signal};
use nix::unistd::{ForkResult, Pid};

use super::messages::{Reaped, Usage};

/// Forks. Only for single-threaded programs.
pub(crate) fn fork_single_threaded() -> nix::Result<ForkResult> {
    // SAFETY: the agent never starts a thread (its event loop is poll(2)), so the child's copy of memory holds no lock
    // of a thread that does not exist in it, and may go on to run ordinary code.
    unsafe { nix::unistd::fork() }
}

/// Writing to a closed pipe returns EPIPE instead of ending the process.
pub(crate) fn ignore_sigpipe() -> nix::Result<()> {
    // SAFETY: SigIgn installs no handler, so no code of ours runs in signal context.
    unsafe { nix::sys::signal::signal(Signal::SIGPIPE, SigHandler::SigIgn) }.map(drop)
}

/// Creates a TUN device of this name, without packet information, in the current network namespace. It exists as long
/// as the file. Reads and writes are packets, starting at the IP header, and do not block.
pub(crate) fn tun(name: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: zeroed memory is a valid ifreq: integers and arrays of them.
    let mut request = unsafe { MaybeUninit::<libc::ifreq>::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns.
    Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(file)
}

/// Runs `prepare` in the new process, between fork and exec. Only for single-threaded programs.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the caller has a single thread, so after fork no lock is held by a thread that is gone, and `prepare` may
    // allocate and use the standard library.
    unsafe { command.pre_exec(prepare) };
}

/// Reaps any ended child without waiting. `None`: none has ended yet. `ECHILD`: there is no child.
pub(crate) fn reap_any() -> nix::Result<Option<Reaped>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for writes for the length of the call; rusage is plain old data.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if Errno::result(pid)? == 0 {
        return Ok(None);
    }
    // SAFETY: zeroed memory is a valid rusage, whether or not the kernel filled it.
    let usage = unsafe { usage.assume_init() };
    let exited = libc::WIFEXITED(status);
    Ok(Some(Reaped {
        pid,
        code: exited.then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        usage: Usage {
            cpu_ns: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
            max_rss_bytes: non_negative(usage.ru_maxrss) * 1024,
            context_switches: non_negative(usage.ru_nvcsw) + non_negative(usage.ru_nivcsw),
        },
    }))
}

/// Ends this process immediately: no destructor, no exit handler, no buffered output of the parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// The calling thread runs only when no other thread of a higher priority is runnable on its CPU (sched(7), SCHED_IDLE).
pub(crate) fn schedule_when_idle() -> nix::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one sched_param, which lives until the call returns; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
    Errno::result(result).map(drop)
}

/// Sends SIGKILL; the process may have ended already.
pub(crate) fn kill_quietly(pid: i32) {
    let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
}

fn nanoseconds(time: libc::timeval) -> u64 {
    non_negative(time.tv_sec) * 1_000_000_000 + non_negative(time.tv_usec) * 1_000
}

fn non_negative(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
