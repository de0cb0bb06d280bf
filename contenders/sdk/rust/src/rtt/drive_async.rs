//! Runs lanes and background tasks on an asynchronous runtime. Static dispatch avoids boxing and allocation per request;
//! a future is `Send` if the adapter's wire and timer are.

use std::io;
use std::time::Duration;

use super::{Job, Lane, PHASE_POLL, Pacing, WORK_PAUSE, Work};
use crate::now_ns;

/// One connected socket of ping.
#[allow(async_fn_in_trait)] // whether the futures are Send depends on the adapter's types
pub trait Wire {
    /// Prepares the message that is sent next. It is called before the wait until the message is due, so that the
    /// runtime's preparations are not measured.
    fn prepare(&mut self, _message: &[u8]) {}

    /// Sends the whole prepared message.
    async fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Receives the next message: a datagram, or the next `message_bytes` bytes of a TCP stream.
    ///
    /// UDP: returns `None` if no message arrives within [`TICK`](super::TICK), without a timer per message.
    /// TCP may wait forever.
    async fn receive(&mut self) -> io::Result<Option<&[u8]>>;
}

/// The runtime's functions for waiting.
#[allow(async_fn_in_trait)] // as above
pub trait Timer {
    /// Yields to other ready tasks.
    async fn yield_now(&self);

    /// Sleeps with the runtime's timer.
    async fn sleep(&self, duration: Duration);

    /// Sleeps until this time of `CLOCK_MONOTONIC`. Override it if the runtime has absolute timers;
    /// [`instant`](super::instant) converts the time.
    async fn sleep_until(&self, due_ns: u64) {
        self.sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns()))).await;
    }
}

/// Runs a lane over its socket until the process ends. An error of the socket ends the process with `failed`.
pub async fn drive<W: Wire, T: Timer>(mut lane: Lane, mut wire: W, timer: T) -> ! {
    loop {
        let due_ns = loop {
            match lane.next_request() {
                Some(due_ns) => break due_ns,
                None => timer.sleep(PHASE_POLL).await,
            }
        };
        wire.prepare(lane.message());
        let mut at_ns = now_ns();
        while at_ns < due_ns {
            match lane.pacing() {
                Pacing::Spin => timer.yield_now().await,
                Pacing::Timer => timer.sleep_until(due_ns).await,
            }
            at_ns = now_ns();
        }
        match wire.send(lane.message()).await {
            Ok(()) => lane.handle_sent(at_ns),
            Err(error) => lane.failed(error),
        }
        loop {
            let settled = match wire.receive().await {
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

/// Waits for the warm-up, then passes each background task to `spawn`, which runs [`work`] as a task of the runtime.
pub async fn background<T: Timer>(job: &'static Job, timer: &T, mut spawn: impl FnMut(Work)) {
    if job.tasks == 0 {
        return;
    }
    while !job.warm() {
        timer.sleep(PHASE_POLL).await;
    }
    job.works().for_each(&mut spawn);
}

/// Runs one background task forever.
pub async fn work<T: Timer>(mut work: Work, timer: T) -> ! {
    loop {
        work.run();
        timer.sleep(WORK_PAUSE).await;
    }
}
