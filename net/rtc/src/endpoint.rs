//! An endpoint that the application drives itself: the fastest interface.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netdyno_io::{Events, Poller, Waker};

use crate::engine::{Connection, ConnectionId, Engine, Handler, Port, Refusals};
use crate::error::Error;
use crate::settings::Settings;
use crate::switch::PortMember;

/// Any number of connections on one port, driven by the thread that calls [`poll`](Self::poll). It uses no
/// locks and no tasks.
///
/// Each turn receives datagrams, handles expired timers, calls the handler and sends. Connections take turns
/// in sending, one batch at a time.
#[derive(Debug)]
pub struct Endpoint {
    engine: Engine,
    poller: Arc<Poller>,
    events: Events,
    /// Time until the next turn is due.
    rest: Option<Duration>,
}

impl Endpoint {
    /// Binds a UDP port (0: the kernel chooses one).
    pub fn bind(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        Self::bind_at(address, settings, None)
    }

    /// Binds as a member of a shared port if `member` is given.
    pub(crate) fn bind_at(
        address: SocketAddr,
        settings: Settings,
        member: Option<PortMember>,
    ) -> Result<Self, Error> {
        let poller = Arc::new(Poller::with_spin(settings.spin)?);
        if let Some(member) = &member {
            let waker = poller.waker();
            member.set_kick(Arc::new(move || waker.wake()));
        }
        let engine = Engine::bind(address, settings, poller.clone(), member)?;
        Ok(Self { engine, poller, events: Events::default(), rest: Some(Duration::ZERO) })
    }

    /// The bound address.
    pub fn local_address(&self) -> SocketAddr {
        self.engine.local_address()
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Counters of refused input.
    pub fn refusals(&self) -> Refusals {
        self.engine.refusals()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.engine.len() == 0
    }

    /// Creates a connection. Nothing is sent until it has an offer or an answer.
    pub fn add(&mut self, port: Port) -> Result<ConnectionId, Error> {
        self.rest = Some(Duration::ZERO);
        self.engine.add(port)
    }

    /// Creates a connection and an offer with one data channel of this label. Pass the peer's answer to
    /// [`Connection::accept_answer`].
    pub fn offer(&mut self, port: Port, label: &str) -> Result<(ConnectionId, String), Error> {
        self.begin(port, |connection| {
            connection.create_channel(label, Default::default())?;
            Ok(connection.create_offer(false)?)
        })
    }

    /// Creates a connection on the endpoint's port from a peer's offer. Returns its id and the answer.
    pub fn answer(&mut self, offer: &str) -> Result<(ConnectionId, String), Error> {
        self.begin(Port::Shared, |connection| Ok(connection.accept_offer(offer)?))
    }

    /// The connection with this id, if it exists.
    pub fn connection(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        self.engine.refresh();
        // Any call on it may leave something to send.
        self.rest = Some(Duration::ZERO);
        self.engine.connection(id)
    }

    /// A waker that ends a [`poll`](Self::poll) from another thread.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// Time until [`poll`](Self::poll) must be called even if nothing arrives; `None`: no limit. For event
    /// loops that wait on the endpoint's file descriptor.
    pub fn due_within(&self) -> Option<Duration> {
        self.rest
    }

    /// Sends what is pending, waits until there is something to do, for at most `timeout` (`None`: no limit),
    /// and runs one turn.
    pub fn poll(&mut self, timeout: Option<Duration>, handler: &mut impl Handler) -> Result<(), Error> {
        let rest = match (self.rest, timeout) {
            (Some(rest), Some(timeout)) => Some(rest.min(timeout)),
            (rest, timeout) => rest.or(timeout),
        };
        self.poller.wait(&mut self.events, rest)?;
        self.rest = self.engine.turn(&self.events, handler)?;
        Ok(())
    }

    fn begin(
        &mut self,
        port: Port,
        signal: impl FnOnce(&mut Connection<'_>) -> Result<String, Error>,
    ) -> Result<(ConnectionId, String), Error> {
        let id = self.add(port)?;
        let Some(mut connection) = self.engine.connection(id) else { return Err(Error::Closed) };
        match signal(&mut connection) {
            Ok(description) => Ok((id, description)),
            Err(error) => {
                self.engine.discard(id);
                Err(error)
            }
        }
    }
}

/// Readable when [`poll`](Endpoint::poll) has something to receive or can send again.
#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Endpoint {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for Endpoint {
    /// Closes all connections and notifies the peers.
    fn drop(&mut self) {
        self.engine.close();
    }
}
