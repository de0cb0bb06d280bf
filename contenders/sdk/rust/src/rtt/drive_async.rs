//! Runs lanes and background tasks on an asynchronous runtime. By static dispatch: no boxing, no allocation a request,
//! and a future is `Send` where the adapter's wire and timer are.

use std::io;
use std::time::Duration;

use super::{Job, Lane, PHASE_POLL, Pacing, WORK_PAUSE, Work};
use crate::now_ns;

/// One connected socket of ping.
#[allow(async_fn_in_trait)] // whether the futures are Send follows from the adapter's types
pub trait Wire {
    /// Takes the message that is sent next, before the wait until it is due: what the runtime needs done to it stays
    /// outside the time that is measured.
    fn prepare(&mut self, _message: &[u8]) {}

    /// Sends a whole message, the one that was prepared.
    async fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// The next message: a datagram, or the next `message_bytes` bytes of a TCP stream.
    ///
    /// UDP: nothing if none has come, at least once in [`TICK`](super::TICK). It should cost no timer a message.
    /// TCP may wait for ever.
    async fn receive(&mut self) -> io::Result<Option<&[u8]>>;
}

/// The runtime's own ways to wait.
#[allow(async_fn_in_trait)] // as above
pub trait Timer {
    /// Lets the runtime do what else is ready.
    async fn yield_now(&self);

    /// Sleeps by the runtime's timer.
    async fn sleep(&self, duration: Duration);

    /// Sleeps until that moment of `CLOCK_MONOTONIC`. To be given where the runtime has absolute timers;
    /// [`instant`](super::instant) converts.
    async fn sleep_until(&self, due_ns: u64) {
        self.sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns()))).await;
    }
}

/// Runs a lane over its socket. Ends with the process only; an error of the socket ends that with `failed`.
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

/// Waits for the warm-up, then hands each background task to `spawn`, which runs [`work`] as a task of the runtime.
pub async fn background<T: Timer>(job: &'static Job, timer: &T, mut spawn: impl FnMut(Work)) {
    if job.tasks == 0 {
        return;
    }
    while !job.warm() {
        timer.sleep(PHASE_POLL).await;
    }
    job.works().for_each(&mut spawn);
}

/// One background task, for ever.
pub async fn work<T: Timer>(mut work: Work, timer: T) -> ! {
    loop {
        work.run();
        timer.sleep(WORK_PAUSE).await;
    }
}
