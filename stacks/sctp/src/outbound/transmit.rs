//! Filling packets.

use std::time::Instant;

use super::Outbound;
use super::chunk::{BEGIN, Chunk, END, UNORDERED};
use super::congestion::CongestionControl;
use super::reduction::Pace;
use super::store::Stored;
use super::streams::Begun;
use super::time::Time;
use super::waiting::{Taken, Terms};
use crate::types::{Fsn, Mid, Ssn};
use crate::wire::packet::HEADER_BYTES;
use crate::wire::{Data, Order, PacketWriter};

/// Smallest payload of a fragment that fills the rest of a packet. A smaller one costs the peer more than it
/// saves.
const MIN_FRAGMENT_BYTES: usize = 32;

impl Outbound {
    /// Whether `write` would write something into an empty packet now.
    pub(crate) fn wants_to_send(&self, now: Instant) -> bool {
        if self.peer.is_none() {
            return false;
        }
        self.forward.is_due
            || (self.may_send() && self.has_something() && self.is_its_time(|| self.clock.time(now)))
    }

    /// Whether something waits to be sent and the peer has space for it.
    fn has_something(&self) -> bool {
        self.flight.has_lost() || self.new_payload_bytes().is_some()
    }

    /// Whether pacing allows a packet. Called for every packet: the time is only computed if pacing is
    /// active.
    fn is_its_time(&self, now: impl FnOnce() -> Time) -> bool {
        let Some(pacing) = self.congestion.pacing() else { return true };
        self.credit || self.flight.bytes() == 0 || self.pacer.may_send(now, pacing)
    }

    /// When pacing allows the next packet.
    pub(super) fn paced_until(&self) -> Time {
        let Some(pacing) = self.congestion.pacing() else { return Time::NEVER };
        let waits = self.peer.is_some() && self.may_send() && self.has_something();
        if waits && !self.is_its_time(|| self.clock.last) { self.pacer.ready_at(pacing) } else { Time::NEVER }
    }

    /// Writes what fits: FORWARD-TSN, retransmissions, then new data, within the windows. Returns whether
    /// anything was written.
    pub(crate) fn write(&mut self, now: Instant, packet: &mut PacketWriter<'_>) -> bool {
        if self.peer.is_none() {
            return false;
        }
        let now = self.clock.read(now);
        let forwarded = self.forward.is_due && self.write_forward(now, packet);
        // cwnd is checked once per packet: packets stay full and of equal length.
        if !self.may_send() || !self.is_its_time(|| now) {
            return forwarded;
        }
        let (before, after_idle) = (self.flight.bytes(), self.flight.is_empty());
        let resent = self.write_lost(now, packet);
        let sent = (!self.flight.has_lost() || packet.is_empty()) && self.write_new(now, packet);
        if resent || sent {
            let bytes = self.flight.bytes().saturating_sub(before);
            if let Some(pace) = &mut self.loss.pace {
                pace.on_sent(bytes);
            }
            if let Some(pacing) = self.congestion.pacing() {
                self.pacer.on_sent(now, bytes, pacing);
                self.pacer.note_waiting(self.flight.has_lost() || self.unsent > 0);
            }
            self.congestion.on_sent(now, self.in_flight_bytes(), after_idle);
            self.credit = false;
            self.room.on_sent(self.flight.bytes());
            if sent {
                self.timers.probe = self.probe_deadline(now);
                self.tell_writable();
            }
            self.arm(now);
        }
        self.note_limit();
        if self.may_send() && !self.has_something() {
            self.congestion.on_app_limited(self.in_flight_bytes());
        }
        forwarded || resent || sent
    }

    /// Records whether cwnd alone is the limit, in which case it should grow.
    pub(super) fn note_limit(&mut self) {
        if !self.may_send() && self.has_something() {
            self.limited_end = self.flight.next();
        }
    }

    /// Whether cwnd allows a packet. A full one must fit, so that a cwnd of one packet means one packet (RFC
    /// 9260 section 6.1 B would allow exceeding it by less than a packet).
    pub(super) fn may_send(&self) -> bool {
        let bytes = self.in_flight_bytes();
        let paced = self.loss.pace.as_ref().is_none_or(Pace::may_send);
        bytes == 0 || (paced && bytes + self.packet_bytes <= self.congestion.window_bytes()) || self.credit
    }

    /// Payload of the next new chunk in an otherwise empty packet, if there is one and the peer has space for
    /// it.
    pub(super) fn new_payload_bytes(&self) -> Option<usize> {
        let left = self.streams.at(self.scheduler.current()?).front_bytes()?;
        let bytes = left.min(self.payload_capacity());
        (self.flight.len() < self.settings.max_in_flight_chunks && self.fits_window(bytes)).then_some(bytes)
    }

    /// Whether the peer has space for this much more payload (RFC 9260 section 6.1 A), or is to be probed.
    fn fits_window(&self, bytes: usize) -> bool {
        self.flight.payload_bytes() + bytes <= self.window || self.window_probe
    }

    /// Nothing is in flight, and the peer has no space for the next message: only a probe can detect when it
    /// has.
    pub(super) fn is_window_blocked(&self) -> bool {
        self.peer.is_some()
            && self.flight.is_empty()
            && self.scheduler.current().is_some()
            && self.new_payload_bytes().is_none()
    }

    /// Most payload per chunk.
    fn payload_capacity(&self) -> usize {
        (self.base_packet_bytes & !3) - HEADER_BYTES - self.overhead
    }

    /// Length of the first chunk that `write` would write, to check whether it fits with others.
    pub(crate) fn next_chunk_bytes(&self) -> usize {
        match self.flight.first_lost(0) {
            Some(seq) => self.flight.chunk_bytes(seq),
            None => self.flight.wire_bytes(self.new_payload_bytes().unwrap_or_default()),
        }
    }

    /// Writes lost chunks, lowest TSN first.
    fn write_lost(&mut self, now: Time, packet: &mut PacketWriter<'_>) -> bool {
        let (mut from, mut wrote) = (0, false);
        while let Some(seq) = self.flight.first_lost(from) {
            from = seq + 1;
            if self.flight.chunk_bytes(seq) > packet.room() {
                if packet.is_empty() {
                    // Does not fit here; shorter ones may.
                    continue;
                }
                break;
            }
            // The last of them requests an immediate SACK, which shows whether the repair is complete.
            let immediate = self.flight.first_lost(from).is_none();
            let (chunk, payload) = (self.flight.chunk(seq), self.flight.payload(seq));
            self.write_chunk(seq, &chunk, &payload, immediate, packet);
            self.flight.resend(seq, now);
            self.loss.resent.push_back((now, seq));
            self.stats.chunks_retransmitted += 1;
            wrote = true;
        }
        wrote
    }

    /// Writes new chunks.
    fn write_new(&mut self, now: Time, packet: &mut PacketWriter<'_>) -> bool {
        let mut wrote = false;
        while let Some(slot) = self.scheduler.current() {
            let Some(bytes) = self.cut(slot, packet) else { break };
            if self.flight.len() >= self.settings.max_in_flight_chunks || !self.fits_window(bytes) {
                break;
            }
            self.send_chunk(now, slot, bytes, packet);
            wrote = true;
        }
        wrote
    }

    /// How much of the stream's next message goes into this packet.
    fn cut(&self, slot: usize, packet: &PacketWriter<'_>) -> Option<usize> {
        let left = self.streams.at(slot).front_bytes()?;
        let room = packet.room().checked_sub(self.overhead).filter(|&room| room > 0)?;
        let most = left.min(self.payload_capacity());
        if most <= room {
            return Some(most);
        }
        // A message that fits into a packet is not split, so that messages of equal length make packets of
        // equal length.
        let wait = left <= self.payload_capacity() || room < MIN_FRAGMENT_BYTES;
        (packet.is_empty() || !wait).then_some(room)
    }

    /// Sends the next `bytes` of a stream's front message as one chunk.
    fn send_chunk(&mut self, now: Time, slot: usize, bytes: usize, packet: &mut PacketWriter<'_>) {
        let stream = self.streams.at_mut(slot);
        let Some(Taken { payload, terms, gone }) = stream.queue.take(bytes) else { return };
        let Terms { ppid, limit, unordered } = terms;
        let ends = gone > 0;
        let begun = stream.begin(unordered);
        let begins = begun.fragments == 0;
        self.begun = self.begun + u16::from(begins) - u16::from(ends);
        let mut flags = if begins { BEGIN } else { 0 };
        flags |= if ends { END } else { 0 };
        flags |= if unordered { UNORDERED } else { 0 };
        let chunk = Chunk {
            sent_at: now,
            number: begun.number,
            ppid_or_fsn: if begins || !self.interleaving { ppid.0 } else { begun.fragments },
            limit,
            next_fragment: 0,
            stream: stream.id,
            transmits: 1,
            flags,
        };
        let seq = self.flight.push(&chunk, &payload);
        stream.begun = (!ends).then_some(Begun { fragments: begun.fragments + 1, ..begun });
        stream.sent_end = seq + 1;
        if stream.unbuffer(bytes) {
            self.events.tell_low(stream);
        }
        self.unsent_bytes -= bytes;
        if ends {
            self.unsent -= 1;
            // Abandoned messages behind it had only their charge left.
            self.free(0, gone - 1);
        }
        if limit.is_limited() {
            self.link(limit, seq, ends);
        }
        // At the limit of begun messages this one is completed first.
        let may_interleave = self.interleaving && self.begun < self.settings.max_partial_messages;
        self.scheduler.took(bytes, ends || may_interleave, &mut self.streams);
        let immediate = self.asks_for_sack(seq, bytes);
        self.write_chunk(seq, &chunk, &payload, immediate, packet);
        self.is_window_probe_out |= std::mem::take(&mut self.window_probe);
    }

    /// Whether a chunk carries the I bit (RFC 7053): if nothing can follow it, so that a delayed SACK would
    /// stall us or look like a loss. Once per round trip suffices.
    fn asks_for_sack(&mut self, seq: u64, bytes: usize) -> bool {
        let stops = self.unsent == 0 || !self.may_send() || self.flight.payload_bytes() + bytes > self.window;
        let asks = stops && self.immediate_end <= self.flight.base();
        if asks {
            self.immediate_end = seq + 1;
        }
        asks
    }

    /// Writes a chunk that is in flight.
    fn write_chunk(
        &self,
        seq: u64,
        chunk: &Chunk,
        payload: &Stored,
        immediate: bool,
        packet: &mut PacketWriter<'_>,
    ) {
        let order = if self.interleaving {
            Order::Mid(Mid(chunk.number), Fsn(chunk.fsn()))
        } else {
            Order::Ssn(Ssn(chunk.number as u16))
        };
        let data = Data {
            tsn: self.flight.tsn(seq),
            stream: chunk.stream,
            order,
            ppid: chunk.ppid(self.interleaving),
            unordered: chunk.has(UNORDERED),
            begin: chunk.has(BEGIN),
            end: chunk.has(END),
            immediate,
            payload: self.store.get(payload),
        };
        data.write(packet);
    }
}
