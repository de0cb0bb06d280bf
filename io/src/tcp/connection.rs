//! State of one connection: unconsumed input, pending output and its phase.

use std::mem::take;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Listener;
use super::append::append;
use super::limits::{
    LONG_BYTES, LONG_FIRST_BYTES, LONG_READ_BYTES, OWN_READ_BYTES, READ_BYTES, SHORT_READS, UNSENT_ROOM_BYTES,
};
use super::pool::Pool;

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A connect is pending.
    Connecting,
    /// Both sides may send.
    Open,
    /// The caller closed it; pending output is sent first.
    Flushing,
    /// All output is sent and the caller was notified; input is discarded until the peer closes.
    Lingering,
    /// Closed, but the kernel still holds buffers of it.
    Dead,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// The listener that accepted it, if any.
    pub(super) listener: Option<Listener>,
    pub(super) phase: Phase,
    pub(super) input: Input,
    pub(super) output: Output,
    /// The caller has paused reading.
    pub(super) paused: bool,
    /// The peer has closed its sending side.
    pub(super) ended: bool,
    /// The turn in which input was last reported.
    pub(super) reported_turn: u64,
    /// In the list of connections to flush.
    pub(super) dirty: bool,
    /// epoll: may have data to read.
    pub(super) readable: bool,
    /// epoll: the peer hung up, so reads continue until they report the end.
    pub(super) hung_up: bool,
    /// Queued for a read (epoll) or for starting a receive (io_uring).
    pub(super) queued: bool,
    /// io_uring: operations in progress.
    pub(super) receiving: bool,
    /// epoll: the socket is full; a notification follows when it no longer is.
    pub(super) blocked: bool,
    /// io_uring: waits for the connection to be established, or for data that this process reads itself.
    pub(super) polling: bool,
    /// Receives long frames: data is read directly into its own buffer, not copied there from the turn's
    /// memory.
    pub(super) long: bool,
    /// Consecutive short reads since.
    short_reads: u8,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, phase: Phase, listener: Option<Listener>) -> Self {
        Self {
            socket,
            listener,
            phase,
            input: Input::default(),
            output: Output::default(),
            paused: false,
            ended: false,
            reported_turn: u64::MAX,
            dirty: false,
            readable: false,
            hung_up: false,
            queued: false,
            receiving: false,
            blocked: false,
            polling: false,
            long: false,
            short_reads: 0,
        }
    }

    /// Reads once into the connection's own buffer, for connections that receive long frames.
    pub(super) fn read_own(&mut self, pool: &mut Pool, flags: RecvFlags) -> Result<Read, Errno> {
        let buffer = self.input.own_mut(pool);
        // At most doubles what has arrived, so that an announced length alone allocates nothing.
        let (least, most) =
            if self.long { (LONG_FIRST_BYTES, LONG_READ_BYTES) } else { (OWN_READ_BYTES, READ_BYTES) };
        buffer.reserve(buffer.len().clamp(least, LONG_READ_BYTES));
        // The capacity of a long buffer can be much more, and so can what the socket holds.
        let room = most.min(buffer.capacity() - buffer.len());
        let got = append(buffer, room, |spare| Ok(recv(&self.socket, spare, flags)?.0.0));
        if buffer.is_empty() {
            self.input.give_back(pool);
        }
        let got = got?;
        self.note_length(got);
        Ok(Read { got, filled: got == room })
    }

    /// Records the length of a read, or of the unconsumed input.
    pub(super) fn note_length(&mut self, got: usize) {
        if got.max(self.input.own.len()) >= LONG_BYTES {
            (self.long, self.short_reads) = (true, 0);
        } else if self.long {
            self.short_reads += 1;
            self.long = self.short_reads < SHORT_READS;
        }
    }

    /// Whether an operation is in progress in the kernel (io_uring).
    pub(super) fn is_busy(&self) -> bool {
        self.receiving || self.polling || self.output.in_flight > 0
    }

    #[cfg(test)]
    pub(super) fn holds_buffers(&self) -> bool {
        self.input.own.capacity() + self.output.bytes.capacity() + self.output.in_flight > 0
    }

    /// Whether the caller may still use it.
    pub(super) fn is_public(&self) -> bool {
        matches!(self.phase, Phase::Connecting | Phase::Open)
    }
}

/// Result of one read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) got: usize,
    /// The buffer was filled, so more may be waiting.
    pub(super) filled: bool,
}

/// A range of the memory that all connections of a turn share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) at: u32,
    pub(super) length: u32,
}

/// Unconsumed input: either in the turn's memory or in the connection's own buffer, never in both.
#[derive(Debug, Default)]
pub(super) struct Input {
    own: Vec<u8>,
    /// Consumed bytes of `own`.
    start: usize,
    window: Window,
}

impl Input {
    pub(super) fn is_empty(&self) -> bool {
        self.window.length == 0 && self.own.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.window.length as usize + self.own.len() - self.start
    }

    /// Whether new input must be appended to the connection's own buffer.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The bytes in the connection's own buffer.
    pub(super) fn own(&self) -> &[u8] {
        &self.own[self.start..]
    }

    /// The own buffer, to append to. Consumed bytes are removed once they are half of it, which makes the
    /// total cost linear.
    pub(super) fn own_mut(&mut self, pool: &mut Pool) -> &mut Vec<u8> {
        if self.own.capacity() == 0 {
            self.own = pool.take();
        }
        if self.start > self.own.len() / 2 {
            self.own.drain(..self.start);
            self.start = 0;
        }
        &mut self.own
    }

    /// Requires empty input.
    pub(super) fn set_window(&mut self, window: Window) {
        debug_assert!(self.is_empty());
        self.window = window;
    }

    /// Copies what is left in the turn's memory into the connection's own buffer.
    pub(super) fn settle(&mut self, bytes: &[u8], pool: &mut Pool) {
        if !bytes.is_empty() {
            self.window = Window::default();
            self.own_mut(pool).extend_from_slice(bytes);
        }
    }

    /// Consumes `count` bytes, or all if there are fewer. True if that emptied the range in the turn's
    /// memory.
    pub(super) fn consume(&mut self, count: usize, pool: &mut Pool) -> bool {
        if self.window.length > 0 {
            // Lossless: at most the length, which has 32 bits.
            let count = count.min(self.window.length as usize) as u32;
            self.window.at += count;
            self.window.length -= count;
            return self.window.length == 0;
        }
        self.start += count.min(self.own.len() - self.start);
        if self.start == self.own.len() {
            self.give_back(pool);
        }
        false
    }

    /// Returns the own buffer to the pool, with or without content.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        self.start = 0;
        pool.put(take(&mut self.own));
    }
}

/// Pending output.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Bytes accepted by the socket.
    sent: usize,
    /// End of the flushed bytes.
    released: usize,
    /// Bytes of a send in progress (io_uring).
    pub(super) in_flight: usize,
}

impl Output {
    /// Bytes that the socket has not accepted yet.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.in_flight
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that may be sent.
    pub(super) fn sendable(&self) -> &[u8] {
        &self.bytes[self.sent..self.released]
    }

    /// The buffer, to append to.
    pub(super) fn append(&mut self, pool: &mut Pool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        &mut self.bytes
    }

    /// Marks all bytes as flushed. An unused buffer returns to the pool.
    pub(super) fn release(&mut self, pool: &mut Pool) {
        if self.bytes.is_empty() {
            return self.give_back(pool);
        }
        // The caller has access to the buffer and may have truncated it.
        self.sent = self.sent.min(self.bytes.len());
        self.released = self.bytes.len();
    }

    /// Records that the socket accepted `count` bytes.
    pub(super) fn advance(&mut self, count: usize, pool: &mut Pool) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.give_back(pool);
        } else {
            let from = trim(&mut self.bytes, self.sent);
            self.released -= self.sent - from;
            self.sent = from;
        }
    }

    /// Takes the buffer for a send that owns it, with the offset of the first byte to send.
    pub(super) fn take_sendable(&mut self, pool: &mut Pool) -> (Vec<u8>, usize) {
        let (sent, released) = (take(&mut self.sent), take(&mut self.released));
        let mut bytes = take(&mut self.bytes);
        if released < bytes.len() {
            self.bytes = pool.take();
            self.bytes.extend_from_slice(&bytes[released..]);
            bytes.truncate(released);
        }
        self.in_flight = released - sent;
        (bytes, sent)
    }

    /// Returns the buffer to the pool, with or without content.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        (self.sent, self.released) = (0, 0);
        pool.put(take(&mut self.bytes));
    }
}

/// Removes the bytes that the socket accepted if they are more than half. Returns where the rest begins. The peer decides when
/// the rest is sent, so it keeps little more room than it needs.
pub(super) fn trim(bytes: &mut Vec<u8>, sent: usize) -> usize {
    if sent <= bytes.len() / 2 {
        return sent;
    }
    bytes.drain(..sent);
    if bytes.capacity() > UNSENT_ROOM_BYTES.max(4 * bytes.len()) {
        bytes.shrink_to_fit();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_moves_between_the_arena_and_the_own_buffer() {
        let (mut pool, mut input) = (Pool::default(), Input::default());
        let arena = b"..hello, world";
        input.set_window(Window { at: 2, length: 12 });
        assert!(!input.consume(7, &mut pool));
        assert_eq!((input.len(), input.window()), (5, Window { at: 9, length: 5 }));
        input.settle(&arena[9..], &mut pool);
        assert_eq!(input.own(), b"world");
        input.own_mut(&mut pool).extend_from_slice(b" and more");
        input.consume(9, &mut pool);
        assert_eq!(input.own(), b" more");
        input.own_mut(&mut pool).extend_from_slice(b"!");
        assert_eq!((input.own(), input.start), (&b" more!"[..], 0));
        input.consume(100, &mut pool);
        assert!(input.is_empty() && input.own.capacity() == 0 && pool.len() == 1);
    }

    #[test]
    fn an_unsent_rest_holds_no_more_than_itself() {
        let (mut pool, mut output) = (Pool::default(), Output::default());
        output.append(&mut pool).resize(1 << 20, 1);
        output.release(&mut pool);
        output.advance((1 << 20) - 1000, &mut pool);
        assert_eq!(output.len(), 1000);
        assert!(output.bytes.capacity() <= UNSENT_ROOM_BYTES, "{}", output.bytes.capacity());
    }

    #[test]
    fn the_sent_prefix_is_removed_when_it_is_half() {
        let (mut pool, mut output) = (Pool::default(), Output::default());
        output.append(&mut pool).extend_from_slice(b"0123456789");
        assert!(output.sendable().is_empty(), "not before the flush");
        output.release(&mut pool);
        output.advance(5, &mut pool);
        assert_eq!((output.sendable(), output.sent), (&b"56789"[..], 5));
        output.advance(1, &mut pool);
        assert_eq!((output.sendable(), output.sent), (&b"6789"[..], 0));
        output.append(&mut pool).push(b'.');
        assert_eq!((output.sendable(), output.len()), (&b"6789"[..], 5));
        output.release(&mut pool);
        output.advance(5, &mut pool);
        assert!(output.is_empty() && output.bytes.capacity() == 0 && pool.len() == 1);
    }

    #[test]
    fn a_send_takes_only_flushed_bytes() {
        let (mut pool, mut output) = (Pool::default(), Output::default());
        output.append(&mut pool).extend_from_slice(b"flushed");
        output.release(&mut pool);
        output.advance(2, &mut pool);
        output.append(&mut pool).extend_from_slice(b" not yet");
        let (bytes, at) = output.take_sendable(&mut pool);
        assert_eq!((&bytes[at..], output.len()), (&b"ushed"[..], 13));
        output.in_flight = 0;
        assert!(output.sendable().is_empty());
        output.release(&mut pool);
        assert_eq!(output.take_sendable(&mut pool), (b" not yet".to_vec(), 0));
    }
}
