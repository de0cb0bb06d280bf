//! Waiting for a few descriptors with poll(2).

use std::cell::Cell;
use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Waits until a descriptor is ready or the timeout expires, and returns how many are ready: 0 after a
/// timeout or a signal. One system call.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<usize> {
    match poll(fds, timeout.map(timespec).as_ref()) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Unlimited if the time is too long to represent.
pub(crate) fn timespec(timeout: Duration) -> Timespec {
    Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

thread_local! {
    static IS_EXACT: Cell<bool> = const { Cell::new(false) };
}

/// Makes waits of this thread end as precisely as the system can. It removes the 50 us by which Linux delays
/// timers to batch them (PR_SET_TIMERSLACK). It also shortens the thread's time slice, so that it preempts
/// other threads on waking (`sched_setattr`). Costs three system calls the first time; has no effect on
/// systems other than Linux.
pub fn enable_precise_waits() {
    if !IS_EXACT.replace(true) {
        #[cfg(target_os = "linux")]
        {
            // Both fail only if a filter forbids them; waits then keep their default precision.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            let _ = crate::slice::shorten();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn timers_are_exact_and_slices_short() {
        enable_precise_waits();
        assert_eq!(rustix::thread::current_timer_slack(), Ok(1));
        let schedule = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
        match schedule.lines().find(|line| line.starts_with("se.slice")) {
            Some(line) => assert!(line.ends_with(" 100000"), "{line}"),
            None => println!("skipped: needs a kernel that reports slices"),
        }
    }
}
