//! Support for adapters of Tokio libraries in the `datachannel` workload: one task per connection. Feature `tokio`.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::Receiver as Events;

use tokio::sync::{mpsc, watch};

use crate::datachannel::{Candidate, Job, Order};
use crate::{Event, Phase};

/// The maximum number of queued signals per connection.
const MAX_QUEUED_SIGNALS: usize = 64;

/// A signal of the other role about one connection.
#[derive(Debug)]
pub enum Remote {
    /// The description (SDP). It always comes first.
    Description(String),
    /// A candidate.
    Candidate(Candidate),
}

/// The signals of the other role about one connection. The channel is never closed.
pub type Remotes = mpsc::Receiver<Remote>;

/// A task's view of the phases.
#[derive(Debug, Clone)]
pub struct Phases(watch::Receiver<Option<Phase>>);

impl Phases {
    /// Waits until `phase` has started.
    pub async fn begun(&mut self, phase: Phase) {
        if self.0.wait_for(|current| *current >= Some(phase)).await.is_err() {
            // The thread that reports phases has ended: the process is about to exit.
            std::future::pending().await
        }
    }
}

/// Serves the lab, calls `ready`, then runs `connect` for each connection in a separate task. An error of a task ends
/// the process with `failed`; the job ends it on `stop`.
pub async fn run<F, R, E>(job: &Arc<Job>, events: Events<Event>, ready: impl FnOnce(), connect: F)
where
    F: Fn(Arc<Job>, usize, Remotes, Phases) -> R,
    R: Future<Output = Result<(), E>> + Send + 'static,
    E: Display,
{
    let (phase, phases) = watch::channel(None);
    let (senders, remotes): (Vec<_>, Vec<_>) =
        (0..job.pairs).map(|_| mpsc::channel(MAX_QUEUED_SIGNALS)).unzip();
    job.serve(events, move |order| match order {
        Order::Start(begun) => drop(phase.send_replace(Some(begun))),
        // If the receiver was dropped, the task has ended the process or needs no more signals.
        Order::Remote(i, sdp) => drop(senders[i].blocking_send(Remote::Description(sdp))),
        Order::Candidate(i, candidate) => drop(senders[i].blocking_send(Remote::Candidate(candidate))),
    });
    ready();
    for (i, remotes) in remotes.into_iter().enumerate() {
        let job = Arc::clone(job);
        let connection = connect(Arc::clone(&job), i, remotes, Phases(phases.clone()));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                job.failed(i, error);
            }
        });
    }
    std::future::pending().await
}
