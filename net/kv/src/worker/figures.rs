//! Work that is done once per iteration and does not depend on commands: socket options and the figures of CLIENT
//! LIST.

use std::time::Duration;

use netdyno_io::tcp::Key;

use super::Worker;
use crate::limits::OUTPUT_SIZES_PER_ITERATION;
use crate::shared::Core;

impl Worker {
    /// Applies socket options that `CONFIG SET` has changed to the listeners.
    pub(super) fn apply_socket_options(&mut self) {
        let seconds = self.shared.keepalive_s();
        if self.keepalive_s.replace(seconds) != Some(seconds) {
            // The kernel accepts any interval. On failure the previous setting stays.
            let _ = self.wire.set_keepalive((seconds > 0).then_some(Duration::from_secs(seconds)));
        }
    }

    /// Schedules updates of a client's unread output.
    pub(super) fn track_output(&mut self, key: Key) {
        if let Some(client) = self.clients.get_mut(key)
            && !std::mem::replace(&mut client.noted, true)
        {
            self.noted.push_back(key);
        }
    }

    /// Updates the recorded size of unread output.
    pub(super) fn update_output_sizes(&mut self, core: &mut Core) {
        for _ in 0..OUTPUT_SIZES_PER_ITERATION.min(self.noted.len()) {
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
