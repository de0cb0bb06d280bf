//! Clients whose input is paused: they sent more than is executed, or do not read their replies.

use std::mem;

use netdyno_io::tcp::Key;

use super::Worker;
use crate::limits::{STALLED_PER_ITERATION, UNEXECUTED_INPUT_BYTES};

impl Worker {
    /// Pauses reading from a client with too much unexecuted input.
    pub(super) fn limit_input(&mut self, key: Key) {
        if self.wire.input(key).len() > UNEXECUTED_INPUT_BYTES
            && let Some(client) = self.clients.get_mut(key)
            && !mem::replace(&mut client.paused, true)
        {
            self.wire.pause(key);
        }
    }

    /// Resumes reading after all commands were executed.
    pub(super) fn resume_reading(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key) else { return };
        if mem::take(&mut client.paused) {
            self.wire.resume(key);
        }
        if client.ended {
            self.events.ended.push(key);
        }
    }

    /// Pauses a client that does not read its replies.
    pub(super) fn stall(&mut self, key: Key) {
        if let Some(client) = self.clients.stall(key)
            && !mem::replace(&mut client.paused, true)
        {
            self.wire.pause(key);
        }
    }

    /// Resumes stalled clients that have read enough of their replies.
    pub(super) fn check_stalled(&mut self) {
        for _ in 0..STALLED_PER_ITERATION.min(self.clients.stalled()) {
            let Some(key) = self.clients.next_stalled() else { return };
            if self.wire.pending_output(key) > self.shared.limits.unread_answer_bytes / 2 {
                self.clients.stall(key);
            } else {
                self.clients.queue(key);
            }
        }
    }
}
