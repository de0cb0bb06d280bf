//! Live updates of runs. Each followed run is polled once per second, independent of the number of its
//! followers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::limits;
use super::permits::{Permit, Permits};
use crate::pages::{Following, PageError};
use netdyno_lab_store::{Store, StoreError};

/// Polls take turns with pages as one more client, since they serve all followers.
const POLLING: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Last known state of a run.
#[derive(Debug, Clone)]
pub(super) enum RunState {
    Unknown,
    State(Arc<str>),
    Over,
}

/// Followed runs, by id.
pub(super) struct Followed {
    store: PathBuf,
    renderers: Arc<Permits>,
    runs: Arc<Mutex<BTreeMap<String, watch::Sender<RunState>>>>,
}

impl Followed {
    pub(super) fn new(store: PathBuf, renderers: Arc<Permits>) -> Followed {
        Followed { store, renderers, runs: Arc::default() }
    }

    /// Follows a run. The first follower starts the polling task.
    pub(super) fn follow(&self, run: &str) -> watch::Receiver<RunState> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = runs.get(run) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(RunState::Unknown);
        runs.insert(run.to_owned(), sender.clone());
        let (all, renderers) = (Arc::clone(&self.runs), Arc::clone(&self.renderers));
        let (store, run) = (self.store.clone(), run.to_owned());
        tokio::spawn(async move {
            poll(store, &run, &sender, &renderers).await;
            // Later followers start a new task.
            all.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
            let _ = sender.send(RunState::Over);
        });
        receiver
    }
}

/// Polls a run until it ends or has no followers.
async fn poll(store: PathBuf, run: &str, sender: &watch::Sender<RunState>, renderers: &Arc<Permits>) {
    let mut poller = Poller { store, run: run.to_owned(), open: None };
    while !sender.is_closed() {
        let permit = tokio::select! {
            permit = renderers.acquire(POLLING) => permit,
            () = sender.closed() => return,
        };
        let task = tokio::task::spawn_blocking(move || {
            let state = poller.poll();
            drop(permit);
            (poller, state)
        });
        let Ok((returned, state)) = task.await else { return };
        poller = returned;
        match state {
            Ok(Some(RunState::Over)) => return,
            Ok(Some(state)) => drop(sender.send(state)),
            Ok(None) => {}
            // Any client can ask for any name.
            Err(PageError::Store(StoreError::NoRun(_))) => return,
            Err(error) => {
                tracing::warn!(run, %error, "a run can no longer be followed");
                return;
            }
        }
        sleep(limits::POLL_INTERVAL).await;
    }
}

/// Polls one run.
struct Poller {
    store: PathBuf,
    run: String,
    /// The open store, the run, and the store's change counter at the last poll.
    open: Option<(Store, Following, i64)>,
}

impl Poller {
    /// Returns the new state if it has changed.
    fn poll(&mut self) -> Result<Option<RunState>, PageError> {
        let (store, following, known) = match &mut self.open {
            Some(open) => open,
            None => {
                let store = Store::open(&self.store)?;
                let following = Following::new(store.load_head(&self.run)?)?;
                self.open.insert((store, following, -1))
            }
        };
        let changes = store.changes()?;
        if changes == *known && store.is_measured(&self.run) {
            return Ok(None);
        }
        *known = changes;
        following.refresh(store)?;
        Ok(Some(if following.is_over() { RunState::Over } else { RunState::State(following.html()?.into()) }))
    }
}

/// States of a run as server-sent events. The stream ends with the run.
pub(super) fn events(
    states: watch::Receiver<RunState>,
    permit: Permit,
) -> impl Stream<Item = String> + Send + 'static {
    let begin = (states, permit, Step::First);
    unfold(begin, |(mut states, permit, step)| async move {
        match step {
            // Reconnection delay of the client, in ms.
            Step::First => return Some(("retry: 2000\n\n".to_owned(), (states, permit, Step::Current))),
            Step::Current => {}
            Step::Next => match timeout(limits::KEEPALIVE_INTERVAL, states.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                // A comment as a keepalive: it detects disconnected clients.
                Err(_) => return Some((":\n\n".to_owned(), (states, permit, Step::Next))),
            },
            Step::End => return None,
        }
        let state = states.borrow_and_update().clone();
        Some(match state {
            RunState::Unknown => (":\n\n".to_owned(), (states, permit, Step::Next)),
            RunState::State(html) => (event("state", &html), (states, permit, Step::Next)),
            RunState::Over => (event("over", ""), (states, permit, Step::End)),
        })
    })
}

enum Step {
    First,
    Current,
    Next,
    End,
}

/// Formats an event, with one `data` field per line.
fn event(name: &str, data: &str) -> String {
    let lines: String = data.split('\n').flat_map(|line| ["data: ", line, "\n"]).collect();
    format!("event: {name}\n{}\n", lines.replace('\r', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_an_event_or_start_a_field() {
        let text = event("state", "a\n\nevent: over\rdata: x\r\n");
        assert_eq!(text, "event: state\ndata: a\ndata: \ndata: event: overdata: x\ndata: \n\n");
    }
}
