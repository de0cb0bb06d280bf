//! The engine as a replica of a primary, whose clients can only read.
//!
//! The connection to the primary is handled by [`ReplicaLink`](crate::ReplicaLink). It loads the primary's
//! snapshot ([`Engine::begin_copy`], [`Loader`](crate::Loader)) and then applies its changes
//! ([`Engine::apply`]). An expired key is hidden and removed when the primary removes it, because clocks of
//! two machines differ.

use std::net::SocketAddr;

use crate::engine::Engine;
use crate::keyspace::Expiry;
use crate::replication::LinkStatus;
use crate::session::{Outcome, SessionId};
use crate::timestamp::Timestamp;

impl Engine {
    /// Changes the primary, or ends replication. The keys are kept until those of the primary arrive.
    pub fn follow(&mut self, primary: Option<SocketAddr>) {
        self.world.follow(&mut self.keys, primary);
    }

    /// The primary, and a generation number that changes with it.
    pub fn primary(&self) -> (Option<SocketAddr>, u64) {
        (self.world.replication.primary, self.world.replication.generation)
    }

    /// Sets the status of the link, for ROLE and INFO.
    pub fn set_link(&mut self, status: LinkStatus) {
        self.world.replication.link = status;
    }

    /// Opens a session that applies the primary's changes.
    pub fn open_primary(&mut self, now: Timestamp) -> SessionId {
        let id = self.open_trusted(now);
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.is_primary = true;
        }
        id
    }

    /// Empties the keyspace for a copy of the primary's keys. Clients cannot access keys until
    /// [`end_copy`](Self::end_copy).
    pub fn begin_copy(&mut self, now: Timestamp) {
        self.keys.now = now;
        self.keys.flush(None);
        self.keys.dirty += 1;
        self.keys.log.append(0, &[b"FLUSHALL"]);
        self.world.replication.loading = true;
    }

    /// Ends a copy; if it is not complete, its keys are removed.
    pub fn end_copy(&mut self, whole: bool) {
        if !whole && self.world.replication.loading {
            self.keys.flush(None);
        }
        self.world.replication.loading = false;
    }

    /// Executes a command of the primary. Its reply in `out` matters only if it is an error.
    pub fn apply(&mut self, now: Timestamp, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let before = std::mem::replace(&mut self.keys.expiry, Expiry::Ignore);
        let outcome = self.execute(now, id, args, out);
        self.keys.expiry = before;
        outcome
    }
}
