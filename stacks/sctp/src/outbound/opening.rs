//! The association opens: what the peer said counts for everything that is sent.

use super::limited::LimitTable;
use super::waiting::Taken;
use super::{Outbound, Peer};
use crate::config::Config;
use crate::types::{SSN_REACH, Tsn};
use crate::wire::Data;

impl Outbound {
    /// In place of `before`, of which nothing is kept, but that somebody waits for room.
    pub(crate) fn after(before: &Self, config: &Config, initial_tsn: Tsn) -> Self {
        let mut new = Self::new(config, initial_tsn);
        if before.events.waits_for_room() {
            new.events.tell_writable();
        }
        new
    }

    /// Whether nothing was sent yet that these terms would have forbidden, or counted otherwise.
    pub(crate) fn agrees_with(&self, peer: Peer) -> bool {
        let terms = |peer: Peer| (peer.streams, peer.interleaving, peer.forward_tsn);
        self.flight.next() == 0 || self.peer.is_some_and(|before| terms(before) == terms(peer))
    }

    /// The peer has said what it can. From now on data may be sent. Messages that wait on streams that the peer does
    /// not have are dropped; if it does not know FORWARD-TSN, those of limited reliability are reliable from now on.
    pub(crate) fn open(&mut self, peer: Peer) {
        self.peer = Some(peer);
        self.set_window(peer.window_bytes as usize);
        self.interleaving = peer.interleaving;
        if !peer.interleaving {
            let max = &mut self.settings.max_in_flight_chunks;
            *max = (*max).min(SSN_REACH);
        }
        self.overhead = if peer.interleaving { Data::OVERHEAD_INTERLEAVED } else { Data::OVERHEAD };
        self.flight.set_overhead(self.overhead);
        self.settings.streams = self.settings.streams.min(peer.streams);
        let (mut bytes, mut messages) = (0, 0);
        for stream in self.streams.iter_mut() {
            if !peer.forward_tsn {
                stream.queue.lift_limits();
            }
            if stream.id.0 >= self.settings.streams {
                while let Some(left) = stream.queue.front_bytes() {
                    let Some(Taken { payload, terms, gone }) = stream.queue.take(left) else { break };
                    // Of those that were given up only the charge was left.
                    messages += gone;
                    if terms.limit.is_limited() {
                        self.limits.dequeued(terms.limit);
                    }
                    self.unsent -= 1;
                    self.stats.messages_abandoned += 1;
                    self.store.release(payload);
                }
                bytes += std::mem::take(&mut stream.buffered);
            }
        }
        if !peer.forward_tsn {
            self.limits = LimitTable::default();
        }
        self.unsent_bytes -= bytes;
        self.free(bytes, messages);
        self.scheduler.settle(&mut self.streams);
    }
}
