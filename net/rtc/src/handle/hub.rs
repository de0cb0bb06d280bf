//! One engine behind one lock, shared by a driver and all handles.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use netdyno_io::{Events, Poller};

use super::peers::Peers;
use crate::engine::{ConnectionId, Engine, Port};
use crate::error::Error;
use crate::settings::Settings;
use crate::switch::{Kick, PortMember};

/// What the lock guards.
#[derive(Debug)]
pub(super) struct State {
    pub(super) engine: Engine,
    pub(super) peers: Peers,
    /// When the driver runs its next turn; `None`: when something happens.
    wakes_at: Option<Instant>,
    /// Whether the driver is about to run a turn anyway.
    driver_is_awake: bool,
    /// The driver has ended.
    is_over: bool,
}

/// The engine that a driver runs and on which handles act directly.
pub(crate) struct Hub {
    state: Mutex<State>,
    kick: Kick,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn bind(
        address: SocketAddr,
        settings: Settings,
        poller: Arc<Poller>,
        kick: Kick,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        if let Some(member) = &member {
            member.set_kick(kick.clone());
        }
        let engine = Engine::bind(address, settings, poller, member)?;
        let state =
            State { engine, peers: Peers::default(), wakes_at: None, driver_is_awake: false, is_over: false };
        Ok(Self { state: Mutex::new(state), kick })
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.lock().engine.local_address()
    }

    /// Runs one turn. Returns the time until the next; `Err`: the hub is over or the system failed.
    pub(crate) fn turn(&self, events: &Events) -> io::Result<Option<Duration>> {
        let mut state = self.lock();
        if state.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let State { engine, peers, .. } = &mut *state;
        let rest = engine.turn(events, peers);
        if let Ok(rest) = rest {
            state.driver_is_awake = rest == Some(Duration::ZERO);
            state.wakes_at = rest.and_then(|rest| Instant::now().checked_add(rest));
        }
        finish(state);
        rest
    }

    /// Ends the hub: all connections end.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        if !state.is_over {
            state.is_over = true;
            // After a panic, closing may panic again, and waiters would never be woken.
            if !self.state.is_poisoned() {
                state.engine.close();
            }
            // Nothing reads the socket any more, but the kernel may still deliver datagrams for other members
            // of the port.
            state.engine.leave();
            state.peers.end_all();
        }
        finish(state);
        (self.kick)();
    }

    /// Adds a connection; returns its key among the peers.
    pub(super) fn add(&self, port: Port) -> Result<(usize, ConnectionId), Error> {
        let mut state = self.lock();
        if state.is_over {
            return Err(Error::Closed);
        }
        let id = state.engine.add(port)?;
        let key = state.peers.add(id);
        // The driver queries servers for candidates, if there are any.
        self.work(state);
        Ok((key, id))
    }

    /// Runs a closure that may leave something to send, and sends it.
    pub(super) fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        state.engine.refresh();
        let result = act(&mut state);
        self.work(state);
        result
    }

    /// Runs a closure that reads the state or changes only what belongs to handles.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.lock())
    }

    /// Sends what is pending on the calling thread, which saves waking the driver. The driver does what
    /// exceeds one turn, and handles timers.
    fn work(&self, mut state: MutexGuard<'_, State>) {
        if state.driver_is_awake {
            // The driver will process this with other work, in larger batches.
            return finish(state);
        }
        let State { engine, peers, .. } = &mut *state;
        engine.deliver(peers);
        // If the error persists, the driver meets it too.
        let _ = engine.flush();
        engine.deliver(peers);
        let due = engine.due();
        let late = match (due, state.wakes_at) {
            (Some(due), Some(wakes_at)) => due < wakes_at,
            (due, _) => due.is_some(),
        };
        if late {
            state.driver_is_awake = true;
        }
        finish(state);
        if late {
            (self.kick)();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug that was already reported; other connections continue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the hub together with its driver, even if the driver panics or its runtime shuts down, so that
/// waiting handles are woken.
#[derive(Debug)]
pub(crate) struct EndOnDrop(pub(crate) Arc<Hub>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Releases the lock, then calls the collected wakers.
fn finish(mut state: MutexGuard<'_, State>) {
    if state.peers.woken.is_empty() {
        return;
    }
    let mut woken = std::mem::take(&mut state.peers.woken);
    drop(state);
    woken.drain(..).for_each(Waker::wake);
}
