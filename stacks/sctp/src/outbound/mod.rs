//! The sending half: stream queues, scheduler, fragmentation, flight, loss detection, congestion control, and
//! partial reliability (RFC 3758).
//!
//! A message is copied once, into the store, and stays there until it is cumulatively acknowledged. It waits
//! in the queue of its stream; the scheduler selects the next stream; each chunk cut from it is kept while in
//! flight. SACKs move chunks from *outstanding* to *settled* or *lost*; lost chunks are retransmitted before
//! new ones are sent.

mod abandon;
mod acked;
mod chunk;
mod congestion;
mod events;
mod flight;
mod limited;
mod loss;
mod opening;
mod outage;
mod pacer;
mod packed;
mod reduction;
mod room;
mod rtt;
mod sack;
mod scheduler;
mod seq_set;
mod store;
mod streams;
mod time;
mod timers;
mod transmit;
mod untold;
mod waiting;

use std::time::{Duration, Instant};

pub(crate) use events::OutboundEvent;

use crate::config::Config;
use crate::error::SendError;
use crate::types::{Ppid, StreamId, Tsn};
use crate::wire::Data;

use abandon::Forward;
use congestion::{CongestionControl, Controller};
use events::Events;
use flight::Flight;
use limited::{LimitId, LimitTable};
use loss::Loss;
use pacer::Pacer;
use room::Room;
use rtt::Rtt;
use scheduler::Scheduler;
use store::{Keep, Store};
use streams::Streams;
use time::{Clock, Time};
use timers::Timers;
use untold::Untold;
use waiting::Terms;

/// Charge per message besides its payload. It exceeds the memory for a message whose location and options
/// differ from its neighbours', in the queue and then in flight, including spare capacity of both. Tiny
/// messages are therefore bounded too.
const MESSAGE_BYTES: usize = 128;
/// A SACK cannot report chunks farther than this from the cumulative TSN: its offsets have 16 bits.
const GAP_REACH: usize = 65_535;
/// Shortest lifetime. WebRTC's shortest is 0, which means: send once, if possible now.
const MIN_LIFETIME: Duration = Duration::from_millis(1);

/// Options of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Deliver regardless of the order within its stream.
    pub unordered: bool,
    /// When to abandon the message.
    pub reliability: Reliability,
}

/// When to abandon a message (RFC 3758, RFC 7496).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// Never.
    #[default]
    Reliable,
    /// After this many retransmissions of one of its chunks; 0: it is sent once.
    MaxRetransmits(u16),
    /// When it is this old, sent or not.
    MaxLifetime(Duration),
}

/// The peer's parameters from INIT or INIT ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its receive window.
    pub(crate) window_bytes: u32,
    /// Number of outgoing streams.
    pub(crate) streams: u16,
    /// Both sides support I-DATA.
    pub(crate) interleaving: bool,
    /// It supports FORWARD-TSN, or I-FORWARD-TSN if interleaving.
    pub(crate) forward_tsn: bool,
}

/// Counters, all since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OutboundStats {
    pub(crate) messages_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) chunks_retransmitted: u64,
    pub(crate) messages_abandoned: u64,
    pub(crate) retransmission_timeouts: u64,
    pub(crate) congestion_window_bytes: usize,
    pub(crate) in_flight_bytes: usize,
    pub(crate) smoothed_rtt: Option<Duration>,
    pub(crate) peer_window_bytes: usize,
}

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Outbound {
    settings: Settings,
    /// Known once the association is established.
    peer: Option<Peer>,
    /// I-DATA is used.
    interleaving: bool,
    clock: Clock,
    /// Holds the payload.
    store: Store,
    streams: Streams,
    scheduler: Scheduler,
    limits: LimitTable,
    flight: Flight,
    rtt: Rtt,
    loss: Loss,
    congestion: Controller,
    pacer: Pacer,
    forward: Forward,
    timers: Timers,
    /// When the path last changed.
    path_from: Time,
    untold: Untold,
    events: Events,
    room: Room,
    stats: OutboundStats,
    sack_delay: Duration,
    /// Current packet length.
    packet_bytes: usize,
    /// A packet length that fits every path. No chunk is longer than fits into it: a chunk cannot be split
    /// once it has a TSN, and the path MTU may shrink. Longer packets contain more chunks.
    base_packet_bytes: usize,
    /// Bytes before the payload of a chunk.
    overhead: usize,
    /// Messages not completely sent.
    unsent: usize,
    /// Messages partly sent.
    begun: u16,
    /// Unsent payload.
    unsent_bytes: usize,
    /// Unsent and unacknowledged payload, plus `MESSAGE_BYTES` per message.
    held: usize,
    /// The peer's receive window from the last SACK.
    window: usize,
    /// The largest window so far.
    window_max: usize,
    /// The window is closed, and one chunk may be sent regardless.
    window_probe: bool,
    /// Such a chunk is in flight.
    is_window_probe_out: bool,
    /// One packet may be sent regardless of cwnd.
    credit: bool,
    /// Chunks before this were sent while cwnd was the limit.
    limited_end: u64,
    /// The number after the last chunk that requested an immediate SACK.
    immediate_end: u64,
    timeouts_in_a_row: u32,
    /// Timeouts since the cumulative TSN advanced.
    stalled_timeouts: u32,
    /// Something was sent since memory was last released.
    has_memory: bool,
}

/// The parts of the configuration needed later.
#[derive(Debug)]
struct Settings {
    send_buffer_bytes: usize,
    max_in_flight_chunks: usize,
    max_gap_blocks: u32,
    max_partial_messages: u16,
    /// Number of usable streams: our limit before the association is established, then the lesser of both.
    streams: u16,
}

impl Outbound {
    /// Before the association is established, messages are accepted but not sent.
    pub(crate) fn new(config: &Config, initial_tsn: Tsn) -> Self {
        let limits = &config.limits;
        Self {
            settings: Settings {
                send_buffer_bytes: limits.send_buffer_bytes,
                max_in_flight_chunks: limits.max_in_flight_chunks.min(GAP_REACH),
                max_gap_blocks: u32::try_from(limits.max_gap_blocks).unwrap_or(u32::MAX),
                max_partial_messages: u16::try_from(limits.max_partial_messages).unwrap_or(u16::MAX).max(1),
                streams: limits.max_streams,
            },
            peer: None,
            interleaving: false,
            clock: Clock::new(),
            store: Store::default(),
            streams: Streams::default(),
            scheduler: Scheduler::new(config.schedule),
            limits: LimitTable::default(),
            flight: Flight::new(initial_tsn),
            rtt: Rtt::new(config),
            loss: Loss::new(),
            congestion: Controller::new(config.congestion, config.packet_bytes, initial_tsn.0.into()),
            pacer: Pacer::new(),
            forward: Forward::new(),
            timers: Timers::new(),
            path_from: Time::START,
            untold: Untold::nothing(),
            events: Events::default(),
            room: Room::new(),
            stats: OutboundStats::default(),
            sack_delay: config.sack_delay,
            packet_bytes: config.packet_bytes,
            base_packet_bytes: config.packet_bytes,
            overhead: Data::OVERHEAD,
            unsent: 0,
            begun: 0,
            unsent_bytes: 0,
            held: 0,
            window: 0,
            window_max: 0,
            window_probe: false,
            is_window_probe_out: false,
            credit: false,
            limited_end: 0,
            immediate_end: 0,
            timeouts_in_a_row: 0,
            stalled_timeouts: 0,
            has_memory: false,
        }
    }

    /// Queues a message and copies it once. The association checks its length.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        message: &[u8],
        options: SendOptions,
    ) -> Result<(), SendError> {
        if message.is_empty() {
            return Err(SendError::Empty);
        }
        if stream.0 >= self.settings.streams {
            return Err(SendError::NoSuchStream(stream));
        }
        let slot = self.streams.slot(stream);
        if self.streams.at(slot).closed {
            return Err(SendError::NoSuchStream(stream));
        }
        let now = self.clock.read(now);
        if self.unsent == 0 && self.flight.is_empty() {
            self.room.on_nothing(now);
        }
        if !self.has_room(message.len()) {
            self.refuse(message.len());
            return Err(SendError::WouldBlock);
        }
        let limit = self.limit(now, slot, options.reliability);
        let keep = if limit.is_limited() { Keep::Limited } else { Keep::UntilAcked };
        let payload = self.store.store(message, keep);
        let stream = self.streams.at_mut(slot);
        stream.buffered += message.len();
        stream.queue.push_back(payload, Terms { ppid, limit, unordered: options.unordered });
        if !stream.scheduled {
            self.scheduler.wake(slot, &mut self.streams);
        }
        self.held += message.len() + MESSAGE_BYTES;
        self.unsent += 1;
        self.unsent_bytes += message.len();
        self.has_memory = true;
        self.stats.messages_sent += 1;
        self.stats.bytes_sent += message.len() as u64;
        if self.flight.is_empty() {
            self.arm(now);
        }
        Ok(())
    }

    /// Payload bytes of the stream not yet sent for the first time (W3C bufferedAmount).
    pub(crate) fn buffered_amount(&self, stream: StreamId) -> usize {
        self.streams.find(stream).map_or(0, |stream| stream.buffered)
    }

    /// Sets the threshold of `BufferedAmountLow`, which occurs each time the amount drops to it. Initially 0.
    pub(crate) fn set_buffered_amount_low_threshold(&mut self, stream: StreamId, bytes: usize) {
        let slot = self.streams.slot(stream);
        self.streams.at_mut(slot).low_threshold = bytes;
    }

    /// Sets the weight of the stream under `Schedule::WeightedFair`; initially 256 (RFC 8831 section 6.4:
    /// 128, 256, 512, 1024). 0 counts as 1.
    pub(crate) fn set_priority(&mut self, stream: StreamId, priority: u16) {
        let slot = self.streams.slot(stream);
        self.streams.at_mut(slot).weight = priority;
    }

    /// Sets the packet length, at least the configured one; longer once a probe has confirmed it.
    pub(crate) fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes.max(self.base_packet_bytes);
        self.congestion.set_packet_bytes(self.packet_bytes);
        // The next chunk may now be too long for the peer's window.
        self.arm(self.clock.last);
    }

    /// Handles a round trip measured by HEARTBEAT. The peer is alive (RFC 9260 section 8.1).
    pub(crate) fn handle_rtt(&mut self, rtt: Duration) {
        self.timeouts_in_a_row = 0;
        self.rtt.sample(self.clock.last, rtt);
    }

    /// Consecutive retransmission timeouts without a SACK that acknowledged something. Zero for a peer that
    /// keeps its window closed but sends SACKs.
    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    /// Retransmission timeouts since the cumulative TSN advanced, regardless of gap blocks: where the path
    /// drops long packets, short ones still arrive.
    pub(crate) fn stalled_timeouts(&self) -> u32 {
        self.stalled_timeouts
    }

    /// The current retransmission timeout, also used for T1, T2, HEARTBEAT and RE-CONFIG.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Next event.
    pub(crate) fn poll_event(&mut self) -> Option<OutboundEvent> {
        let event = self.events.pop()?;
        if let OutboundEvent::BufferedAmountLow(stream) = event {
            let slot = self.streams.slot(stream);
            self.streams.at_mut(slot).low_told = false;
        }
        Some(event)
    }

    /// Whether nothing is unsent or in flight, so that SHUTDOWN may proceed.
    pub(crate) fn is_drained(&self) -> bool {
        self.unsent == 0 && self.flight.acked() == self.flight.next()
    }

    /// Whether nothing of this stream is unsent or in flight, so that its reset may be requested (RFC 6525
    /// section 5.1.2).
    pub(crate) fn is_stream_drained(&self, stream: StreamId) -> bool {
        self.streams
            .find(stream)
            .is_none_or(|stream| stream.queue.is_empty() && stream.sent_end <= self.flight.acked())
    }

    /// Whether the stream was ever used.
    pub(crate) fn has_stream(&self, stream: StreamId) -> bool {
        self.streams.find(stream).is_some()
    }

    /// Refuses further messages on the stream, until `reset_stream`.
    pub(crate) fn close_stream(&mut self, stream: StreamId) {
        let slot = self.streams.slot(stream);
        self.streams.at_mut(slot).closed = true;
    }

    /// The stream was reset: its numbers restart at 0, and messages are accepted again.
    pub(crate) fn reset_stream(&mut self, stream: StreamId) {
        let slot = self.streams.slot(stream);
        self.streams.at_mut(slot).reset();
    }

    /// The TSN that the next new chunk will have.
    pub(crate) fn next_tsn(&self) -> Tsn {
        self.flight.tsn(self.flight.next())
    }

    /// Highest cumulatively acknowledged TSN (for SHUTDOWN and RE-CONFIG).
    pub(crate) fn cumulative_tsn_acked(&self) -> Tsn {
        self.flight.tsn(self.flight.acked()).previous()
    }

    /// Counters.
    pub(crate) fn stats(&self) -> OutboundStats {
        OutboundStats {
            congestion_window_bytes: self.congestion.window_bytes(),
            in_flight_bytes: self.flight.bytes(),
            smoothed_rtt: self.rtt.smoothed(),
            peer_window_bytes: self.window,
            ..self.stats
        }
    }

    /// The entry of a message about to be queued.
    fn limit(&mut self, now: Time, slot: usize, reliability: Reliability) -> LimitId {
        let (expires, max_retransmits) = match reliability {
            _ if self.peer.is_some_and(|peer| !peer.forward_tsn) => return LimitId::NONE,
            Reliability::Reliable => return LimitId::NONE,
            Reliability::MaxRetransmits(max) => (Time::NEVER, Some(max)),
            Reliability::MaxLifetime(lifetime) => (now.after(lifetime.max(MIN_LIFETIME)), None),
        };
        let place = self.streams.at(slot).queue.next_place();
        self.limits.add(expires, max_retransmits, slot, place)
    }

    /// The peer advertised its receive window.
    fn set_window(&mut self, bytes: usize) {
        self.window = bytes;
        self.window_max = self.window_max.max(bytes);
    }
}

#[cfg(test)]
mod tests;
