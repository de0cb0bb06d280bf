//! Connections, and those that are closed because of their clients.
//!
//! Each connection carries one request. If all are in use, a new one replaces a connection that waits for its client, so
//! that slow clients cannot keep others away.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::Responder;
use super::limits;
use super::state::ConnectionState;

/// An open connection.
struct Open {
    client: IpAddr,
    since: Instant,
    state: Arc<ConnectionState>,
    task: AbortHandle,
}

/// Accepts connections, at most [`limits::CONNECTIONS_MAX`] at a time.
pub(super) async fn accept(listener: &TcpListener, responder: &Arc<Responder>) {
    let mut connections = Connections {
        slots: Arc::new(Semaphore::new(limits::CONNECTIONS_MAX)),
        open: VecDeque::new(),
        refusals: Arc::default(),
    };
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                let Some(permit) = connections.make_room().await else { return };
                let (responder, refusals) = (Arc::clone(responder), Arc::clone(&connections.refusals));
                let state = Arc::<ConnectionState>::default();
                let its_state = Arc::clone(&state);
                let task = tokio::spawn(async move {
                    serve(stream, client, &responder, &its_state, &refusals).await;
                    drop(permit);
                });
                let (client, since, task) = (client.ip(), Instant::now(), task.abort_handle());
                connections.open.push_back(Open { client, since, state, task });
            }
            Err(error) => {
                // Usually the process is out of descriptors. Retry later.
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

struct Connections {
    slots: Arc<Semaphore>,
    /// The oldest first.
    open: VecDeque<Open>,
    refusals: Arc<Refusals>,
}

impl Connections {
    /// Waits for a slot, and closes a connection if necessary. `None` if the server ends.
    async fn make_room(&mut self) -> Option<OwnedSemaphorePermit> {
        loop {
            self.open.retain(|connection| !connection.task.is_finished());
            let slot = Arc::clone(&self.slots).acquire_owned();
            let Some(at) = replaceable(&self.open) else { return slot.await.ok() };
            // A request that has arrived is read by then.
            let due = self.open[at].since + limits::REPLACED_AFTER;
            if let Ok(slot) = timeout_at(due, slot).await {
                return slot.ok();
            }
            if self.open[at].state.is_waiting() {
                let replaced = self.open.remove(at)?;
                replaced.task.abort();
                let reason = "too many connections, and this one was idle";
                self.refusals.report(replaced.client, reason);
                return Arc::clone(&self.slots).acquire_owned().await.ok();
            }
        }
    }
}

/// The connection to close for a new one: of those that wait for their client, the oldest of the address that has most.
fn replaceable(open: &VecDeque<Open>) -> Option<usize> {
    let waiting = |connection: &&Open| connection.state.is_waiting();
    let count = |client| open.iter().filter(waiting).filter(|other| other.client == client).count();
    let candidates = (0..open.len()).filter(|at| open[*at].state.is_waiting());
    candidates.max_by_key(|at| (count(open[*at].client), Reverse(*at)))
}

/// Serves one connection, which carries one request.
async fn serve(
    stream: TcpStream,
    client: SocketAddr,
    responder: &Responder,
    state: &ConnectionState,
    refusals: &Refusals,
) {
    let service = service_fn(|request| async move {
        Ok::<_, std::convert::Infallible>(responder.answer(request, state).await)
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD_TIME)
        .max_buf_size(limits::HEAD_BYTES_MAX)
        .max_headers(limits::HEAD_LINES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = match timeout(limits::ANSWER_TIME, connection.as_mut()).await {
        Err(_) if state.is_follower() => timeout(limits::FOLLOW_TIME, connection).await,
        ended => ended,
    };
    let fault = match &ended {
        Err(_) if !state.is_follower() => Some("the response was not read in time"),
        Ok(Err(error)) if error.is_timeout() => Some("no complete request in time"),
        Ok(Err(error)) if error.is_parse() => Some("invalid or too long request"),
        // Disconnects are not remarkable.
        _ => None,
    };
    if let Some(reason) = fault {
        refusals.report(client.ip(), reason);
    }
    tracing::debug!(?ended, "a connection ended");
}

/// Reports connections that were closed because of their clients, at most one per [`limits::REPORT_INTERVAL`].
#[derive(Default)]
struct Refusals(Mutex<(Option<Instant>, u64)>);

impl Refusals {
    fn report(&self, client: IpAddr, reason: &str) {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, unreported) = &mut *reported;
        if last.is_some_and(|last| last.elapsed() < limits::REPORT_INTERVAL) {
            *unreported += 1;
            return;
        }
        tracing::warn!(%client, unreported, "a connection was closed: {reason}");
        (*last, *unreported) = (Some(Instant::now()), 0);
    }
}
