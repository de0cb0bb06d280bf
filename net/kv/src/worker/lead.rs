//! Requests from commands to the server, the work of the leading thread, and output to replicas.

use netdyno_kv_core::{Now, Output, Wish};

use super::Worker;
use crate::journal::Journal;
use crate::shared::Core;

impl Worker {
    /// Work of the leading thread.
    pub(super) fn lead(&mut self, core: &mut Core, now: Now) {
        self.replica.turn(&mut core.engine, &mut self.wire, now);
        if let Some(snapshots) = &self.shared.snapshots {
            snapshots.advance(&mut core.engine, now);
        }
        for session in core.feed.lead(&mut core.engine, now) {
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
    pub(super) fn fulfil(&mut self, core: &mut Core, now: Now, wish: Wish) {
        let snapshots = self.shared.snapshots.as_ref();
        match wish {
            Wish::Shutdown { save, force } => {
                if snapshots.is_none_or(|snapshots| snapshots.end(&mut core.engine, now, save, force)) {
                    self.shared.stop();
                } else {
                    core.engine.refuse_shutdown();
                }
            }
            Wish::Feed => self.attach(core, now),
            Wish::Ask => core.feed.ask(&mut core.engine),
            // Wakes the leading thread.
            Wish::Follow => self.to_wake[0] = true,
            Wish::Snapshot => {
                snapshots.into_iter().for_each(|snapshots| snapshots.begin(&core.engine));
                // Wakes the leading thread.
                self.to_wake[0] = true;
            }
            Wish::Rewrite => {
                if self.shared.journal.as_ref().is_some_and(Journal::want_rewrite) {
                    // Wakes the leading thread.
                    self.to_wake[0] = true;
                }
            }
        }
    }

    /// Registers new replicas.
    fn attach(&mut self, core: &mut Core, now: Now) {
        while let Some((session, asked)) = core.engine.take_follower() {
            let Some(owner) = core.owners.get(&session).copied().filter(|owner| owner.thread == self.index)
            else {
                continue;
            };
            let output = self.wire.output(owner.key);
            core.feed.attach(&mut core.engine, now, session, (owner.thread, owner.key), asked, output);
        }
        // Wakes the leading thread, which starts the copy.
        self.to_wake[0] = true;
    }

    /// Sends pending data to replicas.
    pub(super) fn feed(&mut self, core: &mut Core, now: Now) {
        core.feed.finish_turn(&mut core.engine);
        let own = core.feed.send(&core.engine, now, self.index, &mut self.wire);
        let lead = core.feed.next_us(now).filter(|_| self.index == 0);
        self.feed_us = [own, lead].into_iter().flatten().min();
        for thread in core.feed.take_news() {
            self.to_wake[thread] |= thread != self.index;
        }
    }
}
