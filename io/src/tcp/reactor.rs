//! The reactor as its user sees it.

use std::io;
use std::mem::take;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net;

use super::connection::{Connection, Phase};
use super::epoll::Epoll;
use super::limits::LISTENERS;
use super::listener::{self, ListenOptions, Listener};
use super::shared::Shared;
use super::uring::Uring;
use super::{Backend, CloseReason, Event, Key, Limits};
use crate::batch::plain;
use crate::poller::{ASLEEP, AWAKE, NOTIFIED, Waker};

/// Calls one method of whichever backend it is.
macro_rules! driver {
    ($driver:expr, $name:ident => $call:expr) => {
        match $driver {
            Driver::Epoll($name) => $call,
            Driver::Uring($name) => $call,
        }
    };
}

#[derive(Debug)]
// There is one a thread.
#[allow(clippy::large_enum_variant)]
enum Driver {
    Epoll(Epoll),
    Uring(Uring),
}

/// Connections of one thread. See [the module](super).
#[derive(Debug)]
pub struct TcpReactor {
    /// Goes first: with io_uring, what was flushed goes out then, on sockets that must still be open.
    driver: Driver,
    pub(super) shared: Shared,
    /// Whether the thread sleeps: a wake-up costs a system call only if it does.
    state: Arc<AtomicU8>,
    /// What is written for a connection that is gone.
    sink: Vec<u8>,
}

impl TcpReactor {
    /// One without sockets. With io_uring it belongs to the thread that first calls [`wait`](Self::wait).
    pub fn new(backend: Backend, limits: Limits) -> io::Result<Self> {
        let driver = match backend {
            Backend::Epoll => Driver::Epoll(Epoll::new()?),
            Backend::Uring => Driver::Uring(Uring::new()?),
            Backend::Auto => match Uring::new() {
                Ok(uring) => Driver::Uring(uring),
                Err(_) => Driver::Epoll(Epoll::new()?),
            },
        };
        let (shared, state) = (Shared::new(limits), Arc::new(AtomicU8::new(AWAKE)));
        Ok(Self { shared, driver, state, sink: Vec::new() })
    }

    /// What it works with: never `Auto`.
    pub fn backend(&self) -> Backend {
        match self.driver {
            Driver::Epoll(_) => Backend::Epoll,
            Driver::Uring(_) => Backend::Uring,
        }
    }

    /// Accepts connections at an address from now on; port 0 lets the kernel choose. Nagle's algorithm is off for
    /// them. An IPv6 address takes no IPv4 connections.
    pub fn listen(&mut self, address: SocketAddr, options: &ListenOptions) -> io::Result<Listener> {
        let index = self.shared.listeners.sockets.len();
        if index >= LISTENERS {
            return Err(io::Error::other("a reactor has at most 64 listeners: use another reactor"));
        }
        let flags = driver!(&self.driver, driver => driver.socket_flags());
        self.shared.listeners.add(address, options, flags)?;
        let added = driver!(&mut self.driver, driver => driver.add_listener(&mut self.shared, index));
        if let Err(error) = added {
            self.shared.listeners.sockets.pop();
            return Err(error);
        }
        Ok(Listener(index as u16))
    }

    /// The address that it listens at, with the port that it got.
    pub fn local_address(&self, listener: Listener) -> SocketAddr {
        self.shared.listeners.sockets[usize::from(listener.0)].local
    }

    /// Our own address of a connection.
    pub fn connection_address(&self, key: Key) -> Option<SocketAddr> {
        let name = net::getsockname(&self.shared.open(key)?.socket).ok()?;
        name.try_into().ok().map(plain)
    }

    /// Has the kernel ask a peer that was silent for so long whether it is still there (SO_KEEPALIVE), for connections that are
    /// accepted from now on; `None`: never, as at first.
    pub fn set_keepalive(&mut self, silence: Option<Duration>) -> io::Result<()> {
        self.shared.listeners.set_keepalive(silence)
    }

    /// Has the kernel take no more of an output while so many bytes of it are not on their way yet (TCP_NOTSENT_LOWAT), for
    /// connections that are accepted from now on. What is sent late then is a decision of the caller, who sees it in
    /// [`pending_output`](Self::pending_output); without a limit the kernel holds megabytes for a slow peer.
    pub fn set_unsent_bytes(&mut self, bytes: u32) -> io::Result<()> {
        self.shared.listeners.set_unsent_bytes(bytes)
    }

    /// What accepted a connection: none for one that we made.
    pub fn listener(&self, key: Key) -> Option<Listener> {
        self.shared.open(key)?.listener
    }

    /// Begins to connect. [`Event::Connected`] or [`Event::Closed`] tells what came of it; output may be appended at
    /// once.
    pub fn connect(&mut self, address: SocketAddr) -> io::Result<Key> {
        self.begin(None, address)
    }

    /// As [`connect`](Self::connect), from this address of ours.
    pub fn connect_from(&mut self, local: IpAddr, address: SocketAddr) -> io::Result<Key> {
        self.begin(Some(local), address)
    }

    fn begin(&mut self, local: Option<IpAddr>, address: SocketAddr) -> io::Result<Key> {
        if self.shared.is_full() {
            return Err(io::Error::other(
                "as many connections as Limits::connections: close some, or raise it",
            ));
        }
        let flags = net::SocketFlags::CLOEXEC | net::SocketFlags::NONBLOCK;
        let socket = listener::socket(address, flags)?;
        net::sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(local) = local {
            net::bind(&socket, &SocketAddr::new(local, 0))?;
        }
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let key = self.shared.table.insert(Connection::new(socket, Phase::Connecting, None));
        if let Err(error) = driver!(&mut self.driver, driver => driver.add(&mut self.shared, key)) {
            self.shared.table.remove(key);
            return Err(error);
        }
        Ok(key)
    }

    /// One turn: waits until something happens, somebody wakes us, or the time is over (`None`: without end), and
    /// receives. It may also end for no reason, and a millisecond late. The events of the last turn must all have been
    /// taken: with some left it does nothing. That a paused connection's output was taken ends it too.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if !self.shared.events.is_empty() {
            return Ok(());
        }
        driver!(&mut self.driver, driver => driver.begin_turn(&mut self.shared));
        let timeout = self.shared.timeout(timeout);
        let woken = self.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err();
        let timeout = if woken { Some(Duration::ZERO) } else { timeout };
        let result = driver!(&mut self.driver, driver => driver.wait(&mut self.shared, timeout));
        if self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED {
            self.shared.events.push_back(Event::Woken);
        }
        self.shared.expire();
        result
    }

    /// The next thing that happened in this turn.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let event = self.shared.events.pop_front()?;
            // The caller may have closed it meanwhile.
            let stale = match event {
                Event::Received(key) | Event::Ended(key) | Event::Connected(key) => {
                    self.shared.open(key).is_none()
                }
                Event::Accepted(..) | Event::Closed(..) | Event::Woken => false,
            };
            if !stale {
                return Some(event);
            }
        }
    }

    /// What has arrived and is not consumed. Empty for a connection that is gone.
    #[inline]
    pub fn input(&self, key: Key) -> &[u8] {
        match self.shared.open(key) {
            Some(connection) => input(&self.driver, connection),
            None => &[],
        }
    }

    /// Forgets the first `count` bytes of the input, or all if there are fewer.
    #[inline]
    pub fn consume(&mut self, key: Key, count: usize) {
        self.shared.consume(key, count);
    }

    /// What is to be sent with the next [`flush`](Self::flush): append to it. What was there before is not to be
    /// changed. For a connection that is gone it leads nowhere.
    #[inline]
    pub fn output(&mut self, key: Key) -> &mut Vec<u8> {
        self.buffers(key).1
    }

    /// Input and output together, so that an answer can be written from what was asked.
    #[inline]
    pub fn buffers(&mut self, key: Key) -> (&[u8], &mut Vec<u8>) {
        let Shared { table, pool, dirty, .. } = &mut self.shared;
        let Some(connection) = table.get_mut(key).filter(|connection| connection.is_public()) else {
            self.sink.clear();
            return (&[], &mut self.sink);
        };
        if !connection.dirty {
            connection.dirty = true;
            dirty.push(key);
        }
        let Connection { input: arrived, output, .. } = connection;
        let slice = driver!(&self.driver, driver => driver.slice(arrived.window()));
        (if arrived.has_own() { arrived.own() } else { slice }, output.append(pool))
    }

    /// Bytes of output that the socket did not take yet. A caller that sees them grow stops reading from that
    /// connection, and answers no more of it.
    #[inline]
    pub fn pending_output(&self, key: Key) -> usize {
        self.shared.open(key).map_or(0, |connection| connection.output.len())
    }

    /// Receives no more from this connection until [`resume`](Self::resume). What is on its way already may still come;
    /// that the peer is gone may not be told meanwhile.
    pub fn pause(&mut self, key: Key) {
        if let Some(connection) = self.shared.open_mut(key)
            && !connection.paused
        {
            connection.paused = true;
            driver!(&mut self.driver, driver => driver.pause(&mut self.shared, key));
        }
    }

    /// Receives again.
    pub fn resume(&mut self, key: Key) {
        if let Some(connection) = self.shared.open_mut(key)
            && connection.paused
        {
            connection.paused = false;
            driver!(&mut self.driver, driver => driver.resume(&mut self.shared, key));
        }
    }

    /// Ends a connection: at once, or once all its output is sent, which the next [`flush`](Self::flush) begins.
    /// [`Event::Closed`] follows; the key does nothing any more.
    pub fn close(&mut self, key: Key, after_flush: bool) {
        let Some(connection) = self.shared.open(key) else { return };
        if !after_flush || connection.phase == Phase::Connecting {
            self.shared.lose(key, CloseReason::Asked);
            return;
        }
        let empty = connection.output.is_empty();
        self.shared.begin_flushing(key);
        if empty && self.shared.flushed(key) {
            driver!(&mut self.driver, driver => driver.resume(&mut self.shared, key));
        }
    }

    /// Sends what was appended to outputs: as much as the sockets take, and the rest as soon as they take it. With
    /// io_uring the next [`wait`](Self::wait), or the reactor's end, hands all of it to the kernel in one call.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut dirty = take(&mut self.shared.dirty);
        for key in dirty.drain(..) {
            let Some(connection) = self.shared.table.get_mut(key) else { continue };
            connection.dirty = false;
            connection.output.release(&mut self.shared.pool);
            driver!(&mut self.driver, driver => driver.send(&mut self.shared, key));
            let held = self.shared.table.get(key).map_or(0, |connection| connection.output.len());
            if held > self.shared.limits.output_bytes {
                self.shared.lose(key, CloseReason::OutputLimit);
            }
        }
        self.shared.dirty = dirty;
        Ok(())
    }

    /// Connections, those included that are closed for the caller but not yet for the kernel.
    pub fn connections(&self) -> usize {
        self.shared.table.len()
    }

    /// When [`wait`](Self::wait) is to be called though a [`Poller`](crate::Poller) that has it tells nothing of it: `now`, if one
    /// turn did not take all that is there, or an event was not taken; else when a connection takes too long to be closed.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let busy = match &self.driver {
            Driver::Epoll(epoll) => epoll.is_busy(&mut self.shared),
            Driver::Uring(_) => false,
        };
        if busy || !self.shared.events.is_empty() {
            return Some(now);
        }
        self.shared.next_deadline()
    }

    /// What a poller waits for; none with io_uring.
    pub(crate) fn epoll(&self) -> Option<BorrowedFd<'_>> {
        match &self.driver {
            Driver::Epoll(epoll) => Some(epoll.as_fd()),
            Driver::Uring(_) => None,
        }
    }

    /// A way for other threads to end a wait.
    pub fn waker(&self) -> Waker {
        Waker::new(self.state.clone(), driver!(&self.driver, driver => driver.waker()))
    }
}

#[inline]
fn input<'a>(driver: &'a Driver, connection: &'a Connection) -> &'a [u8] {
    if connection.input.has_own() {
        return connection.input.own();
    }
    driver!(driver, driver => driver.slice(connection.input.window()))
}
