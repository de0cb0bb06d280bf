//! Work that is done once per iteration and does not depend on commands: socket options, and the memory of clients.

use std::time::Duration;

use netdyno_io::tcp::Key;

use super::Worker;
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

    /// Records the sizes of a client's unexecuted input and unread output. Unread output is updated until it is
    /// sent. Returns its size.
    pub(super) fn note_buffers(&mut self, core: &mut Core, key: Key) -> usize {
        let unsent = self.wire.pending_output(key);
        let Some(client) = self.clients.get_mut(key) else { return unsent };
        core.engine.note_waiting(client.session, self.wire.input(key).len(), unsent);
        if unsent > 0 && !std::mem::replace(&mut client.noted, true) {
            self.noted.push_back(key);
        }
        unsent
    }

    /// Updates the recorded sizes of the clients with unread output, at most `most` of them.
    pub(super) fn update_output_sizes(&mut self, core: &mut Core, most: usize) {
        for _ in 0..most.min(self.noted.len()) {
            let Some(key) = self.noted.pop_front() else { return };
            let Some(client) = self.clients.get_mut(key) else { continue };
            client.noted = false;
            self.note_buffers(core, key);
        }
    }

    /// Disconnects clients if the buffers of all exceed `maxmemory-clients`.
    pub(super) fn limit_client_memory(&mut self, core: &mut Core) {
        if core.engine.exceeds_client_memory() {
            // Recorded sizes include output that was sent meanwhile.
            self.update_output_sizes(core, usize::MAX);
            core.engine.evict_clients();
            self.deliver(core);
        }
    }
}
