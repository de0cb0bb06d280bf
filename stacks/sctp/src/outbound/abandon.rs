//! Abandoning messages (RFC 3758), and notifying the peer with FORWARD-TSN or I-FORWARD-TSN (RFC 8260 section
//! 2.3).

use std::collections::BTreeMap;

use super::Outbound;
use super::acked::Acked;
use super::chunk::{Chunk, END, UNORDERED};
use super::limited::LimitId;
use super::packed::Front;
use super::time::Time;
use crate::types::{Mid, Ssn, StreamId};
use crate::wire::{ForwardTsn, PacketWriter};

/// Length of a stream entry in FORWARD-TSN and in I-FORWARD-TSN.
const ENTRY_BYTES: [usize; 2] = [4, 8];

/// Abandoned data to be reported to the peer.
#[derive(Debug)]
pub(super) struct Forward {
    /// A FORWARD-TSN is due.
    pub(super) is_due: bool,
    /// When the last one was sent.
    sent_at: Time,
    /// Per stream and ordering: the last abandoned message, by SSN or MID, and the number of its last chunk.
    skipped: BTreeMap<(StreamId, bool), (u64, u32)>,
}

impl Forward {
    pub(super) fn new() -> Self {
        Self { is_due: false, sent_at: Time::START, skipped: BTreeMap::new() }
    }
}

impl Outbound {
    /// Whether the peer has not yet caught up with the abandoned data.
    pub(super) fn lags(&self) -> bool {
        self.flight.acked() < self.flight.base()
    }

    /// Records the first transmission of a chunk of a message with limited reliability.
    pub(super) fn link(&mut self, limit: LimitId, seq: u64, ends: bool) {
        if let Some(before) = self.limits.sent(limit, seq) {
            self.flight.link(before, (seq - before) as u32);
        }
        if ends {
            self.limits.dequeued(limit);
        }
    }

    /// Abandons a message, both its sent and its unsent part. Call [`pass_abandoned`](Self::pass_abandoned)
    /// afterwards.
    pub(super) fn abandon(&mut self, id: LimitId) {
        let limit = self.limits.get_mut(id);
        if std::mem::replace(&mut limit.is_abandoned, true) {
            return;
        }
        let limit = limit.clone();
        self.stats.messages_abandoned += 1;
        let (mut seq, mut freed, mut ended) = (limit.first, 0, 0);
        for _ in 0..limit.chunks {
            ended += usize::from(self.flight.chunk(seq).has(END));
            let payload = self.flight.abandon(seq);
            freed += payload.len();
            self.store.release(payload);
            seq += u64::from(self.flight.chunk(seq).next_fragment);
        }
        self.free(freed, ended);
        if limit.is_queued {
            self.abandon_queued(id, limit.slot, limit.place);
        }
    }

    /// Abandons the unsent part of a message.
    fn abandon_queued(&mut self, id: LimitId, slot: usize, place: u32) {
        let stream = self.streams.at_mut(slot);
        let begun = stream.begun.filter(|_| place == stream.queue.first_place());
        let unordered = stream.queue.is_front_unordered();
        let Some((payload, gone)) = stream.queue.give_up(place) else { return };
        if gone > 0 && stream.begun.take().is_some() {
            self.begun -= 1;
        }
        let rest = payload.len();
        self.store.release(payload);
        if stream.unbuffer(rest) {
            self.events.tell_low(stream);
        }
        self.unsent_bytes -= rest;
        self.unsent -= 1;
        if let Some(begun) = begun {
            // The end of the message will not be sent. A TSN is assigned to it anyway, so that the peer
            // never sees another message follow an unfinished one, and so that there is a TSN to advance to
            // if everything else has arrived.
            let seq = self.flight.push_abandoned(&Chunk {
                number: begun.number,
                limit: id,
                stream: stream.id,
                flags: END | if unordered { UNORDERED } else { 0 },
                ..Chunk::default()
            });
            stream.sent_end = seq + 1;
            self.link(id, seq, true);
        } else {
            self.limits.dequeued(id);
        }
        self.free(rest, gone);
        self.scheduler.settle(&mut self.streams);
    }

    /// RFC 3758 section 3.5 C2: advances the Advanced.Peer.Ack.Point over abandoned data; C3: then a
    /// FORWARD-TSN is due. It also advances over messages of limited reliability that gap blocks have
    /// acknowledged, since it would otherwise pass only one hole per round trip. Should the peer renege on
    /// one of those, that message is lost. The peer is therefore told to skip them too, which has no effect
    /// on a message that it has.
    pub(super) fn pass_abandoned(&mut self) {
        if !self.flight.has_settled() {
            return;
        }
        let before = self.flight.base();
        let mut acked = Acked::new(Time::START, self.path_from);
        let (limits, skipped, store) = (&mut self.limits, &mut self.forward.skipped, &mut self.store);
        let interleaving = self.interleaving;
        let gone = |Front { seqs, chunk, payload, .. }: Front| {
            let seq = seqs.start;
            store.release(payload);
            if chunk.limit.is_limited() {
                limits.landed(chunk.limit, seq, chunk.next_fragment);
            }
            let unordered = chunk.has(UNORDERED);
            // FORWARD-TSN does not list unordered messages.
            if interleaving || !unordered {
                skipped.insert((chunk.stream, unordered), (seq, chunk.number));
            }
        };
        self.flight.pass_abandoned(&mut acked, gone);
        self.forward.is_due |= self.flight.base() > before;
        self.free(acked.freed_bytes, acked.freed_messages);
    }

    /// A SACK has arrived: if the peer has not caught up, a FORWARD-TSN is due again, at most once per round
    /// trip. RFC 3758 section 3.5 C4 asks for one per such SACK as long as it makes sense.
    pub(super) fn remind_forward(&mut self, now: Time) {
        if !self.lags() {
            self.forward.skipped.clear();
            self.forward.is_due = false;
        } else if now.since(self.forward.sent_at) >= self.rtt.smoothed().unwrap_or(self.rtt.rto()) {
            self.forward.is_due = true;
        }
    }

    /// Writes a FORWARD-TSN, or I-FORWARD-TSN.
    pub(super) fn write_forward(&mut self, now: Time, packet: &mut PacketWriter<'_>) -> bool {
        let acked = self.flight.acked();
        self.forward.skipped.retain(|_, (seq, _)| *seq >= acked);
        let room =
            packet.room().saturating_sub(ForwardTsn::OVERHEAD) / ENTRY_BYTES[usize::from(self.interleaving)];
        let mut end = self.flight.base();
        if self.forward.skipped.len() > room {
            if !packet.is_empty() {
                // It goes first into the next packet.
                return false;
            }
            end = self.skip_fewer(room);
        }
        let told = self.forward.skipped.iter().filter(|(_, (seq, _))| *seq < end);
        let told = told.map(|(&(stream, unordered), &(_, number))| (stream, unordered, number));
        let tsn = self.flight.tsn(end).previous();
        let wrote = if self.interleaving {
            let told = told.map(|(stream, unordered, number)| (stream, Mid(number), unordered));
            ForwardTsn::write_interleaved(packet, tsn, told)
        } else {
            ForwardTsn::write(packet, tsn, told.map(|(stream, _, number)| (stream, Ssn(number as u16))))
        };
        if wrote {
            self.forward.is_due = false;
            self.forward.sent_at = now;
            self.arm(now);
        }
        wrote
    }

    /// Where to advance to if only this many streams can be listed: the first chunk of the rest.
    fn skip_fewer(&self, streams: usize) -> u64 {
        let mut ends: Vec<u64> = self.forward.skipped.values().map(|&(seq, _)| seq).collect();
        let (_, first_of_rest, _) = ends.select_nth_unstable(streams);
        *first_of_rest
    }
}
