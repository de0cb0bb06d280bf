//! One engine behind one lock, shared by a driver and all handles.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use netdyno_io::Events;
use netdyno_io::hub::{self, Drive, Guard, HubState, Launch};

use super::peers::Peers;
use crate::engine::{ConnectionId, Engine, Port};
use crate::error::Error;
use crate::limits::THREAD_NAME;
use crate::settings::Settings;
use crate::switch::PortMember;

/// What the lock guards.
#[derive(Debug)]
pub(super) struct State {
    pub(super) engine: Engine,
    pub(super) peers: Peers,
}

impl HubState for State {
    fn woken(&mut self) -> &mut Vec<Waker> {
        &mut self.peers.woken
    }

    fn end(&mut self, has_panicked: bool) {
        // After a panic, closing may panic again, and waiters would never be woken.
        if !has_panicked {
            self.engine.close();
        }
        // Nothing reads the socket any more, but the kernel may still deliver datagrams for other members
        // of the port.
        self.engine.leave();
        self.peers.end_all();
    }
}

/// A hub and the thread or task that drives it.
pub(crate) type Driver = hub::Driver<Hub>;

/// The engine that a driver runs and on which handles act directly.
#[derive(Debug)]
pub(crate) struct Hub(hub::Hub<State>);

impl Hub {
    /// Binds and starts the driver.
    pub(crate) fn start(
        launch: Launch,
        address: SocketAddr,
        settings: Settings,
        member: Option<PortMember>,
    ) -> Result<Driver, Error> {
        let hub = Self::bind(&launch, address, settings, member)?;
        Ok(launch.start(Arc::new(hub), THREAD_NAME)?)
    }

    fn bind(
        launch: &Launch,
        address: SocketAddr,
        settings: Settings,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        if let Some(member) = &member {
            member.set_kick(launch.kick());
        }
        let engine = Engine::bind(address, settings, launch.poller().clone(), member)?;
        Ok(Self(hub::Hub::new(State { engine, peers: Peers::default() }, launch.kick())))
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.0.lock().engine.local_address()
    }

    /// Adds a connection; returns its key among the peers.
    pub(super) fn add(&self, port: Port) -> Result<(usize, ConnectionId), Error> {
        let mut state = self.0.lock();
        self.check_driver()?;
        if self.0.is_over() {
            return Err(Error::Closed);
        }
        let id = state.engine.add(port)?;
        let key = state.peers.add(id);
        // The driver queries servers for candidates, if there are any.
        work(state);
        Ok((key, id))
    }

    /// An error if the driver has ended because a system call failed.
    pub(super) fn check_driver(&self) -> Result<(), Error> {
        self.0.failure().map_or(Ok(()), |error| Err(Error::Driver(error.clone())))
    }

    /// Runs a closure that may leave something to send, and sends it.
    pub(super) fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.lock();
        state.engine.refresh();
        let result = act(&mut state);
        work(state);
        result
    }

    /// Runs a closure that reads the state or changes only what belongs to handles.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock())
    }
}

impl Drive for Hub {
    fn turn(&self, events: &Events) -> io::Result<Option<Duration>> {
        let mut state = self.0.lock();
        if self.0.is_over() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let State { engine, peers } = &mut *state;
        let rest = engine.turn(events, peers);
        if let Ok(rest) = rest {
            state.sleep(Instant::now(), rest);
        }
        state.wake();
        rest
    }

    fn end(&self) {
        self.0.end();
    }

    fn fail(&self, error: io::Error) {
        #[cfg(feature = "tracing")]
        if !self.0.is_over() {
            tracing::error!(target: "netdyno_rtc", "a system call failed; all connections end: {error}");
        }
        self.0.fail(error);
    }
}

/// Sends what is pending on the calling thread, which saves waking the driver. The driver does what exceeds
/// one turn, and handles timers.
fn work(mut state: Guard<'_, State>) {
    if state.is_driver_awake() {
        // The driver will process this with other work, in larger batches.
        return state.wake();
    }
    let State { engine, peers } = &mut *state;
    engine.deliver(peers);
    // If the error persists, the driver meets it too.
    let _ = engine.flush();
    engine.deliver(peers);
    let due = engine.due();
    state.release(due);
}

#[cfg(test)]
mod tests {
    use netdyno_io::Poller;
    use netdyno_io::hub::block;
    use netdyno_rtc_core::PeerState;

    use super::*;
    use crate::handle::Peer;

    #[test]
    fn waiting_calls_survive_a_panic_of_the_driver() {
        let launch = Launch::thread(Poller::new().unwrap());
        let address = "127.0.0.1:0".parse().unwrap();
        let hub = Arc::new(Hub::bind(&launch, address, Settings::new().unwrap(), None).unwrap());
        let peer = Peer::new(hub.clone(), Arc::new(()), Port::Shared).unwrap();
        let mut driver = Driver::new(hub.clone());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| block(None, |wait| peer.poll_over(wait)));
            driver.spawn("panics", |_| panic!("a bug, for the sake of this test")).unwrap();
            waiter.join().unwrap().unwrap().unwrap();
        });
        assert_eq!(peer.state(), PeerState::Closed);
        assert!(matches!(Peer::new(hub, Arc::new(()), Port::Shared), Err(Error::Closed)));
    }

    #[test]
    fn a_dead_driver_gives_its_reason() {
        const OUT_OF_FILES: i32 = 24;
        let launch = Launch::thread(Poller::new().unwrap());
        let address = "127.0.0.1:0".parse().unwrap();
        let hub = Arc::new(Hub::bind(&launch, address, Settings::new().unwrap(), None).unwrap());
        let peer = Peer::new(hub.clone(), Arc::new(()), Port::Shared).unwrap();
        for code in [OUT_OF_FILES, 1] {
            hub.fail(io::Error::from_raw_os_error(code));
            let failed =
                [peer.create_offer().err(), Peer::new(hub.clone(), Arc::new(()), Port::Shared).err()];
            for error in failed.map(Option::unwrap) {
                let is_first =
                    matches!(&error, Error::Driver(why) if why.raw_os_error() == Some(OUT_OF_FILES));
                assert!(is_first, "{error}");
            }
        }
        assert_eq!(peer.state(), PeerState::Closed);
    }
}
