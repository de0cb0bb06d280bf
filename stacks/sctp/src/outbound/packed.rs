//! A compact representation of the chunks in flight: with thousands of short messages in flight, the overhead
//! per message matters. Most of them were sent together with their neighbours and are contiguous in the
//! store, so everything except the length is stored once per run.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::chunk::{ABANDONED, BEGIN, Chunk, END, RENEGED};
use super::store::Stored;
use super::time::Time;
use super::waiting::make_room;

/// Most chunks per run: their lengths are summed to locate a payload.
const RUN_CHUNKS_MAX: u64 = 256;
/// Flags of a complete message.
const WHOLE: u8 = BEGIN | END;

/// The chunks in flight by number: from the first not removed from the front to the next new one.
#[derive(Debug, Default)]
pub(super) struct Packed {
    runs: VecDeque<Run>,
    /// Payload lengths in a ring indexed by chunk number; its capacity is a power of two, or 0.
    lengths: Vec<u16>,
    /// Chunks whose state differs from their first transmission.
    changed: BTreeMap<u64, Changed>,
    /// The number of the next new chunk.
    next: u64,
    /// Where a payload must be in the store to belong to the last run: block and start.
    end: (u32, u32),
}

/// Complete reliable messages of one stream, sent at the same time with the same options and contiguous in
/// the store; or one chunk of any kind. It extends to the next run. 48 bytes.
#[derive(Debug)]
struct Run {
    first: u64,
    /// The first of them. The numbers of the others follow.
    chunk: Chunk,
    /// Start of its payload.
    place: (u32, u32),
}

/// Changes to a chunk since its first transmission.
#[derive(Debug)]
struct Changed {
    sent_at: Time,
    transmits: u16,
    is_reneged: bool,
}

/// Chunks removed from the front, which differ only in number and length.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) seqs: Range<u64>,
    /// The first of them.
    pub(super) chunk: Chunk,
    /// The payload of all of them.
    pub(super) payload: Stored,
    /// Payload bytes on the wire, including padding.
    pub(super) padded_bytes: usize,
}

impl Front {
    /// Their number.
    pub(super) fn count(&self) -> usize {
        (self.seqs.end - self.seqs.start) as usize
    }
}

impl Packed {
    /// The number of the next new chunk.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The capacity.
    pub(super) fn capacity(&self) -> usize {
        self.lengths.len()
    }

    /// Payload length of a chunk.
    pub(super) fn length(&self, seq: u64) -> usize {
        self.lengths[self.index(seq)].into()
    }

    /// A chunk.
    pub(super) fn chunk(&self, seq: u64) -> Chunk {
        self.chunk_of(&self.runs[self.run_of(seq)], seq)
    }

    /// A chunk, for iterating in order: `run` caches where the last one was found, initially 0.
    #[inline]
    pub(super) fn chunk_after(&self, seq: u64, run: &mut usize) -> Chunk {
        let is_past = |next: &Run| next.first > seq;
        if self.runs[*run].first > seq || !self.runs.get(*run + 1).is_none_or(is_past) {
            *run = self.run_of(seq);
        }
        self.chunk_of(&self.runs[*run], seq)
    }

    /// Location of a chunk's payload, which the chunk still owns.
    pub(super) fn payload(&self, seq: u64) -> Stored {
        let run = &self.runs[self.run_of(seq)];
        let (block, start) = run.place;
        let (before, _) = self.sums(run.first..seq);
        Stored::at((block, start + before as u32), self.length(seq))
    }

    /// Adds a chunk, for which there must be space, and returns its number.
    #[inline(always)]
    pub(super) fn push(&mut self, chunk: &Chunk, payload: &Stored) -> u64 {
        let (seq, (block, start)) = (self.next, payload.place());
        if !self.continues(chunk, (block, start)) {
            make_room(&mut self.runs, 2);
            self.runs.push_back(Run { first: seq, chunk: *chunk, place: (block, start) });
        }
        // Lossless: no packet is longer than 16 KiB (`Config::validate`).
        let (index, length) = (self.index(seq), payload.len() as u16);
        self.lengths[index] = length;
        self.end = (block, start.wrapping_add(length.into()));
        self.next += 1;
        seq
    }

    /// Records a retransmission.
    pub(super) fn resend(&mut self, seq: u64, sent_at: Time) {
        let transmits = self.chunk(seq).transmits.saturating_add(1);
        self.changed.insert(seq, Changed { sent_at, transmits, is_reneged: false });
    }

    /// The peer may have dropped a chunk that it reported.
    pub(super) fn renege(&mut self, seq: u64) {
        let Chunk { sent_at, transmits, .. } = self.chunk(seq);
        self.changed.insert(seq, Changed { sent_at, transmits, is_reneged: true });
    }

    /// Sets the distance to the next fragment of a message of limited reliability.
    pub(super) fn link(&mut self, seq: u64, next_fragment: u32) {
        self.alone(seq).next_fragment = next_fragment;
    }

    /// Abandons a chunk of a message of limited reliability and returns its payload.
    pub(super) fn abandon(&mut self, seq: u64) -> Stored {
        let payload = self.payload(seq);
        self.alone(seq).flags |= ABANDONED;
        let index = self.index(seq);
        self.lengths[index] = 0;
        payload
    }

    /// Removes chunks before `to` from the front: as many as differ only in number and length, or just `one`.
    #[inline]
    pub(super) fn pop_front(&mut self, to: u64, one: bool) -> Option<Front> {
        let run = self.runs.front().filter(|run| run.first < to)?;
        let run_end = self.runs.get(1).map_or(self.next, |next| next.first);
        let is_one = one || !self.changed.is_empty();
        let seqs = run.first..if is_one { run.first + 1 } else { run_end.min(to) };
        let (length, padded_bytes) = self.sums(seqs.clone());
        let (chunk, payload) = (self.chunk_of(run, run.first), Stored::at(run.place, length));
        if is_one {
            self.changed.remove(&seqs.start);
        }
        let front = Front { seqs, chunk, payload, padded_bytes };
        if front.seqs.end == run_end {
            self.runs.pop_front();
        } else if let Some(run) = self.runs.front_mut() {
            run.first = front.seqs.end;
            run.chunk.number = run.chunk.number.wrapping_add(front.count() as u32);
            run.place.1 += length as u32;
        }
        Some(front)
    }

    /// Grows to `capacity` chunks, a power of two.
    pub(super) fn grow(&mut self, capacity: usize) {
        let mut lengths = vec![0; capacity];
        let first = self.runs.front().map_or(self.next, |run| run.first);
        for seq in first..self.next {
            lengths[seq as usize & (capacity - 1)] = self.lengths[self.index(seq)];
        }
        self.lengths = lengths;
    }

    /// Releases the memory if there is no chunk.
    pub(super) fn shrink(&mut self) {
        if self.runs.is_empty() {
            *self = Self { next: self.next, ..Self::default() };
        }
    }

    /// Whether a new chunk belongs to the last run.
    #[inline(always)]
    fn continues(&self, chunk: &Chunk, place: (u32, u32)) -> bool {
        let Some(Run { first, chunk: last, .. }) = self.runs.back() else { return false };
        let count = self.next - first;
        let follows = Chunk { number: last.number.wrapping_add(count as u32), ..*last };
        place == self.end
            && *chunk == follows
            && chunk.flags & WHOLE == WHOLE
            && !chunk.limit.is_limited()
            && count < RUN_CHUNKS_MAX
    }

    /// Index of the run of a chunk.
    fn run_of(&self, seq: u64) -> usize {
        self.runs.partition_point(|run| run.first <= seq) - 1
    }

    #[inline]
    fn chunk_of(&self, run: &Run, seq: u64) -> Chunk {
        let number = run.chunk.number.wrapping_add((seq - run.first) as u32);
        let chunk = Chunk { number, ..run.chunk };
        match self.changed.get(&seq) {
            None => chunk,
            Some(&Changed { sent_at, transmits, is_reneged }) => {
                let flags = chunk.flags | if is_reneged { RENEGED } else { 0 };
                Chunk { sent_at, transmits, flags, ..chunk }
            }
        }
    }

    /// The run of a chunk that is alone in it.
    fn alone(&mut self, seq: u64) -> &mut Chunk {
        let run = self.run_of(seq);
        debug_assert!(self.runs[run].chunk.limit.is_limited() && self.runs[run].first == seq);
        &mut self.runs[run].chunk
    }

    /// Payload bytes, without and with padding.
    #[inline]
    fn sums(&self, seqs: Range<u64>) -> (usize, usize) {
        let (mut bytes, mut padded) = (0, 0);
        for seq in seqs {
            let length = self.length(seq);
            bytes += length;
            padded += length.next_multiple_of(4);
        }
        (bytes, padded)
    }

    fn index(&self, seq: u64) -> usize {
        seq as usize & self.lengths.len().wrapping_sub(1)
    }

    /// Memory use in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>() + self.lengths.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::super::chunk::UNORDERED;
    use super::super::limited::{LimitId, LimitTable};
    use super::*;
    use crate::types::StreamId;

    #[derive(Debug, Clone)]
    enum Step {
        /// With this length; one field, by index, differs from the previous chunk.
        Push(usize, u8),
        Resend(u64),
        Renege(u64),
        Abandon(u64),
        Pop(u64, bool),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            20 => (1..1200usize, 0..40u8).prop_map(|(length, changes)| Step::Push(length, changes)),
            1 => (0..300u64).prop_map(Step::Resend),
            1 => (0..300u64).prop_map(Step::Renege),
            1 => (0..300u64).prop_map(Step::Abandon),
            2 => (0..40u64, any::<bool>()).prop_map(|(ahead, one)| Step::Pop(ahead, one)),
        ];
        prop::collection::vec(step, 0..800)
    }

    /// A chunk, the location of its payload, and the payload's length.
    type Whole = (Chunk, (u32, u32), usize);

    /// Successor of a chunk of that length: the next contiguous message, except for one changed field.
    fn after((chunk, place, length): Whole, changes: u8, limit: LimitId) -> (Chunk, (u32, u32)) {
        let mut chunk =
            Chunk { number: chunk.number.wrapping_add(1), limit: LimitId::NONE, flags: WHOLE, ..chunk };
        let mut place = (place.0, place.1 + length as u32);
        match changes {
            0 => chunk.number = chunk.number.wrapping_add(1),
            1 => chunk.sent_at = chunk.sent_at.after(Duration::from_nanos(1)),
            2 => chunk.ppid_or_fsn += 1,
            3 => chunk.stream = StreamId(chunk.stream.0.wrapping_add(1)),
            4 => chunk.flags |= UNORDERED,
            5 => chunk.flags = BEGIN,
            6 | 7 => chunk.limit = limit,
            8 => place.1 += 1,
            9 => place = (place.0 + 1, 0),
            _ => {}
        }
        (chunk, place)
    }

    /// A model that stores each chunk completely, from `base`.
    #[derive(Default)]
    struct Model {
        base: u64,
        chunks: VecDeque<Whole>,
    }

    impl Model {
        fn get(&mut self, ahead: u64) -> Option<(u64, &mut Whole)> {
            Some((self.base + ahead, self.chunks.get_mut(ahead as usize)?))
        }

        fn check_front(&mut self, front: Front) {
            let (first, ..) = self.chunks[0];
            assert_eq!((front.seqs.start, front.chunk), (self.base, first));
            let (mut bytes, mut padded) = (0, 0);
            for at in 0..front.count() {
                let (chunk, place, length) = self.chunks.pop_front().unwrap();
                let number = first.number.wrapping_add(at as u32);
                assert_eq!(chunk, Chunk { number, ..first });
                let (block, start) = front.payload.place();
                assert!(length == 0 || place == (block, start + bytes as u32));
                bytes += length;
                padded += length.next_multiple_of(4);
            }
            assert_eq!((front.payload.len(), front.padded_bytes), (bytes, padded));
            self.base = front.seqs.end;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(4960),
            ..ProptestConfig::default()
        })]

        #[test]
        fn every_chunk_is_as_it_was_put_in(steps in steps()) {
            let limit = LimitTable::default().add(Time::NEVER, None, 0, 0);
            let (mut packed, mut model) = (Packed::default(), Model::default());
            let mut last = (Chunk { transmits: 1, number: u32::MAX - 20, ..Chunk::default() }, (0, 0), 0);
            for step in steps {
                match step {
                    Step::Push(length, changes) => {
                        if model.chunks.len() == packed.capacity() {
                            packed.grow((2 * packed.capacity()).max(4));
                        }
                        let (chunk, place) = after(last, changes, limit);
                        last = (chunk, place, length);
                        let seq = packed.push(&chunk, &Stored::at(place, length));
                        model.chunks.push_back(last);
                        prop_assert_eq!(seq + 1, model.base + model.chunks.len() as u64);
                    }
                    Step::Resend(ahead) => if let Some((seq, (chunk, ..))) = model.get(ahead) {
                        packed.resend(seq, Time::NEVER);
                        *chunk = Chunk { sent_at: Time::NEVER, transmits: chunk.transmits + 1, flags: chunk.flags & !RENEGED, ..*chunk };
                    },
                    Step::Renege(ahead) => if let Some((seq, (chunk, ..))) = model.get(ahead) {
                        packed.renege(seq);
                        chunk.flags |= RENEGED;
                    },
                    Step::Abandon(ahead) => if let Some((seq, (chunk, place, length))) = model.get(ahead)
                        && chunk.limit.is_limited()
                    {
                        let payload = packed.abandon(seq);
                        prop_assert_eq!(payload.len(), *length);
                        prop_assert!(*length == 0 || payload.place() == *place);
                        (chunk.flags, *length) = (chunk.flags | ABANDONED, 0);
                        packed.link(seq, 7);
                        chunk.next_fragment = 7;
                    },
                    Step::Pop(ahead, one) => {
                        let to = model.base + ahead.min(model.chunks.len() as u64);
                        while let Some(front) = packed.pop_front(to, one) {
                            prop_assert!(front.seqs.end <= to && (!one || front.count() == 1));
                            model.check_front(front);
                        }
                        prop_assert_eq!(model.base, to);
                    }
                }
                let mut run = 0;
                for (ahead, (chunk, place, length)) in model.chunks.iter().enumerate().step_by(7) {
                    let seq = model.base + ahead as u64;
                    prop_assert_eq!((packed.chunk(seq), packed.length(seq)), (*chunk, *length));
                    prop_assert_eq!(packed.chunk_after(seq, &mut run), *chunk);
                    prop_assert_eq!(packed.payload(seq).place(), *place);
                }
            }
        }
    }
}
