//! Queue of events for the application.

use std::collections::VecDeque;

use crate::address::NodeAddress;
use crate::controller::event::ControllerEvent;
use crate::controller::request::{Answer, AnswerError, RequestId};

/// Answers always fit, since there are at most as many as requests. The number of other events is limited.
#[derive(Debug, Default)]
pub(super) struct Events {
    events: VecDeque<ControllerEvent>,
    others: usize,
    max_others: usize,
    pub(super) dropped: u64,
}

impl Events {
    pub(super) fn new(max_others: usize) -> Self {
        Self { max_others, ..Self::default() }
    }

    pub(super) fn answer(&mut self, id: RequestId, node: NodeAddress, result: Result<Answer, AnswerError>) {
        self.events.push_back(ControllerEvent::Answer { id, node, result });
    }

    /// Replaces the result of the last queued answer if it belongs to this request.
    pub(super) fn amend(&mut self, request: RequestId, error: AnswerError) {
        if let Some(ControllerEvent::Answer { id, result, .. }) = self.events.back_mut()
            && *id == request
        {
            *result = Err(error);
        }
    }

    pub(super) fn push(&mut self, event: impl FnOnce() -> ControllerEvent) {
        if self.others < self.max_others {
            self.others += 1;
            self.events.push_back(event());
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn poll(&mut self) -> Option<ControllerEvent> {
        let event = self.events.pop_front()?;
        self.others -= usize::from(!matches!(event, ControllerEvent::Answer { .. }));
        Some(event)
    }
}
