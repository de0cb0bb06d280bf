//! The engine's output for clients other than the one that is served: messages, and replies of blocking commands.

use netdyno_io::tcp::Key;
use netdyno_kv_core::Output;

use super::Worker;
use crate::shared::Core;

impl Worker {
    /// Delivers the engine's output to the threads of its clients.
    pub(super) fn deliver(&mut self, core: &mut Core) {
        while let Some((session, output)) = core.engine.poll_output() {
            let Some(owner) = core.owners.get(&session).copied() else { continue };
            if owner.thread == self.index {
                self.send(core, owner.key, output);
            } else {
                self.shared.posts[owner.thread].push(owner.key, output);
                self.to_wake[owner.thread] = true;
            }
        }
    }

    pub(super) fn take_letters(&mut self, core: &mut Core) {
        let mut letters = std::mem::take(&mut self.letters);
        self.shared.posts[self.index].collect(&mut letters);
        for (key, output) in letters.drain(..) {
            self.send(core, key, output);
        }
        self.letters = letters;
    }

    /// Sends a message, or the reply of a blocking command.
    fn send(&mut self, core: &mut Core, key: Key, output: Output) {
        let Some(client) = self.clients.get_mut(key) else { return };
        match output {
            Output::Bytes(bytes) => {
                if self.wire.pending_output(key) + bytes.len() > self.shared.limits.unread_message_bytes {
                    core.engine.count_unread_output();
                    return self.close(core, key, false);
                }
                self.wire.output(key).extend_from_slice(&bytes);
                client.receives_messages = true;
                self.note_buffers(core, key);
            }
            Output::Resume(bytes) => {
                client.blocked = false;
                self.wire.output(key).extend_from_slice(&bytes);
                self.clients.queue(key);
            }
            Output::Close(bytes) => {
                self.wire.output(key).extend_from_slice(&bytes);
                self.close(core, key, true);
            }
            Output::Abort => self.close(core, key, false),
        }
    }
}
