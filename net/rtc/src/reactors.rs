//! An [`Endpoint`] on each of several threads: all cores for one server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use netdyno_io::Waker;

use crate::driver::Thread;
use crate::endpoint::Endpoint;
use crate::engine::{ConnectionId, Handler, Port};
use crate::error::Error;
use crate::reactor_set::start_each;
use crate::settings::Settings;

/// What a reactor is asked to do between two turns.
type Task<H> = Box<dyn FnOnce(&mut Endpoint, &mut H) + Send>;

/// As many endpoints as [`Settings::reactors`] says, each with a thread, a port and a handler of its own. They share nothing, so
/// that what one does costs the others nothing; a connection stays with the one that it was made on, whose port its candidates
/// name. With [`Settings::one_port`] they share the port, and hand over what comes to the wrong one.
///
/// Dropping it ends all connections, and tells the peers.
#[derive(Debug)]
pub struct Reactors<H> {
    all: Vec<Reactor<H>>,
}

#[derive(Debug)]
struct Reactor<H> {
    address: SocketAddr,
    waker: Waker,
    /// Connections that it has had after its last turn; [`ENDED`] once it has none and will have none.
    connections: Arc<AtomicUsize>,
    /// None: it is to end.
    tasks: Option<Sender<Task<H>>>,
    /// Joined when it has been told to end, by `drop`.
    _thread: Thread,
}

/// In place of a count: more than all that live.
const ENDED: usize = usize::MAX;

/// A connection of one of several reactors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReactorConnectionId {
    /// The number of its reactor, from 0.
    pub reactor: usize,
    /// What it is called there.
    pub connection: ConnectionId,
}

impl<H: Handler + Send + 'static> Reactors<H> {
    /// Binds the UDP ports, and starts the threads. With a port of 0 the kernel chooses all; else `address` has the first, and the
    /// others have those behind it, or the same ([`Settings::one_port`]). `make` gives the handler of each.
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

    /// The addresses that they are bound to, in the order of their numbers.
    pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.all.iter().map(|reactor| reactor.address)
    }

    /// A new connection by a peer's offer, where there are fewest, and the answer to it.
    pub fn answer(&self, offer: &str) -> Result<(ReactorConnectionId, String), Error> {
        let offer = offer.to_owned();
        self.begin(move |endpoint| endpoint.answer(&offer))
    }

    /// A new connection where there are fewest, and its offer, with one data channel of this label; see [`Endpoint::offer`].
    pub fn offer(&self, port: Port, label: &str) -> Result<(ReactorConnectionId, String), Error> {
        let label = label.to_owned();
        self.begin(move |endpoint| endpoint.offer(port, &label))
    }

    /// Has the reactor with this number do something with its endpoint and its handler, between two turns, and waits for what comes
    /// of it. `Closed` if there is none, or it has ended; not to be called by a handler, whose reactor would wait for itself.
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
            // Before who asked goes on: what it asks for next must not go by what was before.
            connections.store(endpoint.len(), Ordering::Relaxed);
            // Nobody takes it if who asked is gone.
            let _ = give.send(outcome);
        });
        reactor.tasks.as_ref().ok_or(Error::Closed)?.send(task).map_err(|_| Error::Closed)?;
        reactor.waker.wake();
        result.recv().map_err(|_| Error::Closed)
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
        let (address, waker) = (endpoint.local_address(), endpoint.waker());
        let connections = Arc::new(AtomicUsize::new(0));
        let (tasks, inbox) = channel();
        let counted = Counted(connections.clone());
        // A system that fails has ended the connections; who asks is told that they are closed.
        let turn = move || drop(drive(endpoint, handler, &inbox, counted));
        Ok(Self { address, waker, connections, tasks: Some(tasks), _thread: Thread::spawn(turn)? })
    }
}

impl<H> Drop for Reactor<H> {
    fn drop(&mut self) {
        self.tasks = None;
        self.waker.wake();
    }
}

/// Takes turns until it is to end, or the system fails. `counted` is the last, and so the first to go: nobody hears of the end who
/// could still be sent here.
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

/// The count of a reactor, which says so when that ends, also by a panic of its handler.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Relaxed);
    }
}
