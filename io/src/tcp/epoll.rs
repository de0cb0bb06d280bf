//! epoll, edge-triggered: a connection is registered once for both directions and never modified. A
//! connection whose read filled the buffer, or whose end of stream was announced, goes to the end of its read
//! queue. Connections with long frames have a queue and a limit of their own, so that others do not wait for them.

use std::collections::VecDeque;
use std::io;
use std::mem::{MaybeUninit, replace};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, recv, send, sockopt};

use super::buffers::Window;
use super::connection::{Connection, Phase, Read};
use super::limits::{ARENA_BYTES, READ_BYTES, TURN_ACCEPTS, TURN_CONNECTIONS, TURN_EVENTS};
use super::listener::{Accepted, Listener, accept};
use super::shared::Shared;
use super::{CloseReason, Event, Key, kind_of};
use crate::poller::SystemWaker;

/// Added to a listener's index. No key's generation is this high.
const LISTENER_DATA: u64 = 0xffff_ffff_0000_0000;
const WAKER_DATA: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Epoll {
    epoll: OwnedFd,
    wakeup: Arc<OwnedFd>,
    /// Connections with data to read, in read order.
    readable: VecDeque<Key>,
    /// The same for connections with long frames.
    long_readable: VecDeque<Key>,
    /// Memory shared by the reads of a turn.
    arena: Box<[u8]>,
    used: usize,
}

impl Epoll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edge-triggered: every write wakes the thread, and the counter need not be read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &wakeup, epoll::EventData::new_u64(WAKER_DATA), flags)?;
        Ok(Self {
            epoll,
            wakeup: Arc::new(wakeup),
            readable: VecDeque::new(),
            long_readable: VecDeque::new(),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            used: 0,
        })
    }

    pub(super) fn socket_flags(&self) -> SocketFlags {
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK
    }

    pub(super) fn waker(&self) -> SystemWaker {
        SystemWaker::new(self.wakeup.clone())
    }

    #[inline]
    pub(super) fn slice(&self, window: Window) -> &[u8] {
        &self.arena[window.at as usize..][..window.length as usize]
    }

    pub(super) fn add_listener(&mut self, shared: &mut Shared, index: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(LISTENER_DATA | index as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, &shared.listeners.sockets[index].socket, data, flags)?)
    }

    pub(super) fn add(&mut self, shared: &mut Shared, key: Key) -> io::Result<()> {
        let Some(connection) = shared.table.get(key) else { return Ok(()) };
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        Ok(epoll::add(&self.epoll, &connection.socket, epoll::EventData::new_u64(key.bits()), flags)?)
    }

    pub(super) fn begin_turn(&mut self, shared: &mut Shared) {
        shared.settle(|window| self.slice(window));
        self.used = 0;
    }

    pub(super) fn wait(&mut self, shared: &mut Shared, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = if self.is_busy(shared) { Some(Duration::ZERO) } else { timeout };
        let mut found = [MaybeUninit::uninit(); TURN_EVENTS];
        let found = match epoll::wait(&self.epoll, &mut found, timeout.map(timespec).as_ref()) {
            Ok((found, _)) => found,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in found {
            let (data, flags) = (event.data.u64(), event.flags);
            match data {
                WAKER_DATA => {}
                LISTENER_DATA.. => {
                    if let Some(listener) = shared.listeners.sockets.get_mut((data - LISTENER_DATA) as usize)
                    {
                        listener.active = true;
                    }
                }
                _ => self.handle_flags(shared, Key::from_bits(data), flags),
            }
        }
        self.accept_all(shared);
        // Each once: a connection with more to read is queued again at the end.
        let (mut own, long_connections) = (0, self.long_readable.len());
        for _ in 0..self.readable.len().min(TURN_CONNECTIONS) {
            if self.used + own + READ_BYTES > self.arena.len() {
                break;
            }
            let Some(key) = self.readable.pop_front() else { break };
            own += self.read(shared, key);
        }
        let (mut long, most) = (0, shared.long_bytes());
        for _ in 0..long_connections {
            if long >= most {
                break;
            }
            let Some(key) = self.long_readable.pop_front() else { break };
            long += self.read(shared, key);
        }
        Ok(())
    }

    /// Whether there is work that epoll does not report again.
    pub(super) fn is_busy(&self, shared: &mut Shared) -> bool {
        let readable = !(self.readable.is_empty() && self.long_readable.is_empty());
        readable || !shared.is_full() && self.may_accept(shared)
    }

    /// Handles epoll flags of a connection.
    fn handle_flags(&mut self, shared: &mut Shared, key: Key, flags: epoll::EventFlags) {
        use epoll::EventFlags as Flags;
        let Some(connection) = shared.table.get_mut(key) else { return };
        if connection.phase == Phase::Connecting {
            if flags.intersects(Flags::OUT | Flags::ERR | Flags::HUP) {
                // Flags that arrive together are reported only once.
                connection.readable |= flags.intersects(Flags::IN | Flags::RDHUP);
                connection.hung_up |= flags.contains(Flags::RDHUP);
                self.connected(shared, key);
            }
            return;
        }
        if connection.ended && flags.contains(Flags::ERR) {
            // No read will report the error.
            let error = sockopt::socket_error(&connection.socket).unwrap_or_else(Err).err();
            return shared.lose(key, CloseReason::Lost(kind_of(error.unwrap_or(Errno::CONNRESET))));
        }
        if flags.intersects(Flags::IN | Flags::RDHUP | Flags::ERR | Flags::HUP) {
            connection.readable = true;
            connection.hung_up |= flags.intersects(Flags::RDHUP | Flags::ERR | Flags::HUP);
            if !connection.paused {
                self.queue(connection, key);
            }
        }
        if connection.blocked && flags.intersects(Flags::OUT | Flags::ERR | Flags::HUP) {
            connection.blocked = false;
            self.send(shared, key);
        }
    }

    fn connected(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        match sockopt::socket_error(&connection.socket) {
            Ok(Ok(())) => {
                connection.phase = Phase::Open;
                shared.events.push_back(Event::Connected(key));
                self.resume_read(shared, key);
                self.send(shared, key);
            }
            Ok(Err(error)) | Err(error) => shared.lose(key, CloseReason::Lost(kind_of(error))),
        }
    }

    fn may_accept(&self, shared: &mut Shared) -> bool {
        (0..shared.listeners.sockets.len())
            .any(|index| shared.listeners.sockets[index].active && shared.listeners.may_accept(index))
    }

    fn accept_all(&mut self, shared: &mut Shared) {
        for index in 0..shared.listeners.sockets.len() {
            if shared.listeners.sockets[index].active && shared.listeners.may_accept(index) {
                self.accept(shared, index);
            }
        }
    }

    fn accept(&mut self, shared: &mut Shared, index: usize) {
        for _ in 0..TURN_ACCEPTS {
            if shared.is_full() {
                return;
            }
            match accept(&shared.listeners.sockets[index].socket, self.socket_flags()) {
                Accepted::Connection(socket, peer) => {
                    let key = shared.accepted(socket, Listener(index as u16), peer);
                    if let Err(error) = self.add(shared, key) {
                        shared.lose(key, CloseReason::Lost(error.kind()));
                    }
                }
                Accepted::None => {
                    shared.listeners.sockets[index].active = false;
                    return;
                }
                Accepted::Lost => {}
                Accepted::Exhausted => return shared.listeners.exhausted(index),
            }
        }
    }

    /// Queues a connection for a read.
    fn queue(&mut self, connection: &mut Connection, key: Key) {
        if !replace(&mut connection.queued, true) {
            let queue = if connection.long { &mut self.long_readable } else { &mut self.readable };
            queue.push_back(key);
        }
    }

    /// Performs one read of one connection. Returns the number of bytes read into the connection's own buffer.
    fn read(&mut self, shared: &mut Shared, key: Key) -> usize {
        let Some(connection) = shared.table.get_mut(key) else { return 0 };
        connection.queued = false;
        if connection.paused || connection.ended {
            return 0;
        }
        let discard = !connection.is_public();
        let own = connection.long || connection.input.has_own();
        let read = if own {
            connection.read_own(&mut shared.pool, RecvFlags::empty())
        } else {
            let buffer = &mut self.arena[self.used..][..READ_BYTES];
            let got = recv(&connection.socket, buffer, RecvFlags::empty()).map(|(_, got)| got);
            got.map(|got| Read { got, filled: got == READ_BYTES })
        };
        let Read { got, filled } = match read {
            Ok(Read { got: 0, .. }) => {
                connection.readable = false;
                shared.ended(key);
                return 0;
            }
            Ok(read) => read,
            Err(Errno::AGAIN) => {
                connection.readable = false;
                return 0;
            }
            Err(Errno::INTR) => Read { got: 0, filled: false },
            Err(error) => {
                shared.lose(key, CloseReason::Lost(kind_of(error)));
                return 0;
            }
        };
        // A read that did not fill the buffer emptied the socket, unless the end of stream is still to be
        // read.
        connection.readable = filled || got == 0 || connection.hung_up;
        if discard {
            connection.input.give_back(&mut shared.pool);
        }
        if connection.readable {
            self.queue(connection, key);
        }
        if got == 0 || discard {
            return if own { got } else { 0 };
        }
        if own {
            shared.received_own(key);
            return got;
        }
        let window = Window { at: self.used as u32, length: got as u32 };
        // Each read starts on its own cache line.
        self.used = (self.used + got).next_multiple_of(64);
        shared.received_window(key, window);
        0
    }

    /// Passes output to the socket.
    pub(super) fn send(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        let sends = matches!(connection.phase, Phase::Open | Phase::Flushing);
        if !sends || connection.blocked {
            return;
        }
        let rest = connection.output.sendable();
        if !rest.is_empty() {
            let length = rest.len();
            match send(&connection.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    connection.blocked = sent < length;
                    connection.output.advance(sent, &mut shared.pool);
                }
                Err(Errno::AGAIN) => {
                    connection.blocked = true;
                    connection.output.fit(&mut shared.pool);
                }
                Err(Errno::INTR) => return self.send(shared, key),
                Err(error) => return shared.lose(key, CloseReason::Lost(kind_of(error))),
            }
        }
        if connection.phase == Phase::Flushing && connection.output.is_empty() && shared.flushed(key) {
            self.resume_read(shared, key);
        }
    }

    pub(super) fn pause(&mut self, _: &mut Shared, _: Key) {}

    pub(super) fn resume(&mut self, shared: &mut Shared, key: Key) {
        self.resume_read(shared, key);
    }

    /// Performs a read that was due while the connection was paused.
    fn resume_read(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        if connection.readable {
            self.queue(connection, key);
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// epoll takes timeouts as 31-bit milliseconds.
fn timespec(timeout: Duration) -> Timespec {
    let timeout = timeout.min(Duration::from_secs(86_400));
    Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() }
}
