//! Messages that the system would not send.

use std::io::ErrorKind;
use std::time::Instant;

use super::Controller;
use crate::controller::request::{AnswerError, RequestId};
use crate::tid::Tid;

/// A request whose message was given to be sent.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) slot: u32,
    pub(super) tid: Tid,
    /// It is over with that.
    pub(super) over: Option<RequestId>,
}

impl Controller {
    /// The message that [`poll_transmit`](Self::poll_transmit) or [`handle`](Self::handle) gave last could not be sent, for a reason that lasts, such as no
    /// way to the node: the request that it is of, if there is one, ends as [`AnswerError::Unsent`]. Of what could not be sent just now nobody
    /// need be told: it is lost, as any datagram may be.
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
