//! Runs that somebody follows: each is looked at once a second, however many follow it, and not at all when nobody does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{sleep, timeout};

use super::limits;
use crate::pages::{Following, PageError};
use netdyno_lab_store::Store;

/// What was seen last of a run.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    Nothing,
    State(Arc<str>),
    Over,
}

/// The runs that are followed, by id.
pub(super) struct Followed {
    store: PathBuf,
    runs: Arc<Mutex<BTreeMap<String, watch::Sender<Seen>>>>,
}

impl Followed {
    pub(super) fn new(store: PathBuf) -> Followed {
        Followed { store, runs: Arc::default() }
    }

    /// Follows a run; the first who does begins to look at it.
    pub(super) fn follow(&self, run: &str) -> watch::Receiver<Seen> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = runs.get(run) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(Seen::Nothing);
        runs.insert(run.to_owned(), sender.clone());
        let (all, store, run) = (Arc::clone(&self.runs), self.store.clone(), run.to_owned());
        tokio::spawn(async move {
            look(store, &run, &sender).await;
            // Those who come later begin anew.
            all.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
            let _ = sender.send(Seen::Over);
        });
        receiver
    }
}

/// Looks at a run until it is over, or nobody follows it any more.
async fn look(store: PathBuf, run: &str, sender: &watch::Sender<Seen>) {
    let mut glance = Glance { store, run: run.to_owned(), open: None };
    while !sender.is_closed() {
        let seen = tokio::task::spawn_blocking(move || {
            let seen = glance.look();
            (glance, seen)
        });
        let Ok((back, seen)) = seen.await else { return };
        glance = back;
        match seen {
            Ok(Some(Seen::Over)) => return,
            Ok(Some(state)) => drop(sender.send(state)),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(run, %error, "a run cannot be followed");
                return;
            }
        }
        sleep(limits::LOOK_EVERY).await;
    }
}

/// The store as it is looked at.
struct Glance {
    store: PathBuf,
    run: String,
    /// The number of the store's last change, too.
    open: Option<(Store, Following, i64)>,
}

impl Glance {
    /// What is new, if anything is.
    fn look(&mut self) -> Result<Option<Seen>, PageError> {
        let (store, following, known) = match &mut self.open {
            Some(open) => open,
            None => {
                let store = Store::open(&self.store)?;
                let following = Following::of(store.load_head(&self.run)?)?;
                self.open.insert((store, following, -1))
            }
        };
        let now = store.changes()?;
        if now == *known && store.is_measured(&self.run) {
            return Ok(None);
        }
        *known = now;
        following.refresh(store)?;
        Ok(Some(if following.is_over() { Seen::Over } else { Seen::State(following.html()?.into()) }))
    }
}

/// What is seen, as server-sent events. They end with the run.
pub(super) fn events(
    seen: watch::Receiver<Seen>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = String> + Send + 'static {
    let begin = (seen, place, Step::First);
    unfold(begin, |(mut seen, place, step)| async move {
        match step {
            // Whoever is cut off asks again after this many ms.
            Step::First => return Some(("retry: 2000\n\n".to_owned(), (seen, place, Step::Now))),
            Step::Now => {}
            Step::Next => match timeout(limits::SIGN_EVERY, seen.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                // A comment: it tells us whether somebody is still there.
                Err(_) => return Some((":\n\n".to_owned(), (seen, place, Step::Next))),
            },
            Step::End => return None,
        }
        let now = seen.borrow_and_update().clone();
        Some(match now {
            Seen::Nothing => (":\n\n".to_owned(), (seen, place, Step::Next)),
            Seen::State(html) => (event("state", &html), (seen, place, Step::Next)),
            Seen::Over => (event("over", ""), (seen, place, Step::End)),
        })
    })
}

enum Step {
    First,
    Now,
    Next,
    End,
}

/// An event; each line of its data is a field.
fn event(name: &str, data: &str) -> String {
    let lines: String = data.split('\n').flat_map(|line| ["data: ", line, "\n"]).collect();
    format!("event: {name}\n{}\n", lines.replace('\r', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_ends_an_event_or_begins_a_field() {
        let text = event("state", "a\n\nevent: over\rdata: x\r\n");
        assert_eq!(text, "event: state\ndata: a\ndata: \ndata: event: overdata: x\ndata: \n\n");
    }
}
