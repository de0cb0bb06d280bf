//! The streams: the queue of each, its numbers, and what it was told.

use std::collections::BTreeMap;

use super::waiting::Waiting;
use crate::types::StreamId;

/// Weight of a stream that was given none: "normal" of RFC 8831 section 6.4.
const DEFAULT_WEIGHT: u16 = 256;

/// The message at the front of a queue, if some of it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// SSN or MID.
    pub(super) number: u32,
    /// Fragments sent.
    pub(super) fragments: u32,
}

/// One outgoing stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// Unsent messages. The one at the front is never one that was given up.
    pub(super) queue: Waiting,
    pub(super) begun: Option<Begun>,
    /// Unsent bytes.
    pub(super) buffered: usize,
    pub(super) low_threshold: usize,
    /// An event about the low threshold waits to be polled.
    pub(super) low_told: bool,
    /// SSN or MID of the next ordered message.
    next_ordered: u32,
    /// MID of the next unordered message.
    next_unordered: u32,
    /// The number after its last chunk.
    pub(super) sent_end: u64,
    pub(super) weight: u16,
    /// No more messages are taken.
    pub(super) closed: bool,
    /// The scheduler has it.
    pub(super) scheduled: bool,
    /// Virtual time at which its turn begins (for weighted fair queueing).
    pub(super) turn: u64,
}

impl Stream {
    fn new(id: StreamId) -> Self {
        Self {
            id,
            queue: Waiting::default(),
            begun: None,
            buffered: 0,
            low_threshold: 0,
            low_told: false,
            next_ordered: 0,
            next_unordered: 0,
            sent_end: 0,
            weight: DEFAULT_WEIGHT,
            closed: false,
            scheduled: false,
            turn: 0,
        }
    }

    /// What is left of the message that is being sent, or will be next.
    pub(super) fn front_bytes(&self) -> Option<usize> {
        self.queue.front_bytes()
    }

    /// Begins the message at the front, if that was not done, and gives its number.
    pub(super) fn begin(&mut self, unordered: bool) -> Begun {
        *self.begun.get_or_insert_with(|| {
            let next = if unordered { &mut self.next_unordered } else { &mut self.next_ordered };
            let number = *next;
            *next = next.wrapping_add(1);
            Begun { number, fragments: 0 }
        })
    }

    /// So many bytes are no longer buffered. Gives whether the amount has fallen to the threshold.
    pub(super) fn unbuffer(&mut self, bytes: usize) -> bool {
        let before = self.buffered;
        self.buffered -= bytes;
        before > self.low_threshold && self.buffered <= self.low_threshold
    }

    /// RFC 6525 section 5.2.2: numbers begin at 0 again.
    pub(super) fn reset(&mut self) {
        self.next_ordered = 0;
        self.next_unordered = 0;
        self.closed = false;
    }
}

/// The streams that were used.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    index: BTreeMap<StreamId, usize>,
    /// Mostly the same stream is used again.
    last: Option<(StreamId, usize)>,
}

impl Streams {
    /// The stream in a slot.
    pub(super) fn at(&self, slot: usize) -> &Stream {
        &self.slots[slot]
    }

    /// The stream in a slot.
    pub(super) fn at_mut(&mut self, slot: usize) -> &mut Stream {
        &mut self.slots[slot]
    }

    /// The stream, if it was ever used.
    pub(super) fn find(&self, id: StreamId) -> Option<&Stream> {
        let slot = match self.last {
            Some((last, slot)) if last == id => slot,
            _ => *self.index.get(&id)?,
        };
        self.slots.get(slot)
    }

    /// The slot of the stream, made if need be.
    pub(super) fn slot(&mut self, id: StreamId) -> usize {
        if let Some((last, slot)) = self.last
            && last == id
        {
            return slot;
        }
        let slots = &mut self.slots;
        let slot = *self.index.entry(id).or_insert_with(|| {
            slots.push(Stream::new(id));
            slots.len() - 1
        });
        self.last = Some((id, slot));
        slot
    }

    /// All of them.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.slots.iter()
    }

    /// All of them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut()
    }

    /// Gives back the memory of empty queues.
    pub(super) fn shrink(&mut self) {
        self.slots.iter_mut().for_each(|stream| stream.queue.shrink());
    }
}
