//! The engine as a primary: other servers have its keys, and follow what it changes.
//!
//! The program has the links. Who asks to follow is told by [`Engine::take_follower`]; what it gets is a copy, taken as a snapshot
//! is ([`Engine::begin_feed`]), or nothing, and then the log ([`Engine::take_log`]), as bytes of one history.

use crate::engine::Engine;
use crate::now::Now;
use crate::session::SessionId;

impl Engine {
    /// Who has asked to follow: in which history, and from which byte on, if it does not want a copy.
    pub fn take_follower(&mut self) -> Option<(SessionId, Option<(String, u64)>)> {
        let asked = &mut self.world.followers.asked;
        if asked.is_empty() { None } else { Some(asked.remove(0)) }
    }

    /// How often a server that follows has said how far it is.
    pub fn follower_words(&self, id: SessionId) -> u64 {
        self.world.followers.get(id).map_or(0, |follower| follower.words)
    }

    /// Where in the history the log begins that was not taken yet.
    pub fn set_log_base(&mut self, offset: u64) {
        self.world.followers.base = offset;
    }

    /// The name of the history that the log belongs to. Another one begins when another primary is followed.
    pub fn history(&self) -> &str {
        &self.world.history
    }

    /// Whether changes are written down already.
    pub fn is_recorded(&self) -> bool {
        self.keys.log.is_on()
    }

    /// Writes changes down, for servers that follow.
    pub fn record_for_followers(&mut self) {
        self.world.followers.own_log = true;
        self.keys.log.record(true);
    }

    /// Nobody wants the rest of the copy.
    pub fn drop_feed(&mut self) {
        if !self.world.saves.is_running() {
            self.keys.drop_snapshot();
        }
    }

    /// Begins a copy for servers that follow, to be taken by [`snapshot`](Self::snapshot). `false`: a snapshot runs already.
    pub fn begin_feed(&mut self, now: Now) -> bool {
        self.keys.now = now;
        let free = self.keys.snapshot.is_none() && !self.world.saves.is_running();
        if free {
            self.world.begin_copy(&mut self.keys);
            // Who begins to read there has to know which database it is.
            self.keys.log.select_again();
        }
        free
    }
}
