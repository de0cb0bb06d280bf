//! The depacketizer (RFC 2435 section 3).

mod assembly;
mod frame;
mod runs;
mod types;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use netdyno_rtp::rtcp::{ReportBlock, SenderInfo};
use netdyno_rtp::{Arrival, Header, Packet, Reception, Timestamp};

use crate::error::ConfigError;
use crate::headers::JpegHeaders;
use crate::limits::MAX_JPEG_HEADER_BYTES;
use crate::packetizer::CLOCK_RATE_HZ;
use crate::tables::QuantTables;
use crate::wire::{FIRST_TABLE_Q, IN_BAND_Q, Payload};
use assembly::{Assembly, Fragment};
pub use frame::{Frame, FrameInfo};
use runs::Inserted;
pub use types::{DepacketizerConfig, DepacketizerStats, Event, Lost, LostReason};

/// Reassembles the frames of one source. Delivers complete frames in order and reports lost ones.
///
/// After each [`handle_packet`](Self::handle_packet), and at [`next_deadline`](Self::next_deadline), call
/// [`poll_event`](Self::poll_event) until it returns `None`. Without loss, a frame is delivered with its last packet. An
/// incomplete frame and those after it wait for [`DepacketizerConfig::max_wait`].
///
/// The data of a packet are copied once, into the buffer that becomes the JPEG file. If frames are returned with
/// [`recycle`](Self::recycle), no memory is allocated after the third frame.
#[derive(Debug)]
pub struct Depacketizer {
    config: DepacketizerConfig,
    reception: Option<Reception>,
    last_arrived: Option<Instant>,
    /// Frames in sequence number order.
    frames: VecDeque<Assembly>,
    /// Sequence number after the last packet that was delivered or lost.
    next: Option<u64>,
    /// Timestamp of a lost frame whose end has not arrived. Its further packets are late.
    discarded: Option<Timestamp>,
    /// Tables for Q 128 to 254.
    known: BTreeMap<u8, QuantTables>,
    /// The last frame's headers, parsed and encoded.
    headers: Option<JpegHeaders>,
    header_bytes: Vec<u8>,
    spare: Vec<Vec<u8>>,
    restarted: bool,
    flushing: bool,
    stats: DepacketizerStats,
}

impl Depacketizer {
    /// Creates a depacketizer.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(config: DepacketizerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            reception: None,
            last_arrived: None,
            frames: VecDeque::new(),
            next: None,
            discarded: None,
            known: BTreeMap::new(),
            headers: None,
            header_bytes: Vec::new(),
            spare: Vec::new(),
            restarted: false,
            flushing: false,
            stats: DepacketizerStats::default(),
        })
    }

    /// Counters since the start.
    pub fn stats(&self) -> &DepacketizerStats {
        &self.stats
    }

    /// Loss, jitter and wall clock of the source; `None` before its first packet.
    pub fn reception(&self) -> Option<&Reception> {
        self.reception.as_ref()
    }

    /// Creates a report block for a receiver report and starts the next reporting interval.
    pub fn report(&mut self, now: Instant) -> Option<ReportBlock> {
        self.reception.as_mut()?.report(now)
    }

    /// Handles a sender report that arrived `now`.
    pub fn handle_sender_report(&mut self, now: Instant, info: &SenderInfo) {
        if let Some(reception) = &mut self.reception {
            reception.handle_sender_report(now, info);
        }
    }

    /// Handles a packet that arrived `now`. Invalid packets are counted in [`stats`](Self::stats).
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet<'_>) {
        let header = packet.header;
        if header.payload_type != self.config.payload_type {
            self.stats.foreign += 1;
            return;
        }
        let Some(sequence) = self.extend_sequence(now, &header) else {
            self.stats.foreign += 1;
            return;
        };
        self.last_arrived = Some(now);
        let Ok(payload) = Payload::parse(packet.payload) else {
            self.stats.malformed += 1;
            return;
        };
        let Header { timestamp, marker, .. } = header;
        self.insert(now, &Fragment { sequence, timestamp, marker, payload });
    }

    /// Returns the next frame or loss.
    pub fn poll_event(&mut self, now: Instant) -> Option<Event> {
        if std::mem::take(&mut self.restarted) {
            return Some(Event::Restarted);
        }
        let Some(front) = self.frames.front() else {
            self.flushing = false;
            return None;
        };
        let gap = self.gap_before(front);
        let is_complete = front.complete_range().is_some();
        if is_complete && gap == 0 {
            return self.deliver();
        }
        let is_over = self.flushing
            || self.frames.len() > self.config.limits.max_frames
            || self.next_deadline().is_some_and(|deadline| deadline <= now);
        if !is_over {
            return None;
        }
        // Packets lost before this frame do not affect it.
        if gap > 0 && !front.has_hole() {
            self.next = front.runs.first();
            return Some(self.lost(None, gap, 0, LostReason::Missing));
        }
        self.discard()
    }

    /// When missing packets are treated as lost; `None` if none are missing. A frame that lacks only its end waits for the next
    /// frame.
    pub fn next_deadline(&self) -> Option<Instant> {
        let front = self.frames.front()?;
        let is_cut_off = self.frames.len() > 1 && front.complete_range().is_none();
        let since = match self.gap_before(front) {
            _ if front.has_hole() => front.last_arrived,
            1.. => front.first_arrived,
            0 if is_cut_off => front.last_arrived,
            0 => return None,
        };
        Some(since + self.config.max_wait)
    }

    /// Handles the end of the stream: the next polls return all stored frames, complete or lost.
    pub fn flush(&mut self) {
        self.flushing = true;
    }

    /// Reuses the buffer of a frame.
    pub fn recycle(&mut self, frame: Frame) {
        self.store_buffer(frame.buffer);
    }

    /// The extended sequence number of a packet; `None` if it is not from the source.
    fn extend_sequence(&mut self, now: Instant, header: &Header) -> Option<u64> {
        if self.config.ssrc.is_some_and(|ssrc| ssrc != header.ssrc) {
            return None;
        }
        let is_known = self.reception.as_ref().is_some_and(|reception| reception.ssrc() == header.ssrc);
        if !is_known {
            if let Some(last) = self.last_arrived {
                if now.saturating_duration_since(last) < self.config.source_timeout {
                    return None;
                }
                self.restart();
            }
            self.reception = Some(Reception::announced(now, header, CLOCK_RATE_HZ));
        }
        match self.reception.as_mut()?.handle_packet(now, header) {
            Arrival::Valid(number) | Arrival::Probation(number) => Some(number),
            Arrival::Restarted(number) => {
                self.restart();
                Some(number)
            }
            Arrival::OutOfReach => None,
        }
    }

    /// Discards all state of the previous source.
    fn restart(&mut self) {
        while let Some(frame) = self.frames.pop_front() {
            self.stats.lost_frames += 1;
            self.store_buffer(frame.buffer);
        }
        self.known.clear();
        (self.next, self.discarded) = (None, None);
        self.restarted = true;
    }

    /// Inserts a packet into its frame.
    fn insert(&mut self, now: Instant, fragment: &Fragment<'_>) {
        let sequence = fragment.sequence;
        if self.next.is_some_and(|next| sequence < next) {
            self.stats.late += 1;
            return;
        }
        if self.discarded == Some(fragment.timestamp) {
            // A packet at offset 0 starts another frame, of a sender that repeats timestamps.
            if fragment.marker || fragment.payload.main.offset == 0 {
                self.discarded = None;
            }
            if fragment.payload.main.offset > 0 {
                self.stats.late += 1;
                self.next = self.next.max(Some(sequence + 1));
                return;
            }
        }
        let index = match self.find_frame(fragment) {
            Some(index) => index,
            None if self.frames.len() > self.config.limits.max_frames => {
                self.stats.unpolled += 1;
                return;
            }
            None => {
                let before = self.frames.iter().filter(|frame| frame.runs.first() < Some(sequence)).count();
                let buffer = self.spare.pop().unwrap_or_default();
                self.frames.insert(before, Assembly::new(now, fragment, buffer));
                before
            }
        };
        let frame = &mut self.frames[index];
        match frame.insert(now, fragment, &self.config.limits) {
            Inserted::Duplicate => self.stats.duplicates += 1,
            Inserted::TooMany => self.stats.late += 1,
            Inserted::New | Inserted::Contradiction => self.stats.packets += 1,
        }
        let q = fragment.payload.main.q;
        if fragment.payload.tables.is_some() && (FIRST_TABLE_Q..IN_BAND_Q).contains(&q) {
            self.known.extend(frame.tables_in_packet().map(|tables| (q, tables)));
        }
    }

    /// The stored frame that a packet belongs to. If timestamps are equal, it is the last one that starts before the packet.
    fn find_frame(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let accepts = |frame: &Assembly| frame.accepts(fragment);
        let starts_before = |frame: &Assembly| frame.runs.first() <= Some(fragment.sequence);
        let last = self.frames.iter().rposition(|frame| accepts(frame) && starts_before(frame));
        last.or_else(|| self.frames.iter().position(accepts))
    }

    /// Number of packets between the last delivered one and the first received one of this frame.
    fn gap_before(&self, frame: &Assembly) -> u64 {
        match (self.next, frame.runs.first()) {
            (Some(next), Some(first)) => first.saturating_sub(next),
            _ => 0,
        }
    }

    /// Delivers the first frame, which is complete.
    fn deliver(&mut self) -> Option<Event> {
        let frame = self.frames.pop_front()?;
        let (first, last) = frame.complete_range()?;
        self.next = Some(last + 1);
        let headers = match self.frame_headers(&frame) {
            Ok(headers) => headers,
            Err(reason) => {
                let event = self.lost(Some(frame.timestamp), 0, frame.runs.packets(), reason);
                self.store_buffer(frame.buffer);
                return Some(event);
            }
        };
        if self.headers != Some(headers) {
            self.header_bytes.clear();
            headers.append(&mut self.header_bytes);
            self.headers = Some(headers);
        }
        self.stats.frames += 1;
        let info = FrameInfo {
            timestamp: frame.timestamp,
            first_sequence: first,
            packets: frame.runs.packets(),
            first_arrived: frame.first_arrived,
            last_arrived: frame.last_arrived,
            q: frame.main.q,
            field: frame.main.field,
            headers,
        };
        let frame = Frame::new(info, frame.buffer, MAX_JPEG_HEADER_BYTES, &self.header_bytes);
        Some(Event::Frame(frame))
    }

    /// The headers of a frame, or the reason why it is lost.
    fn frame_headers(&self, frame: &Assembly) -> Result<JpegHeaders, LostReason> {
        if let Some(reason) = frame.fault {
            return Err(reason);
        }
        let sampling = frame.main.kind.sampling().ok_or(LostReason::Type(frame.main.kind.0))?;
        let configured = self.config.dimensions;
        let (width, height) = match frame.main.dimensions.pixels() {
            Some(rounded) => configured
                .filter(|(width, height)| (width.next_multiple_of(8), height.next_multiple_of(8)) == rounded)
                .unwrap_or(rounded),
            None => configured.ok_or(LostReason::Dimensions)?,
        };
        let tables = frame.tables(self.known.get(&frame.main.q))?;
        Ok(JpegHeaders { width, height, sampling, tables, restart_interval: frame.restart_interval })
    }

    /// Discards the first frame, which is incomplete.
    fn discard(&mut self) -> Option<Event> {
        let frame = self.frames.pop_front()?;
        let (first, last) = (frame.runs.first()?, frame.runs.last()?);
        let has_joined = self.next.is_none() && frame.start.is_none();
        let begin = self.next.unwrap_or(first).min(first);
        // Attribute the packets missing before the next frame to this one.
        let after = self.frames.front().filter(|after| after.start == after.runs.first());
        let after = after.and_then(|after| after.start).filter(|start| *start > last);
        let end = after.unwrap_or(last + 1);
        self.next = self.next.max(Some(end));
        self.discarded = frame.end.is_none().then_some(frame.timestamp);
        let received = frame.runs.packets();
        let missing = (end - begin).saturating_sub(received);
        let reason = match frame.fault {
            Some(reason) => reason,
            None if has_joined => LostReason::Joined,
            None => LostReason::Missing,
        };
        self.store_buffer(frame.buffer);
        Some(self.lost(Some(frame.timestamp), missing, received, reason))
    }

    fn lost(
        &mut self,
        timestamp: Option<Timestamp>,
        missing_packets: u64,
        received_packets: u64,
        reason: LostReason,
    ) -> Event {
        self.stats.lost_frames += u64::from(timestamp.is_some());
        self.stats.missing_packets += missing_packets;
        Event::Lost(Lost { timestamp, missing_packets, received_packets, reason })
    }

    fn store_buffer(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < self.config.limits.max_spare_buffers {
            self.spare.push(buffer);
        }
    }
}
