//! State of one connection: its phase, its buffers, and how it is read.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Listener;
use super::append::append;
use super::buffers::{BufferSizes, Input, Output};
use super::limits::{LONG_BYTES, LONG_FIRST_BYTES, LONG_READ_BYTES, OWN_READ_BYTES, READ_BYTES, SHORT_READS};
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
        // With the free space before the last read.
        let usual = self.input.usual_length();
        let buffer = self.input.own_mut(usual + usual.min(LONG_READ_BYTES), pool);
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
        if got.max(self.input.own_length()) >= LONG_BYTES {
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

    pub(super) fn buffer_sizes(&self) -> BufferSizes {
        let Self { input, output, .. } = self;
        BufferSizes {
            input: input.len(),
            input_capacity: input.capacity(),
            output: output.len(),
            output_capacity: output.capacity(),
        }
    }

    #[cfg(test)]
    pub(super) fn holds_buffers(&self) -> bool {
        self.input.capacity() + self.output.capacity() + self.output.in_flight > 0
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::buffers::Window;
    use super::*;

    #[test]
    fn the_capacity_of_all_buffers_is_reported() {
        let (mut pool, file) = (Pool::default(), File::open("/dev/null").unwrap());
        let mut connection = Connection::new(file.into(), Phase::Open, None);
        assert_eq!(connection.buffer_sizes(), BufferSizes::default());
        connection.input.set_window(Window { at: 0, length: 100 });
        assert_eq!((connection.buffer_sizes().input, connection.buffer_sizes().input_capacity), (100, 100));
        connection.input.settle(&[0; 100], 100, &mut pool);
        connection.input.own_mut(0, &mut pool).reserve_exact(1 << 20);
        connection.input.consume(99, &mut pool);
        let sizes = connection.buffer_sizes();
        assert!(sizes.input == 1 && sizes.input_capacity >= 1 << 20, "{sizes:?}");
        connection.output.append(&mut pool).resize(1 << 20, 0);
        connection.output.release(&mut pool);
        let (_buffer, _) = connection.output.take_sendable(&mut pool);
        connection.output.append(&mut pool).resize(1000, 0);
        let sizes = connection.buffer_sizes();
        assert!(sizes.output == (1 << 20) + 1000 && sizes.output_capacity >= sizes.output, "{sizes:?}");
        assert_eq!(connection.output.take_in_flight(), 1 << 20);
        assert!(connection.buffer_sizes().output_capacity < 1 << 20);
    }
}
