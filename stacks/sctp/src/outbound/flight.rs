//! The flight: every chunk that was sent and not cumulatively acknowledged, and its state.
//!
//! Chunk numbers have 64 bits and start at 0, so that they never wrap; the TSN is the initial TSN plus the
//! number.

use super::acked::Acked;
use super::chunk::{ABANDONED, BEGIN, Chunk, END};
use super::packed::{Front, Packed};
use super::seq_set::{SeqSet, count_bits, first_bit, numbers};
use super::store::Stored;
use super::time::Time;
use crate::types::Tsn;

/// Initial capacity in chunks.
const MIN_SLOTS: usize = 64;

/// The flight. A chunk in it is *outstanding* (in the network), *lost* (to be retransmitted) or *settled*
/// (acknowledged by a gap block, or abandoned).
#[derive(Debug)]
pub(super) struct Flight {
    chunks: Packed,
    settled: SeqSet,
    lost: SeqSet,
    /// Everything before this is cumulatively acknowledged.
    acked: u64,
    /// Everything before this needs no slot: acknowledged or abandoned (the Advanced.Peer.Ack.Point of RFC
    /// 3758 is the number before).
    base: u64,
    /// Bytes on the wire of outstanding chunks.
    bytes: usize,
    /// Payload bytes of outstanding chunks.
    payload_bytes: usize,
    /// Bytes on the wire of gap-acknowledged chunks.
    gap_bytes: usize,
    /// Bytes before the payload of a chunk.
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

    /// Sets the bytes before the payload of a chunk; call it before the first chunk is sent.
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

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.base == self.next()
    }

    /// Number of slots in use.
    pub(super) fn len(&self) -> usize {
        (self.next() - self.base) as usize
    }

    /// Number of slots.
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

    /// Whether gap blocks have acknowledged chunks, or something was abandoned after chunks that were not.
    pub(super) fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Number of chunks to be retransmitted.
    pub(super) fn lost_chunks(&self) -> usize {
        self.lost.len()
    }

    /// Their bytes on the wire. Linear in their number.
    pub(super) fn lost_bytes(&self) -> usize {
        let lost = std::iter::successors(self.first_lost(0), |&seq| self.first_lost(seq + 1));
        lost.map(|seq| self.chunk_bytes(seq)).sum()
    }

    /// Number of outstanding chunks.
    pub(super) fn outstanding(&self) -> usize {
        self.len() - self.settled.len() - self.lost.len()
    }

    pub(super) fn is_outstanding(&self, seq: u64) -> bool {
        (self.base..self.next()).contains(&seq) && !self.settled.contains(seq) && !self.lost.contains(seq)
    }

    /// Whether the peer has it, or it was abandoned.
    pub(super) fn is_settled(&self, seq: u64) -> bool {
        seq < self.base || self.settled.contains(seq)
    }

    /// The first lost chunk from `from`.
    pub(super) fn first_lost(&self, from: u64) -> Option<u64> {
        self.lost.first(from.max(self.base), self.next())
    }

    /// The first outstanding chunk from `from`.
    pub(super) fn first_outstanding(&self, from: u64) -> Option<u64> {
        let word = |seq| !(self.settled.word(seq) | self.lost.word(seq));
        first_bit(from.max(self.base), self.next(), word)
    }

    /// Number of outstanding chunks in a range. Linear in the number of 64-bit words.
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

    /// Payload length of a chunk in flight.
    pub(super) fn payload_length(&self, seq: u64) -> usize {
        debug_assert!((self.base..self.next()).contains(&seq));
        self.chunks.length(seq)
    }

    /// Location of the payload of a chunk in flight.
    pub(super) fn payload(&self, seq: u64) -> Stored {
        self.chunks.payload(seq)
    }

    /// Length of a chunk in flight within a packet.
    pub(super) fn chunk_bytes(&self, seq: u64) -> usize {
        self.wire_bytes(self.payload_length(seq))
    }

    /// Length within a packet of a chunk with this payload.
    pub(super) fn wire_bytes(&self, payload_bytes: usize) -> usize {
        self.overhead + payload_bytes.next_multiple_of(4)
    }

    // -- state changes --

    /// Adds a new chunk and returns its number.
    //
    // Always inlined: otherwise the chunk would be read back from memory in other widths than it was
    // written, which stalls until the writes complete.
    #[inline(always)]
    pub(super) fn push(&mut self, chunk: &Chunk, payload: &Stored) -> u64 {
        if self.len() == self.chunks.capacity() {
            self.grow();
        }
        self.bytes += self.wire_bytes(payload.len());
        self.payload_bytes += payload.len();
        self.chunks.push(chunk, payload)
    }

    /// Adds a chunk that was not and will not be sent, but has a number: it ends an abandoned message.
    pub(super) fn push_abandoned(&mut self, chunk: &Chunk) -> u64 {
        let seq = self.push(chunk, &Stored::default());
        let nothing = self.abandon(seq);
        debug_assert!(nothing.is_empty());
        seq
    }

    /// Sets the distance to the next fragment of a message of limited reliability.
    pub(super) fn link(&mut self, seq: u64, next_fragment: u32) {
        self.chunks.link(seq, next_fragment);
    }

    /// Marks an outstanding chunk as lost.
    pub(super) fn lose(&mut self, seq: u64) {
        debug_assert!(self.is_outstanding(seq));
        self.land(seq);
        self.lost.insert(seq);
    }

    /// Marks a lost chunk as retransmitted.
    pub(super) fn resend(&mut self, seq: u64, now: Time) {
        self.lost.remove(seq);
        self.launch(seq);
        self.chunks.resend(seq, now);
    }

    /// Marks lost chunks that were sent only once as outstanding again.
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

    /// Abandons a chunk and returns its payload for release.
    pub(super) fn abandon(&mut self, seq: u64) -> Stored {
        if self.is_outstanding(seq) {
            self.land(seq);
        } else if !self.lost.remove(seq) {
            self.gap_bytes -= self.chunk_bytes(seq);
        }
        self.settled.insert(seq);
        self.chunks.abandon(seq)
    }

    /// Everything before `to` has arrived. `gone` receives the chunks that leave, with their payload. Linear
    /// in the number of lost or retransmitted chunks and of runs of other chunks.
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

    /// Chunks after a gap have arrived. Linear in the number of 64-bit words and of newly acknowledged
    /// chunks.
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

    /// Removes abandoned chunks at the front, and gap-acknowledged ones that form a complete message of
    /// limited reliability: if only part of a message were skipped, the peer would drop the rest. `gone`
    /// receives every chunk that leaves, with its payload.
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

    /// After a timeout gap blocks no longer count: the peer may have reneged (RFC 9260 section 6.2). Those
    /// chunks are outstanding again.
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

    /// Releases the memory if nothing is in flight.
    pub(super) fn shrink(&mut self) {
        if self.is_empty() {
            self.chunks.shrink();
            self.settled = SeqSet::default();
            self.lost = SeqSet::default();
        }
    }

    /// Marks a chunk as outstanding.
    fn launch(&mut self, seq: u64) {
        let length = self.payload_length(seq);
        self.bytes += self.wire_bytes(length);
        self.payload_bytes += length;
    }

    /// Marks a chunk as no longer outstanding.
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

    /// Memory use in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes() + self.chunks.capacity() / 4
    }
}
