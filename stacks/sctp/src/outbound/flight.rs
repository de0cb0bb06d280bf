//! What is in flight: every chunk that was sent and not cumulatively acknowledged, and what became of it.
//!
//! Numbers are 64 bits long and begin at 0, so that they never wrap; the TSN is the initial one plus the number.

use super::acked::Acked;
use super::chunk::{ABANDONED, BEGIN, Chunk, END};
use super::packed::{Front, Packed};
use super::seq_set::{SeqSet, count_bits, first_bit, numbers};
use super::store::Stored;
use super::time::Time;
use crate::types::Tsn;

/// Chunks for which there is memory at first.
const MIN_SLOTS: usize = 64;

/// The flight. A chunk in it is *outstanding* (the network has it), *lost* (to be sent again) or *settled* (acknowledged
/// by a gap block, or given up).
#[derive(Debug)]
pub(super) struct Flight {
    chunks: Packed,
    settled: SeqSet,
    lost: SeqSet,
    /// Everything before this is acknowledged cumulatively.
    acked: u64,
    /// Everything before this needs no slot: acknowledged, or given up (the Advanced.Peer.Ack.Point of RFC 3758 is
    /// the one before).
    base: u64,
    /// Bytes on the wire of what is outstanding.
    bytes: usize,
    /// Bytes of payload of what is outstanding.
    payload_bytes: usize,
    /// Bytes on the wire of what gap blocks have acknowledged.
    gap_bytes: usize,
    /// Bytes of a chunk before its payload.
    overhead: usize,
    initial_tsn: Tsn,
}

impl Flight {
    pub(super) fn new(initial_tsn: Tsn) -> Self {
        Self {
            chunks: Packed::default(),
            settled: SeqSet::default(),
            lost: SeqSet::default(),
            acked: 0,
            base: 0,
            bytes: 0,
            payload_bytes: 0,
            gap_bytes: 0,
            overhead: 0,
            initial_tsn,
        }
    }

    /// Bytes of a chunk before its payload; to be set before the first is sent.
    pub(super) fn set_overhead(&mut self, bytes: usize) {
        self.overhead = bytes;
    }

    // -- getters --

    pub(super) fn tsn(&self, seq: u64) -> Tsn {
        self.initial_tsn.add(seq as u32)
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The number of the next new chunk.
    pub(super) fn next(&self) -> u64 {
        self.chunks.next()
    }

    /// Nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.base == self.next()
    }

    /// Slots in use.
    pub(super) fn len(&self) -> usize {
        (self.next() - self.base) as usize
    }

    /// Slots, used or not.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.chunks.capacity()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    pub(super) fn gap_bytes(&self) -> usize {
        self.gap_bytes
    }

    /// The peer has told of holes, or something was given up ahead of what was not.
    pub(super) fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Chunks to be sent again.
    pub(super) fn lost_chunks(&self) -> usize {
        self.lost.len()
    }

    /// Their bytes on the wire. Takes time by their number.
    pub(super) fn lost_bytes(&self) -> usize {
        let lost = std::iter::successors(self.first_lost(0), |&seq| self.first_lost(seq + 1));
        lost.map(|seq| self.chunk_bytes(seq)).sum()
    }

    /// Chunks that the network has.
    pub(super) fn outstanding(&self) -> usize {
        self.len() - self.settled.len() - self.lost.len()
    }

    pub(super) fn is_outstanding(&self, seq: u64) -> bool {
        (self.base..self.next()).contains(&seq) && !self.settled.contains(seq) && !self.lost.contains(seq)
    }

    /// The peer has it, or it was given up.
    pub(super) fn is_settled(&self, seq: u64) -> bool {
        seq < self.base || self.settled.contains(seq)
    }

    /// The first lost chunk.
    pub(super) fn first_lost(&self, from: u64) -> Option<u64> {
        self.lost.first(from.max(self.base), self.next())
    }

    /// The first outstanding chunk from `from` on.
    pub(super) fn first_outstanding(&self, from: u64) -> Option<u64> {
        let word = |seq| !(self.settled.word(seq) | self.lost.word(seq));
        first_bit(from.max(self.base), self.next(), word)
    }

    /// How many are outstanding. Takes time by the number of words of 64.
    pub(super) fn outstanding_between(&self, from: u64, to: u64) -> usize {
        let word = |seq| !(self.settled.word(seq) | self.lost.word(seq));
        count_bits(from.max(self.base), to.min(self.next()), word)
    }

    /// The last outstanding chunk.
    pub(super) fn last_outstanding(&self) -> Option<u64> {
        (self.base..self.next()).rev().find(|&seq| self.is_outstanding(seq))
    }

    /// A chunk in flight.
    pub(super) fn chunk(&self, seq: u64) -> Chunk {
        debug_assert!((self.base..self.next()).contains(&seq));
        self.chunks.chunk(seq)
    }

    /// Length of the payload of a chunk in flight.
    pub(super) fn payload_length(&self, seq: u64) -> usize {
        debug_assert!((self.base..self.next()).contains(&seq));
        self.chunks.length(seq)
    }

    /// Where the payload of a chunk in flight is.
    pub(super) fn payload(&self, seq: u64) -> Stored {
        self.chunks.payload(seq)
    }

    /// Bytes that a chunk in flight takes in a packet.
    pub(super) fn chunk_bytes(&self, seq: u64) -> usize {
        self.wire_bytes(self.payload_length(seq))
    }

    /// Bytes that a chunk with so much payload takes in a packet.
    pub(super) fn wire_bytes(&self, payload_bytes: usize) -> usize {
        self.overhead + payload_bytes.next_multiple_of(4)
    }

    // -- what happens to chunks --

    /// A new chunk was sent. Gives its number.
    //
    // Always: what was just put together would be read back from memory in other widths, which waits for all writes before it.
    #[inline(always)]
    pub(super) fn push(&mut self, chunk: &Chunk, payload: &Stored) -> u64 {
        if self.len() == self.chunks.capacity() {
            self.grow();
        }
        self.bytes += self.wire_bytes(payload.len());
        self.payload_bytes += payload.len();
        self.chunks.push(chunk, payload)
    }

    /// A chunk was not sent, and never will be, but has its number: it ends a message that was given up.
    pub(super) fn push_abandoned(&mut self, chunk: &Chunk) -> u64 {
        let seq = self.push(chunk, &Stored::default());
        let nothing = self.abandon(seq);
        debug_assert!(nothing.is_empty());
        seq
    }

    /// How far on the next fragment of a message of limited reliability is.
    pub(super) fn link(&mut self, seq: u64, next_fragment: u32) {
        self.chunks.link(seq, next_fragment);
    }

    /// An outstanding chunk is to be sent again.
    pub(super) fn lose(&mut self, seq: u64) {
        debug_assert!(self.is_outstanding(seq));
        self.land(seq);
        self.lost.insert(seq);
    }

    /// A lost chunk was sent again.
    pub(super) fn resend(&mut self, seq: u64, now: Time) {
        self.lost.remove(seq);
        self.launch(seq);
        self.chunks.resend(seq, now);
    }

    /// What is to be sent again, and was sent once only, is outstanding after all.
    pub(super) fn find_lost(&mut self) {
        let mut from = self.base;
        while let Some(seq) = self.first_lost(from) {
            from = seq + 1;
            if self.chunk(seq).transmits == 1 {
                self.lost.remove(seq);
                self.launch(seq);
            }
        }
    }

    /// Gives up on a chunk. Gives the payload, which need not be kept any longer.
    pub(super) fn abandon(&mut self, seq: u64) -> Stored {
        if self.is_outstanding(seq) {
            self.land(seq);
        } else if !self.lost.remove(seq) {
            self.gap_bytes -= self.chunk_bytes(seq);
        }
        self.settled.insert(seq);
        self.chunks.abandon(seq)
    }

    /// Everything before `to` has arrived. `gone` is given all chunks that leave, and their payload. Takes time by their number only
    /// where some are lost or were sent again, else by that of the runs that they make.
    pub(super) fn ack_to(&mut self, to: u64, acked: &mut Acked, mut gone: impl FnMut(Front)) {
        let marked = self.has_settled() || self.has_lost();
        let from = self.base;
        while let Some(front) = self.chunks.pop_front(to, marked) {
            let (seq, chunk, length) = (front.seqs.start, &front.chunk, front.payload.len());
            let wire_bytes = self.overhead * front.count() + front.padded_bytes;
            let is_settled = marked && self.settled.contains(seq);
            let is_lost = marked && self.lost.contains(seq);
            if !is_settled {
                acked.add(front.seqs.clone(), chunk, wire_bytes);
                if !is_lost {
                    self.bytes -= wire_bytes;
                    self.payload_bytes -= length;
                }
            } else if !chunk.has(ABANDONED) {
                self.gap_bytes -= wire_bytes;
            }
            if !chunk.has(ABANDONED) {
                acked.free(&front);
            }
            gone(front);
        }
        if marked {
            self.settled.remove_range(from, to.max(from));
            self.lost.remove_range(from, to.max(from));
        }
        self.base = self.base.max(to);
        self.acked = self.acked.max(to);
    }

    /// These have arrived, although something before them has not. Takes time by the number of words of 64, and by
    /// that of chunks of which it is news.
    pub(super) fn ack_gap(&mut self, from: u64, to: u64, acked: &mut Acked) {
        let (mut at, mut run) = (from.max(self.base), 0);
        while at < to {
            let (new, next) = self.settled.claim(at, to);
            for seq in numbers(at, new) {
                let length = self.payload_length(seq);
                let wire_bytes = self.wire_bytes(length);
                acked.add(seq..seq + 1, &self.chunks.chunk_after(seq, &mut run), wire_bytes);
                self.gap_bytes += wire_bytes;
                if !self.lost.remove(seq) {
                    self.bytes -= wire_bytes;
                    self.payload_bytes -= length;
                }
            }
            at = next;
        }
    }

    /// Lets go of what was given up at the front, and of what gap blocks have acknowledged there, if it is a whole message of limited
    /// reliability: of a part the peer would drop what it has of the rest. `gone` is given every chunk that leaves, and its payload.
    pub(super) fn pass_abandoned(&mut self, acked: &mut Acked, mut gone: impl FnMut(Front)) {
        while self.base < self.next() && self.settled.contains(self.base) {
            let (seq, chunk) = (self.base, self.chunk(self.base));
            let is_whole = chunk.flags & (BEGIN | END) == BEGIN | END;
            if !(chunk.has(ABANDONED) || chunk.limit.is_limited() && is_whole) {
                break;
            }
            let Some(front) = self.chunks.pop_front(seq + 1, true) else { break };
            if !chunk.has(ABANDONED) {
                self.gap_bytes -= self.wire_bytes(front.payload.len());
                acked.free(&front);
            }
            gone(front);
            self.settled.remove(seq);
            self.base += 1;
        }
    }

    /// After a timeout gap blocks count no longer: the peer may have dropped what it told of (RFC 9260 section 6.2 lets
    /// it). Those chunks are outstanding again.
    pub(super) fn forget_gaps(&mut self) {
        let mut from = self.base;
        while let Some(seq) = self.settled.first(from, self.next()) {
            from = seq + 1;
            if self.chunk(seq).has(ABANDONED) {
                continue;
            }
            self.settled.remove(seq);
            self.gap_bytes -= self.chunk_bytes(seq);
            self.launch(seq);
            self.chunks.renege(seq);
        }
    }

    /// Gives the memory back, if nothing is in flight.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            self.chunks.shrink();
            self.settled = SeqSet::default();
            self.lost = SeqSet::default();
        }
    }

    /// A chunk is outstanding from now on.
    fn launch(&mut self, seq: u64) {
        let length = self.payload_length(seq);
        self.bytes += self.wire_bytes(length);
        self.payload_bytes += length;
    }

    /// An outstanding chunk is outstanding no longer.
    fn land(&mut self, seq: u64) {
        let length = self.payload_length(seq);
        self.bytes -= self.wire_bytes(length);
        self.payload_bytes -= length;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.chunks.capacity() * 2).max(MIN_SLOTS);
        self.chunks.grow(capacity);
        self.settled.grow(capacity, self.base, self.next());
        self.lost.grow(capacity, self.base, self.next());
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes() + self.chunks.capacity() / 4
    }
}
