//! Everything has a limit, and every limit a name. What is Redis' default is ours.

use std::time::Duration;

use netdyno_resp::RequestLimits;

/// What clients can make the server hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Clients at a time; more are told so and closed (`maxclients`).
    pub clients: usize,
    /// One command.
    pub request: RequestLimits,
    /// Answers that a client has not taken. With more no command of it is executed, and nothing read from it, until it
    /// takes some; one command's answer comes on top, however long.
    pub unread_answer_bytes: usize,
    /// Messages that a client did not ask for, and all else that it has not taken; with more it is closed
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

/// How long a client of a TLS port may take until it has made its handshake.
#[cfg(feature = "tls")]
pub(crate) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Bytes that TLS encrypts at once: one record.
#[cfg(feature = "tls")]
pub(crate) const ENCRYPTED_AT_ONCE: usize = 16 << 10;

/// Bytes in clear, in and out each, whose room a client of a TLS port keeps while it is silent.
#[cfg(feature = "tls")]
pub(crate) const KEPT_CLEAR_BYTES: usize = 1 << 10;

/// Commands of one client in one turn: then others come first.
pub(crate) const TURN_COMMANDS: usize = 1024;

/// Commands of one client that are looked at before they are executed, to have their keys in the cache; and the arguments
/// of one that is still worth the look.
pub(crate) const AHEAD_COMMANDS: usize = 16;
pub(crate) const AHEAD_ARGUMENTS: usize = 16;

/// Bytes of answers to one client in one turn, but for the last answer.
pub(crate) const TURN_ANSWER_BYTES: usize = 256 << 10;

/// Commands that have arrived and were not executed yet: with more nothing is read from that client.
pub(crate) const WAITING_INPUT_BYTES: usize = 1 << 20;

/// Clients that do not take their answers, looked at in one turn.
pub(crate) const STALLED_LOOKED_AT: usize = 64;

/// Clients in one turn of which it is looked whether they have taken their answers since, for CLIENT LIST.
pub(crate) const NOTED_LOOKED_AT: usize = 16;

/// How often they are looked at, if nothing else happens.
pub(crate) const STALLED_INTERVAL: Duration = Duration::from_millis(100);

/// Clients in one turn that are looked at for having been idle too long.
pub(crate) const IDLE_LOOKED_AT: usize = 256;

/// Reactors of a server.
pub(crate) const THREADS: usize = 256;

/// Connections beyond `Limits::clients` that a reactor holds while they are told that there are too many.
pub(crate) const CONNECTIONS_TO_REFUSE: usize = 1024;

/// Arguments of a command whose room is kept for the next one.
pub(crate) const KEPT_WORDS: usize = 1024;

/// Keys that a turn puts into a new append-only file, bytes; one value's more comes on top.
pub(crate) const DUMPED_AT_ONCE_BYTES: usize = 128 << 10;

/// Bytes of a snapshot that wait to be written: with more, the next part is not asked for. What is changed meanwhile comes on top.
pub(crate) const SNAPSHOT_QUEUE_BYTES: usize = 4 << 20;

/// What a primary sends is taken in parts of this size, bytes; one command more comes on top.
pub(crate) const APPLIED_AT_ONCE_BYTES: usize = 1 << 20;

/// The longest line that a primary answers with, bytes.
pub(crate) const LINK_LINE_BYTES: usize = 16 << 10;

/// How often a replica tells its primary how far it is, microseconds.
pub(crate) const ACKNOWLEDGED_EACH_US: u64 = 1_000_000;

/// How often a link to a primary is tried, microseconds.
pub(crate) const LINK_RETRIED_EACH_US: u64 = 1_000_000;

/// Bytes of the history that a server which follows may be behind; with more it is cut off (`client-output-buffer-limit slave`).
pub(crate) const FOLLOWER_BEHIND_BYTES: usize = 256 << 20;

/// Bytes that it has not taken, with which it is given no more for now; and what it is given at once.
pub(crate) const FOLLOWER_PENDING_BYTES: usize = 256 << 10;
pub(crate) const FED_AT_ONCE_BYTES: usize = 256 << 10;

/// How soon it is looked whether it has taken them, and whether a copy can begin, microseconds.
pub(crate) const FEED_TRIED_EACH_US: u64 = 5000;

/// How often it is looked whether they are alive, microseconds.
pub(crate) const FOLLOWERS_LOOKED_AT_EACH_US: u64 = 1_000_000;

/// How often those who follow hear something at least, microseconds (`repl-ping-replica-period`).
pub(crate) const PING_EACH_US: u64 = 10_000_000;

/// Bytes of changes whose room is kept for the next turn.
pub(crate) const KEPT_LOG_BYTES: usize = 1 << 20;

/// Bytes of the append-only file that are read at once at the start.
pub(crate) const REPLAY_READ_BYTES: u64 = 1 << 20;

/// How often the append-only file is synced by itself, and what failed is tried again.
pub(crate) const KEEPER_INTERVAL: Duration = Duration::from_secs(1);
