//! Requests with waiting callers.

use std::collections::HashMap;
use std::task::Waker;

use netdyno_echonet_core::{Answer, AnswerError, RequestId};

use crate::error::CallError;

#[derive(Default)]
pub(super) struct Waits(HashMap<RequestId, Wait>);

#[derive(Default)]
struct Wait {
    result: Option<Result<Answer, AnswerError>>,
    waker: Option<Waker>,
    /// Whether it uses TCP: then the driver receives the answer.
    by_tcp: bool,
}

impl Waits {
    /// Registers a request whose answer will be awaited.
    pub(super) fn begin(&mut self, id: RequestId, by_tcp: bool) {
        self.0.insert(id, Wait { by_tcp, ..Wait::default() });
    }

    /// Whether the caller of this request may receive the answer itself.
    pub(super) fn may_lead(&self, id: RequestId) -> bool {
        self.0.get(&id).is_some_and(|wait| !wait.by_tcp)
    }

    /// Takes the waker of a caller that may lead.
    pub(super) fn next_to_lead(&mut self) -> Option<Waker> {
        self.0.values_mut().filter(|wait| !wait.by_tcp).find_map(|wait| wait.waker.take())
    }

    /// Stores an answer; the waker to call is added to `woken`. Does nothing if the request was abandoned.
    pub(super) fn answer(
        &mut self,
        id: RequestId,
        result: Result<Answer, AnswerError>,
        woken: &mut Vec<Waker>,
    ) {
        if let Some(wait) = self.0.get_mut(&id) {
            wait.result = Some(result);
            woken.extend(wait.waker.take());
        }
    }

    /// Takes the answer, if it has arrived; otherwise registers the waker.
    pub(super) fn take(&mut self, id: RequestId, waker: Option<&Waker>) -> Option<Result<Answer, CallError>> {
        let Some(wait) = self.0.get_mut(&id) else { return Some(Err(CallError::Closed)) };
        if let Some(result) = wait.result.take() {
            self.0.remove(&id);
            return Some(result.map_err(CallError::from));
        }
        if let Some(waker) = waker {
            wait.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
        }
        None
    }

    /// Abandons a request; returns whether it was registered.
    pub(super) fn forget(&mut self, id: RequestId) -> bool {
        self.0.remove(&id).is_some()
    }

    /// Takes the wakers of all waiting callers.
    pub(super) fn wakers(&mut self) -> impl Iterator<Item = Waker> {
        self.0.values_mut().filter_map(|wait| wait.waker.take())
    }
}
