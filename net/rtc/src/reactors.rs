//! An [`Endpoint`] on each of several threads, so that one server can use all cores.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};

use netdyno_io::Waker;
use netdyno_io::hub::Thread;

use crate::endpoint::Endpoint;
use crate::engine::{ConnectionId, Handler, Port};
use crate::error::Error;
use crate::limits::THREAD_NAME;
use crate::reactor_set::start_each;
use crate::settings::Settings;

/// What a reactor executes between two turns.
type Task<H> = Box<dyn FnOnce(&mut Endpoint, &mut H) + Send>;

/// As many endpoints as [`Settings::reactors`] says, each with its own thread, port and handler. They share
/// no state. A connection stays with the reactor on which it was created, whose port is in its candidates.
/// With [`Settings::one_port`] all reactors share one port, and a reactor hands over datagrams that belong to
/// another.
///
/// Dropping it closes all connections and notifies the peers.
#[derive(Debug)]
pub struct Reactors<H> {
    all: Vec<Reactor<H>>,
}

#[derive(Debug)]
struct Reactor<H> {
    address: SocketAddr,
    waker: Waker,
    /// Its number of connections after its last turn; [`ENDED`] once it has ended.
    connections: Arc<AtomicUsize>,
    /// Why it has ended, if a system call failed.
    failure: Arc<OnceLock<Arc<io::Error>>>,
    /// `None`: it must end.
    tasks: Option<Sender<Task<H>>>,
    /// Joined by `drop`, after it was asked to end.
    _thread: Thread,
}

/// Stands for a reactor that has ended, in place of a count: larger than any count.
const ENDED: usize = usize::MAX;

/// Identifies a connection of one of several reactors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReactorConnectionId {
    /// The index of its reactor.
    pub reactor: usize,
    /// Its id within that reactor.
    pub connection: ConnectionId,
}

impl<H: Handler + Send + 'static> Reactors<H> {
    /// Binds the UDP ports and starts the threads. With port 0 the kernel chooses all ports; otherwise the
    /// first reactor gets the port of `address` and the others the following ports, or all share it
    /// ([`Settings::one_port`]). `make` creates the handler of each.
    pub fn start(
        address: SocketAddr,
        settings: &Settings,
        mut make: impl FnMut(usize) -> H,
    ) -> Result<Self, Error> {
        let endpoints = start_each(address, settings, Endpoint::bind_at)?;
        let numbered = endpoints.into_iter().enumerate();
        let all = numbered.map(|(number, endpoint)| Reactor::start(endpoint, make(number)));
        Ok(Self { all: all.collect::<Result<_, _>>()? })
    }

    /// The bound addresses, in the order of the reactors' indices.
    pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.all.iter().map(|reactor| reactor.address)
    }

    /// Creates a connection from a peer's offer, on the reactor with the fewest connections. Returns its id
    /// and the answer.
    pub fn answer(&self, offer: &str) -> Result<(ReactorConnectionId, String), Error> {
        let offer = offer.to_owned();
        self.begin(move |endpoint| endpoint.answer(&offer))
    }

    /// Creates a connection and its offer, on the reactor with the fewest connections, with one data channel
    /// of this label; see [`Endpoint::offer`].
    pub fn offer(&self, port: Port, label: &str) -> Result<(ReactorConnectionId, String), Error> {
        let label = label.to_owned();
        self.begin(move |endpoint| endpoint.offer(port, &label))
    }

    /// Runs a closure on a reactor, between two turns, with its endpoint and handler, and returns the result.
    /// Returns `Closed` if the reactor does not exist or has ended, or `Driver` with the reason if a system call
    /// failed. A handler must not call this for its own
    /// reactor: that is a deadlock.
    pub fn run<T: Send + 'static>(
        &self,
        reactor: usize,
        act: impl FnOnce(&mut Endpoint, &mut H) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let reactor = self.all.get(reactor).ok_or(Error::Closed)?;
        let (give, result) = channel();
        let connections = reactor.connections.clone();
        let task: Task<H> = Box::new(move |endpoint, handler| {
            let outcome = act(endpoint, handler);
            // Stored before the caller continues, so that its next call sees the new count.
            connections.store(endpoint.len(), Ordering::Relaxed);
            // The caller may be gone.
            let _ = give.send(outcome);
        });
        reactor.tasks.as_ref().ok_or(Error::Closed)?.send(task).map_err(|_| reactor.end())?;
        reactor.waker.wake();
        result.recv().map_err(|_| reactor.end())
    }

    fn begin(
        &self,
        act: impl FnOnce(&mut Endpoint) -> Result<(ConnectionId, String), Error> + Send + 'static,
    ) -> Result<(ReactorConnectionId, String), Error> {
        let fewest = |&reactor: &usize| self.all[reactor].connections.load(Ordering::Relaxed);
        let reactor = (0..self.all.len()).min_by_key(fewest).ok_or(Error::Closed)?;
        let (connection, description) = self.run(reactor, |endpoint, _| act(endpoint))??;
        Ok((ReactorConnectionId { reactor, connection }, description))
    }
}

impl<H: Handler + Send + 'static> Reactor<H> {
    fn start(endpoint: Endpoint, handler: H) -> Result<Self, Error> {
        let place = (endpoint.local_address(), endpoint.waker());
        Self::spawn(place, move |inbox, counted| drive(endpoint, handler, inbox, counted))
    }

    /// Runs `drive` on a thread of its own.
    fn spawn(
        (address, waker): (SocketAddr, Waker),
        drive: impl FnOnce(&Receiver<Task<H>>, Counted) -> Result<(), Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let connections = Arc::new(AtomicUsize::new(0));
        let (tasks, inbox) = channel();
        let counted = Counted(connections.clone());
        let failure = Arc::new(OnceLock::new());
        let cause = failure.clone();
        // Callers learn of the end when `inbox` is dropped, after the reason was stored.
        let turn = move || {
            if let Err(Error::Io(error)) = drive(&inbox, counted) {
                // It is set once.
                let _ = cause.set(Arc::new(error));
            }
        };
        let thread = Thread::spawn(THREAD_NAME, turn)?;
        Ok(Self { address, waker, connections, failure, tasks: Some(tasks), _thread: thread })
    }
}

impl<H> Reactor<H> {
    /// The error for callers once it has ended.
    fn end(&self) -> Error {
        self.failure.get().map_or(Error::Closed, |error| Error::Driver(error.clone()))
    }
}

impl<H> Drop for Reactor<H> {
    fn drop(&mut self) {
        self.tasks = None;
        self.waker.wake();
    }
}

/// Runs turns until the reactor must end or the system fails. `counted` is the last parameter and so dropped
/// first: no caller learns of the end while the count still attracts new connections.
fn drive<H: Handler>(
    mut endpoint: Endpoint,
    mut handler: H,
    inbox: &Receiver<Task<H>>,
    counted: Counted,
) -> Result<(), Error> {
    loop {
        endpoint.poll(None, &mut handler)?;
        loop {
            match inbox.try_recv() {
                Ok(task) => task(&mut endpoint, &mut handler),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        counted.0.store(endpoint.len(), Ordering::Relaxed);
    }
}

/// The connection count of a reactor. Its drop marks the reactor as ended, even after a panic of the handler.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use netdyno_io::Poller;
    use netdyno_rtc_core::{Event, Message};

    use super::*;
    use crate::engine::Connection;

    struct Ignore;

    impl Handler for Ignore {
        fn on_event(&mut self, _: &mut Connection<'_>, _: Event) {}
        fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
    }

    #[test]
    fn a_dead_reactor_gives_its_reason() {
        let place = || (SocketAddr::from(([127, 0, 0, 1], 9)), Poller::new().unwrap().waker());
        let failing =
            Reactor::<Ignore>::spawn(place(), |_, _| Err(Error::Io(io::ErrorKind::HostUnreachable.into())));
        let ended = Reactor::<Ignore>::spawn(place(), |_, _| Ok(()));
        let reactors = Reactors { all: vec![failing.unwrap(), ended.unwrap()] };
        let reason = |reactor| reactors.run(reactor, |_, _| ()).unwrap_err();
        let is_kept = matches!(reason(0), Error::Driver(why) if why.kind() == io::ErrorKind::HostUnreachable);
        assert!(is_kept, "{}", reason(0));
        assert!(matches!(reason(1), Error::Closed));
    }
}
