//! What is to be told to the application.

use std::collections::VecDeque;

use crate::address::NodeAddress;
use crate::controller::event::ControllerEvent;
use crate::controller::request::{Answer, AnswerError, RequestId};

/// Answers always have room, since there are no more of them than requests; of what nodes tell by themselves, only so
/// much is kept.
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

    /// The answer that was told last, if it is this request's, is another one.
    pub(super) fn amend(&mut self, request: RequestId, error: AnswerError) {
        if let Some(ControllerEvent::Answer { id, result, .. }) = self.events.back_mut()
            && *id == request
        {
            *result = Err(error);
        }
    }

    pub(super) fn tell(&mut self, event: impl FnOnce() -> ControllerEvent) {
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
