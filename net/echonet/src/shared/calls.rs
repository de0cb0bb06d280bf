//! Calls of a controller that wait for answers.

use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Instant;

use netdyno_echonet_core::{Answer, Controller, Eoj, NodeAddress, Request, RequestId};

use netdyno_io::DatagramBatch;
use netdyno_io::hub::{Wait, block_forever, thread_waker};

use super::hub::{Hub, finish, release};
use crate::engine::Engine;
use crate::error::CallError;
use crate::limits::WAIT;

impl Hub<Controller> {
    /// Starts a request whose answer will be awaited.
    pub(crate) fn begin(
        &self,
        node: NodeAddress,
        eoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, CallError> {
        if self.is_over() {
            return Err(CallError::Closed);
        }
        let mut state = self.lock();
        let now = Instant::now();
        let id = state.core.request(now, node, eoj, request)?;
        let by_tcp = state.core.is_asked_by_tcp(node);
        state.waits.begin(id, by_tcp);
        if !by_tcp {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        finish(state, now);
        Ok(id)
    }

    /// The answer, once it has been received.
    pub(crate) fn poll_answer(&self, id: RequestId, wait: &Wait<'_>) -> Poll<Result<Answer, CallError>> {
        let result = self.lock().waits.take(id, Some(wait.waker()));
        result.or_else(|| self.is_over().then_some(Err(CallError::Closed))).map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits for the answer and receives meanwhile, so that the waiting thread reads from the kernel
    /// directly. TCP messages are received by the driver.
    pub(crate) fn wait_answer(&self, id: RequestId) -> Result<Answer, CallError> {
        if !self.lock().waits.may_lead(id) {
            return block_forever(|wait| self.poll_answer(id, wait));
        }
        loop {
            if let Some(result) = self.lock().waits.take(id, None) {
                return result;
            }
            if let Some(result) = self.with_lead(|batch| self.lead(batch, id)) {
                return result;
            }
            self.parked.fetch_add(1, Ordering::SeqCst);
            let result = self.lock().waits.take(id, Some(&thread_waker()));
            // The leader may have stopped receiving before it noticed this waiting thread: then take the
            // lead.
            if result.is_none() && self.is_led() {
                let left = self.lock().core.left(Instant::now(), WAIT);
                std::thread::park_timeout(left);
            }
            self.parked.fetch_sub(1, Ordering::SeqCst);
            if let Some(result) = result {
                return result;
            }
            self.tick();
        }
    }

    /// Abandons a request.
    #[cfg(feature = "tokio")]
    pub(crate) fn forget(&self, id: RequestId) {
        let mut state = self.lock();
        if state.waits.forget(id) {
            let now = Instant::now();
            state.core.cancel(now, id);
            finish(state, now);
        }
    }

    /// Receives until the answer has arrived.
    fn lead(&self, batch: &mut DatagramBatch, id: RequestId) -> Result<Answer, CallError> {
        loop {
            let left = self.lock().core.left(Instant::now(), WAIT);
            let received = self.links.wait(batch, left);
            let mut state = self.lock();
            let now = Instant::now();
            match received {
                Ok(Some(number)) => state.handle_batch(now, number, batch),
                Ok(None) => {}
                Err(_) => {
                    state.waits.forget(id);
                    return Err(CallError::Closed);
                }
            }
            state.core.handle_timers(now);
            state.settle(now);
            let result = state.waits.take(id, None);
            release(state, now);
            if let Some(result) = result {
                return result;
            }
            if self.is_over() {
                return Err(CallError::Closed);
            }
        }
    }
}
