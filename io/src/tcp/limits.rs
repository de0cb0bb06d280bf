//! Limits on what a peer can make the reactor hold, and on the work per turn.

use std::time::Duration;

/// Most bytes per read of a connection without long frames; after them other connections are served.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Least free space in a connection's own buffer before a read.
pub(super) const OWN_READ_BYTES: usize = 4 << 10;
/// A connection with this much unconsumed input receives long frames: its data is then read into its own
/// buffer.
pub(super) const LONG_BYTES: usize = 8 << 10;
/// Consecutive short reads after which it no longer does.
pub(super) const SHORT_READS: u8 = 32;
/// Bytes of such a read: initially enough for a 64 KiB value with its framing, and at most.
pub(super) const LONG_FIRST_BYTES: usize = 68 << 10;
pub(super) const LONG_READ_BYTES: usize = 256 << 10;
/// Bytes of long frames per turn, not counting the last read; other connections wait for the next turn. Without this
/// limit, a turn takes as long as all peers together can fill: at 256 KiB each, a hundred of them take 10 ms.
pub(super) const TURN_LONG_BYTES: usize = 1 << 20;
/// The same while connections with short frames are active: one read.
pub(super) const TURN_LONG_BYTES_SHARED: usize = 256 << 10;
/// Turns in which a connection with short frames counts as active after its last input.
pub(super) const SHARED_TURNS: u32 = 64;
/// Memory shared by the reads of one turn.
pub(super) const ARENA_BYTES: usize = 1 << 20;
/// Most connections read per turn; the rest follow in the next one.
pub(super) const TURN_CONNECTIONS: usize = 512;
/// Most connections accepted per turn and listener.
pub(super) const TURN_ACCEPTS: usize = 64;
/// Most kernel events per wait.
pub(super) const TURN_EVENTS: usize = 512;
/// Capacity that an unsent rest of output may keep, or a multiple of its length if that is more.
pub(super) const UNSENT_ROOM_BYTES: usize = 64 << 10;
pub(super) const UNSENT_ROOM_FACTOR: usize = 8;
/// Part of the difference by which a connection's usual length follows a shorter one.
pub(super) const USUAL_DECAY: usize = 32;
/// Most free buffers of similar capacity kept for reuse.
pub(super) const POOL_BUFFERS: usize = 1024;
/// Total capacity of all free buffers; more returns to the allocator.
pub(super) const POOL_BYTES: usize = 16 << 20;
/// Capacity kept for output to connections that no longer exist.
pub(super) const SINK_BYTES: usize = 64 << 10;
/// Most listening sockets.
pub(super) const LISTENERS: usize = 64;
/// Pause in accepting after the process ran out of descriptors or memory.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Keep-alive probes before a silent peer is given up.
pub(super) const KEEPALIVE_PROBES: u32 = 3;
/// Longest silence before the first keep-alive probe (tcp(7)).
pub(super) const KEEPALIVE_MAX: Duration = Duration::from_secs(32_767);
/// Connections refused at a time when the process has run out of descriptors.
pub(super) const REFUSED_AT_ONCE: usize = 16;
/// io_uring: submission queue entries; more requests take another system call.
pub(super) const URING_REQUESTS: u32 = 1024;
/// io_uring: completion queue entries before the kernel's overflow list is used.
pub(super) const URING_ANSWERS: u32 = 4096;
/// io_uring: buffers shared by all receives of a turn. A power of two.
pub(super) const URING_BUFFERS: u16 = 512;
/// io_uring: size of one such buffer.
pub(super) const URING_BUFFER_BYTES: usize = 8 << 10;
/// io_uring: with capacity for fewer connections than this, the kernel accepts them one by one, because it
/// does not know the limit.
pub(super) const URING_ACCEPT_ROOM: usize = 1024;

/// Limits of a reactor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most open connections. Further ones wait in the listeners' backlogs.
    pub connections: usize,
    /// Most unconsumed input bytes per connection; a connection that exceeds it is closed. It must hold the
    /// largest frame that the caller accepts.
    pub input_bytes: usize,
    /// Most output bytes per connection that the socket has not accepted; a connection that exceeds it is
    /// closed.
    pub output_bytes: usize,
    /// Longest time that a connection closed after its output may take to send that output.
    pub flush_time: Duration,
    /// How long input is then read and discarded until the peer closes, so that no reset overtakes the last
    /// answer. Zero disables it.
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
