//! Limits. Other limits of a connection are those of netdyno-rtc.

/// Bytes of a connection's unread messages, over all channels. Further messages stay in the connection, whose
/// receive window then stops the peer.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// Charged for each unread message in addition to its bytes, because a peer can send empty messages.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 128;

/// Channels opened by the peer of a connection that Python has not seen. Further ones are closed.
pub(crate) const WAITING_CHANNELS: usize = 1024;

/// Server failures of a connection that Python has not seen. Further ones are dropped.
pub(crate) const SERVER_FAILURES: usize = 16;

/// Bytes that a channel queues before `send` raises an exception: `send` does not wait, and a program that
/// ignores `bufferedAmount` would exhaust memory.
pub(crate) const BUFFERED_BYTES: u64 = 64 << 20;

/// Bytes sent for all channels between two turns, and for one channel before the next has its turn.
pub(crate) const TURN_BYTES: usize = 1 << 20;
pub(crate) const SLICE_BYTES: usize = 1 << 17;

/// The longest message accepted by a peer that does not state it (RFC 8841, section 6.1).
pub(crate) const DEFAULT_MESSAGE_BYTES: u64 = 65_536;
