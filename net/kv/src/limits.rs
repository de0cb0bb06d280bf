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
pub(crate) const RECORD_BYTES: usize = 16 << 10;

/// Capacity, in plaintext bytes, that an idle TLS client keeps for input and for output.
#[cfg(feature = "tls")]
pub(crate) const KEPT_CLEAR_BYTES: usize = 1 << 10;

/// Commands of one client per iteration.
pub(crate) const COMMANDS_PER_ITERATION: usize = 1024;

/// Commands of all clients per iteration; after them, clients with commands left over wait for the next one, and others
/// execute [`FEW_COMMANDS`]. This bounds the duration of an iteration, however many clients send many commands.
pub(crate) const COMMANDS_OF_ALL_PER_ITERATION: usize = 1024;

/// Commands of one client per iteration, and number of such clients, if they have more commands left over and
/// clients with few commands are active. This bounds the latency of the latter.
pub(crate) const COMMANDS_PER_SHARED_ITERATION: usize = 16;
pub(crate) const SHARED_CLIENTS: usize = 1;

/// Commands per iteration of a client that counts as one with few commands.
pub(crate) const FEW_COMMANDS: usize = 64;

/// Iterations in which such a client counts as active after its last command.
pub(crate) const SHARED_ITERATIONS: u32 = 64;

/// Bytes of replies to one client per iteration that are no debt. A client in debt is costly: it is served after the
/// others, until it has replied less than this often enough. Connections are in debt until their first command, because
/// a client could otherwise clear its debt by a new connection.
pub(crate) const MODEST_REPLY_BYTES: usize = 32 << 10;

/// Most debt of a client, so that a single large reply is forgiven.
pub(crate) const DEBT_BYTES: usize = 4 << 20;

/// Costly clients per iteration, and bytes of their replies, not counting the last client, while clients with few
/// commands are active. This bounds the latency of the latter.
pub(crate) const COSTLY_CLIENTS: usize = 16;
pub(crate) const COSTLY_REPLY_BYTES: usize = 256 << 10;

/// Arguments that count as one further command.
pub(crate) const ARGUMENTS_PER_COMMAND: usize = 8;

/// Commands of one client whose keys are prefetched before execution, and the maximum number of arguments of
/// such a command.
pub(crate) const AHEAD_COMMANDS: usize = 16;
pub(crate) const AHEAD_ARGUMENTS: usize = 16;

/// Bytes of replies to one client per iteration, not counting the last reply.
pub(crate) const REPLY_BYTES_PER_ITERATION: usize = 256 << 10;

/// Bytes of replies to all clients per iteration; after them, the output is sent before other clients are served.
pub(crate) const REPLY_BYTES_OF_ALL_PER_ITERATION: usize = 4 << 20;

/// Received bytes that are not executed yet; above this limit the client's socket is not read.
pub(crate) const UNEXECUTED_INPUT_BYTES: usize = 16 << 10;

/// Stalled clients checked per iteration.
pub(crate) const STALLED_PER_ITERATION: usize = 64;

/// Clients per iteration whose unread output is updated for CLIENT LIST.
pub(crate) const OUTPUT_SIZES_PER_ITERATION: usize = 16;

/// Size of a buffer of a client, before or after its commands, that is recorded after them.
pub(crate) const LARGE_BUFFER_BYTES: usize = 64 << 10;

/// Buffers with unsent output of all connections that close after it is sent; above this limit, further ones close immediately.
pub(crate) const DEPARTING_BYTES: usize = 32 << 20;

/// Interval between checks of stalled clients when there are no events.
pub(crate) const STALLED_INTERVAL: Duration = Duration::from_millis(100);

/// Clients per iteration that are checked for idleness.
pub(crate) const IDLE_PER_ITERATION: usize = 256;

/// Reactors of a server.
pub(crate) const THREADS: usize = 256;

/// Connections above `Limits::clients` that a reactor holds while it sends them the error.
pub(crate) const CONNECTIONS_TO_REFUSE: usize = 1024;

/// Attempts to listen at an address that is in use, and the interval between them: one second in all.
pub(crate) const LISTEN_RETRIES: u32 = 50;
pub(crate) const LISTEN_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Arguments of a command whose capacity is kept for the next one.
pub(crate) const KEPT_WORDS: usize = 1024;

/// Bytes of keys that an iteration copies to a new append-only file; the last value may exceed this.
pub(crate) const DUMP_PART_BYTES: usize = 128 << 10;

/// Bytes of a snapshot that are queued for writing; above this limit the next part is not produced. Values of
/// keys that change meanwhile come on top.
pub(crate) const SNAPSHOT_QUEUE_BYTES: usize = 4 << 20;

/// Bytes of the history that a replica may be behind; above this limit it is disconnected
/// (`client-output-buffer-limit slave`).
pub(crate) const FOLLOWER_BEHIND_BYTES: usize = 256 << 20;

/// Unsent bytes at which a replica receives no more data for now, and the bytes added at once.
pub(crate) const FOLLOWER_PENDING_BYTES: usize = 256 << 10;
pub(crate) const FEED_PART_BYTES: usize = 256 << 10;

/// Interval between attempts to send to replicas or to start a copy, in microseconds.
pub(crate) const FEED_RETRY_US: u64 = 5000;

/// Interval between liveness checks of replicas, in microseconds.
pub(crate) const FOLLOWER_CHECK_US: u64 = 1_000_000;

/// Interval between pings to replicas, in microseconds (`repl-ping-replica-period`).
pub(crate) const PING_INTERVAL_US: u64 = 10_000_000;

/// Bytes of changes whose capacity is kept for the next iteration.
pub(crate) const KEPT_LOG_BYTES: usize = 1 << 20;

/// Bytes of the append-only file that are read at once during replay.
pub(crate) const REPLAY_READ_BYTES: u64 = 1 << 20;

/// Interval between background syncs of the append-only file, and between retries.
pub(crate) const KEEPER_INTERVAL: Duration = Duration::from_secs(1);
