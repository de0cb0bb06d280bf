//! The order within each stream: the number that is due next, and the messages that came before their turn.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Message;
use crate::types::{Ppid, StreamId};

/// Streams in one page of numbers.
const PAGE_STREAMS: usize = 64;

/// Whether a message may be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is the next of its stream.
    Now,
    /// One before it is missing.
    Later,
    /// Its number was delivered, or given up, before.
    Past,
}

/// A whole message that waits for one before it.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) ppid: Ppid,
    /// In an allocation of its own, lest a short message pin a large block for long.
    pub(super) data: Bytes,
}

/// The order within each stream.
///
/// Numbers are SSNs or MIDs. Those due next stand in pages that are made when a stream leaves 0: a peer that uses all
/// of the 65,535 streams makes us hold 264 KiB, and a look-up is two indexed loads.
#[derive(Debug)]
pub(super) struct Streams {
    pages: Vec<Option<Box<[u32; PAGE_STREAMS]>>>,
    /// Bits by which a number is shorter than 32: 16 for SSNs, 0 for MIDs.
    shift: u32,
    parked: BTreeMap<(StreamId, u32), Parked>,
}

impl Streams {
    /// All streams at 0. Numbers are MIDs if `interleaving`, else SSNs.
    pub(super) fn new(interleaving: bool) -> Self {
        Self { pages: Vec::new(), shift: if interleaving { 0 } else { 16 }, parked: BTreeMap::new() }
    }

    /// Whether this message may be delivered.
    pub(super) fn turn(&self, stream: StreamId, number: u32) -> Turn {
        // The difference in the sign of a number as long as the protocol's: serial arithmetic.
        match (number.wrapping_sub(self.next(stream)) << self.shift) as i32 {
            0 => Turn::Now,
            1.. => Turn::Later,
            _ => Turn::Past,
        }
    }

    /// If it is this number's turn, counts it as delivered.
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

    /// Whether no message waits for another.
    #[inline]
    pub(super) fn is_nothing_parked(&self) -> bool {
        self.parked.is_empty()
    }

    /// Messages that wait for another.
    pub(super) fn parked_count(&self) -> usize {
        self.parked.len()
    }

    /// Keeps a message until its turn. False if there is one of that number already.
    pub(super) fn park(&mut self, stream: StreamId, number: u32, parked: Parked) -> bool {
        self.parked.insert((stream, number), parked).is_none()
    }

    /// The message whose turn it is, if it is here; its number then counts as delivered.
    pub(super) fn take_parked(&mut self, stream: StreamId) -> Option<Message> {
        let next = self.next(stream);
        let Parked { ppid, data } = self.parked.remove(&(stream, next))?;
        *self.next_mut(stream) = self.after(next);
        Some(Message { stream, ppid, data })
    }

    /// Everything up to `number` is given up by the peer: gives what of it is here, in order, one a call, then `None`.
    /// Call it until then.
    pub(super) fn skip_to(&mut self, stream: StreamId, number: u32) -> Option<Message> {
        let next = self.next(stream);
        if self.turn(stream, number) == Turn::Past {
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

    /// Streams of `streams` (all, if empty) begin at 0 again. `drop` is told the length of each message lost by it.
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

    /// Gives back what an empty map holds on to.
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

    /// Heap bytes of the pages.
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

/// The numbers from `first` to `last`, which may wrap, as one or two ranges that do not.
pub(super) fn serial_range(first: u32, last: u32) -> [Option<(u32, u32)>; 2] {
    if first <= last { [Some((first, last)), None] } else { [Some((first, u32::MAX)), Some((0, last))] }
}

#[cfg(test)]
mod tests;
