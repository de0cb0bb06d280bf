//! Connections, and those that are closed because of their clients.
//!
//! Each connection carries one request. A client that has too many, or a new client if all are in use, replaces a
//! connection that waits for its client, so that slow clients cannot keep others away.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
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
use super::reports::{ConnectionRates, Reports};
use super::state::ConnectionState;

struct Open {
    since: Instant,
    state: Arc<ConnectionState>,
    task: AbortHandle,
}

/// Accepts connections, at most [`limits::CONNECTIONS_MAX`] at a time.
pub(super) async fn accept(listener: &TcpListener, responder: &Arc<Responder>, reports: &Arc<Reports>) {
    let mut connections = Connections {
        slots: Arc::new(Semaphore::new(limits::CONNECTIONS_MAX)),
        open: VecDeque::new(),
        rates: ConnectionRates::new(Instant::now()),
        reports: Arc::clone(reports),
    };
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                let Some(slot) = connections.make_room(client.ip()).await else { continue };
                let (responder, reports) = (Arc::clone(responder), Arc::clone(reports));
                let state = Arc::new(ConnectionState::new(client.ip()));
                let its_state = Arc::clone(&state);
                let task = tokio::spawn(async move {
                    serve(stream, &responder, &its_state, &reports).await;
                    drop(slot);
                });
                connections.open.push_back(Open { since: Instant::now(), state, task: task.abort_handle() });
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
    rates: ConnectionRates,
    reports: Arc<Reports>,
}

impl Connections {
    /// Waits for a slot for a connection of a client, and closes another one if necessary. `None` if it is refused.
    async fn make_room(&mut self, client: IpAddr) -> Option<OwnedSemaphorePermit> {
        if self.rates.exceeds(client, Instant::now()) {
            self.reports.report(client, "a flood of connections");
        }
        self.open.retain(|connection| !connection.task.is_finished());
        self.make_room_among_own(client)?;
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned();
            let Some(at) = replaceable(&self.open) else { return slot.await.ok() };
            // A request that has arrived is read by then.
            let due = self.open[at].since + limits::REPLACED_AFTER;
            if let Ok(slot) = timeout_at(due, slot).await {
                return slot.ok();
            }
            if self.open[at].state.is_waiting() {
                self.close(at);
                return Arc::clone(&self.slots).acquire_owned().await.ok();
            }
            self.open.retain(|connection| !connection.task.is_finished());
        }
    }

    /// Closes a connection of a client that has too many. `None` if none of them waits for it.
    fn make_room_among_own(&mut self, client: IpAddr) -> Option<()> {
        let is_own = |connection: &&Open| connection.state.client == client;
        if self.open.iter().filter(is_own).count() < limits::CONNECTIONS_PER_CLIENT_MAX {
            return Some(());
        }
        let oldest = self.open.iter().position(|it| is_own(&it) && it.state.is_waiting());
        if oldest.is_none() {
            self.reports.report(client, "too many connections: one was refused");
        }
        self.close(oldest?);
        Some(())
    }

    fn close(&mut self, at: usize) {
        if let Some(closed) = self.open.remove(at) {
            closed.task.abort();
            let event = "too many connections: one that waited for its client was closed";
            self.reports.report(closed.state.client, event);
        }
    }
}

/// The connection to close for a new one: of those that wait for their client, the oldest of the address that has most.
fn replaceable(open: &VecDeque<Open>) -> Option<usize> {
    let waiting = |connection: &&Open| connection.state.is_waiting();
    let count = |client| open.iter().filter(waiting).filter(|other| other.state.client == client).count();
    let candidates = (0..open.len()).filter(|at| open[*at].state.is_waiting());
    candidates.max_by_key(|at| (count(open[*at].state.client), Reverse(*at)))
}

/// Serves one connection, which carries one request.
async fn serve(stream: TcpStream, responder: &Responder, state: &ConnectionState, reports: &Reports) {
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
    let event = match &ended {
        Err(_) if !state.is_follower() => Some("the response was not read in time"),
        Ok(Err(error)) if error.is_timeout() => Some("no complete request in time"),
        Ok(Err(error)) if error.is_parse() => Some("invalid or too long request"),
        // Disconnects are not remarkable.
        _ => None,
    };
    if let Some(event) = event {
        reports.report(state.client, event);
    }
    tracing::debug!(?ended, "a connection ended");
}
