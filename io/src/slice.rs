//! The scheduler's time slice of a thread (Linux).

use std::io;
use std::mem::size_of;

/// Shortest slice that Linux accepts, in nanoseconds.
const SHORT_NS: u64 = 100_000;

/// Requests short slices for this thread. Its share of CPU time stays the same, but it runs as soon as it
/// wakes up, because EEVDF (Linux 6.12 and later) lets it preempt threads with longer slices. Earlier kernels
/// ignore the request. Real-time threads are not changed.
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
    // SAFETY: the kernel writes at most `size` bytes, the size of `attributes`, for this thread (0),
    // without flags.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) })?;
    if ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(attributes.sched_policy as i32)) {
        return Ok(());
    }
    attributes.sched_runtime = SHORT_NS;
    // SAFETY: the kernel reads `attributes.size` bytes, a value it wrote itself, at most the size of
    // `attributes`.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
