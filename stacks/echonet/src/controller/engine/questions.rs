//! Requests that the controller sends on its own: node profiles, property maps and instance lists.

use std::time::Instant;

use super::Controller;
use crate::address::NodeAddress;
use crate::controller::interview::Question;
use crate::controller::peer::Peer;
use crate::controller::request::{Request, RequestError};

impl Controller {
    /// Reads a node's profile and the property maps of all its objects; [`ControllerEvent::Interviewed`]
    /// marks the end. With [`ControllerConfig::interview`] this happens automatically.
    ///
    /// # Errors
    ///
    /// The node is unknown, and the limit on nodes is reached.
    pub fn interview(&mut self, now: Instant, node: NodeAddress) -> Result<(), RequestError> {
        let slot = self.add(node).ok_or(RequestError::TooManyNodes)?;
        self.begin_interview(now, slot);
        Ok(())
    }

    /// Reads a node's list of instances.
    pub(super) fn refresh(&mut self, now: Instant, slot: u32) {
        let question = self.peers.get_mut(slot).and_then(|peer| peer.interview.refresh());
        self.ask(now, slot, question);
    }

    pub(super) fn begin_interview(&mut self, now: Instant, slot: u32) {
        let question = self.peers.get_mut(slot).and_then(Peer::begin_interview);
        self.ask(now, slot, question);
    }

    pub(super) fn ask(&mut self, now: Instant, slot: u32, question: Option<Question>) {
        let Some((purpose, eoj, epcs)) = question.map(Question::parts) else { return };
        let mut job = self.spare.pop_back().unwrap_or_default();
        // A few properties of one object: always a valid request.
        if job.fill(eoj, Request::Get(epcs), usize::MAX).is_ok() {
            job.purpose = purpose;
            self.queue(now, slot, job);
        }
    }
}
