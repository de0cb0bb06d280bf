//! Replication: a replica follows the keys of a primary, and a primary serves replicas.
//!
//! - All keys are copied once (PSYNC; the primary's snapshot is delimited by its length or by an end mark).
//!   After that the replica executes every change of the primary.
//! - A broken link resumes from its offset if the primary still has the missing changes; otherwise all keys
//!   are copied again.
//! - Clients of a replica can read; writes are refused (`READONLY`). During a copy all commands on keys are
//!   refused (`LOADING`).
//! - An expired key is hidden immediately and removed when the primary removes it.
//! - Data that is not supported here (streams, functions) ends the link permanently, and INFO gives the
//!   reason (`master_link_trouble`): this avoids two servers that differ silently. Another REPLICAOF starts
//!   over.
//! - Any server that is not a replica can be a primary. Its replicas receive a copy of the keys as of the
//!   start of the copy, then each change in order. A replica without progress for `repl-timeout` is
//!   disconnected, as is one that is 256 MiB behind.
//! - Replies do not wait for replicas, unless a client uses WAIT. Changes that no replica has received are
//!   lost if the primary fails.

use netdyno_io::tcp::{CloseReason, Key};
use netdyno_kv_core::{Engine, LinkAction, ReplicaLink, Timestamp};

use crate::wire::Wire;

/// The leading thread's connection to the primary.
#[derive(Default)]
pub(crate) struct Replica {
    link: ReplicaLink,
    key: Option<Key>,
    /// Why the connection was closed, until the link is informed.
    closed: Option<String>,
}

impl Replica {
    /// Whether this connection is the one to the primary.
    pub(crate) fn has(&self, key: Key) -> bool {
        self.key == Some(key)
    }

    /// When work is due without an event, on the monotonic clock.
    pub(crate) fn next_us(&self) -> Option<u64> {
        self.link.next_deadline_us()
    }

    /// Handles the end of a connection; `failure` is a more precise reason.
    pub(crate) fn handle_closed(&mut self, key: Key, reason: CloseReason, failure: Option<String>) {
        if self.key.take_if(|own| *own == key).is_some() {
            self.closed = Some(failure.unwrap_or_else(|| match reason {
                CloseReason::Lost(kind) => kind.to_string(),
                _ => "the primary closed the connection".into(),
            }));
        }
    }

    /// Moves bytes between the connection and the link. Call with the lock on the engine.
    pub(crate) fn advance(&mut self, engine: &mut Engine, wire: &mut Wire, now: Timestamp) {
        if let Some(reason) = self.closed.take() {
            self.link.handle_disconnected(engine, now, &reason);
        }
        if let Some(key) = self.key {
            let (input, output) = wire.buffers(key);
            let consumed = self.link.handle_input(engine, now, input, output);
            wire.consume(key, consumed);
        }
        let output = self.key.map(|key| wire.output(key));
        self.link.handle_timeout(engine, now, output);
        while let Some(action) = self.link.poll_action() {
            match action {
                LinkAction::Close => {
                    if let Some(key) = self.key.take() {
                        wire.close(key, false);
                    }
                }
                LinkAction::Connect(address) => match wire.connect(address) {
                    Ok(key) => {
                        self.key = Some(key);
                        self.link.handle_connecting(engine, wire.output(key));
                    }
                    Err(error) => self.link.handle_connect_error(engine, &error.to_string()),
                },
            }
        }
    }
}
