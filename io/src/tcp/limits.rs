//! What a peer can make us hold, and how much is done in one turn.

use std::time::Duration;

/// What one read takes at the most: more than this and others come first.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Room that is made in a connection's own buffer, at the least.
pub(super) const OWN_READ_BYTES: usize = 4 << 10;
/// A connection with so much that is not consumed sends something long: from then on it is read into a buffer of its own.
pub(super) const LONG_BYTES: usize = 8 << 10;
/// After so many reads in a row that took little, it no longer is.
pub(super) const SHORT_READS: u8 = 32;
/// Room for such a read: at first, so that what is just as long fits with what stands around it, and at the most.
pub(super) const LONG_FIRST_BYTES: usize = 68 << 10;
pub(super) const LONG_READ_BYTES: usize = 256 << 10;
/// Memory that the reads of one turn share.
pub(super) const ARENA_BYTES: usize = 1 << 20;
/// Connections that one turn reads; the others come in the next.
pub(super) const TURN_CONNECTIONS: usize = 512;
/// Connections that one turn accepts from one listener.
pub(super) const TURN_ACCEPTS: usize = 64;
/// Answers of the kernel to one wait.
pub(super) const TURN_EVENTS: usize = 512;
/// Free buffers that are kept for the next that needs one.
pub(super) const POOL_BUFFERS: usize = 1024;
/// Their room together; what is beyond it goes back to the allocator.
pub(super) const POOL_BYTES: usize = 16 << 20;
/// Sockets that listen.
pub(super) const LISTENERS: usize = 64;
/// How long no connection is accepted after the process ran out of descriptors or memory.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often a silent peer is asked before it is given up.
pub(super) const KEEPALIVE_PROBES: u32 = 3;
/// The longest silence after which one can be asked (tcp(7)).
pub(super) const KEEPALIVE_MAX: Duration = Duration::from_secs(32_767);
/// Connections that are refused at once when the process ran out of descriptors.
pub(super) const REFUSED_AT_ONCE: usize = 16;
/// io_uring: requests handed over in one call; more take another one.
pub(super) const URING_REQUESTS: u32 = 1024;
/// io_uring: answers that the kernel keeps before it has to set them aside.
pub(super) const URING_ANSWERS: u32 = 4096;
/// io_uring: buffers that all receives of a turn draw from. A power of two.
pub(super) const URING_BUFFERS: u16 = 512;
/// io_uring: room of one of these.
pub(super) const URING_BUFFER_BYTES: usize = 8 << 10;
/// io_uring: with room for fewer connections than this the kernel accepts one by one, as it does not know the limit.
pub(super) const URING_ACCEPT_ROOM: usize = 1024;

/// What a reactor holds at the most.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections open at a time. Further ones wait in the listeners' backlogs.
    pub connections: usize,
    /// Bytes that have arrived and are not consumed, a connection; one that exceeds it is closed. It has to hold the
    /// largest frame that the caller takes.
    pub input_bytes: usize,
    /// Bytes of output that the socket did not take, a connection; one that exceeds it is closed.
    pub output_bytes: usize,
    /// How long a connection that was closed after its output may take for that output.
    pub flush_time: Duration,
    /// How long we then read on until the peer closes, so that no reset overtakes the last answer. Zero: not at all.
    pub linger_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            input_bytes: 64 << 20,
            output_bytes: 256 << 20,
            flush_time: Duration::from_secs(60),
            linger_time: Duration::from_secs(2),
        }
    }
}
