//! State shared by both backends: connections, pending events, buffers and deadlines for closing.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

use super::buffers::Window;
use super::connection::{Connection, Phase};
use super::limits::{Limits, SHARED_TURNS, TURN_LONG_BYTES, TURN_LONG_BYTES_SHARED};
use super::listener::{Listener, Listeners};
use super::pool::Pool;
use super::table::{Key, Table};
use super::{CloseReason, Event};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) table: Table,
    pub(super) listeners: Listeners,
    pub(super) events: VecDeque<Event>,
    pub(super) pool: Pool,
    /// Connections with output not yet passed to the kernel.
    pub(super) dirty: Vec<Key>,
    /// Connections whose input is in the turn's memory.
    turn: Vec<Key>,
    /// How many of these still have bytes there.
    windows: usize,
    /// Turns so far; input reported in this turn is not reported again.
    turns: u64,
    /// Turns for which connections with short frames count as active.
    shared_turns: u32,
    flushing: VecDeque<(Instant, Key)>,
    lingering: VecDeque<(Instant, Key)>,
}

impl Shared {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            table: Table::default(),
            listeners: Listeners::default(),
            events: VecDeque::new(),
            pool: Pool::default(),
            dirty: Vec::new(),
            turn: Vec::new(),
            windows: 0,
            turns: 0,
            shared_turns: 0,
            flushing: VecDeque::new(),
            lingering: VecDeque::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.table.len() >= self.limits.connections
    }

    /// A connection that the caller may use.
    #[inline]
    pub(super) fn open(&self, key: Key) -> Option<&Connection> {
        self.table.get(key).filter(|connection| connection.is_public())
    }

    #[inline]
    pub(super) fn open_mut(&mut self, key: Key) -> Option<&mut Connection> {
        self.table.get_mut(key).filter(|connection| connection.is_public())
    }

    pub(super) fn accepted(&mut self, socket: OwnedFd, listener: Listener, peer: SocketAddr) -> Key {
        let key = self.table.insert(Connection::new(socket, Phase::Open, Some(listener)));
        self.events.push_back(Event::Accepted(key, peer));
        key
    }

    /// Reports input that a backend put into the turn's memory.
    pub(super) fn received_window(&mut self, key: Key, window: Window) {
        let Some(connection) = self.table.get_mut(key) else { return };
        connection.input.set_window(window);
        connection.reported_turn = self.turns;
        self.turn.push(key);
        self.windows += 1;
        self.events.push_back(Event::Received(key));
    }

    /// Reports input appended to a connection's own buffer, unless it exceeds the limit.
    pub(super) fn received_own(&mut self, key: Key) {
        let Some(connection) = self.table.get_mut(key) else { return };
        if connection.input.len() > self.limits.input_bytes {
            self.lose(key, CloseReason::InputLimit);
        } else if connection.reported_turn != self.turns {
            connection.reported_turn = self.turns;
            self.events.push_back(Event::Received(key));
        }
    }

    /// Bytes of long frames to read in this turn. To be called once per turn, after the other reads.
    pub(super) fn long_bytes(&mut self) -> usize {
        self.shared_turns =
            if self.turn.is_empty() { self.shared_turns.saturating_sub(1) } else { SHARED_TURNS };
        if self.shared_turns > 0 { TURN_LONG_BYTES_SHARED } else { TURN_LONG_BYTES }
    }

    /// Appends to a connection's own buffer, after its bytes in the turn's memory.
    pub(super) fn append<'a>(&mut self, key: Key, bytes: &[u8], slice: impl FnOnce(Window) -> &'a [u8]) {
        let Some(connection) = self.table.get_mut(key) else { return };
        let before = slice(connection.input.window());
        // More of this turn follows, so it takes a buffer of the usual length at once.
        let length = connection.input.usual_length().max(before.len() + bytes.len());
        self.settle_one(key, before, length);
        if let Some(connection) = self.table.get_mut(key) {
            connection.input.own_mut(length, &mut self.pool).extend_from_slice(bytes);
        }
        self.received_own(key);
    }

    /// Copies a connection's bytes out of the turn's memory.
    fn settle_one(&mut self, key: Key, bytes: &[u8], length: usize) {
        let Some(connection) = self.table.get_mut(key) else { return };
        if !bytes.is_empty() {
            connection.input.settle(bytes, length, &mut self.pool);
            self.windows -= 1;
        }
    }

    /// Ends a turn: its memory is reused, so unconsumed input is copied.
    pub(super) fn settle<'a>(&mut self, slice: impl Fn(Window) -> &'a [u8]) {
        while self.windows > 0
            && let Some(key) = self.turn.pop()
        {
            let window = self.table.get(key).map(|connection| connection.input.window()).unwrap_or_default();
            let bytes = slice(window);
            self.settle_one(key, bytes, bytes.len());
        }
        self.windows = 0;
        self.turn.clear();
        self.turns = self.turns.wrapping_add(1);
    }

    pub(super) fn consume(&mut self, key: Key, count: usize) {
        if let Some(connection) = self.table.get_mut(key).filter(|connection| connection.is_public())
            && connection.input.consume(count, &mut self.pool)
        {
            self.windows -= 1;
        }
    }

    /// The peer closed its sending side.
    pub(super) fn ended(&mut self, key: Key) {
        let Some(connection) = self.table.get_mut(key) else { return };
        connection.ended = true;
        match connection.phase {
            Phase::Lingering => self.release(key),
            Phase::Open => self.events.push_back(Event::Ended(key)),
            Phase::Connecting | Phase::Flushing | Phase::Dead => {}
        }
    }

    /// Ends a connection for any reason, and reports it unless it was reported before.
    pub(super) fn lose(&mut self, key: Key, reason: CloseReason) {
        let Some(connection) = self.table.get(key) else { return };
        if !matches!(connection.phase, Phase::Lingering | Phase::Dead) {
            self.events.push_back(Event::Closed(key, reason));
        }
        self.release(key);
    }

    /// All output of a closed connection is sent. True if input is to be read until the peer closes.
    pub(super) fn flushed(&mut self, key: Key) -> bool {
        self.events.push_back(Event::Closed(key, CloseReason::Requested));
        let Some(connection) = self.table.get_mut(key) else { return false };
        let ended = connection.ended || self.limits.linger_time.is_zero();
        if ended || shutdown(&connection.socket, Shutdown::Write).is_err() {
            self.release(key);
            return false;
        }
        connection.phase = Phase::Lingering;
        connection.paused = false;
        self.lingering.push_back((Instant::now() + self.limits.linger_time, key));
        true
    }

    /// The caller closes a connection that has pending output.
    pub(super) fn begin_flushing(&mut self, key: Key) {
        if let Some(connection) = self.table.get_mut(key) {
            connection.phase = Phase::Flushing;
            self.flushing.push_back((Instant::now() + self.limits.flush_time, key));
            self.drop_input(key);
        }
    }

    fn drop_input(&mut self, key: Key) {
        let Some(connection) = self.table.get_mut(key) else { return };
        if connection.input.consume(usize::MAX, &mut self.pool) {
            self.windows -= 1;
        }
    }

    /// Releases a connection's buffers and its socket, the latter once the kernel holds no buffer of it.
    fn release(&mut self, key: Key) {
        self.drop_input(key);
        let Some(connection) = self.table.get_mut(key) else { return };
        connection.output.give_back(&mut self.pool);
        if connection.is_busy() {
            connection.phase = Phase::Dead;
            // Ends operations in progress.
            let _ = shutdown(&connection.socket, Shutdown::Both);
        } else {
            self.table.remove(key);
        }
    }

    /// An operation has completed (io_uring): removes a dead connection without further operations.
    pub(super) fn reap(&mut self, key: Key) {
        let over = |connection: &Connection| connection.phase == Phase::Dead && !connection.is_busy();
        if self.table.get(key).is_some_and(over) {
            self.table.remove(key);
        }
    }

    /// Ends connections whose closing timed out.
    pub(super) fn expire(&mut self) {
        if self.flushing.is_empty() && self.lingering.is_empty() {
            return;
        }
        let now = Instant::now();
        for phase in [Phase::Flushing, Phase::Lingering] {
            while let Some(&(at, key)) = self.deadlines(phase).front() {
                let waits = self.table.get(key).is_some_and(|connection| connection.phase == phase);
                if waits && at > now {
                    break;
                }
                self.deadlines(phase).pop_front();
                if waits {
                    self.lose(key, CloseReason::Lost(ErrorKind::TimedOut));
                }
            }
        }
    }

    fn deadlines(&mut self, phase: Phase) -> &mut VecDeque<(Instant, Key)> {
        if phase == Phase::Flushing { &mut self.flushing } else { &mut self.lingering }
    }

    /// The next deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let ending = [self.flushing.front(), self.lingering.front()].into_iter().flatten().map(|(at, _)| *at);
        ending.chain(self.listeners.next_attempt()).min()
    }

    /// Length of a wait: the requested time, or until the next deadline.
    pub(super) fn timeout(&self, asked: Option<Duration>) -> Option<Duration> {
        if asked == Some(Duration::ZERO) {
            return asked;
        }
        let due = self.next_deadline().map(|at| at.saturating_duration_since(Instant::now()));
        asked.into_iter().chain(due).min()
    }
}
