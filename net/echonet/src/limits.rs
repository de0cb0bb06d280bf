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
