//! The receiving half: which TSNs have come, messages put together, in the order that their streams promise, the
//! receive window, and when to send a SACK.
//!
//! A chunk that is the next in the order of TSNs, is a whole message and may be delivered takes the short way: one copy
//! into a block that many messages share, one entry in the queue; no map is looked at and nothing is allocated. All
//! other chunks take the long way (`intake`), at most the logarithm of what is held.
//!
//! What a peer can make us hold is bounded in bytes by the window, which charges each thing for its places in maps and
//! queues too, and in number by [`Limits`](crate::Limits). Chunks that do not fit are dropped, to be sent again, and a
//! peer that leaves us no other way out is at fault:
//! - The window is full, and the application has messages to take: dropped, whichever it is.
//! - The window is full of what is beyond a gap or in pieces: the chunk that is next in the order of TSNs is taken
//!   nevertheless, as nothing else can end it. RFC 9260 section 6.2 proposes to drop the highest TSNs held instead; we
//!   have the room of one message set aside, and never take back what a gap block has acknowledged.
//! - That room is full too: only a peer that keeps more messages in pieces, or out of their order, than can be held
//!   gets there. Waiting would be for ever; the association ends with a reason.

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

/// An association without data for so long gives its empty buffers back.
const IDLE: Duration = Duration::from_secs(1);
/// Chunks on streams that do not exist are reported, until so many reports wait.
const INVALID_STREAMS_MAX: usize = 16;

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The stream that it came on.
    pub stream: StreamId,
    /// What it is.
    pub ppid: Ppid,
    /// Its bytes. A short one shares a block with its neighbours: copy what you keep for long.
    pub data: Bytes,
}

/// Counters, all since the beginning, and two gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InboundStats {
    /// Messages delivered or waiting to be taken.
    pub(crate) messages_received: u64,
    /// Payload bytes of them.
    pub(crate) bytes_received: u64,
    /// Chunks whose TSN had come before.
    pub(crate) duplicate_chunks: u64,
    /// Chunks that were not taken: no room, too far ahead, a stream that does not exist, or a message given up.
    pub(crate) dropped_chunks: u64,
    /// The receive window now.
    pub(crate) window_bytes: usize,
    /// What is charged to it now, overhead included.
    pub(crate) held_bytes: usize,
}

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct Inbound {
    received: Received,
    pieces: Pieces,
    streams: Streams,
    /// Messages for the application.
    waiting: VecDeque<Message>,
    memory: Memory,
    acknowledgement: Acknowledgement,
    /// Streams that the peer may use; 0 until [`open`](Self::open).
    stream_count: u16,
    is_open: bool,
    invalid_streams: VecDeque<StreamId>,
    idle: Idle,
    max_held_chunks: usize,
    max_partial_messages: usize,
    max_gap_blocks: usize,
    stats: InboundStats,
}

/// Messages in pieces, by the kind of chunk that was negotiated.
#[derive(Debug)]
enum Pieces {
    Serial(Serial),
    Interleaved(Interleaved),
}

/// A whole message that has not found its place in its stream yet.
#[derive(Debug)]
struct Whole<'a> {
    stream: StreamId,
    unordered: bool,
    /// SSN or MID.
    number: u32,
    ppid: Ppid,
    payload: Payload<'a>,
}

/// When to give empty buffers back.
#[derive(Debug, Default)]
struct Idle {
    last_data: Option<Instant>,
    deadline: Option<Instant>,
    /// The time came, but the application had not taken everything.
    is_overdue: bool,
}

impl Inbound {
    /// Before the peer's first TSN is known; no chunk may come yet.
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

    /// The peer's first TSN, how many streams it may use, and whether it must use I-DATA (then DATA is a violation,
    /// and the other way round). Called once, before any chunk.
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

    /// Whether `recv` would give one.
    #[cfg(test)]
    pub(crate) fn is_readable(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The moment that `handle_timeout` waits for: the delayed SACK, or, a second after the last data, giving back
    /// the buffers.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match (self.acknowledgement.deadline(), self.idle.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether a SACK should be sent now.
    pub(crate) fn wants_to_send(&self) -> bool {
        self.is_open && self.acknowledgement.is_due()
    }

    /// A SACK that could ride along although none is due (data is being sent anyway).
    pub(crate) fn has_news(&self) -> bool {
        self.is_open && self.acknowledgement.has_news()
    }

    /// How long what comes may be left where it is, to be taken together.
    pub(crate) fn patience(&self) -> Duration {
        self.acknowledgement.patience()
    }

    /// Window to advertise, bytes (also for INIT and INIT ACK).
    pub(crate) fn window_bytes(&self) -> u32 {
        self.memory.window.advertised()
    }

    /// Everything up to this has come.
    pub(crate) fn cumulative_tsn(&self) -> Tsn {
        self.received.cumulative_tsn()
    }

    /// Counters.
    pub(crate) fn stats(&self) -> InboundStats {
        let window = &self.memory.window;
        InboundStats { window_bytes: window.limit(), held_bytes: window.charged(), ..self.stats }
    }

    // -- input --

    /// Takes a chunk.
    #[inline]
    pub(crate) fn handle_data(&mut self, _now: Instant, data: &Data<'_>) -> Result<(), ProtocolViolation> {
        if self.take_the_short_way(data) { Ok(()) } else { self.take_the_long_way(data) }
    }

    /// The packet that `handle_data` was called for ends here: SACKs count packets (RFC 9260 section 6.2).
    pub(crate) fn end_of_packet(&mut self, now: Instant) {
        if self.acknowledgement.end_of_packet(now) {
            self.memory.window.tune(now);
            self.idle.note_data(now);
        }
    }

    /// Takes a FORWARD-TSN or I-FORWARD-TSN.
    pub(crate) fn handle_forward_tsn(
        &mut self,
        _now: Instant,
        new_cumulative_tsn: Tsn,
        skipped: impl Iterator<Item = Skipped>,
    ) -> Result<(), ProtocolViolation> {
        if !self.is_open {
            return Ok(());
        }
        // RFC 3758 section 3.6: one that is out of date is answered with a SACK too; it may have been lost.
        self.acknowledgement.hasten();
        let Some(position) = self.received.position_after(new_cumulative_tsn) else { return Ok(()) };
        self.skip_to(position, skipped)
    }

    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.acknowledgement.handle_timeout(now);
        if self.idle.is_over(now) {
            self.idle.is_overdue = true;
            self.release_if_drained();
        }
    }

    // -- commands --

    /// The next whole message. Taking it opens the receive window.
    #[inline]
    pub(crate) fn recv(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        if self.memory.window.take_message(message.data.len()) {
            self.acknowledgement.hasten();
        }
        if self.idle.is_overdue {
            self.release_if_drained();
        }
        Some(message)
    }

    /// The round trip, for autotuning of the window, and for when SACKs are due.
    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.acknowledgement.set_rtt(rtt);
        self.memory.window.set_rtt(rtt);
    }

    /// The peer has reset these of its streams (all, if empty): numbers begin at 0 again. What came before and was not
    /// whole, or not in order, is dropped; the caller resets only when everything has come (RFC 6525 section 5.2.2).
    pub(crate) fn reset_streams(&mut self, streams: &[StreamId]) {
        let memory = &mut self.memory;
        self.streams.reset(streams, |length| memory.window.release(length + window::HELD_OVERHEAD));
        if let Pieces::Interleaved(pieces) = &mut self.pieces {
            pieces.reset(streams, memory);
        }
    }

    // -- output --

    /// Writes a SACK, due or not. Gives whether it fitted.
    pub(crate) fn write_sack(&mut self, packet: &mut PacketWriter<'_>) -> bool {
        let window = self.memory.window.advertised();
        let gaps = self.received.gap_blocks().take(self.max_gap_blocks);
        let duplicates = self.acknowledgement.duplicates();
        let fits = Sack::write(packet, self.received.cumulative_tsn(), window, gaps, duplicates);
        if fits {
            self.acknowledgement.sent();
            self.memory.window.told(window);
        }
        fits
    }

    /// Data of ours goes out: the peer may wait for it, and we for what it says then.
    pub(crate) fn answers(&mut self) {
        self.acknowledgement.answers();
    }

    /// A stream that the peer sent on and that does not exist, once for each such chunk. RFC 9260 section 6.5 asks for
    /// an ERROR with the cause "Invalid Stream Identifier"; the chunk itself was acknowledged and dropped.
    pub(crate) fn poll_invalid_stream(&mut self) -> Option<StreamId> {
        self.invalid_streams.pop_front()
    }

    /// Takes the chunk if it is the next in the order of TSNs, nothing is beyond it, it is a whole message, and it may
    /// be delivered. Otherwise changes nothing.
    #[inline]
    fn take_the_short_way(&mut self, data: &Data<'_>) -> bool {
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

    /// Puts a message into the application's queue.
    #[inline]
    fn deliver(&mut self, message: Message) {
        self.stats.messages_received += 1;
        self.stats.bytes_received += message.data.len() as u64;
        self.memory.window.charge_message(message.data.len());
        self.waiting.push_back(message);
    }

    /// Delivers the messages of a stream that waited for the one that was delivered last.
    fn deliver_parked(&mut self, stream: StreamId) {
        while let Some(message) = self.streams.take_parked(stream) {
            self.memory.window.release(message.data.len() + window::HELD_OVERHEAD);
            self.deliver(message);
        }
    }

    /// Gives back buffers, if nothing is held and nothing has come for a while: an association at rest has none.
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
    /// Data has come.
    fn note_data(&mut self, now: Instant) {
        self.last_data = Some(now);
        self.is_overdue = false;
        if self.deadline.is_none() {
            self.deadline = Some(now + IDLE);
        }
    }

    /// Whether the time has come. Puts the deadline off if there was data since it was set.
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

/// The peer broke a rule.
#[cold]
fn violation<T>(section: &'static str, rule: &'static str) -> Result<T, ProtocolViolation> {
    Err(ProtocolViolation { section, rule })
}

#[cfg(test)]
mod tests;
