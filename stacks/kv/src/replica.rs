//! The engine as a replica: its keys are those of another server, the primary, and its clients only read.
//!
//! The program has the link. It puts the primary's snapshot in ([`Engine::begin_copy`], [`Loader`](crate::Loader)), then what the
//! primary changes ([`Engine::apply`]). A key whose time is over is hidden, and goes when the primary says so: the clocks of two
//! machines differ.

use std::net::SocketAddr;

use crate::engine::Engine;
use crate::keyspace::Expiry;
use crate::now::Now;
use crate::replication::LinkStatus;
use crate::session::{Outcome, SessionId};

impl Engine {
    /// Follows this primary from now on, or nobody. The keys stay until the primary's come.
    pub fn follow(&mut self, primary: Option<SocketAddr>) {
        self.world.follow(&mut self.keys, primary);
    }

    /// The primary that is to be followed, and how often that was changed.
    pub fn primary(&self) -> (Option<SocketAddr>, u64) {
        (self.world.replication.primary, self.world.replication.turns)
    }

    /// Tells how the link is, for ROLE and INFO.
    pub fn set_link(&mut self, status: LinkStatus) {
        self.world.replication.link = status;
    }

    /// A session for what the primary changes.
    pub fn open_primary(&mut self, now: Now) -> SessionId {
        let id = self.open_trusted(now);
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.is_primary = true;
        }
        id
    }

    /// The primary's keys come, in place of all that are here. Until [`end_copy`](Self::end_copy) no client reads.
    pub fn begin_copy(&mut self, now: Now) {
        self.keys.now = now;
        self.keys.flush(None);
        self.keys.dirty += 1;
        self.keys.log.append(0, &[b"FLUSHALL"]);
        self.world.replication.loading = true;
    }

    /// All of the primary's keys are here; or, if not, those that came go.
    pub fn end_copy(&mut self, whole: bool) {
        if !whole && self.world.replication.loading {
            self.keys.flush(None);
        }
        self.world.replication.loading = false;
    }

    /// Executes what the primary has executed. `out` gets the answer, which nobody wants unless it is an error.
    pub fn apply(&mut self, now: Now, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let before = std::mem::replace(&mut self.keys.expiry, Expiry::Ignore);
        let outcome = self.execute(now, id, args, out);
        self.keys.expiry = before;
        outcome
    }
}
