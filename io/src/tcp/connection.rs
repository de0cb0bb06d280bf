//! One connection: what arrived, what is to be sent, and how far it is.

use std::mem::take;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Listener;
use super::limits::{LONG_BYTES, LONG_FIRST_BYTES, LONG_READ_BYTES, OWN_READ_BYTES, SHORT_READS};
use super::pool::Pool;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// We called; the peer has not answered yet.
    Connecting,
    /// Both sides may send.
    Open,
    /// The caller closed it; its output comes first.
    Flushing,
    /// All is sent and the caller told; what arrives is thrown away until the peer closes.
    Lingering,
    /// Over; the kernel still holds buffers of it.
    Dead,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// What accepted it, if it was accepted.
    pub(super) listener: Option<Listener>,
    pub(super) phase: Phase,
    pub(super) input: Input,
    pub(super) output: Output,
    /// The caller wants nothing from it now.
    pub(super) paused: bool,
    /// The peer sends no more.
    pub(super) ended: bool,
    /// The turn in which the caller was last told of input.
    pub(super) told: u64,
    /// Noted for the next flush.
    pub(super) dirty: bool,
    /// epoll: there is something to read, as far as we know.
    pub(super) readable: bool,
    /// epoll: the peer hung up, so that reads go on until they say so.
    pub(super) hung_up: bool,
    /// Waits for its turn to be read (epoll), or for a receive to be started (io_uring).
    pub(super) queued: bool,
    /// io_uring: what the kernel has not answered yet.
    pub(super) receiving: bool,
    /// epoll: the socket is full; the kernel tells when it no longer is.
    pub(super) blocked: bool,
    /// io_uring: waits for the connection to be made, or for something to read by ourselves.
    pub(super) polling: bool,
    /// What it sends is long: it is read into its own buffer, not copied there from the turn's memory.
    pub(super) long: bool,
    /// Reads since that took little, in a row.
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
            told: u64::MAX,
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

    /// Reads once into its own buffer. What it sends is long, or has been of late.
    pub(super) fn read_own(&mut self, pool: &mut Pool, flags: RecvFlags) -> Result<Read, Errno> {
        let buffer = self.input.own_mut(pool);
        // As much again as has arrived, so that a length that somebody claims costs nothing.
        let least = if self.long { LONG_FIRST_BYTES } else { OWN_READ_BYTES };
        buffer.reserve(buffer.len().clamp(least, LONG_READ_BYTES));
        let room = buffer.capacity() - buffer.len();
        let got = recv(&self.socket, spare_capacity(buffer), flags).map(|(_, got)| got);
        if buffer.is_empty() {
            self.input.give_back(pool);
        }
        let got = got?;
        self.note_length(got);
        Ok(Read { got, filled: got == room })
    }

    /// Notes what one read took, or that so much is not consumed.
    pub(super) fn note_length(&mut self, got: usize) {
        if got.max(self.input.own.len()) >= LONG_BYTES {
            (self.long, self.short_reads) = (true, 0);
        } else if self.long {
            self.short_reads += 1;
            self.long = self.short_reads < SHORT_READS;
        }
    }

    /// Whether the kernel has not answered a request yet (io_uring).
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

/// What one read took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) got: usize,
    /// There was no room for more: there may be more.
    pub(super) filled: bool,
}

/// A part of the memory that all connections of a turn share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) at: u32,
    pub(super) length: u32,
}

/// What arrived and is not consumed: in the turn's memory, or in a buffer of its own; never in both.
#[derive(Debug, Default)]
pub(super) struct Input {
    own: Vec<u8>,
    /// Bytes of `own` that are consumed.
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

    /// Whether what arrives next has to be appended to a buffer of its own.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The bytes in its own buffer.
    pub(super) fn own(&self) -> &[u8] {
        &self.own[self.start..]
    }

    /// Its own buffer, to append to. What was consumed is cut off once it is half of it: linear over all.
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

    /// It must be empty.
    pub(super) fn set_window(&mut self, window: Window) {
        debug_assert!(self.is_empty());
        self.window = window;
    }

    /// Copies what is left in the turn's memory into a buffer of its own.
    pub(super) fn settle(&mut self, bytes: &[u8], pool: &mut Pool) {
        if !bytes.is_empty() {
            self.window = Window::default();
            self.own_mut(pool).extend_from_slice(bytes);
        }
    }

    /// Forgets `count` bytes, or all if there are fewer. True if it emptied the part in the turn's memory.
    pub(super) fn consume(&mut self, count: usize, pool: &mut Pool) -> bool {
        if self.window.length > 0 {
            // Not cut off: it is at most the length, which has 32 bits.
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

    /// Returns its own buffer, whatever it holds.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        self.start = 0;
        pool.put(take(&mut self.own));
    }
}

/// What is to be sent.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Bytes of it that the socket took.
    sent: usize,
    /// Up to where the caller has let it go, by flushing.
    released: usize,
    /// Bytes that a send under way holds (io_uring).
    pub(super) in_flight: usize,
}

impl Output {
    /// Bytes that the socket did not take yet.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.in_flight
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What may be sent.
    pub(super) fn sendable(&self) -> &[u8] {
        &self.bytes[self.sent..self.released]
    }

    /// To append to.
    pub(super) fn append(&mut self, pool: &mut Pool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        &mut self.bytes
    }

    /// All that is there may be sent. A buffer that nothing was appended to goes back.
    pub(super) fn release(&mut self, pool: &mut Pool) {
        if self.bytes.is_empty() {
            return self.give_back(pool);
        }
        // The caller has the buffer itself in hands, and may have cut it off.
        self.sent = self.sent.min(self.bytes.len());
        self.released = self.bytes.len();
    }

    /// Notes that the socket took `count` bytes.
    pub(super) fn advance(&mut self, count: usize, pool: &mut Pool) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.give_back(pool);
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.released -= self.sent;
            self.sent = 0;
        }
    }

    /// The bytes that may be sent, with the buffer they are in, for a send that owns it; and where in it they begin.
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

    /// Returns the buffer, whatever it holds.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        (self.sent, self.released) = (0, 0);
        pool.put(take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_moves_from_the_turn_to_its_own_and_back() {
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
    fn output_is_cut_off_where_half_is_sent() {
        let (mut pool, mut output) = (Pool::default(), Output::default());
        output.append(&mut pool).extend_from_slice(b"0123456789");
        assert!(output.sendable().is_empty(), "not before it is flushed");
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
    fn a_send_takes_what_was_flushed() {
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
