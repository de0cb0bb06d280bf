//! How long the scheduler lets a thread run before another one's turn comes (Linux).

use std::io;
use std::mem::size_of;

/// Nanoseconds: the least that Linux takes.
const SHORT_NS: u64 = 100_000;

/// Asks for short slices for this thread, which has the same share of a CPU, but runs as soon as it wakes up: a thread with longer ones does
/// not finish its own before (EEVDF, Linux 6.12 and later; earlier ones ignore it). Threads that are in real time stay as they are.
#[allow(unsafe_code)]
pub(crate) fn shorten() -> io::Result<()> {
    let size = size_of::<libc::sched_attr>() as u32;
    let mut attributes = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes no more than `size` bytes, which are those of `attributes`, for this thread (0), without flags.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) })?;
    if ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(attributes.sched_policy as i32)) {
        return Ok(());
    }
    attributes.sched_runtime = SHORT_NS;
    // SAFETY: the kernel reads `attributes.size` bytes, which it has written itself, at most all of `attributes`.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
