//! Limits. Those of a node's state are in the core.

use std::time::Duration;

/// Interfaces of one controller or device.
pub(crate) const INTERFACES_MAX: usize = 32;

/// How long the list of attached networks is used before an unknown source address causes a new one.
pub(crate) const NETWORKS_FRESH: Duration = Duration::from_secs(1);

/// How long a receive call blocks before the thread checks for its end and for timers.
pub(crate) const WAIT: Duration = Duration::from_millis(100);

/// Batches of 16 datagrams that are received before timers are checked.
pub(crate) const BATCHES_PER_TURN: usize = 16;

/// Datagrams that are received before timers are checked.
pub(crate) const DATAGRAMS_PER_TURN: usize = 256;

/// Waiting datagrams from which on a receive buffer may overflow: as many as one receive call returns.
pub(crate) const BACKLOG_DATAGRAMS: usize = 16;

/// Datagrams that a node accepts from one source in a second.
pub(crate) const SOURCE_LIMIT_PER_S: u32 = 1000;

/// Events in a listener's queue; further ones are dropped and counted.
pub(crate) const FEED_EVENTS: usize = 65_536;

/// Events that a controller keeps for the next `poll` while a call waits for its answer.
pub(crate) const KEPT_EVENTS: usize = 65_536;

/// How long a driver sleeps while calls receive their own answers.
pub(crate) const LAZY: Duration = Duration::from_millis(20);

/// Nodes of a virtual home.
pub(crate) const HOME_NODES_MAX: usize = 65_536;

/// Queued datagrams for each node of a home; further ones are lost.
pub(crate) const QUEUED_PER_NODE: usize = 8;

/// The poller's key for TCP connections; no socket has this number.
pub(crate) const STREAMS_KEY: u32 = u32::MAX;

/// Outgoing TCP connections, one to each node; as many as nodes are known by default.
pub(crate) const MADE_CONNECTIONS_MAX: usize = 4096;

/// Bytes that one read may return beyond the incomplete message that is kept.
pub(crate) const READ_AHEAD_BYTES: usize = 256 << 10;

/// How long a connection stays open after the peer's half-close, so that answers can be sent.
pub(crate) const HALF_CLOSED: Duration = Duration::from_secs(1);

/// How much longer than requested a wait may be, if that saves a system call.
pub(crate) const SLACK: Duration = Duration::from_millis(5);

/// The name of driver threads.
pub(crate) const THREAD_NAME: &str = "netdyno-echonet";
