//! The outgoing streams: queues, message numbers and thresholds.

use std::collections::BTreeMap;

use super::waiting::Waiting;
use crate::types::StreamId;

/// Default weight: "normal" of RFC 8831 section 6.4.
const DEFAULT_WEIGHT: u16 = 256;

/// The message at the front of a queue, once partly sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// SSN or MID.
    pub(super) number: u32,
    /// Number of fragments sent.
    pub(super) fragments: u32,
}

/// An outgoing stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// Unsent messages. The front one is never abandoned.
    pub(super) queue: Waiting,
    pub(super) begun: Option<Begun>,
    /// Unsent bytes.
    pub(super) buffered: usize,
    pub(super) low_threshold: usize,
    /// A low-threshold event is queued.
    pub(super) low_told: bool,
    /// SSN or MID of the next ordered message.
    next_ordered: u32,
    /// MID of the next unordered message.
    next_unordered: u32,
    /// The number after its last chunk.
    pub(super) sent_end: u64,
    pub(super) weight: u16,
    /// Refuses further messages.
    pub(super) closed: bool,
    /// The scheduler holds it.
    pub(super) scheduled: bool,
    /// Virtual start time of its next turn (for weighted fair queueing).
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

    /// Unsent bytes of the front message.
    pub(super) fn front_bytes(&self) -> Option<usize> {
        self.queue.front_bytes()
    }

    /// Starts the front message if necessary, and returns its state.
    pub(super) fn begin(&mut self, unordered: bool) -> Begun {
        *self.begun.get_or_insert_with(|| {
            let next = if unordered { &mut self.next_unordered } else { &mut self.next_ordered };
            let number = *next;
            *next = next.wrapping_add(1);
            Begun { number, fragments: 0 }
        })
    }

    /// Bytes are no longer buffered. Returns whether the amount has dropped to the threshold.
    pub(super) fn unbuffer(&mut self, bytes: usize) -> bool {
        let before = self.buffered;
        self.buffered -= bytes;
        before > self.low_threshold && self.buffered <= self.low_threshold
    }

    /// RFC 6525 section 5.2.2: numbering restarts at 0.
    pub(super) fn reset(&mut self) {
        self.next_ordered = 0;
        self.next_unordered = 0;
        self.closed = false;
    }
}

/// The streams in use.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    index: BTreeMap<StreamId, usize>,
    /// Cache: usually the same stream is used again.
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

    /// The slot of the stream, created if necessary.
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

    /// All streams.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.slots.iter()
    }

    /// All streams.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut()
    }

    /// Releases the memory of empty queues.
    pub(super) fn shrink(&mut self) {
        self.slots.iter_mut().for_each(|stream| stream.queue.shrink());
    }
}
