//! Messages that the system could not send.

use std::io::ErrorKind;
use std::time::Instant;

use super::Controller;
use crate::controller::request::{AnswerError, RequestId};
use crate::tid::Tid;

/// A request whose message was handed to the caller.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) slot: u32,
    pub(super) tid: Tid,
    /// The request, if sending this message completed it.
    pub(super) over: Option<RequestId>,
}

impl Controller {
    /// Reports that the last message of [`poll_transmit`](Self::poll_transmit) or [`handle`](Self::handle)
    /// could not be sent for a lasting reason, such as a missing route. The request it belongs to, if any,
    /// ends with [`AnswerError::Unsent`]. Do not report temporary failures: they are equivalent to packet
    /// loss.
    pub fn handle_unsent(&mut self, now: Instant, error: ErrorKind) {
        self.stats.unsent += 1;
        let Some(Launched { slot, tid, over }) = self.launched.take() else { return };
        let error = AnswerError::Unsent(error);
        if let Some(id) = over {
            self.events.amend(id, error);
        } else if let Some(job) = self.peers.get_mut(slot).and_then(|peer| peer.unsent(tid)) {
            self.in_flight -= 1;
            self.failed(slot);
            self.finish(now, slot, job, Err(error));
            self.peers.schedule(now, slot);
        }
    }
}
