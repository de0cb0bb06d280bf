//! Reassembly of DATA: the fragments of a message have consecutive TSNs, from B to E (RFC 9260 section 6.9).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::buffers::{Buffer, Payload};
use super::memory::Memory;
use super::window::{HELD_OVERHEAD, PARTIAL_OVERHEAD};
use super::{Whole, violation};
use crate::error::ProtocolViolation;
use crate::types::{Ppid, StreamId};
use crate::wire::{Data, Order};

const SECTION: &str = "RFC 9260 section 6.9";

/// Messages being reassembled from DATA chunks.
///
/// In-order data is assembled in one buffer at the *edge*, where only one message at a time can be open. Data
/// beyond a gap is held per chunk. Runs of positions record which chunks belong together, so that a chunk
/// costs the logarithm of the number held, in whatever order chunks arrive.
#[derive(Debug)]
pub(super) struct Serial {
    edge: Edge,
    /// The edge is after this position.
    edge_at: u64,
    /// Fragments beyond the gap.
    held: BTreeMap<u64, Bytes>,
    /// Runs of them by their first position. A complete run is delivered and removed.
    runs: BTreeMap<u64, Run>,
}

/// What may follow next in TSN order.
#[derive(Debug)]
enum Edge {
    /// The first fragment of a message.
    Boundary,
    /// The first fragment of a message, or the rest of one that the peer has abandoned.
    Skipped,
    /// A further fragment of this message.
    Open(Label, Buffer),
}

/// What all fragments of a message have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label {
    stream: StreamId,
    unordered: bool,
    /// 0 if unordered.
    ssn: u16,
    ppid: Ppid,
}

/// Consecutive fragments of one message beyond the gap.
#[derive(Debug)]
struct Run {
    last: u64,
    label: Label,
    /// Its first fragment is the first of the message.
    begins: bool,
    /// Its last fragment is the last of the message.
    ends: bool,
    bytes: usize,
}

/// A fragment.
struct Piece<'a> {
    label: Label,
    begin: bool,
    end: bool,
    bytes: &'a [u8],
}

impl Label {
    fn from_data(data: &Data<'_>) -> Self {
        let ssn = match data.order {
            Order::Ssn(ssn) if !data.unordered => ssn.0,
            _ => 0,
        };
        Self { stream: data.stream, unordered: data.unordered, ssn, ppid: data.ppid }
    }

    fn whole<'a>(self, payload: Payload<'a>) -> Whole<'a> {
        let Self { stream, unordered, ssn, ppid } = self;
        Whole { stream, unordered, number: u32::from(ssn), ppid, payload }
    }
}

impl Serial {
    /// No incomplete messages; everything up to `cumulative` has arrived.
    pub(super) fn new(cumulative: u64) -> Self {
        Self { edge: Edge::Boundary, edge_at: cumulative, held: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Whether a message must begin next in TSN order.
    #[inline]
    pub(super) fn is_at_boundary(&self) -> bool {
        matches!(self.edge, Edge::Boundary)
    }

    /// A complete message has arrived in order and was handled.
    #[inline]
    pub(super) fn pass_next(&mut self) {
        self.edge_at += 1;
    }

    /// Number of chunks held beyond the gap.
    pub(super) fn held_count(&self) -> usize {
        self.held.len()
    }

    /// Upper bound of the number of incomplete messages beyond the gap.
    pub(super) fn partial_count(&self) -> usize {
        self.runs.len()
    }

    /// Handles the chunk right after the edge; returns the message if it is complete.
    pub(super) fn take_next<'a>(
        &mut self,
        data: &Data<'a>,
        memory: &mut Memory,
    ) -> Result<Option<Whole<'a>>, ProtocolViolation> {
        self.edge_at += 1;
        let Data { begin, end, payload: bytes, .. } = *data;
        self.append(Piece { label: Label::from_data(data), begin, end, bytes }, memory)
    }

    /// The chunk right after the edge belongs to no deliverable message.
    pub(super) fn skip_next(&mut self) -> Result<(), ProtocolViolation> {
        self.edge_at += 1;
        self.pass()
    }

    /// Whether [`catch_up`](Self::catch_up) must be called to move the edge to `cumulative`.
    #[inline]
    pub(super) fn is_behind(&self, cumulative: u64) -> bool {
        self.edge_at < cumulative
    }

    /// Moves the edge over the next run beyond the former gap; returns the message that this completes.
    pub(super) fn catch_up(
        &mut self,
        cumulative: u64,
        memory: &mut Memory,
    ) -> Result<Option<Whole<'static>>, ProtocolViolation> {
        let first = self.runs.first_key_value().map_or(u64::MAX, |(&first, _)| first);
        if first > self.edge_at + 1 {
            // Complete messages, delivered when they arrived.
            self.edge_at = cumulative.min(first - 1);
            return self.pass().map(|()| None);
        }
        let Some((_, run)) = self.runs.pop_first() else { return Ok(None) };
        let mut message = None;
        for position in first..=run.last {
            let Some(bytes) = self.held.remove(&position) else { continue };
            memory.window.release(bytes.len() + HELD_OVERHEAD);
            let (begin, end) = (run.begins && position == first, run.ends && position == run.last);
            // A complete single-chunk message is not held, so the result never borrows from `bytes`.
            if let Some(whole) = self.append(Piece { label: run.label, begin, end, bytes: &bytes }, memory)? {
                message = Some(whole.into_owned());
            }
        }
        self.edge_at = run.last;
        Ok(message)
    }

    /// Holds a chunk beyond the gap; returns the message if it is complete although earlier chunks are
    /// missing.
    pub(super) fn hold<'a>(
        &mut self,
        position: u64,
        data: &Data<'a>,
        memory: &mut Memory,
    ) -> Result<Option<Whole<'a>>, ProtocolViolation> {
        let label = Label::from_data(data);
        let (before, after) = self.neighbours(position, label, data)?;
        if data.begin && data.end {
            return Ok(Some(label.whole(Payload::Borrowed(data.payload))));
        }
        let (begins, ends, bytes) = (data.begin, data.end, data.payload.len());
        let (mut first, mut run) = (position, Run { last: position, label, begins, ends, bytes });
        if let Some((before, earlier)) = before.and_then(|before| self.runs.remove_entry(&before)) {
            (first, run.begins) = (before, earlier.begins);
            run.bytes += earlier.bytes;
        }
        if let Some(later) = after.and_then(|after| self.runs.remove(&after)) {
            (run.last, run.ends) = (later.last, later.ends);
            run.bytes += later.bytes;
        }
        memory.check_message_bytes(run.bytes)?;
        memory.window.charge(bytes + HELD_OVERHEAD);
        self.held.insert(position, Bytes::copy_from_slice(data.payload));
        if !(run.begins && run.ends) {
            self.runs.insert(first, run);
            return Ok(None);
        }
        let mut message = Vec::with_capacity(run.bytes);
        self.drop_held(first, run.last, memory, |bytes| message.extend_from_slice(bytes));
        Ok(Some(label.whole(Payload::Owned(Bytes::from(message)))))
    }

    /// The peer abandons everything up to `position`: a message that still lacks part of that range can never
    /// be completed (RFC 3758 section 3.6). Call [`catch_up`](Self::catch_up) afterwards.
    pub(super) fn give_up_to(&mut self, position: u64, memory: &mut Memory) {
        self.discard_open(memory);
        self.edge = Edge::Skipped;
        self.edge_at = position;
        while let Some(entry) = self.runs.first_entry().filter(|entry| *entry.key() <= position) {
            if entry.get().begins && entry.get().last >= position {
                // Nothing of it is missing so far: it is now open at the edge.
                self.edge_at = *entry.key() - 1;
                return;
            }
            let (first, mut run) = entry.remove_entry();
            let mut dropped = 0;
            self.drop_held(first, run.last.min(position), memory, |bytes| dropped += bytes.len());
            if run.last > position {
                (run.begins, run.bytes) = (false, run.bytes - dropped);
                self.runs.insert(position + 1, run);
            }
        }
    }

    /// Frees empty maps.
    pub(super) fn release(&mut self) {
        if self.held.is_empty() {
            (self.held, self.runs) = Default::default();
        }
    }

    /// Recomputes the charges, for tests.
    #[cfg(test)]
    pub(super) fn charges(&self) -> usize {
        let held = self.held.values().map(|bytes| bytes.len() + HELD_OVERHEAD).sum::<usize>();
        match &self.edge {
            Edge::Open(_, buffer) => held + buffer.len() + PARTIAL_OVERHEAD,
            _ => held,
        }
    }

    /// Estimated heap use: map entries with half-full nodes, and what they point to.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let entries = self.held.len() * (8 + size_of::<Bytes>()) + self.runs.len() * (8 + size_of::<Run>());
        let open = if let Edge::Open(_, buffer) = &self.edge { buffer.heap_bytes() } else { 0 };
        open + 2 * entries
            + self.held.values().map(|bytes| bytes.len().next_multiple_of(16) + 16).sum::<usize>()
    }

    /// Appends a fragment at the edge.
    fn append<'a>(
        &mut self,
        piece: Piece<'a>,
        memory: &mut Memory,
    ) -> Result<Option<Whole<'a>>, ProtocolViolation> {
        let Piece { label, begin, end, bytes } = piece;
        // Middle fragments first: a large message has many of them.
        if let Edge::Open(open, buffer) = &mut self.edge
            && *open == label
            && !begin
            && !end
        {
            memory.check_message_bytes(buffer.len() + bytes.len())?;
            buffer.append(bytes);
            memory.window.charge(bytes.len());
            return Ok(None);
        }
        match (std::mem::replace(&mut self.edge, Edge::Boundary), begin) {
            (Edge::Open(open, mut buffer), false) if open == label => {
                memory.check_message_bytes(buffer.len() + bytes.len())?;
                memory.window.release(buffer.len() + PARTIAL_OVERHEAD);
                buffer.append(bytes);
                Ok(Some(label.whole(memory.buffers.finish(buffer))))
            }
            (Edge::Open(..), true) => violation(SECTION, "a message ends before the next one begins"),
            (Edge::Open(..), false) => {
                violation(SECTION, "all fragments of a message have the same stream, SSN and PPID")
            }
            (Edge::Boundary, false) => violation(SECTION, "a message begins with its first fragment"),
            (Edge::Skipped, false) => {
                if !end {
                    self.edge = Edge::Skipped;
                }
                Ok(None)
            }
            (_, true) if end => Ok(Some(label.whole(Payload::Borrowed(bytes)))),
            (_, true) => {
                memory.window.charge(bytes.len() + PARTIAL_OVERHEAD);
                self.edge = Edge::Open(label, memory.buffers.begin(bytes));
                Ok(None)
            }
        }
    }

    /// A chunk at the edge was not a fragment of an open message.
    fn pass(&mut self) -> Result<(), ProtocolViolation> {
        if matches!(self.edge, Edge::Open(..)) {
            return violation(SECTION, "the fragments of a message have consecutive TSNs");
        }
        self.edge = Edge::Boundary;
        Ok(())
    }

    /// The runs before and after a chunk that it joins; an error if it contradicts one of them.
    fn neighbours(
        &self,
        position: u64,
        label: Label,
        data: &Data<'_>,
    ) -> Result<(Option<u64>, Option<u64>), ProtocolViolation> {
        let before = self.runs.range(..position).next_back().filter(|(_, run)| run.last + 1 == position);
        let after = self.runs.range(position + 1..).next().filter(|&(&first, _)| first == position + 1);
        let ends_before = before.is_none_or(|(_, run)| run.ends == data.begin);
        if !ends_before || after.is_some_and(|(_, run)| run.begins != data.end) {
            return violation(SECTION, "a message ends before the next one begins");
        }
        let (before, after) = (before.filter(|(_, run)| !run.ends), after.filter(|(_, run)| !run.begins));
        if before.into_iter().chain(after).any(|(_, run)| run.label != label) {
            return violation(SECTION, "all fragments of a message have the same stream, SSN and PPID");
        }
        Ok((before.map(|(&first, _)| first), after.map(|(&first, _)| first)))
    }

    fn drop_held(&mut self, first: u64, last: u64, memory: &mut Memory, mut each: impl FnMut(&[u8])) {
        for position in first..=last {
            if let Some(bytes) = self.held.remove(&position) {
                memory.window.release(bytes.len() + HELD_OVERHEAD);
                each(&bytes);
            }
        }
    }

    fn discard_open(&mut self, memory: &mut Memory) {
        if let Edge::Open(_, buffer) = std::mem::replace(&mut self.edge, Edge::Boundary) {
            memory.window.release(buffer.len() + PARTIAL_OVERHEAD);
            memory.buffers.discard(buffer);
        }
    }
}
