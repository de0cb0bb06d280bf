//! Everything has a limit, and every limit a name. What a node may hold is in the core's limits.

use std::time::Duration;

/// Interfaces of one controller or device.
pub(crate) const INTERFACES_MAX: usize = 32;

/// Bytes of the largest datagram: more than UDP can carry. By TCP messages may be longer.
pub(crate) const DATAGRAM_BYTES: usize = 1 << 16;

/// How long a receive waits before the thread looks whether it is to end, and whether time is due.
pub(crate) const WAIT: Duration = Duration::from_millis(100);

/// Batches of 16 datagrams that are taken in one turn before time is looked at again.
pub(crate) const BATCHES_PER_TURN: usize = 16;

/// Datagrams that are taken in one turn before time is looked at again.
pub(crate) const DATAGRAMS_PER_TURN: usize = 256;

/// Events that a listener may leave waiting; further ones are dropped, and counted.
pub(crate) const FEED_EVENTS: usize = 65_536;

/// Events that a controller keeps for its next `poll` while a call waits for its answer.
pub(crate) const KEPT_EVENTS: usize = 65_536;

/// How long a driver sleeps while others receive the answers that they wait for.
pub(crate) const LAZY: Duration = Duration::from_millis(20);

/// Nodes of a virtual home.
pub(crate) const HOME_NODES_MAX: usize = 65_536;

/// Datagrams that may wait to be sent, for each node of a home; further ones are lost.
pub(crate) const QUEUED_PER_NODE: usize = 8;

/// The key under which a poller tells of TCP connections: no socket's number.
pub(crate) const STREAMS_KEY: u32 = u32::MAX;

/// TCP connections that we make, one to each node; as many as nodes are known by default.
pub(crate) const MADE_CONNECTIONS_MAX: usize = 4096;

/// What one read may bring beyond the beginning of a message that is kept.
pub(crate) const READ_AHEAD_BYTES: usize = 256 << 10;

/// How long a connection stays whose peer sends no more: he may still want his answers.
pub(crate) const HALF_CLOSED: Duration = Duration::from_secs(1);

/// What a wait may be longer than asked, where that saves a system call.
pub(crate) const SLACK: Duration = Duration::from_millis(5);
