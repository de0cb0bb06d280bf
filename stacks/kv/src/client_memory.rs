//! The memory of all clients and its limit (`maxmemory-clients`).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem;

use crate::held::{Buffers, Held, WatchedKey};
use crate::session::{Session, SessionId, Sessions};
use crate::world::World;

impl Session {
    /// The memory that the session holds, including its buffers in the host.
    pub(crate) fn held_bytes(&self) -> usize {
        let Held { watched, subscribed, blocked, .. } = self.held;
        let names = self.name.len() + self.library.len() + self.library_version.len();
        let queued = self.transaction.as_ref().map_or(0, |transaction| transaction.bytes);
        self.buffers.held_bytes() + self.pending() + queued + watched + subscribed + blocked + names
    }

    pub(crate) fn take_watched(&mut self) -> BTreeSet<WatchedKey> {
        self.held.watched = 0;
        mem::take(&mut self.watched)
    }
}

impl Sessions {
    /// Sets the sizes of the host's buffers for a session. The memory of replicas and of the primary has
    /// separate limits and does not count as client memory.
    #[inline]
    pub(crate) fn note_buffers(&mut self, id: SessionId, buffers: Buffers) {
        let Some(session) = self.get_mut(id).filter(|session| !session.closing) else { return };
        session.buffers = buffers;
        let held = if session.is_primary || session.is_replica { 0 } else { session.held_bytes() };
        let before = mem::replace(&mut session.held.counted, held);
        self.held_bytes = self.held_bytes - before + held;
    }

    /// Closes a session immediately, and subtracts what it holds.
    pub(crate) fn abort(&mut self, id: SessionId) {
        let Some(session) = self.get_mut(id) else { return };
        let held = mem::take(&mut session.held.counted);
        session.abort();
        self.held_bytes -= held;
        self.enqueue(id);
    }
}

impl World {
    /// Whether clients hold more than `maxmemory-clients`.
    #[inline]
    pub(crate) fn exceeds_client_memory(&self) -> bool {
        self.client_memory_max > 0 && self.sessions.held_bytes > self.client_memory_max
    }

    /// Disconnects clients until the others hold no more than `maxmemory-clients`, those that hold most first.
    /// Clients with `CLIENT NO-EVICT` are exempt.
    pub(crate) fn evict_clients(&mut self) {
        if !self.exceeds_client_memory() {
            return;
        }
        let holds = |session: &&Session| session.held.counted > 0 && !session.no_evict && !session.closing;
        let clients = self.sessions.iter().filter(holds);
        let mut clients: Vec<_> = clients.map(|session| (session.held.counted, session.id)).collect();
        clients.sort_unstable_by_key(|(bytes, _)| Reverse(*bytes));
        for (_, id) in clients {
            if !self.exceeds_client_memory() {
                return;
            }
            self.sessions.refusals.evicted += 1;
            self.sessions.abort(id);
        }
    }
}
