//! Requests from commands to the server, the work of the leading thread, and output to replicas.

use netdyno_kv_core::{HostRequest, Output, Timestamp};

use super::Worker;
use crate::journal::Journal;
use crate::shared::Core;

impl Worker {
    /// Work of the leading thread.
    pub(super) fn lead(&mut self, core: &mut Core, now: Timestamp) {
        self.replica.advance(&mut core.engine, &mut self.wire, now);
        if let Some(snapshots) = &self.shared.snapshots {
            snapshots.advance(&mut core.engine, now);
        }
        for session in core.feed.advance(&mut core.engine, now) {
            let Some(owner) = core.owners.get(&session).copied() else { continue };
            if owner.thread == self.index {
                self.close(core, owner.key, false);
            } else {
                self.shared.posts[owner.thread].push(owner.key, Output::Close(Vec::new()));
                self.to_wake[owner.thread] = true;
            }
        }
    }

    /// Handles a request from a command.
    pub(super) fn handle_request(&mut self, core: &mut Core, now: Timestamp, request: HostRequest) {
        let snapshots = self.shared.snapshots.as_ref();
        match request {
            HostRequest::Shutdown { save, force } => {
                if snapshots.is_none_or(|snapshots| snapshots.end(&mut core.engine, now, save, force)) {
                    self.shared.stop();
                } else {
                    core.engine.refuse_shutdown();
                }
            }
            HostRequest::ServeReplicas => self.attach(core, now),
            HostRequest::Acknowledgements => core.feed.request_acknowledgements(&mut core.engine),
            // Wakes the leading thread.
            HostRequest::Follow => self.to_wake[0] = true,
            HostRequest::Snapshot => {
                snapshots.into_iter().for_each(|snapshots| snapshots.begin(&core.engine));
                // Wakes the leading thread.
                self.to_wake[0] = true;
            }
            HostRequest::Rewrite => {
                if self.shared.journal.as_ref().is_some_and(Journal::request_rewrite) {
                    // Wakes the leading thread.
                    self.to_wake[0] = true;
                }
            }
        }
    }

    /// Registers new replicas.
    fn attach(&mut self, core: &mut Core, now: Timestamp) {
        while let Some((session, resume)) = core.engine.take_follower() {
            let Some(owner) = core.owners.get(&session).copied().filter(|owner| owner.thread == self.index)
            else {
                continue;
            };
            let output = self.wire.output(owner.key);
            core.feed.attach(&mut core.engine, now, session, (owner.thread, owner.key), resume, output);
        }
        // Wakes the leading thread, which starts the copy.
        self.to_wake[0] = true;
    }

    /// Sends pending data to replicas.
    pub(super) fn feed(&mut self, core: &mut Core, now: Timestamp) {
        core.feed.finish_turn(&mut core.engine);
        let own = core.feed.send(&core.engine, now, self.index, &mut self.wire);
        let lead = core.feed.next_us(now).filter(|_| self.index == 0);
        self.feed_us = [own, lead].into_iter().flatten().min();
        for thread in core.feed.take_threads_with_data() {
            self.to_wake[thread] |= thread != self.index;
        }
    }
}
