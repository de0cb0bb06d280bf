//! One engine behind one lock, for the faces.

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
    /// The driver looks again at this time; `None`: when something happens.
    wakes_at: Option<Instant>,
    /// Whether the driver is about to look anyway.
    driver_is_awake: bool,
    /// No driver any more.
    is_over: bool,
}

/// The engine that a driver turns, and whose handles act on it directly.
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

    /// One turn of the driver. Gives the time until the next; `Err`: it is over.
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

    /// The driver is done for: all connections end.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        if !state.is_over {
            state.is_over = true;
            // What a panic left half done may panic again, which nobody who waits would survive.
            if !self.state.is_poisoned() {
                state.engine.close();
            }
            // Nobody reads its socket any more, to which the kernel may still bring what is for others at the port.
            state.engine.leave();
            state.peers.end_all();
        }
        finish(state);
        (self.kick)();
    }

    /// A new connection; gives its key among the peers.
    pub(super) fn add(&self, port: Port) -> Result<(usize, ConnectionId), Error> {
        let mut state = self.lock();
        if state.is_over {
            return Err(Error::Closed);
        }
        let id = state.engine.add(port)?;
        let key = state.peers.add(id);
        // The driver asks servers for candidates, if there are any.
        self.work(state);
        Ok((key, id))
    }

    /// Does something that may leave something to send, and sends it.
    pub(super) fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        state.engine.refresh();
        let result = act(&mut state);
        self.work(state);
        result
    }

    /// Looks at something, or changes what only the faces know.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.lock())
    }

    /// Sends what there is, on the thread that brought it: saves waking the driver. What does not fit in one turn,
    /// and time, are the driver's.
    fn work(&self, mut state: MutexGuard<'_, State>) {
        if state.driver_is_awake {
            // It takes what we leave along with all else, in larger batches.
            return finish(state);
        }
        let State { engine, peers, .. } = &mut *state;
        engine.deliver(peers);
        // The driver comes upon the same error, if it lasts.
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
        // A panic under the lock is a bug of ours that has been told already; the others go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the hub with its driver, also if that panics, or its runtime goes: handles live on elsewhere, and must not wait for
/// ever.
#[derive(Debug)]
pub(crate) struct EndOnDrop(pub(crate) Arc<Hub>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Gives the lock back, then wakes whom it concerns.
fn finish(mut state: MutexGuard<'_, State>) {
    if state.peers.woken.is_empty() {
        return;
    }
    let mut woken = std::mem::take(&mut state.peers.woken);
    drop(state);
    woken.drain(..).for_each(Waker::wake);
}
