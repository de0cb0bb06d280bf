//! For adapters of Tokio libraries to the `datachannel` workload: a task a connection. Feature `tokio`.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::Receiver as Events;

use tokio::sync::{mpsc, watch};

use crate::datachannel::{Candidate, Job, Order};
use crate::{Event, Phase};

/// Signals of one connection that may wait for its task.
const MAX_QUEUED_SIGNALS: usize = 64;

/// From the other role, about one connection.
#[derive(Debug)]
pub enum Remote {
    /// Its description, in SDP; always the first.
    Description(String),
    /// One more candidate.
    Candidate(Candidate),
}

/// What comes from the other role about one connection, as long as the process lives.
pub type Remotes = mpsc::Receiver<Remote>;

/// The phases, seen from a task.
#[derive(Debug, Clone)]
pub struct Phases(watch::Receiver<Option<Phase>>);

impl Phases {
    /// Waits until `phase` has begun.
    pub async fn begun(&mut self, phase: Phase) {
        if self.0.wait_for(|current| *current >= Some(phase)).await.is_err() {
            // The thread that tells of phases is gone: the process is on its way out.
            std::future::pending().await
        }
    }
}

/// Serves the lab, calls `ready`, then runs `connect` once a connection, each in a task of its own. An error that
/// one returns ends the process with `failed`; the job ends it on `stop`.
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
        // A task that dropped its end has ended the process or is done with signals.
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
