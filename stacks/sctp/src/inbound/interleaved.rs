//! Reassembly of I-DATA: each fragment identifies its message and its position in it (RFC 8260 section 2.1).

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

use bytes::Bytes;

use super::buffers::{Buffer, Payload};
use super::memory::Memory;
use super::streams::serial_range;
use super::window::{HELD_OVERHEAD, PARTIAL_OVERHEAD};
use super::{Whole, violation};
use crate::error::ProtocolViolation;
use crate::types::{Fsn, Mid, Ppid, StreamId};
use crate::wire::Data;

const SECTION: &str = "RFC 8260 section 2.1";

/// Stream, unordered, message identifier.
type Key = (StreamId, bool, u32);

/// Messages being reassembled from I-DATA chunks.
#[derive(Debug, Default)]
pub(super) struct Interleaved {
    partials: BTreeMap<Key, Partial>,
    /// Fragments whose predecessor in the message is missing.
    ahead: BTreeMap<(Key, u32), Ahead>,
    /// The same, by position of their TSN.
    ahead_at: BTreeMap<u64, (Key, u32)>,
}

/// A fragment whose predecessor in the message is missing.
#[derive(Debug)]
struct Ahead {
    position: u64,
    bytes: Bytes,
}

/// An incomplete message.
#[derive(Debug, Default)]
struct Partial {
    /// The fragments before `next_fsn`; `None` if that is 0.
    buffer: Option<Buffer>,
    next_fsn: u32,
    /// Number of the last fragment, once known.
    last_fsn: Option<u32>,
    ppid: Ppid,
    /// Fragments in `Interleaved::ahead`.
    ahead: u32,
    /// Bytes received.
    bytes: usize,
}

impl Interleaved {
    /// Whether no message is incomplete.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.partials.is_empty()
    }

    /// Number of incomplete messages.
    pub(super) fn partial_count(&self) -> usize {
        self.partials.len()
    }

    /// Whether this chunk would start another incomplete message.
    pub(super) fn is_another(&self, data: &Data<'_>, mid: Mid) -> bool {
        let is_whole = data.begin && data.end;
        !is_whole && !self.partials.contains_key(&(data.stream, data.unordered, mid.0))
    }

    /// Number of chunks held until their predecessors arrive.
    pub(super) fn held_count(&self) -> usize {
        self.ahead.len()
    }

    /// Handles a chunk; returns the message if it is complete.
    pub(super) fn take<'a>(
        &mut self,
        position: u64,
        data: &Data<'a>,
        (mid, fsn): (Mid, Fsn),
        memory: &mut Memory,
    ) -> Result<Option<Whole<'a>>, ProtocolViolation> {
        let key = (data.stream, data.unordered, mid.0);
        if data.begin && data.end && !self.partials.contains_key(&key) {
            return Ok(Some(whole(key, data.ppid, Payload::Borrowed(data.payload))));
        }
        self.check(key, fsn.0, data)?;
        let partial = self.partials.entry(key).or_insert_with(|| {
            memory.window.charge(PARTIAL_OVERHEAD);
            Partial::default()
        });
        partial.bytes += data.payload.len();
        memory.check_message_bytes(partial.bytes)?;
        if data.begin {
            partial.ppid = data.ppid;
        }
        if data.end {
            partial.last_fsn = Some(fsn.0);
        }
        if fsn.0 != partial.next_fsn {
            memory.window.charge(data.payload.len() + HELD_OVERHEAD);
            let ahead = Ahead { position, bytes: Bytes::copy_from_slice(data.payload) };
            self.ahead.insert((key, fsn.0), ahead);
            self.ahead_at.insert(position, (key, fsn.0));
            partial.ahead += 1;
            return Ok(None);
        }
        partial.append(data.payload, memory);
        while partial.ahead > 0
            && let Some(Ahead { position, bytes }) = self.ahead.remove(&(key, partial.next_fsn))
        {
            self.ahead_at.remove(&position);
            memory.window.release(bytes.len() + HELD_OVERHEAD);
            partial.ahead -= 1;
            partial.append(&bytes, memory);
        }
        if partial.last_fsn.is_none_or(|last| partial.next_fsn <= last) {
            return Ok(None);
        }
        let ppid = partial.ppid;
        let buffer = self.partials.remove(&key).and_then(|partial| partial.buffer);
        Ok(buffer.map(|buffer| {
            memory.window.release(buffer.len() + PARTIAL_OVERHEAD);
            whole(key, ppid, memory.buffers.finish(buffer))
        }))
    }

    /// Everything up to `cumulative` has arrived. A fragment in that range whose predecessor is missing can
    /// never be completed, because the predecessor has a lower TSN. This happens when a fragment arrives
    /// after the peer has abandoned its message. Returns the number of messages dropped.
    pub(super) fn drop_hopeless(&mut self, cumulative: u64, memory: &mut Memory) -> u64 {
        let mut dropped = 0;
        while let Some((&position, &(key, _))) = self.ahead_at.first_key_value()
            && position <= cumulative
        {
            self.drop_range(key, key, memory);
            dropped += 1;
        }
        dropped
    }

    /// The peer abandons the ordered or unordered messages of the stream up to `mid`.
    pub(super) fn give_up_to(&mut self, stream: StreamId, unordered: bool, mid: Mid, memory: &mut Memory) {
        let first = mid.0.wrapping_sub(i32::MAX as u32);
        for (first, last) in serial_range(first, mid.0).into_iter().flatten() {
            self.drop_range((stream, unordered, first), (stream, unordered, last), memory);
        }
    }

    /// The peer has reset these streams (all, if empty).
    pub(super) fn reset(&mut self, streams: &[StreamId], memory: &mut Memory) {
        if streams.is_empty() {
            self.drop_range((StreamId(0), false, 0), (StreamId(u16::MAX), true, u32::MAX), memory);
        }
        for &stream in streams {
            self.drop_range((stream, false, 0), (stream, true, u32::MAX), memory);
        }
    }

    /// Frees empty maps.
    pub(super) fn release(&mut self) {
        if self.partials.is_empty() {
            *self = Self::default();
        }
    }

    /// Recomputes the charges, for tests.
    #[cfg(test)]
    pub(super) fn charges(&self) -> usize {
        let ahead = self.ahead.values().map(|ahead| ahead.bytes.len() + HELD_OVERHEAD).sum::<usize>();
        let built = self.partials.values().filter_map(|partial| partial.buffer.as_ref());
        ahead + built.map(Buffer::len).sum::<usize>() + self.partials.len() * PARTIAL_OVERHEAD
    }

    /// Estimated heap use: map entries with half-full nodes, and what they point to.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let partials = self.partials.len() * (size_of::<Key>() + size_of::<Partial>());
        let ahead = self.ahead.len() * (2 * size_of::<(Key, u32)>() + size_of::<Ahead>() + 8);
        let built = self.partials.values().filter_map(|partial| partial.buffer.as_ref());
        let blocks = self.ahead.values().map(|ahead| ahead.bytes.len()).chain(built.map(Buffer::heap_bytes));
        2 * (partials + ahead) + blocks.map(|bytes| bytes.next_multiple_of(16) + 16).sum::<usize>()
    }

    /// Checks a fragment against those already received.
    fn check(&self, key: Key, fsn: u32, data: &Data<'_>) -> Result<(), ProtocolViolation> {
        if data.begin != (fsn == 0) {
            return violation(SECTION, "the first fragment of a message, and only that one, has FSN 0");
        }
        let Some(partial) = self.partials.get(&key) else { return Ok(()) };
        let beyond = (Excluded((key, fsn)), Included((key, u32::MAX)));
        if partial.last_fsn.is_some_and(|last| data.end || fsn > last)
            || (data.end && partial.ahead > 0 && self.ahead.range(beyond).next().is_some())
        {
            return violation(SECTION, "no fragment of a message follows its last one");
        }
        if fsn < partial.next_fsn || (partial.ahead > 0 && self.ahead.contains_key(&(key, fsn))) {
            return violation(SECTION, "each fragment of a message has its own FSN");
        }
        Ok(())
    }

    fn drop_range(&mut self, first: Key, last: Key, memory: &mut Memory) {
        while let Some((&key, _)) = self.partials.range(first..=last).next() {
            let Some(partial) = self.partials.remove(&key) else { return };
            memory.window.release(PARTIAL_OVERHEAD);
            if let Some(buffer) = partial.buffer {
                memory.window.release(buffer.len());
                memory.buffers.discard(buffer);
            }
            let of_it = (key, 0)..=(key, u32::MAX);
            while let Some((&at, _)) = self.ahead.range(of_it.clone()).next() {
                if let Some(Ahead { position, bytes }) = self.ahead.remove(&at) {
                    self.ahead_at.remove(&position);
                    memory.window.release(bytes.len() + HELD_OVERHEAD);
                }
            }
        }
    }
}

impl Partial {
    fn append(&mut self, bytes: &[u8], memory: &mut Memory) {
        memory.window.charge(bytes.len());
        match &mut self.buffer {
            Some(buffer) => buffer.append(bytes),
            None => self.buffer = Some(memory.buffers.begin(bytes)),
        }
        self.next_fsn = self.next_fsn.wrapping_add(1);
    }
}

fn whole((stream, unordered, number): Key, ppid: Ppid, payload: Payload<'_>) -> Whole<'_> {
    Whole { stream, unordered, number, ppid, payload }
}
