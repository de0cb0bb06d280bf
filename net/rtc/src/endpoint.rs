//! An endpoint that the application drives by itself: the fastest face.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netdyno_io::{Events, Poller, Waker};

use crate::engine::{Connection, ConnectionId, Engine, Handler, Port};
use crate::error::Error;
use crate::settings::Settings;
use crate::switch::PortMember;

/// Any number of connections on one port, driven by the thread that calls [`poll`](Self::poll). No locks, no tasks.
///
/// In one turn it receives what came, lets time pass, tells the handler, and sends what there is to send, each
/// connection a batch at a time, one after the other.
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

    /// As one of several at a port, if it has a member there.
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

    /// The address that it is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.engine.local_address()
    }

    /// Connections that exist.
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.engine.len() == 0
    }

    /// A new connection, with nothing begun.
    pub fn add(&mut self, port: Port) -> Result<ConnectionId, Error> {
        self.rest = Some(Duration::ZERO);
        self.engine.add(port)
    }

    /// A new connection and its offer, with one data channel of this label, for the peer to answer. The answer goes
    /// to [`Connection::accept_answer`].
    pub fn offer(&mut self, port: Port, label: &str) -> Result<(ConnectionId, String), Error> {
        self.begin(port, |connection| {
            connection.create_channel(label, Default::default())?;
            Ok(connection.create_offer(false)?)
        })
    }

    /// A new connection on the endpoint's port, by a peer's offer, and the answer to it.
    pub fn answer(&mut self, offer: &str) -> Result<(ConnectionId, String), Error> {
        self.begin(Port::Shared, |connection| Ok(connection.accept_offer(offer)?))
    }

    /// A connection, if it still is one.
    pub fn connection(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        self.engine.refresh();
        // Whatever is done with it may leave something to send.
        self.rest = Some(Duration::ZERO);
        self.engine.connection(id)
    }

    /// Ends a [`poll`](Self::poll) from another thread.
    pub fn waker(&self) -> Waker {
        self.poller.waker()
    }

    /// The time until [`poll`](Self::poll) has something to do, whatever comes until then; `None`: only what comes does. For event loops of
    /// others, which wait by its file descriptor.
    pub fn due_within(&self) -> Option<Duration> {
        self.rest
    }

    /// Waits until there is something to do, at most for `timeout` (`None`: without end), and does one turn of it.
    /// Sends first what was left to send since the last call.
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

/// Readable when [`poll`](Endpoint::poll) has something to receive, or can send again.
#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Endpoint {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for Endpoint {
    /// Tells every peer.
    fn drop(&mut self) {
        self.engine.close();
    }
}
