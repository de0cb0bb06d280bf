//! The buffers of a connection: unconsumed input and pending output.

use std::mem::{replace, take};

use super::limits::{UNSENT_ROOM_BYTES, UNSENT_ROOM_FACTOR, USUAL_DECAY};
use super::pool::Pool;

/// Sizes of the content and of the memory of a connection's buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BufferSizes {
    /// Unconsumed input.
    pub input: usize,
    /// Memory of the input, at least as much.
    pub input_capacity: usize,
    /// Output that the socket has not accepted.
    pub output: usize,
    /// Memory of the output, at least as much.
    pub output_capacity: usize,
}

/// The usual length of what a connection's buffer contains: follows larger ones at once and smaller ones slowly, so that
/// a connection with both takes large buffers.
#[derive(Debug, Clone, Copy, Default)]
struct UsualLength(usize);

impl UsualLength {
    fn note(&mut self, length: usize) {
        self.0 = length.max(self.0 - self.0.saturating_sub(length).div_ceil(USUAL_DECAY));
    }
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
    /// Of `own`.
    usual: UsualLength,
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

    /// The memory that it occupies.
    pub(super) fn capacity(&self) -> usize {
        self.window.length as usize + self.own.capacity()
    }

    /// Length of the own buffer, with its consumed bytes.
    pub(super) fn own_length(&self) -> usize {
        self.own.len()
    }

    /// The length that the own buffer usually reaches.
    pub(super) fn usual_length(&self) -> usize {
        self.usual.0
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The bytes in the connection's own buffer.
    pub(super) fn own(&self) -> &[u8] {
        &self.own[self.start..]
    }

    /// The own buffer, to append to. A new one has room for `length` bytes, if the pool has such a buffer. Consumed bytes
    /// are removed once they are half of it, which makes the total cost linear.
    pub(super) fn own_mut(&mut self, length: usize, pool: &mut Pool) -> &mut Vec<u8> {
        if self.own.capacity() == 0 {
            self.own = pool.take_usual(length);
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

    /// Copies what is left in the turn's memory into the connection's own buffer, one for about `length` bytes.
    pub(super) fn settle(&mut self, bytes: &[u8], length: usize, pool: &mut Pool) {
        if !bytes.is_empty() {
            self.window = Window::default();
            self.own_mut(length, pool).extend_from_slice(bytes);
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
        if !self.own.is_empty() {
            self.usual.note(self.own.len());
        }
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
    /// Capacity of the buffer of that send; 0 if there is none.
    in_flight_capacity: usize,
    /// Of `bytes` when flushed.
    usual: UsualLength,
}

impl Output {
    /// Bytes that the socket has not accepted yet.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.in_flight
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that it occupies.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.in_flight_capacity
    }

    /// The bytes that may be sent.
    pub(super) fn sendable(&self) -> &[u8] {
        &self.bytes[self.sent..self.released]
    }

    /// The buffer, to append to.
    pub(super) fn append(&mut self, pool: &mut Pool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take_usual(self.usual.0);
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
        self.usual.note(self.released - self.sent);
    }

    /// Records that the socket accepted `count` bytes.
    pub(super) fn advance(&mut self, count: usize, pool: &mut Pool) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.give_back(pool);
        } else {
            self.fit(pool);
        }
    }

    /// Releases memory that an unsent rest does not need.
    pub(super) fn fit(&mut self, pool: &mut Pool) {
        let from = trim(&mut self.bytes, self.sent, pool);
        self.released -= self.sent - from;
        self.sent = from;
    }

    /// Takes the buffer for a send that owns it, with the offset of the first byte to send.
    pub(super) fn take_sendable(&mut self, pool: &mut Pool) -> (Vec<u8>, usize) {
        let (sent, released) = (take(&mut self.sent), take(&mut self.released));
        let mut bytes = take(&mut self.bytes);
        if released < bytes.len() {
            self.bytes = pool.take(bytes.len() - released);
            self.bytes.extend_from_slice(&bytes[released..]);
            bytes.truncate(released);
        }
        let from = trim(&mut bytes, sent, pool);
        self.set_in_flight(released - sent, &bytes);
        (bytes, from)
    }

    /// A send of the last `count` bytes of this buffer is in progress.
    pub(super) fn set_in_flight(&mut self, count: usize, buffer: &Vec<u8>) {
        (self.in_flight, self.in_flight_capacity) = (count, buffer.capacity());
    }

    /// No send is in progress. Returns the bytes of the last one.
    pub(super) fn take_in_flight(&mut self) -> usize {
        self.in_flight_capacity = 0;
        take(&mut self.in_flight)
    }

    /// Returns the buffer to the pool, with or without content.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        (self.sent, self.released) = (0, 0);
        pool.put(take(&mut self.bytes));
    }
}

/// Removes the bytes that the socket accepted if they are more than half. Returns where the rest begins. The peer decides when
/// the rest is sent, so it keeps little more room than it needs: a much larger buffer returns to the pool. The next one has at
/// most half of the capacity that would be replaced again, which makes the total cost linear.
pub(super) fn trim(bytes: &mut Vec<u8>, sent: usize, pool: &mut Pool) -> usize {
    let rest = bytes.len() - sent;
    if bytes.capacity() > UNSENT_ROOM_BYTES.max(UNSENT_ROOM_FACTOR * rest) {
        let mut smaller = pool.take(rest);
        smaller.extend_from_slice(&bytes[sent..]);
        pool.put(replace(bytes, smaller));
        return 0;
    }
    if sent <= bytes.len() / 2 {
        return sent;
    }
    bytes.drain(..sent);
    0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn input_moves_between_the_arena_and_the_own_buffer() {
        let (mut pool, mut input) = (Pool::default(), Input::default());
        let arena = b"..hello, world";
        input.set_window(Window { at: 2, length: 12 });
        assert!(!input.consume(7, &mut pool));
        assert_eq!((input.len(), input.window()), (5, Window { at: 9, length: 5 }));
        input.settle(&arena[9..], 5, &mut pool);
        assert_eq!(input.own(), b"world");
        input.own_mut(0, &mut pool).extend_from_slice(b" and more");
        input.consume(9, &mut pool);
        assert_eq!(input.own(), b" more");
        input.own_mut(0, &mut pool).extend_from_slice(b"!");
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

    /// The peer does not read, so a buffer that is flushed stays.
    #[test]
    fn a_few_unsent_bytes_hold_no_large_buffer() {
        for in_flight in [false, true] {
            let (mut pool, mut outputs) = (Pool::default(), Vec::new());
            for _ in 0..500 {
                let mut output = Output::default();
                // Both lengths occur on this connection, so it takes large buffers.
                output.usual.note(1 << 20);
                pool.put(Vec::with_capacity(1 << 20));
                output.append(&mut pool).extend_from_slice(b"+OK\r\n");
                assert_eq!(output.bytes.capacity(), 1 << 20);
                output.release(&mut pool);
                let taken = in_flight.then(|| output.take_sendable(&mut pool));
                output.fit(&mut pool);
                outputs.push((output, taken));
            }
            let bytes: usize = outputs.iter().map(|(output, _)| output.capacity()).sum();
            assert!(bytes <= 500 * UNSENT_ROOM_BYTES, "{bytes} bytes, in flight: {in_flight}");
            assert!(outputs.iter().all(|(output, _)| output.len() == 5));
        }
    }

    /// A short request waits while the pool is full of what large replies have left there.
    #[test]
    fn a_short_request_takes_no_large_buffer() {
        let (mut pool, mut inputs) = (Pool::default(), Vec::new());
        for _ in 0..500 {
            pool.put(Vec::with_capacity(1 << 20));
            let mut input = Input::default();
            input.set_window(Window { at: 0, length: 40 });
            input.settle(&[b'x'; 40], 40, &mut pool);
            inputs.push(input);
        }
        let bytes: usize = inputs.iter().map(Input::capacity).sum();
        assert!(bytes <= 500 * 4096, "{bytes}");
    }

    /// One buffer serves all large frames of a connection, also with short ones between them.
    #[test]
    fn large_replies_reuse_their_buffer() {
        let (mut pool, mut output, mut places) = (Pool::default(), Output::default(), BTreeSet::new());
        for round in 0..100 {
            let length = if round % 10 == 0 { 1 << 20 } else { 100 };
            let bytes = output.append(&mut pool);
            bytes.resize(length, 0);
            if round > 0 {
                places.insert(bytes.as_ptr().addr());
                assert!(bytes.capacity() >= 1 << 20, "{round}");
            }
            output.release(&mut pool);
            output.advance(length, &mut pool);
        }
        assert_eq!(places.len(), 1);
    }

    /// Buffers grow in steps, so their capacity can be in the class above that of their content.
    #[test]
    fn long_input_reuses_its_buffer() {
        let (mut pool, mut input, mut places) = (Pool::default(), Input::default(), BTreeSet::new());
        for round in 0..20 {
            let length = input.usual_length();
            let buffer = input.own_mut(length, &mut pool);
            for _ in 0..10 {
                buffer.extend_from_slice(&[0; 100_000]);
            }
            if round > 0 {
                places.insert(buffer.as_ptr().addr());
            }
            input.consume(1_000_000, &mut pool);
        }
        assert_eq!((places.len(), pool.len()), (1, 1));
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
        assert_eq!(output.take_in_flight(), 5);
        assert!(output.sendable().is_empty());
        output.release(&mut pool);
        assert_eq!(output.take_sendable(&mut pool), (b" not yet".to_vec(), 0));
    }
}
