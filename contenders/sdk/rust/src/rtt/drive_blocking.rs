//! Runs lanes and background tasks on threads or stackful coroutines, where waiting is a blocking call.

use std::io;
use std::time::Duration;

use super::{Job, Lane, PHASE_POLL, Pacing, WORK_PAUSE, Work};
use crate::now_ns;

/// One connected socket of ping.
pub trait BlockingWire {
    /// Sends a whole message.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Receives the next message: a datagram, or the next `message_bytes` bytes of a TCP stream.
    ///
    /// UDP: returns `None` if no message arrives within [`TICK`](super::TICK). TCP may wait forever.
    fn receive(&mut self) -> io::Result<Option<&[u8]>>;
}

/// The functions for waiting.
pub trait BlockingTimer {
    /// Yields to other ready threads or coroutines.
    fn yield_now(&self);

    /// Sleeps.
    fn sleep(&self, duration: Duration);
}

/// Runs a lane over its socket until the process ends. An error of the socket ends the process with `failed`.
pub fn drive_blocking(mut lane: Lane, mut wire: impl BlockingWire, timer: impl BlockingTimer) -> ! {
    loop {
        let due_ns = loop {
            match lane.next_request() {
                Some(due_ns) => break due_ns,
                None => timer.sleep(PHASE_POLL),
            }
        };
        let mut at_ns = now_ns();
        while at_ns < due_ns {
            match lane.pacing() {
                Pacing::Spin => timer.yield_now(),
                Pacing::Timer => timer.sleep(Duration::from_nanos(due_ns - at_ns)),
            }
            at_ns = now_ns();
        }
        match wire.send(lane.message()) {
            Ok(()) => lane.handle_sent(at_ns),
            Err(error) => lane.failed(error),
        }
        loop {
            let settled = match wire.receive() {
                Ok(Some(echo)) => {
                    let at_ns = now_ns();
                    lane.handle_message(echo, at_ns)
                }
                Ok(None) => lane.handle_tick(now_ns()),
                Err(error) => lane.failed(error),
            };
            if settled {
                break;
            }
        }
    }
}

/// Waits for the warm-up, then passes each background task to `spawn`, which runs [`work_blocking`] concurrently.
pub fn background_blocking(job: &'static Job, timer: &impl BlockingTimer, spawn: impl FnMut(Work)) {
    if job.tasks == 0 {
        return;
    }
    while !job.warm() {
        timer.sleep(PHASE_POLL);
    }
    job.works().for_each(spawn);
}

/// Runs one background task forever.
pub fn work_blocking(mut work: Work, timer: impl BlockingTimer) -> ! {
    loop {
        work.run();
        timer.sleep(WORK_PAUSE);
    }
}
