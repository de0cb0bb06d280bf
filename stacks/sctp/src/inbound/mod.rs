//! The receiving half: received TSNs, reassembly, ordering within streams, the receive window, and when to
//! send a SACK.
//!
//! A chunk with the next TSN that is a complete, deliverable message takes the fast path: one copy into a
//! block shared by many messages, and one queue entry; no map lookup and no allocation. All other chunks take
//! the slow path (`intake`), which costs at most the logarithm of the number of chunks held.
//!
//! What a peer can make us hold is bounded in bytes by the window, which also charges the overhead of map and
//! queue entries, and in number by [`Limits`](crate::Limits). Chunks that exceed the limits are dropped, to
//! be retransmitted. The association ends only if the peer leaves no other way:
//! - The window is full and the application has messages to receive: every chunk is dropped.
//! - The window is full of chunks beyond a gap or of incomplete messages: the chunk with the next TSN is
//!   still accepted, because nothing else can resolve this. RFC 9260 section 6.2 suggests dropping the
//!   highest TSNs held. Instead, space for one message is reserved, and nothing acknowledged by a gap block
//!   is ever dropped.
//! - The reserved space is full too: only a peer that keeps more messages incomplete or out of order than can
//!   be held gets here. Waiting would never end, so the association ends with an error.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::config::Config;
use crate::error::ProtocolViolation;
use crate::types::{Ppid, StreamId, Tsn};
use crate::wire::{Data, Order, PacketWriter, Sack, Skipped};

mod acknowledge;
mod blocks;
mod buffers;
mod intake;
mod interleaved;
mod memory;
mod received;
mod serial;
mod streams;
mod window;

use acknowledge::Acknowledgement;
use buffers::Payload;
use interleaved::Interleaved;
use memory::Memory;
use received::Received;
use serial::Serial;
use streams::Streams;

/// Buffers are freed after this time without data.
const IDLE: Duration = Duration::from_secs(1);
/// Chunks on nonexistent streams are reported up to this number of pending reports.
const INVALID_STREAMS_MAX: usize = 16;

/// A complete message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The stream on which it arrived.
    pub stream: StreamId,
    /// The payload type.
    pub ppid: Ppid,
    /// The payload. Short messages share a block with others: copy what is kept for long.
    pub data: Bytes,
}

/// Counters since the beginning, and two current values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InboundStats {
    /// Messages delivered or ready for delivery.
    pub(crate) messages_received: u64,
    /// Their payload bytes.
    pub(crate) bytes_received: u64,
    /// Chunks with a duplicate TSN.
    pub(crate) duplicate_chunks: u64,
    /// Chunks not accepted: no space, too far ahead, a nonexistent stream, or an abandoned message.
    pub(crate) dropped_chunks: u64,
    /// The current receive window.
    pub(crate) window_bytes: usize,
    /// Bytes charged to it, including overhead.
    pub(crate) held_bytes: usize,
}

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct Inbound {
    received: Received,
    pieces: Pieces,
    streams: Streams,
    /// Messages ready for the application.
    waiting: VecDeque<Message>,
    memory: Memory,
    acknowledgement: Acknowledgement,
    /// Number of incoming streams; 0 until [`open`](Self::open).
    stream_count: u16,
    is_open: bool,
    invalid_streams: VecDeque<StreamId>,
    idle: Idle,
    max_held_chunks: usize,
    max_partial_messages: usize,
    max_gap_blocks: usize,
    stats: InboundStats,
}

/// Incomplete messages, by the negotiated kind of chunk.
#[derive(Debug)]
enum Pieces {
    Serial(Serial),
    Interleaved(Interleaved),
}

/// A complete message that is not yet in the order of its stream.
#[derive(Debug)]
struct Whole<'a> {
    stream: StreamId,
    unordered: bool,
    /// SSN or MID.
    number: u32,
    ppid: Ppid,
    payload: Payload<'a>,
}

/// When to free empty buffers.
#[derive(Debug, Default)]
struct Idle {
    last_data: Option<Instant>,
    deadline: Option<Instant>,
    /// The deadline has passed, but the application had not received everything.
    is_overdue: bool,
}

impl Inbound {
    /// Creates the receiving half before the peer's initial TSN is known; no chunk may arrive yet.
    pub(crate) fn new(config: &Config) -> Self {
        let limits = &config.limits;
        let received = Received::new(Tsn(0));
        Self {
            pieces: Pieces::Serial(Serial::new(received.cumulative())),
            received,
            streams: Streams::new(false),
            waiting: VecDeque::new(),
            memory: Memory::new(config),
            acknowledgement: Acknowledgement::new(config.sack_delay),
            stream_count: 0,
            is_open: false,
            invalid_streams: VecDeque::new(),
            idle: Idle::default(),
            max_held_chunks: limits.max_held_chunks,
            max_partial_messages: limits.max_partial_messages,
            max_gap_blocks: limits.max_gap_blocks,
            stats: InboundStats::default(),
        }
    }

    /// Sets the peer's initial TSN, its number of streams, and whether it must use I-DATA (then DATA is a
    /// violation, and vice versa). Called once, before any chunk.
    pub(crate) fn open(&mut self, initial_tsn: Tsn, streams: u16, interleaving: bool) {
        self.received = Received::new(initial_tsn);
        self.streams = Streams::new(interleaving);
        self.pieces = match interleaving {
            true => Pieces::Interleaved(Interleaved::default()),
            false => Pieces::Serial(Serial::new(self.received.cumulative())),
        };
        self.stream_count = streams;
        self.is_open = true;
    }

    // -- getters --

    /// Whether `recv` would return a message.
    #[cfg(test)]
    pub(crate) fn is_readable(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The deadline of `handle_timeout`: the delayed SACK, or freeing buffers a second after the last data.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match (self.acknowledgement.deadline(), self.idle.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether a SACK is due.
    pub(crate) fn wants_to_send(&self) -> bool {
        self.is_open && self.acknowledgement.is_due()
    }

    /// Whether a SACK that is not due could be sent along with data.
    pub(crate) fn has_news(&self) -> bool {
        self.is_open && self.acknowledgement.has_news()
    }

    /// How long incoming packets may wait to be handled together.
    pub(crate) fn max_receive_delay(&self) -> Duration {
        self.acknowledgement.max_receive_delay()
    }

    /// The window to advertise in bytes, also for INIT and INIT ACK.
    pub(crate) fn window_bytes(&self) -> u32 {
        self.memory.window.advertised()
    }

    /// Everything up to this TSN has arrived.
    pub(crate) fn cumulative_tsn(&self) -> Tsn {
        self.received.cumulative_tsn()
    }

    /// Counters.
    pub(crate) fn stats(&self) -> InboundStats {
        let window = &self.memory.window;
        InboundStats { window_bytes: window.limit(), held_bytes: window.charged(), ..self.stats }
    }

    // -- input --

    /// Handles a chunk.
    #[inline]
    pub(crate) fn handle_data(&mut self, _now: Instant, data: &Data<'_>) -> Result<(), ProtocolViolation> {
        if self.try_fast_path(data) { Ok(()) } else { self.take_slow_path(data) }
    }

    /// Ends the packet of the preceding `handle_data` calls: SACKs count packets (RFC 9260 section 6.2).
    pub(crate) fn end_of_packet(&mut self, now: Instant) {
        if self.acknowledgement.end_of_packet(now) {
            self.memory.window.tune(now);
            self.idle.note_data(now);
        }
    }

    /// Handles a FORWARD-TSN or I-FORWARD-TSN.
    pub(crate) fn handle_forward_tsn(
        &mut self,
        _now: Instant,
        new_cumulative_tsn: Tsn,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), ProtocolViolation> {
        if !self.is_open {
            return Ok(());
        }
        // RFC 3758 section 3.6: an outdated one is answered with a SACK too, because the previous SACK may
        // have been lost.
        self.acknowledgement.require_immediately();
        let Some(position) = self.received.position_after(new_cumulative_tsn) else { return Ok(()) };
        self.skip_to(position, skipped)
    }

    /// Handles expired deadlines.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.acknowledgement.handle_timeout(now);
        if self.idle.is_over(now) {
            self.idle.is_overdue = true;
            self.release_if_drained();
        }
    }

    // -- commands --

    /// Returns the next complete message, which opens the receive window.
    #[inline]
    pub(crate) fn recv(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        if self.memory.window.take_message(message.data.len()) {
            self.acknowledgement.require_immediately();
        }
        if self.idle.is_overdue {
            self.release_if_drained();
        }
        Some(message)
    }

    /// Sets the round trip, for autotuning the window and timing SACKs.
    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.acknowledgement.set_rtt(rtt);
        self.memory.window.set_rtt(rtt);
    }

    /// The peer has reset these streams (all, if empty): numbering restarts at 0. Incomplete or out-of-order
    /// messages are dropped; the caller only resets when all data has arrived (RFC 6525 section 5.2.2).
    pub(crate) fn reset_streams(&mut self, streams: &[StreamId]) {
        let memory = &mut self.memory;
        self.streams.reset(streams, |length| memory.window.release(length + window::HELD_OVERHEAD));
        if let Pieces::Interleaved(pieces) = &mut self.pieces {
            pieces.reset(streams, memory);
        }
    }

    // -- output --

    /// Writes a SACK, due or not; returns whether it fitted.
    pub(crate) fn write_sack(&mut self, packet: &mut PacketWriter<'_>) -> bool {
        let window = self.memory.window.advertised();
        let gaps = self.received.gap_blocks().take(self.max_gap_blocks);
        let duplicates = self.acknowledgement.duplicates();
        let fits = Sack::write(packet, self.received.cumulative_tsn(), window, gaps, duplicates);
        if fits {
            self.acknowledgement.sent();
            self.memory.window.set_advertised(window);
        }
        fits
    }

    /// Data of ours is sent: the peer may wait for it, and we for its response.
    pub(crate) fn answers(&mut self) {
        self.acknowledgement.answers();
    }

    /// Returns a nonexistent stream on which the peer sent, once per chunk. RFC 9260 section 6.5 asks for an
    /// ERROR with the cause "Invalid Stream Identifier"; the chunk itself was acknowledged and dropped.
    pub(crate) fn poll_invalid_stream(&mut self) -> Option<StreamId> {
        self.invalid_streams.pop_front()
    }

    /// Accepts the chunk if it has the next TSN, nothing is beyond it, and it is a complete, deliverable
    /// message. Otherwise changes nothing.
    #[inline]
    fn try_fast_path(&mut self, data: &Data<'_>) -> bool {
        let number = match (&mut self.pieces, data.order) {
            (Pieces::Serial(pieces), Order::Ssn(ssn)) if pieces.is_at_boundary() => u32::from(ssn.0),
            (Pieces::Interleaved(pieces), Order::Mid(mid, _)) if pieces.is_empty() => mid.0,
            _ => return false,
        };
        let length = data.payload.len();
        let is_plain = data.begin
            && data.end
            && data.stream.0 < self.stream_count
            && self.received.is_next_in_line(data.tsn)
            && self.memory.window.has_room(length)
            && self.memory.check_message_bytes(length).is_ok();
        if !is_plain || !(data.unordered || self.streams.take_turn(data.stream, number)) {
            return false;
        }
        self.received.take_next_in_line();
        if let Pieces::Serial(pieces) = &mut self.pieces {
            pieces.pass_next();
        }
        self.acknowledgement.saw_data(data.immediate);
        self.memory.window.spend(length);
        let bytes = self.memory.blocks.store(data.payload);
        self.deliver(Message { stream: data.stream, ppid: data.ppid, data: bytes });
        if !self.streams.is_nothing_parked() {
            self.deliver_parked(data.stream);
        }
        true
    }

    /// Queues a message for the application.
    #[inline]
    fn deliver(&mut self, message: Message) {
        self.stats.messages_received += 1;
        self.stats.bytes_received += message.data.len() as u64;
        self.memory.window.charge_message(message.data.len());
        self.waiting.push_back(message);
    }

    /// Delivers the messages of a stream that waited for the one delivered last.
    fn deliver_parked(&mut self, stream: StreamId) {
        while let Some(message) = self.streams.take_parked(stream) {
            self.memory.window.release(message.data.len() + window::HELD_OVERHEAD);
            self.deliver(message);
        }
    }

    /// Frees buffers if nothing is held and nothing has arrived for a while: an idle association holds none.
    fn release_if_drained(&mut self) {
        if self.memory.window.charged() > 0 {
            return;
        }
        self.idle.is_overdue = false;
        self.waiting = VecDeque::new();
        self.invalid_streams.shrink_to_fit();
        self.memory.release();
        self.received.release();
        self.streams.release();
        self.acknowledgement.release();
        match &mut self.pieces {
            Pieces::Serial(pieces) => pieces.release(),
            Pieces::Interleaved(pieces) => pieces.release(),
        }
    }
}

impl Idle {
    /// Records that data has arrived.
    fn note_data(&mut self, now: Instant) {
        self.last_data = Some(now);
        self.is_overdue = false;
        if self.deadline.is_none() {
            self.deadline = Some(now + IDLE);
        }
    }

    /// Whether the deadline has passed. Postpones it if data arrived since it was set.
    fn is_over(&mut self, now: Instant) -> bool {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return false;
        }
        self.deadline = self.last_data.map(|last| last + IDLE).filter(|&deadline| now < deadline);
        self.deadline.is_none()
    }
}

impl Whole<'_> {
    fn into_owned(self) -> Whole<'static> {
        let payload = match self.payload {
            Payload::Borrowed(bytes) => Payload::Owned(Bytes::copy_from_slice(bytes)),
            Payload::Shared(bytes) => Payload::Shared(bytes),
            Payload::Owned(bytes) => Payload::Owned(bytes),
        };
        Whole { payload, ..self }
    }
}

/// The peer violated a requirement.
#[cold]
fn violation<T>(section: &'static str, rule: &'static str) -> Result<T, ProtocolViolation> {
    Err(ProtocolViolation { section, rule })
}

#[cfg(test)]
mod tests;
