//! Work that is done once per iteration and does not depend on commands: socket options, and the memory of clients.

use std::time::Duration;

use netdyno_io::tcp::{BufferSizes, Key};
use netdyno_kv_core::Buffers;

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

    /// Records the sizes of a client's buffers. Those of unread output are updated until it is sent. Returns the sizes.
    pub(super) fn note_buffers(&mut self, core: &mut Core, key: Key) -> BufferSizes {
        let sizes = self.wire.buffer_sizes(key);
        let Some(client) = self.clients.get_mut(key) else { return sizes };
        let buffers = Buffers {
            unread: sizes.input,
            unread_capacity: sizes.input_capacity,
            unsent: sizes.output,
            unsent_capacity: sizes.output_capacity,
        };
        core.engine.note_buffers(client.session, buffers);
        if sizes.output > 0 && !std::mem::replace(&mut client.noted, true) {
            self.noted.push_back(key);
        }
        sizes
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
