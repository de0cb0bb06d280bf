//! Establishing the association: applies the peer's parameters.

use super::limited::LimitTable;
use super::waiting::Taken;
use super::{Outbound, Peer};
use crate::config::Config;
use crate::types::{SSN_REACH, Tsn};
use crate::wire::Data;

impl Outbound {
    /// Replaces `before`, of which only the pending `Writable` event is kept.
    pub(crate) fn after(before: &Self, config: &Config, initial_tsn: Tsn) -> Self {
        let mut new = Self::new(config, initial_tsn);
        if before.events.waits_for_room() {
            new.events.tell_writable();
        }
        new
    }

    /// Whether nothing was sent yet that these parameters would have forbidden or encoded differently.
    pub(crate) fn agrees_with(&self, peer: Peer) -> bool {
        let terms = |peer: Peer| (peer.streams, peer.interleaving, peer.forward_tsn);
        self.flight.next() == 0 || self.peer.is_some_and(|before| terms(before) == terms(peer))
    }

    /// Applies the peer's parameters. From now on data may be sent. Messages on streams that the peer does
    /// not have are dropped; without FORWARD-TSN support, those of limited reliability become reliable.
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
                    // Of the abandoned ones only the charge was left.
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
