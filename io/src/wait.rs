//! Waiting for a few descriptors by poll(2).

use std::cell::Cell;
use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Waits until one is ready, for so long at the most, and says how many are: 0 if none was in time, or a signal came. One system
/// call.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<usize> {
    match poll(fds, timeout.map(timespec).as_ref()) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Without end if it is too long to be told (292 thousand million years).
pub(crate) fn timespec(timeout: Duration) -> Timespec {
    Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

thread_local! {
    static IS_EXACT: Cell<bool> = const { Cell::new(false) };
}

/// From now on waits of this thread end when they are due, as exactly as the system can: without the 50 us that Linux adds, to end several at
/// once (PR_SET_TIMERSLACK), and before other threads have finished their slices (`sched_setattr`). Costs three system calls the first time; other
/// systems than Linux are left as they are.
pub fn wait_exactly() {
    if !IS_EXACT.replace(true) {
        #[cfg(target_os = "linux")]
        {
            // Both are refused only where a filter forbids them: then waits are what they were.
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
        wait_exactly();
        assert_eq!(rustix::thread::current_timer_slack(), Ok(1));
        let told = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
        match told.lines().find(|line| line.starts_with("se.slice")) {
            Some(line) => assert!(line.ends_with(" 100000"), "{line}"),
            None => println!("skipped: needs a kernel that tells slices"),
        }
    }
}
