//! The memory that a session holds, and counters of refused clients.

use crate::limits::ENTRY_BYTES;

/// Sizes of the content and of the memory of the host's buffers for a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Unexecuted input.
    pub unread: usize,
    /// Memory of the input.
    pub unread_capacity: usize,
    /// Output that the client has not read.
    pub unsent: usize,
    /// Memory of the output.
    pub unsent_capacity: usize,
}

impl Buffers {
    /// The memory that they occupy.
    pub(crate) fn held_bytes(&self) -> usize {
        self.unread.max(self.unread_capacity) + self.unsent.max(self.unsent_capacity)
    }
}

/// A database and a key in it.
pub(crate) type WatchedKey = (usize, Box<[u8]>);

/// Bytes that a session holds in the engine.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Watched keys.
    pub(crate) watched: usize,
    /// Subscribed channels and patterns.
    pub(crate) subscribed: usize,
    /// The arguments of a command that waits.
    pub(crate) blocked: usize,
    /// The session's part of the sum over all sessions.
    pub(crate) counted: usize,
}

/// Clients that were refused or disconnected, since the start or CONFIG RESETSTAT.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Connections above `maxclients` or refused by protected mode.
    pub(crate) connections: u64,
    /// Wrong passwords.
    pub(crate) passwords: u64,
    /// Clients disconnected because of `maxmemory-clients`.
    pub(crate) evicted: u64,
    /// Clients disconnected because of unread messages or replies.
    pub(crate) unread: u64,
}

/// The memory of a name in a collection.
pub(crate) fn entry_bytes(name: &[u8]) -> usize {
    name.len() + ENTRY_BYTES
}
