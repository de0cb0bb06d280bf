//! Every resource has a named limit. Defaults are those of Redis where it has the same limit.

use std::time::Duration;

use netdyno_resp::RequestLimits;

/// Limits on what clients can make the server hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connected clients; further ones receive an error and are closed (`maxclients`).
    pub clients: usize,
    /// Limits on one command.
    pub request: RequestLimits,
    /// Unread replies of one client. Above this limit its commands are not executed and its socket is not
    /// read until it catches up. The last reply may exceed the limit by its own length.
    pub unread_answer_bytes: usize,
    /// Unread messages and replies of one client; above this limit it is disconnected
    /// (`client-output-buffer-limit pubsub`).
    pub unread_message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 10_000,
            request: RequestLimits::default(),
            unread_answer_bytes: 1 << 20,
            unread_message_bytes: 32 << 20,
        }
    }
}

/// Maximum duration of a TLS handshake.
#[cfg(feature = "tls")]
pub(crate) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Plaintext bytes encrypted at once: one TLS record.
#[cfg(feature = "tls")]
pub(crate) const ENCRYPTED_AT_ONCE: usize = 16 << 10;

/// Capacity, in plaintext bytes, that an idle TLS client keeps for input and for output.
#[cfg(feature = "tls")]
pub(crate) const KEPT_CLEAR_BYTES: usize = 1 << 10;

/// Commands of one client per turn.
pub(crate) const TURN_COMMANDS: usize = 1024;

/// Commands of one client whose keys are prefetched before execution, and the maximum number of arguments of
/// such a command.
pub(crate) const AHEAD_COMMANDS: usize = 16;
pub(crate) const AHEAD_ARGUMENTS: usize = 16;

/// Bytes of replies to one client per turn, not counting the last reply.
pub(crate) const TURN_ANSWER_BYTES: usize = 256 << 10;

/// Received bytes that are not executed yet; above this limit the client's socket is not read.
pub(crate) const WAITING_INPUT_BYTES: usize = 1 << 20;

/// Stalled clients checked per turn.
pub(crate) const STALLED_LOOKED_AT: usize = 64;

/// Clients per turn whose unread output is updated for CLIENT LIST.
pub(crate) const NOTED_LOOKED_AT: usize = 16;

/// Interval between checks of stalled clients when there are no events.
pub(crate) const STALLED_INTERVAL: Duration = Duration::from_millis(100);

/// Clients per turn that are checked for idleness.
pub(crate) const IDLE_LOOKED_AT: usize = 256;

/// Reactors of a server.
pub(crate) const THREADS: usize = 256;

/// Connections above `Limits::clients` that a reactor holds while it sends them the error.
pub(crate) const CONNECTIONS_TO_REFUSE: usize = 1024;

/// Arguments of a command whose capacity is kept for the next one.
pub(crate) const KEPT_WORDS: usize = 1024;

/// Bytes of keys that a turn copies to a new append-only file; the last value may exceed this.
pub(crate) const DUMPED_AT_ONCE_BYTES: usize = 128 << 10;

/// Bytes of a snapshot that are queued for writing; above this limit the next part is not produced. Values of
/// keys that change meanwhile come on top.
pub(crate) const SNAPSHOT_QUEUE_BYTES: usize = 4 << 20;

/// Bytes from a primary that are applied at once; the last command may exceed this.
pub(crate) const APPLIED_AT_ONCE_BYTES: usize = 1 << 20;

/// Bytes of the longest line that a primary may send as a reply.
pub(crate) const LINK_LINE_BYTES: usize = 16 << 10;

/// Interval between a replica's acknowledgements, in microseconds.
pub(crate) const ACKNOWLEDGED_EACH_US: u64 = 1_000_000;

/// Interval between connection attempts to a primary, in microseconds.
pub(crate) const LINK_RETRIED_EACH_US: u64 = 1_000_000;

/// Bytes of the history that a replica may be behind; above this limit it is disconnected
/// (`client-output-buffer-limit slave`).
pub(crate) const FOLLOWER_BEHIND_BYTES: usize = 256 << 20;

/// Unsent bytes at which a replica receives no more data for now, and the bytes added at once.
pub(crate) const FOLLOWER_PENDING_BYTES: usize = 256 << 10;
pub(crate) const FED_AT_ONCE_BYTES: usize = 256 << 10;

/// Interval between attempts to send to replicas or to start a copy, in microseconds.
pub(crate) const FEED_TRIED_EACH_US: u64 = 5000;

/// Interval between liveness checks of replicas, in microseconds.
pub(crate) const FOLLOWERS_LOOKED_AT_EACH_US: u64 = 1_000_000;

/// Interval between pings to replicas, in microseconds (`repl-ping-replica-period`).
pub(crate) const PING_EACH_US: u64 = 10_000_000;

/// Bytes of changes whose capacity is kept for the next turn.
pub(crate) const KEPT_LOG_BYTES: usize = 1 << 20;

/// Bytes of the append-only file that are read at once during replay.
pub(crate) const REPLAY_READ_BYTES: u64 = 1 << 20;

/// Interval between background syncs of the append-only file, and between retries.
pub(crate) const KEEPER_INTERVAL: Duration = Duration::from_secs(1);
