//! The slow path for a chunk: not the next TSN, not a complete message, out of order in its stream, or not
//! acceptable.

use super::buffers::Payload;
use super::received::{Arrival, SPAN};
use super::streams::{Parked, Sequence};
use super::window::{HELD_OVERHEAD, PARTIAL_OVERHEAD};
use super::{INVALID_STREAMS_MAX, Inbound, Message, Pieces, Skipped, Whole, violation};
use crate::error::ProtocolViolation;
use crate::types::{SSN_REACH, StreamId};
use crate::wire::{Data, Order};

impl Inbound {
    /// Handles a chunk of any kind.
    #[inline(never)]
    pub(super) fn take_slow_path(&mut self, data: &Data<'_>) -> Result<(), ProtocolViolation> {
        if !self.is_open {
            self.stats.dropped_chunks += 1;
            return Ok(());
        }
        self.check_kind(data)?;
        self.acknowledgement.saw_data(data.immediate);
        // RFC 9260 section 6.2: while there is a gap, and when one closes, every packet is acknowledged at
        // once.
        if self.received.has_gap() {
            self.acknowledgement.require_immediately();
        }
        // A message cannot be farther ahead in its stream than its chunk is in the TSN sequence.
        let span = if matches!(self.pieces, Pieces::Serial(_)) { SSN_REACH as u64 } else { SPAN };
        let position = match self.received.classify(data.tsn, span) {
            Arrival::New(position) => position,
            Arrival::Duplicate => {
                self.stats.duplicate_chunks += 1;
                self.acknowledgement.saw_duplicate(data.tsn);
                return Ok(());
            }
            Arrival::TooFar => {
                self.drop_chunk();
                return Ok(());
            }
        };
        let is_next = position == self.received.cumulative() + 1;
        if !is_next {
            self.acknowledgement.require_immediately();
        }
        if data.stream.0 >= self.stream_count {
            self.note_invalid_stream(data.stream);
            return self.pass_over(position, is_next);
        }
        if self.is_past(data) {
            self.stats.dropped_chunks += 1;
            return self.pass_over(position, is_next);
        }
        if !self.has_room(data, is_next)? {
            self.drop_chunk();
            return Ok(());
        }
        self.memory.check_message_bytes(data.payload.len())?;
        self.memory.window.spend(data.payload.len());
        let message = match (&mut self.pieces, data.order) {
            (Pieces::Serial(pieces), _) if is_next => pieces.take_next(data, &mut self.memory)?,
            (Pieces::Serial(pieces), _) => pieces.hold(position, data, &mut self.memory)?,
            (Pieces::Interleaved(pieces), Order::Mid(mid, fsn)) => {
                pieces.take(position, data, (mid, fsn), &mut self.memory)?
            }
            (Pieces::Interleaved(_), Order::Ssn(_)) => None,
        };
        if let Some(message) = message {
            self.place(message)?;
        }
        self.received.insert(position);
        self.catch_up()
    }

    /// The peer abandons everything up to `position`, which is after the cumulative TSN.
    pub(super) fn skip_to(
        &mut self,
        position: u64,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), ProtocolViolation> {
        if let Pieces::Serial(pieces) = &mut self.pieces {
            pieces.give_up_to(position, &mut self.memory);
        }
        for skipped in skipped {
            match (skipped, &mut self.pieces) {
                (Skipped::Ssn(stream, ssn), Pieces::Serial(_)) => {
                    self.skip_in_stream(stream, u32::from(ssn.0));
                }
                (Skipped::Mid(stream, mid, unordered), Pieces::Interleaved(pieces)) => {
                    pieces.give_up_to(stream, unordered, mid, &mut self.memory);
                    if !unordered {
                        self.skip_in_stream(stream, mid.0);
                    }
                }
                _ => {
                    let rule = "I-FORWARD-TSN is used with I-DATA, FORWARD-TSN with DATA";
                    return violation("RFC 8260 section 2.3.1", rule);
                }
            }
        }
        self.received.advance_to(position);
        self.catch_up()
    }

    /// RFC 8260 section 2.2.1: with I-DATA negotiated, DATA ends the association, and vice versa.
    fn check_kind(&self, data: &Data<'_>) -> Result<(), ProtocolViolation> {
        match (&self.pieces, data.order) {
            (Pieces::Serial(_), Order::Ssn(_)) | (Pieces::Interleaved(_), Order::Mid(..)) => Ok(()),
            _ => violation("RFC 8260 section 2.2.1", "all user data is in the negotiated chunk type"),
        }
    }

    /// Whether the chunk belongs to an ordered message that was already delivered or abandoned.
    fn is_past(&self, data: &Data<'_>) -> bool {
        let number = match data.order {
            // The SSN of a fragment is only checked once the message is complete.
            Order::Ssn(_) if !(data.begin && data.end) => return false,
            Order::Ssn(ssn) => u32::from(ssn.0),
            Order::Mid(mid, _) => mid.0,
        };
        !data.unordered && self.streams.classify(data.stream, number) == Sequence::Stale
    }

    /// Whether the chunk can be held. See the module documentation.
    fn has_room(&self, data: &Data<'_>, is_next: bool) -> Result<bool, ProtocolViolation> {
        // A limit may be reached by chunks beyond a gap when the next TSN arrives, which must be accepted. A
        // peer that sends its streams in order can thus make us hold at most as much again.
        let times = if is_next { 2 } else { 1 };
        let (held, is_another_partial) = match (&self.pieces, data.order) {
            (Pieces::Interleaved(pieces), Order::Mid(mid, _)) => {
                let is_full = pieces.partial_count() >= self.max_partial_messages.saturating_mul(times);
                (pieces.held_count(), is_full && pieces.is_another(data, mid))
            }
            (Pieces::Serial(pieces), _) => {
                let is_full = pieces.partial_count() >= self.max_partial_messages;
                (pieces.held_count(), is_full && !is_next && !(data.begin && data.end))
            }
            _ => (0, false),
        };
        let cost = data.payload.len() + HELD_OVERHEAD.max(PARTIAL_OVERHEAD);
        let max_held = self.max_held_chunks.saturating_mul(times);
        let is_few = held + self.streams.parked_count() < max_held;
        if is_few && !is_another_partial && self.memory.window.has_room(cost) {
            return Ok(true);
        }
        if !is_next || !self.waiting.is_empty() {
            return Ok(false);
        }
        if is_another_partial || !is_few || !self.memory.window.has_last_room(cost) {
            return violation(
                "RFC 9260 section 6.2",
                "at most the allowed number of messages is incomplete at a time",
            );
        }
        Ok(true)
    }

    /// Puts a complete message into the order of its stream.
    fn place(&mut self, whole: Whole<'_>) -> Result<(), ProtocolViolation> {
        let Whole { stream, unordered, number, ppid, payload } = whole;
        let turn = if unordered { Sequence::Next } else { self.streams.classify(stream, number) };
        match turn {
            Sequence::Stale => self.stats.dropped_chunks += 1,
            Sequence::Early => {
                self.memory.window.charge(payload.len() + HELD_OVERHEAD);
                if !self.streams.park(stream, number, Parked { ppid, data: payload.into_owned() }) {
                    return violation("RFC 9260 section 6.5", "each message of a stream has its own number");
                }
            }
            Sequence::Next => {
                let data = match payload {
                    Payload::Borrowed(bytes) => self.memory.blocks.store(bytes),
                    Payload::Shared(bytes) | Payload::Owned(bytes) => bytes,
                };
                self.deliver(Message { stream, ppid, data });
                if !unordered {
                    self.streams.take_turn(stream, number);
                    self.deliver_parked(stream);
                }
            }
        }
        Ok(())
    }

    /// Counts the chunk as received but discards it.
    fn pass_over(&mut self, position: u64, is_next: bool) -> Result<(), ProtocolViolation> {
        if let Pieces::Serial(pieces) = &mut self.pieces
            && is_next
        {
            pieces.skip_next()?;
        }
        self.received.insert(position);
        self.catch_up()
    }

    /// Reassembles what was beyond the gap and no longer is.
    fn catch_up(&mut self) -> Result<(), ProtocolViolation> {
        let cumulative = self.received.cumulative();
        if let Pieces::Interleaved(pieces) = &mut self.pieces {
            self.stats.dropped_chunks += pieces.drop_hopeless(cumulative, &mut self.memory);
        }
        while let Pieces::Serial(pieces) = &mut self.pieces
            && pieces.is_behind(cumulative)
        {
            if let Some(message) = pieces.catch_up(cumulative, &mut self.memory)? {
                self.place(message)?;
            }
        }
        Ok(())
    }

    /// The peer abandons the ordered messages of a stream up to a number: delivers complete ones, and those
    /// that waited for them.
    fn skip_in_stream(&mut self, stream: StreamId, number: u32) {
        if stream.0 >= self.stream_count {
            return;
        }
        while let Some(message) = self.streams.skip_to(stream, number) {
            self.memory.window.release(message.data.len() + HELD_OVERHEAD);
            self.deliver(message);
        }
        self.deliver_parked(stream);
    }

    fn note_invalid_stream(&mut self, stream: StreamId) {
        self.stats.dropped_chunks += 1;
        if self.invalid_streams.len() < INVALID_STREAMS_MAX {
            self.invalid_streams.push_back(stream);
        }
    }

    /// RFC 9260 section 6.2: a chunk dropped for lack of space is answered at once.
    fn drop_chunk(&mut self) {
        self.stats.dropped_chunks += 1;
        self.acknowledgement.require_immediately();
    }
}
