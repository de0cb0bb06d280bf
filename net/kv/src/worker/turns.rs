//! The order in which clients are served, and how much each and all together may cost per iteration.
//!
//! | clients | served | while clients with few commands are active |
//! |---|---|---|
//! | with commands left over | first, in turns | one of them, few commands |
//! | modest, with new commands | then, in the order of arrival | all |
//! | costly: new, or in debt for large replies | last, in turns | few, at least one |
//!
//! So the latency of a modest client does not depend on the number of the others, each of which gets its turn.

use netdyno_kv_core::Timestamp;

use super::Worker;
use crate::limits::{
    COMMANDS_OF_ALL_PER_ITERATION, COMMANDS_PER_ITERATION, COMMANDS_PER_SHARED_ITERATION, COSTLY_CLIENTS,
    COSTLY_REPLY_BYTES, FEW_COMMANDS, REPLY_BYTES_OF_ALL_PER_ITERATION, SHARED_CLIENTS,
};
use crate::shared::Core;

impl Worker {
    /// Serves clients up to the limits of an iteration.
    pub(super) fn serve_clients(&mut self, core: &mut Core, now: Timestamp) {
        (self.executed, self.replied) = (0, 0);
        self.is_contended = self.clients.has_queued();
        self.shared_iterations = self.shared_iterations.saturating_sub(1);
        self.serve_left_over(core, now);
        self.serve_received(core, now);
        self.serve_costly(core, now);
    }

    fn is_shared(&self) -> bool {
        self.shared_iterations > 0
    }

    /// Whether the clients served so far leave something of the iteration.
    fn has_room(&self) -> bool {
        self.executed < COMMANDS_OF_ALL_PER_ITERATION && self.replied < REPLY_BYTES_OF_ALL_PER_ITERATION
    }

    /// Serves clients with commands left over. While clients with few commands are active, only some of them.
    fn serve_left_over(&mut self, core: &mut Core, now: Timestamp) {
        let queued = self.clients.queued();
        let (most, commands) = match self.is_shared() {
            true => (SHARED_CLIENTS.min(queued), COMMANDS_PER_SHARED_ITERATION),
            false => (queued, COMMANDS_PER_ITERATION),
        };
        for _ in 0..most {
            if !self.has_room() {
                return;
            }
            let Some(key) = self.clients.next_queued() else { return };
            self.serve(core, now, key, commands);
        }
    }

    /// Serves clients with new commands, unless they are costly.
    fn serve_received(&mut self, core: &mut Core, now: Timestamp) {
        let mut received = std::mem::take(&mut self.events.received);
        let mut served = 0;
        for &key in &received {
            if self.replied >= REPLY_BYTES_OF_ALL_PER_ITERATION {
                break;
            }
            served += 1;
            let Some(client) = self.clients.get_mut(key) else { continue };
            client.active_ms = now.monotonic_us / 1000;
            if client.blocked || client.queued || client.stalled {
                self.limit_input(key);
                self.note_buffers(core, key);
            } else if client.is_costly() {
                self.clients.queue_costly(key);
            } else {
                let few = self.is_shared() || self.executed >= COMMANDS_OF_ALL_PER_ITERATION;
                self.serve(core, now, key, if few { FEW_COMMANDS + 1 } else { COMMANDS_PER_ITERATION });
            }
        }
        // The others are the first in the next iteration.
        received.drain(..served);
        self.events.received = received;
    }

    /// Serves costly clients: at least one, so that they get on however busy the others are.
    fn serve_costly(&mut self, core: &mut Core, now: Timestamp) {
        let (queued, before) = (self.clients.costly(), self.replied);
        let (most, commands) = match self.is_shared() {
            true => (COSTLY_CLIENTS.min(queued), COMMANDS_PER_SHARED_ITERATION),
            false => (queued, COMMANDS_PER_ITERATION),
        };
        for number in 0..most {
            let enough = self.is_shared() && self.replied - before >= COSTLY_REPLY_BYTES;
            if number > 0 && (enough || !self.has_room()) {
                break;
            }
            let Some(key) = self.clients.next_costly() else { return };
            self.serve(core, now, key, commands);
        }
    }
}
