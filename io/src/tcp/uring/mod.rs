//! io_uring: one multishot receive per connection from shared buffers, one accept per listener, and sends
//! submitted together with the next wait. Connections with long frames are read by this process, up to a limit per turn.

mod sys;

use std::collections::VecDeque;
use std::io;
use std::mem::replace;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, sockopt};

use self::sys::{Chunk, Completion, Ring, Sent};
use super::buffers::{Window, trim};
use super::connection::{Phase, Read};
use super::limits::{TURN_EVENTS, URING_ACCEPT_ROOM};
use super::listener::{Accepted, Listener, classify_error, peer_of};
use super::shared::Shared;
use super::{CloseReason, Event, Key, kind_of};
use crate::poller::SystemWaker;

#[derive(Debug)]
pub(super) struct Uring {
    ring: Ring,
    wakeup: Arc<OwnedFd>,
    /// The kernel polls `wakeup`.
    watching: bool,
    /// Connections whose receive starts with the next call.
    starting: Vec<Key>,
    /// Connections with long frames that have data to read, in read order.
    long_readable: VecDeque<Key>,
    /// Buffers that the caller may still read.
    held: Vec<u16>,
}

impl Uring {
    pub(super) fn new() -> io::Result<Self> {
        let ring = Ring::new().map_err(|error| {
            let text =
                "io_uring: needs Linux 6.1, kernel.io_uring_disabled = 0 and no seccomp filter against it";
            io::Error::new(error.kind(), format!("{text} ({error}); or use epoll"))
        })?;
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (starting, long_readable, held) = (Vec::new(), VecDeque::new(), Vec::new());
        Ok(Self { ring, wakeup: Arc::new(wakeup), watching: false, starting, long_readable, held })
    }

    /// Blocking: on non-blocking sockets io_uring returns EAGAIN instead of waiting.
    pub(super) fn socket_flags(&self) -> SocketFlags {
        SocketFlags::CLOEXEC
    }

    pub(super) fn waker(&self) -> SystemWaker {
        SystemWaker::new(self.wakeup.clone())
    }

    #[inline]
    pub(super) fn slice(&self, window: Window) -> &[u8] {
        self.ring.slice(window.at, window.length)
    }

    /// Accepting starts with the next wait.
    pub(super) fn add_listener(&mut self, _: &mut Shared, _: usize) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn add(&mut self, shared: &mut Shared, key: Key) -> io::Result<()> {
        let Some(connection) = shared.table.get_mut(key) else { return Ok(()) };
        if connection.phase == Phase::Connecting {
            connection.polling = true;
            self.ring.poll(connection.socket.as_fd(), key.index() as u32, PollFlags::OUT);
        } else {
            self.resume(shared, key);
        }
        Ok(())
    }

    pub(super) fn begin_turn(&mut self, shared: &mut Shared) {
        shared.settle(|window| self.slice(window));
        for buffer in self.held.drain(..) {
            self.ring.give_back(buffer);
        }
    }

    pub(super) fn wait(&mut self, shared: &mut Shared, timeout: Option<Duration>) -> io::Result<()> {
        // A time too large to represent means no limit.
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut left = timeout;
        loop {
            self.start(shared);
            let idle = shared.events.is_empty()
                && self.long_readable.is_empty()
                && !self.ring.has_completions()
                && left != Some(Duration::ZERO);
            self.ring.enter(usize::from(idle), left)?;
            let (mut sends, mut others) = (0, 0);
            for _ in 0..TURN_EVENTS {
                let Some(completion) = self.ring.next_completion() else { break };
                let is_send =
                    matches!(&completion, Completion::Sent { index, .. } if !is_awaited(shared, *index));
                (sends, others) = if is_send { (sends + 1, others) } else { (sends, others + 1) };
                self.handle_completion(shared, completion);
            }
            self.read_long(shared);
            // Completed sends alone are not reported unless a connection is waiting for one: keep waiting.
            if sends == 0 || others > 0 || !shared.events.is_empty() || left == Some(Duration::ZERO) {
                return Ok(());
            }
            left = end.map(|end| end.saturating_duration_since(Instant::now()));
        }
    }

    /// Restarts operations that the kernel has ended.
    fn start(&mut self, shared: &mut Shared) {
        if !self.watching {
            self.watching = true;
            self.ring.watch(self.wakeup.as_fd());
        }
        self.start_accepting(shared);
        for key in self.starting.drain(..) {
            let Some(connection) = shared.table.get_mut(key) else { continue };
            connection.queued = false;
            let wanted = !connection.paused && !connection.ended && connection.phase != Phase::Dead;
            if wanted && connection.long && !connection.receiving && !connection.polling {
                connection.polling = true;
                self.ring.poll(connection.socket.as_fd(), key.index() as u32, PollFlags::IN);
            } else if wanted && !connection.receiving && !connection.polling {
                connection.receiving = true;
                self.ring.receive(connection.socket.as_fd(), key.index() as u32);
            }
        }
    }

    /// Accepts many at a time while there is capacity for many; otherwise no more than the capacity.
    fn start_accepting(&mut self, shared: &mut Shared) {
        for index in 0..shared.listeners.sockets.len() {
            if shared.listeners.sockets[index].active || !shared.listeners.may_accept(index) {
                continue;
            }
            let room = shared.limits.connections.saturating_sub(shared.table.len());
            let asked = shared.listeners.sockets.iter().filter(|listener| listener.active).count();
            if asked < room {
                let listener = &mut shared.listeners.sockets[index];
                listener.active = true;
                self.ring.accept(listener.socket.as_fd(), index as u32, room >= URING_ACCEPT_ROOM);
            }
        }
    }

    fn handle_completion(&mut self, shared: &mut Shared, completion: Completion) {
        match completion {
            Completion::Accepted { listener, socket, more } => self.accepted(shared, listener, socket, more),
            Completion::Received { index, chunk, more } => match (shared.table.key_at(index), chunk) {
                (Some(key), chunk) => {
                    self.received(shared, key, chunk, more);
                    shared.reap(key);
                }
                (None, Ok(Some(chunk))) => self.ring.give_back(chunk.buffer),
                (None, _) => {}
            },
            Completion::Sent { index, sent } => {
                if let Some(key) = shared.table.key_at(index) {
                    self.sent(shared, key, sent);
                    shared.reap(key);
                }
            }
            Completion::Polled { index } => {
                if let Some(key) = shared.table.key_at(index) {
                    self.polled(shared, key);
                    shared.reap(key);
                }
            }
            Completion::Woken { more } => {
                self.watching = more;
                let _ = rustix::io::read(&*self.wakeup, &mut [0; 8]);
            }
            Completion::Other => {}
        }
    }

    fn accepted(&mut self, shared: &mut Shared, listener: u32, socket: Result<OwnedFd, Errno>, more: bool) {
        let index = listener as usize;
        shared.listeners.sockets[index].active = more;
        match socket {
            // Accepted before the accept was cancelled, or already closed.
            Ok(socket) if !shared.is_full() => {
                let Some(peer) = peer_of(&socket) else { return };
                let key = shared.accepted(socket, Listener(listener as u16), peer);
                self.resume(shared, key);
                if more && shared.limits.connections - shared.table.len() < URING_ACCEPT_ROOM {
                    self.ring.cancel_accept(listener);
                }
            }
            Ok(_) => {}
            Err(error) => {
                if let Accepted::Exhausted = classify_error(error) {
                    shared.listeners.exhausted(index);
                }
            }
        }
    }

    fn received(&mut self, shared: &mut Shared, key: Key, chunk: Result<Option<Chunk>, Errno>, more: bool) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        connection.receiving = more;
        match chunk {
            Ok(Some(chunk)) if !connection.is_public() => self.ring.give_back(chunk.buffer),
            Ok(Some(chunk)) => {
                let window = Window { at: chunk.at(), length: chunk.length };
                if connection.input.is_empty() && chunk.length as usize <= shared.limits.input_bytes {
                    self.held.push(chunk.buffer);
                    shared.received_window(key, window);
                } else {
                    let ring = &self.ring;
                    let slice = |window: Window| ring.slice(window.at, window.length);
                    shared.append(key, slice(window), slice);
                    self.ring.give_back(chunk.buffer);
                    self.look_at_length(shared, key);
                }
            }
            Ok(None) => return shared.ended(key),
            // Out of buffers, or cancelled: restarted if still needed.
            Err(Errno::NOBUFS | Errno::CANCELED | Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return shared.lose(key, CloseReason::Lost(kind_of(error))),
        }
        if !more {
            self.resume(shared, key);
        }
    }

    fn sent(&mut self, shared: &mut Shared, key: Key, sent: Sent) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        let Sent { mut buffer, from, count } = sent;
        let held = connection.output.take_in_flight();
        match count {
            Ok(count) if count < held && connection.phase != Phase::Dead => {
                let from = trim(&mut buffer, from + count, &mut shared.pool);
                connection.output.set_in_flight(held - count, &buffer);
                let socket = connection.socket.as_fd();
                self.ring.send(socket, key.index() as u32, buffer, from);
            }
            Ok(_) => {
                shared.pool.put(buffer);
                self.send(shared, key);
            }
            Err(error) => {
                shared.pool.put(buffer);
                shared.lose(key, CloseReason::Lost(kind_of(error)));
            }
        }
    }

    /// Connections with long frames are read by this process from now on, because their data would have to be
    /// copied out of the ring's buffers.
    fn look_at_length(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        connection.note_length(0);
        if connection.long && connection.receiving {
            self.ring.cancel_receive(key.index() as u32);
        }
    }

    fn polled(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        if connection.phase == Phase::Connecting {
            return self.connected(shared, key);
        }
        connection.polling = false;
        if connection.phase != Phase::Dead && !replace(&mut connection.queued, true) {
            self.long_readable.push_back(key);
        }
    }

    /// Reads the connections with long frames, each once and up to the limit of a turn.
    fn read_long(&mut self, shared: &mut Shared) {
        let (mut bytes, most) = (0, shared.long_bytes());
        for _ in 0..self.long_readable.len() {
            if bytes >= most {
                return;
            }
            let Some(key) = self.long_readable.pop_front() else { return };
            bytes += self.read_own(shared, key);
        }
    }

    /// Performs one read. Returns the number of bytes.
    fn read_own(&mut self, shared: &mut Shared, key: Key) -> usize {
        let Some(connection) = shared.table.get_mut(key) else { return 0 };
        connection.queued = false;
        if connection.paused || connection.ended || connection.phase == Phase::Dead {
            return 0;
        }
        let mut bytes = 0;
        if connection.is_public() {
            match connection.read_own(&mut shared.pool, RecvFlags::DONTWAIT) {
                Ok(Read { got: 0, .. }) => {
                    shared.ended(key);
                    return 0;
                }
                Ok(Read { got, .. }) => {
                    bytes = got;
                    shared.received_own(key);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => {
                    shared.lose(key, CloseReason::Lost(kind_of(error)));
                    return 0;
                }
            }
        } else {
            connection.long = false;
        }
        self.resume(shared, key);
        bytes
    }

    fn connected(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        connection.polling = false;
        let result = match sockopt::socket_error(&connection.socket) {
            Ok(Ok(())) => rustix::io::ioctl_fionbio(&connection.socket, false),
            Ok(Err(error)) | Err(error) => Err(error),
        };
        match result {
            Ok(()) => {
                connection.phase = Phase::Open;
                shared.events.push_back(Event::Connected(key));
                self.resume(shared, key);
                self.send(shared, key);
            }
            Err(error) => shared.lose(key, CloseReason::Lost(kind_of(error))),
        }
    }

    /// Starts a send unless one is in progress.
    pub(super) fn send(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        let sends = matches!(connection.phase, Phase::Open | Phase::Flushing);
        if !sends || connection.output.in_flight > 0 {
            return;
        }
        if !connection.output.sendable().is_empty() {
            let (buffer, from) = connection.output.take_sendable(&mut shared.pool);
            self.ring.send(connection.socket.as_fd(), key.index() as u32, buffer, from);
        } else if connection.phase == Phase::Flushing && connection.output.is_empty() && shared.flushed(key) {
            self.resume(shared, key);
        }
    }

    pub(super) fn pause(&mut self, shared: &mut Shared, key: Key) {
        if shared.table.get(key).is_some_and(|connection| connection.receiving) {
            self.ring.cancel_receive(key.index() as u32);
        }
    }

    /// Starts a receive with the next call, unless one is in progress.
    pub(super) fn resume(&mut self, shared: &mut Shared, key: Key) {
        let Some(connection) = shared.table.get_mut(key) else { return };
        if !connection.receiving && !connection.queued {
            connection.queued = true;
            self.starting.push(key);
        }
    }
}

/// Whether the caller waits for this connection's output to be accepted, that is, has paused it.
fn is_awaited(shared: &Shared, index: u32) -> bool {
    let connection = shared.table.key_at(index).and_then(|key| shared.table.get(key));
    connection.is_some_and(|connection| connection.paused)
}
