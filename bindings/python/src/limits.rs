//! Everything has a limit, and every limit a name. What a connection may hold beside is in netdyno-rtc's.

/// Bytes of one connection's messages that wait for Python, on all of its channels together. Beyond, they stay in the connection, whose receive
/// window holds the peer back.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// What a waiting message is charged beyond its bytes: a peer can send empty ones.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 128;

/// Channels of one connection that the peer opened and Python has not seen. Further ones are closed.
pub(crate) const WAITING_CHANNELS: usize = 1024;

/// Failures of servers that Python has not seen, of one connection. Further ones are forgotten.
pub(crate) const SERVER_FAILURES: usize = 16;

/// What a channel takes to send before it says no: `send` does not wait, and a program that never looks at `bufferedAmount` would fill the memory.
pub(crate) const BUFFERED_BYTES: u64 = 64 << 20;

/// What all channels together are given between two turns of the endpoint, and one before it is another one's turn.
pub(crate) const TURN_BYTES: usize = 1 << 20;
pub(crate) const SLICE_BYTES: usize = 1 << 17;

/// The longest message that a peer takes that does not say (RFC 8841 section 6.1).
pub(crate) const DEFAULT_MESSAGE_BYTES: u64 = 65_536;
