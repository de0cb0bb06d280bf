//! What is looked at once a turn, and concerns no command: settings of the sockets, and what CLIENT LIST tells of them.

use std::time::Duration;

use netdyno_io::tcp::Key;

use super::Worker;
use crate::limits::NOTED_LOOKED_AT;
use crate::shared::Core;

impl Worker {
    /// `CONFIG SET` may have changed what is set on the sockets that listen.
    pub(super) fn look_at_settings(&mut self) {
        let seconds = self.shared.keepalive_s();
        if self.keepalive_s.replace(seconds) != Some(seconds) {
            // The kernel takes any time; without it a peer that vanished is not noticed, as before.
            let _ = self.wire.set_keepalive((seconds > 0).then_some(Duration::from_secs(seconds)));
        }
    }

    /// What this client has not taken is to be looked at, until it has.
    pub(super) fn note(&mut self, key: Key) {
        if let Some(client) = self.clients.get_mut(key)
            && !std::mem::replace(&mut client.noted, true)
        {
            self.noted.push_back(key);
        }
    }

    /// What some clients had not taken of their answers they may have taken since.
    pub(super) fn look_at_noted(&mut self, core: &mut Core) {
        for _ in 0..NOTED_LOOKED_AT.min(self.noted.len()) {
            let Some(key) = self.noted.pop_front() else { return };
            let Some(client) = self.clients.get_mut(key) else { continue };
            let unsent = self.wire.pending_output(key);
            core.engine.note_waiting(client.session, self.wire.input(key).len(), unsent);
            client.noted = unsent > 0;
            if client.noted {
                self.noted.push_back(key);
            }
        }
    }
}
