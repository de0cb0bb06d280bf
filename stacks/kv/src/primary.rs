//! The engine as a primary of replicas.
//!
//! The host program owns the connections. [`Engine::take_follower`] returns requests to follow. A replica
//! receives a copy, collected like a snapshot ([`Engine::begin_feed`]), unless it resumes, and then the log
//! ([`Engine::take_log`]), as bytes of one history.

use crate::engine::Engine;
use crate::session::SessionId;
use crate::timestamp::Timestamp;
use crate::world::ID_DIGITS;

impl Engine {
    /// Takes a request to follow, with the history and offset to resume from unless it wants a copy.
    pub fn take_follower(&mut self) -> Option<(SessionId, Option<(String, u64)>)> {
        let asked = &mut self.world.followers.asked;
        if asked.is_empty() { None } else { Some(asked.remove(0)) }
    }

    /// Number of acknowledgements from a replica.
    pub fn follower_words(&self, id: SessionId) -> u64 {
        self.world.followers.get(id).map_or(0, |follower| follower.words)
    }

    /// Sets the offset in the history at which the uncollected log starts.
    pub fn set_log_base(&mut self, offset: u64) {
        self.world.followers.base = offset;
    }

    /// The name of the log's history. A new one starts when the primary changes.
    pub fn history(&self) -> &str {
        &self.world.history
    }

    /// Whether the log is enabled.
    pub fn is_recorded(&self) -> bool {
        self.keys.log.is_on()
    }

    /// Enables the log for replicas.
    pub fn record_for_followers(&mut self) {
        self.world.followers.own_log = true;
        self.keys.log.record(true);
    }

    /// Draws the end mark of a copy.
    pub fn draw_end_mark(&mut self) -> String {
        self.world.entropy.digits(ID_DIGITS)
    }

    /// Discards the copy.
    pub fn drop_feed(&mut self) {
        if !self.world.saves.is_running() {
            self.keys.drop_snapshot();
        }
    }

    /// Starts a copy for replicas, to be collected with [`snapshot`](Self::snapshot); `false` if a snapshot
    /// is in progress.
    pub fn begin_feed(&mut self, now: Timestamp) -> bool {
        self.keys.now = now;
        let free = self.keys.snapshot.is_none() && !self.world.saves.is_running();
        if free {
            self.world.begin_copy(&mut self.keys);
            // A new replica needs the database of the first command.
            self.keys.log.select_again();
        }
        free
    }
}
