//! Ordering within streams: the next number expected, and messages that arrived early.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Message;
use crate::types::{Ppid, StreamId};

/// Streams per page.
const PAGE_STREAMS: usize = 64;

/// Whether a message is deliverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sequence {
    /// It is the next of its stream.
    Next,
    /// An earlier one is missing.
    Early,
    /// Its number was already delivered or abandoned.
    Stale,
}

/// A complete message that waits for an earlier one.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) ppid: Ppid,
    /// In its own allocation, so that a short message does not pin a large block.
    pub(super) data: Bytes,
}

/// Ordering within all streams.
///
/// Numbers are SSNs or MIDs. The next expected numbers are kept in pages that are allocated when a stream
/// leaves 0. A peer that uses all 65,535 streams makes us hold 264 KiB, and a lookup is two indexed loads.
#[derive(Debug)]
pub(super) struct Streams {
    pages: Vec<Option<Box<[u32; PAGE_STREAMS]>>>,
    /// Unused bits of a 32-bit number: 16 for SSNs, 0 for MIDs.
    shift: u32,
    parked: BTreeMap<(StreamId, u32), Parked>,
}

impl Streams {
    /// All streams start at 0. Numbers are MIDs if `interleaving`, else SSNs.
    pub(super) fn new(interleaving: bool) -> Self {
        Self { pages: Vec::new(), shift: if interleaving { 0 } else { 16 }, parked: BTreeMap::new() }
    }

    /// Whether this message is deliverable.
    pub(super) fn classify(&self, stream: StreamId, number: u32) -> Sequence {
        // The sign of the difference in a number of the protocol's width: serial arithmetic.
        match (number.wrapping_sub(self.next(stream)) << self.shift) as i32 {
            0 => Sequence::Next,
            1.. => Sequence::Early,
            _ => Sequence::Stale,
        }
    }

    /// If this is the number expected, counts it as delivered.
    #[inline]
    pub(super) fn take_turn(&mut self, stream: StreamId, number: u32) -> bool {
        let after = self.after(number);
        let next = self.next_mut(stream);
        let is_due = *next == number;
        if is_due {
            *next = after;
        }
        is_due
    }

    /// Whether no message is parked.
    #[inline]
    pub(super) fn is_nothing_parked(&self) -> bool {
        self.parked.is_empty()
    }

    /// Number of parked messages.
    pub(super) fn parked_count(&self) -> usize {
        self.parked.len()
    }

    /// Keeps a message until it is its turn; false if one with that number exists.
    pub(super) fn park(&mut self, stream: StreamId, number: u32, parked: Parked) -> bool {
        self.parked.insert((stream, number), parked).is_none()
    }

    /// Returns the parked message that is next in its stream, and counts it as delivered.
    pub(super) fn take_parked(&mut self, stream: StreamId) -> Option<Message> {
        let next = self.next(stream);
        let Parked { ppid, data } = self.parked.remove(&(stream, next))?;
        *self.next_mut(stream) = self.after(next);
        Some(Message { stream, ppid, data })
    }

    /// The peer abandons everything up to `number`: returns the parked messages in that range, in order, one
    /// per call, then `None`. Call it until then.
    pub(super) fn skip_to(&mut self, stream: StreamId, number: u32) -> Option<Message> {
        let next = self.next(stream);
        if self.classify(stream, number) == Sequence::Stale {
            return None;
        }
        let [low, high] = serial_range(next, number);
        let found = [low, high].into_iter().flatten().find_map(|(first, last)| {
            let mut range = self.parked.range((stream, first)..=(stream, last));
            range.next().map(|(&(_, at), _)| at)
        });
        let after = self.after(found.unwrap_or(number));
        *self.next_mut(stream) = after;
        let Parked { ppid, data } = self.parked.remove(&(stream, found?))?;
        Some(Message { stream, ppid, data })
    }

    /// Resets these streams (all, if empty) to 0. `drop` receives the length of each message lost.
    pub(super) fn reset(&mut self, streams: &[StreamId], mut drop: impl FnMut(usize)) {
        if streams.is_empty() {
            self.pages = Vec::new();
            std::mem::take(&mut self.parked).values().for_each(|parked| drop(parked.data.len()));
        }
        for &stream in streams {
            if self.next(stream) != 0 {
                *self.next_mut(stream) = 0;
            }
            while let Some((&key, _)) = self.parked.range((stream, 0)..=(stream, u32::MAX)).next() {
                if let Some(parked) = self.parked.remove(&key) {
                    drop(parked.data.len());
                }
            }
        }
    }

    /// Frees an empty map.
    pub(super) fn release(&mut self) {
        if self.parked.is_empty() {
            self.parked = BTreeMap::new();
        }
    }

    /// Lengths of the parked messages.
    #[cfg(test)]
    pub(super) fn parked_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.parked.values().map(|parked| parked.data.len())
    }

    /// Heap use of the pages.
    #[cfg(test)]
    pub(super) fn page_bytes(&self) -> usize {
        self.pages.capacity() * 8 + self.pages.iter().flatten().count() * PAGE_STREAMS * 4
    }

    fn after(&self, number: u32) -> u32 {
        number.wrapping_add(1) & (u32::MAX >> self.shift)
    }

    fn next(&self, stream: StreamId) -> u32 {
        let at = usize::from(stream.0);
        match self.pages.get(at / PAGE_STREAMS) {
            Some(Some(page)) => page[at % PAGE_STREAMS],
            _ => 0,
        }
    }

    #[inline]
    fn next_mut(&mut self, stream: StreamId) -> &mut u32 {
        let at = usize::from(stream.0);
        let page = at / PAGE_STREAMS;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        &mut self.pages[page].get_or_insert_with(|| Box::new([0; PAGE_STREAMS]))[at % PAGE_STREAMS]
    }
}

/// The range `first` to `last`, which may wrap, as one or two ranges that do not.
pub(super) fn serial_range(first: u32, last: u32) -> [Option<(u32, u32)>; 2] {
    if first <= last { [Some((first, last)), None] } else { [Some((first, u32::MAX)), Some((0, last))] }
}

#[cfg(test)]
mod tests;
