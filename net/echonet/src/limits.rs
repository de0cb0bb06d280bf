//! Everything has a limit, and every limit a name. What a node may hold is in the core's limits.

use std::time::Duration;

/// Interfaces of one controller or device.
pub(crate) const INTERFACES_MAX: usize = 32;

/// Bytes of the largest datagram: more than UDP can carry.
pub(crate) const DATAGRAM_BYTES: usize = 1 << 16;

/// How long a receive waits before the thread looks whether it is to end, and whether time is due.
pub(crate) const WAIT: Duration = Duration::from_millis(100);

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

/// What a wait may be longer than asked, where that saves a system call.
pub(crate) const SLACK: Duration = Duration::from_millis(5);
