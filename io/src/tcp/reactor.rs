//! The public interface of the reactor.

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
use super::limits::{LISTENERS, SINK_BYTES};
use super::listener::{self, ListenOptions, Listener};
use super::shared::Shared;
use super::uring::Uring;
use super::{Backend, BufferSizes, CloseReason, Event, Key, Limits};
use crate::batch::normalise;
use crate::poller::{ASLEEP, AWAKE, NOTIFIED, Poller, Waker};

/// Calls a method of the backend in use.
macro_rules! driver {
    ($driver:expr, $name:ident => $call:expr) => {
        match $driver {
            Driver::Epoll($name) => $call,
            Driver::Uring($name) => $call,
        }
    };
}

#[derive(Debug)]
// There is one per thread.
#[allow(clippy::large_enum_variant)]
enum Driver {
    Epoll(Epoll),
    Uring(Uring),
}

/// The connections of one thread. See [the module](super).
#[derive(Debug)]
pub struct TcpReactor {
    /// Dropped first: with io_uring, flushed output is then submitted on sockets that must still be open.
    driver: Driver,
    pub(super) shared: Shared,
    /// Whether the thread sleeps: a wake-up makes a system call only then.
    state: Arc<AtomicU8>,
    /// Whether all events of the last turn have been taken. The caller's own calls of [`close`](Self::close) since then
    /// may have added some.
    all_taken: bool,
    /// Takes output for connections that no longer exist.
    sink: Vec<u8>,
}

impl TcpReactor {
    /// Creates a reactor without sockets. With io_uring it belongs to the thread that first calls
    /// [`wait`](Self::wait).
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
        Ok(Self { shared, driver, state, all_taken: true, sink: Vec::new() })
    }

    /// The backend in use: never `Auto`.
    pub fn backend(&self) -> Backend {
        match self.driver {
            Driver::Epoll(_) => Backend::Epoll,
            Driver::Uring(_) => Backend::Uring,
        }
    }

    /// Starts accepting connections at an address; port 0 lets the kernel choose. Disables Nagle's algorithm
    /// for them. An IPv6 address accepts no IPv4 connections.
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

    /// The address that the listener is bound to, with the actual port.
    pub fn local_address(&self, listener: Listener) -> SocketAddr {
        self.shared.listeners.sockets[usize::from(listener.0)].local
    }

    /// The local address of a connection.
    pub fn connection_address(&self, key: Key) -> Option<SocketAddr> {
        let name = net::getsockname(&self.shared.open(key)?.socket).ok()?;
        name.try_into().ok().map(normalise)
    }

    /// Enables keep-alive probes (SO_KEEPALIVE) after this silence, for connections accepted from now on.
    /// `None`, the default, disables them.
    pub fn set_keepalive(&mut self, silence: Option<Duration>) -> io::Result<()> {
        self.shared.listeners.set_keepalive(silence)
    }

    /// Limits the unsent bytes that the kernel accepts (TCP_NOTSENT_LOWAT), for connections accepted from now
    /// on. Excess output then stays with the caller, visible in [`pending_output`](Self::pending_output).
    /// Without a limit the kernel holds megabytes for a slow peer.
    pub fn set_unsent_bytes(&mut self, bytes: u32) -> io::Result<()> {
        self.shared.listeners.set_unsent_bytes(bytes)
    }

    /// The listener that accepted a connection; none for an outgoing one.
    pub fn listener(&self, key: Key) -> Option<Listener> {
        self.shared.open(key)?.listener
    }

    /// Starts connecting. [`Event::Connected`] or [`Event::Closed`] follows; output may be appended at once.
    pub fn connect(&mut self, address: SocketAddr) -> io::Result<Key> {
        self.start_connect(None, address)
    }

    /// Like [`connect`](Self::connect), from this local address.
    pub fn connect_from(&mut self, local: IpAddr, address: SocketAddr) -> io::Result<Key> {
        self.start_connect(Some(local), address)
    }

    fn start_connect(&mut self, local: Option<IpAddr>, address: SocketAddr) -> io::Result<Key> {
        if self.shared.is_full() {
            return Err(io::Error::other(
                "Limits::connections is reached: close connections or raise the limit",
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

    /// Performs one turn: waits until an event, a wake-up or the timeout (`None`: no limit), and receives. It
    /// may return spuriously, and up to 1 ms late. It does nothing unless all events of the last turn have
    /// been taken, that is, until [`next_event`](Self::next_event) has returned `None`. It does not wait for events
    /// if the caller's own calls have caused some since then. It also returns when the output of a paused
    /// connection has been accepted.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if !self.all_taken && !self.shared.events.is_empty() {
            return Ok(());
        }
        self.all_taken = false;
        driver!(&mut self.driver, driver => driver.begin_turn(&mut self.shared));
        // A caller that closes connections in every turn must not keep the others from being served.
        let is_pending = !self.shared.events.is_empty();
        let timeout = if is_pending { Some(Duration::ZERO) } else { self.shared.timeout(timeout) };
        let woken = self.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err();
        let timeout = if woken { Some(Duration::ZERO) } else { timeout };
        let result = driver!(&mut self.driver, driver => driver.wait(&mut self.shared, timeout));
        if self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED {
            self.shared.events.push_back(Event::Woken);
        }
        self.shared.expire();
        result
    }

    /// The next event of this turn.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let Some(event) = self.shared.events.pop_front() else {
                self.all_taken = true;
                return None;
            };
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

    /// Unconsumed input. Empty for a connection that no longer exists.
    #[inline]
    pub fn input(&self, key: Key) -> &[u8] {
        match self.shared.open(key) {
            Some(connection) => input(&self.driver, connection),
            None => &[],
        }
    }

    /// Consumes the first `count` bytes of the input, or all if there are fewer.
    #[inline]
    pub fn consume(&mut self, key: Key, count: usize) {
        self.shared.consume(key, count);
    }

    /// The output to append to; the next [`flush`](Self::flush) sends it. Do not change what it already
    /// holds. For a connection that no longer exists, the output is discarded.
    #[inline]
    pub fn output(&mut self, key: Key) -> &mut Vec<u8> {
        self.buffers(key).1
    }

    /// Input and output together, so that an answer can be written while the request is read in place.
    #[inline]
    pub fn buffers(&mut self, key: Key) -> (&[u8], &mut Vec<u8>) {
        let Shared { table, pool, dirty, .. } = &mut self.shared;
        let Some(connection) = table.get_mut(key).filter(|connection| connection.is_public()) else {
            self.sink.clear();
            self.sink.shrink_to(SINK_BYTES);
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

    /// Bytes of output that the socket has not accepted yet. A caller should stop reading from a connection
    /// when they grow.
    #[inline]
    pub fn pending_output(&self, key: Key) -> usize {
        self.shared.open(key).map_or(0, |connection| connection.output.len())
    }

    /// Sizes of the content and of the memory of a connection's buffers. A limit should count the memory, because a peer
    /// decides how long the connection keeps it.
    #[inline]
    pub fn buffer_sizes(&self, key: Key) -> BufferSizes {
        self.shared.open(key).map(Connection::buffer_sizes).unwrap_or_default()
    }

    /// Stops receiving from this connection until [`resume`](Self::resume). Data already in transit may still
    /// arrive; a closed peer may go unreported meanwhile.
    pub fn pause(&mut self, key: Key) {
        if let Some(connection) = self.shared.open_mut(key)
            && !connection.paused
        {
            connection.paused = true;
            driver!(&mut self.driver, driver => driver.pause(&mut self.shared, key));
        }
    }

    /// Resumes receiving.
    pub fn resume(&mut self, key: Key) {
        if let Some(connection) = self.shared.open_mut(key)
            && connection.paused
        {
            connection.paused = false;
            driver!(&mut self.driver, driver => driver.resume(&mut self.shared, key));
        }
    }

    /// Closes a connection: at once, or after all its output is sent, which the next [`flush`](Self::flush)
    /// starts. [`Event::Closed`] follows; the key is no longer valid.
    pub fn close(&mut self, key: Key, after_flush: bool) {
        let Some(connection) = self.shared.open(key) else { return };
        if !after_flush || connection.phase == Phase::Connecting {
            self.shared.lose(key, CloseReason::Requested);
            return;
        }
        let empty = connection.output.is_empty();
        self.shared.begin_flushing(key);
        if empty && self.shared.flushed(key) {
            driver!(&mut self.driver, driver => driver.resume(&mut self.shared, key));
        }
    }

    /// Sends appended output: as much as the sockets accept, and the rest as soon as they accept it. With
    /// io_uring, the next [`wait`](Self::wait), or dropping the reactor, submits all of it in one call.
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

    /// Number of connections, including those closed for the caller but not yet in the kernel.
    pub fn connections(&self) -> usize {
        self.shared.table.len()
    }

    /// When [`wait`](Self::wait) must be called even if a [`Poller`](crate::Poller) with this reactor reports
    /// nothing. It is `now` if a turn left input or events behind, else when closing a connection times out.
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

    /// The descriptor for a poller; none with io_uring.
    fn epoll(&self) -> Option<BorrowedFd<'_>> {
        match &self.driver {
            Driver::Epoll(epoll) => Some(epoll.as_fd()),
            Driver::Uring(_) => None,
        }
    }

    /// Returns a handle with which other threads end a wait.
    pub fn waker(&self) -> Waker {
        Waker::new(self.state.clone(), driver!(&self.driver, driver => driver.waker()))
    }
}

impl Poller {
    /// Reports under `key` whenever a reactor's [`wait`](TcpReactor::wait) has work to do, so that one thread
    /// can wait for connections and for other sockets. Then call the reactor's `wait` with
    /// `Some(Duration::ZERO)` to perform a turn. Also observe its
    /// [`next_deadline`](TcpReactor::next_deadline).
    ///
    /// # Errors
    ///
    /// Fails for a reactor on io_uring, which only its own `wait` can wait for.
    pub fn add_reactor(&self, reactor: &TcpReactor, key: u32) -> io::Result<()> {
        let text = "a reactor on io_uring cannot be added to a poller: create it with Backend::Epoll";
        let epoll = reactor.epoll().ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, text))?;
        self.add_descriptor(epoll, key)
    }
}

#[inline]
fn input<'a>(driver: &'a Driver, connection: &'a Connection) -> &'a [u8] {
    if connection.input.has_own() {
        return connection.input.own();
    }
    driver!(driver, driver => driver.slice(connection.input.window()))
}
