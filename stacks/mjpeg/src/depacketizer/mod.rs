//! Packets to pictures (RFC 2435 section 3), under loss and reordering.

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
use crate::wire::{FIRST_TOLD_Q, IN_BAND_Q, Payload};
use assembly::{Assembly, Fragment};
pub use frame::{Frame, FrameInfo};
use runs::Inserted;
pub use types::{DepacketizerConfig, DepacketizerStats, Event, Lost, LostReason};

/// Puts frames together from the packets of one source, and gives them out in order, whole or told as lost.
///
/// After each [`handle_packet`](Self::handle_packet), and at [`next_deadline`](Self::next_deadline), call
/// [`poll_event`](Self::poll_event) until it gives nothing. Without loss a frame comes with its last packet; one with a
/// hole, and those after it, wait for [`DepacketizerConfig::max_wait`].
///
/// A packet costs the copy of its data, into a buffer that is the JPEG file in the end. Give frames back with
/// [`recycle`](Self::recycle), and no memory is allocated from the third frame on.
#[derive(Debug)]
pub struct Depacketizer {
    config: DepacketizerConfig,
    reception: Option<Reception>,
    last_arrived: Option<Instant>,
    /// Frames in the order of their packets.
    frames: VecDeque<Assembly>,
    /// Number after the last packet that was given out or up.
    next: Option<u64>,
    /// A frame that was given up before its end came: what comes of it is late.
    given_up: Option<Timestamp>,
    /// Tables by Q, 128 to 254.
    known: BTreeMap<u8, QuantTables>,
    /// Headers of the last frame, and their bytes.
    headers: Option<JpegHeaders>,
    header_bytes: Vec<u8>,
    spare: Vec<Vec<u8>>,
    restarted: bool,
    flushing: bool,
    stats: DepacketizerStats,
}

impl Depacketizer {
    /// One that waits for the first packet.
    pub fn new(config: DepacketizerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            reception: None,
            last_arrived: None,
            frames: VecDeque::new(),
            next: None,
            given_up: None,
            known: BTreeMap::new(),
            headers: None,
            header_bytes: Vec::new(),
            spare: Vec::new(),
            restarted: false,
            flushing: false,
            stats: DepacketizerStats::default(),
        })
    }

    /// Counts since the start.
    pub fn stats(&self) -> &DepacketizerStats {
        &self.stats
    }

    /// Loss, jitter and wall clock of the source; none before its first packet.
    pub fn reception(&self) -> Option<&Reception> {
        self.reception.as_ref()
    }

    /// A report block on the source, for a receiver report; it begins the next interval.
    pub fn report(&mut self, now: Instant) -> Option<ReportBlock> {
        self.reception.as_mut()?.report(now)
    }

    /// Takes note of a sender report that arrived `now`.
    pub fn handle_sender_report(&mut self, now: Instant, info: &SenderInfo) {
        if let Some(reception) = &mut self.reception {
            reception.handle_sender_report(now, info);
        }
    }

    /// Takes a packet that arrived `now`. What is wrong with it is counted, see [`stats`](Self::stats).
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet<'_>) {
        let header = packet.header;
        if header.payload_type != self.config.payload_type {
            self.stats.foreign += 1;
            return;
        }
        let Some(sequence) = self.number(now, &header) else {
            self.stats.foreign += 1;
            return;
        };
        self.last_arrived = Some(now);
        let Ok(payload) = Payload::parse(packet.payload) else {
            self.stats.malformed += 1;
            return;
        };
        let Header { timestamp, marker, .. } = header;
        self.place(now, &Fragment { sequence, timestamp, marker, payload });
    }

    /// The next frame or loss, as far as order and time allow.
    pub fn poll_event(&mut self, now: Instant) -> Option<Event> {
        if std::mem::take(&mut self.restarted) {
            return Some(Event::Restarted);
        }
        let Some(front) = self.frames.front() else {
            self.flushing = false;
            return None;
        };
        let gap = self.gap_before(front);
        let is_whole = front.whole().is_some();
        if is_whole && gap == 0 {
            return self.give_out();
        }
        let is_over = self.flushing
            || self.frames.len() > self.config.limits.max_frames
            || self.next_deadline().is_some_and(|deadline| deadline <= now);
        if !is_over {
            return None;
        }
        // What was lost before a frame is no harm to it, be it whole or still arriving.
        if gap > 0 && !front.has_hole() {
            self.next = front.runs.first();
            return Some(self.lose(None, gap, 0, LostReason::Missing));
        }
        self.give_up()
    }

    /// When a hole is given up; none if there is none. A frame that only has no end yet is held until the next begins.
    pub fn next_deadline(&self) -> Option<Instant> {
        let front = self.frames.front()?;
        let is_cut_off = self.frames.len() > 1 && front.whole().is_none();
        let since = match self.gap_before(front) {
            _ if front.has_hole() => front.last_arrived,
            1.. => front.first_arrived,
            0 if is_cut_off => front.last_arrived,
            0 => return None,
        };
        Some(since + self.config.max_wait)
    }

    /// The stream has ended: what is held comes out with the next polls, whole or lost.
    pub fn flush(&mut self) {
        self.flushing = true;
    }

    /// Takes the memory of a frame back, for one to come.
    pub fn recycle(&mut self, frame: Frame) {
        self.keep(frame.buffer);
    }

    /// The packet's number in 64 bits; none if it is not of the source.
    fn number(&mut self, now: Instant, header: &Header) -> Option<u64> {
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

    /// Nothing of before holds any more.
    fn restart(&mut self) {
        while let Some(frame) = self.frames.pop_front() {
            self.stats.lost_frames += 1;
            self.keep(frame.buffer);
        }
        self.known.clear();
        (self.next, self.given_up) = (None, None);
        self.restarted = true;
    }

    /// Puts a packet into its frame.
    fn place(&mut self, now: Instant, fragment: &Fragment<'_>) {
        let sequence = fragment.sequence;
        if self.next.is_some_and(|next| sequence < next) {
            self.stats.late += 1;
            return;
        }
        if self.given_up == Some(fragment.timestamp) {
            // A beginning is another frame's, of a sender that does not count its timestamps.
            if fragment.marker || fragment.payload.main.offset == 0 {
                self.given_up = None;
            }
            if fragment.payload.main.offset > 0 {
                self.stats.late += 1;
                self.next = self.next.max(Some(sequence + 1));
                return;
            }
        }
        let index = match self.frame_of(fragment) {
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
        if fragment.payload.tables.is_some() && (FIRST_TOLD_Q..IN_BAND_Q).contains(&q) {
            self.known.extend(frame.told_tables().map(|tables| (q, tables)));
        }
    }

    /// The frame that a packet belongs to, if it is held: where timestamps are alike the last that begins before it.
    fn frame_of(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let takes = |frame: &Assembly| frame.takes(fragment);
        let begins_before = |frame: &Assembly| frame.runs.first() <= Some(fragment.sequence);
        let last = self.frames.iter().rposition(|frame| takes(frame) && begins_before(frame));
        last.or_else(|| self.frames.iter().position(takes))
    }

    /// Packets between what was given out last and what of this frame came first.
    fn gap_before(&self, frame: &Assembly) -> u64 {
        match (self.next, frame.runs.first()) {
            (Some(next), Some(first)) => first.saturating_sub(next),
            _ => 0,
        }
    }

    /// The first frame, which is whole.
    fn give_out(&mut self) -> Option<Event> {
        let frame = self.frames.pop_front()?;
        let (first, last) = frame.whole()?;
        self.next = Some(last + 1);
        let headers = match self.headers_of(&frame) {
            Ok(headers) => headers,
            Err(reason) => {
                let event = self.lose(Some(frame.timestamp), 0, frame.runs.packets(), reason);
                self.keep(frame.buffer);
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

    /// What the headers of a frame say, if it is of use.
    fn headers_of(&self, frame: &Assembly) -> Result<JpegHeaders, LostReason> {
        if let Some(reason) = frame.bad {
            return Err(reason);
        }
        let sampling = frame.main.kind.sampling().ok_or(LostReason::Type(frame.main.kind.0))?;
        let told = self.config.dimensions;
        let (width, height) = match frame.main.dimensions.pixels() {
            Some(rounded) => told
                .filter(|(width, height)| (width.next_multiple_of(8), height.next_multiple_of(8)) == rounded)
                .unwrap_or(rounded),
            None => told.ok_or(LostReason::Dimensions)?,
        };
        let tables = frame.tables(self.known.get(&frame.main.q))?;
        Ok(JpegHeaders { width, height, sampling, tables, restart_interval: frame.restart_interval })
    }

    /// The first frame, which is not whole and will not be.
    fn give_up(&mut self) -> Option<Event> {
        let frame = self.frames.pop_front()?;
        let (first, last) = (frame.runs.first()?, frame.runs.last()?);
        let has_joined = self.next.is_none() && frame.start.is_none();
        let begin = self.next.unwrap_or(first).min(first);
        // What is missing between this frame and the beginning of the one after it is of this frame, as far as we know.
        let after = self.frames.front().filter(|after| after.start == after.runs.first());
        let after = after.and_then(|after| after.start).filter(|start| *start > last);
        let end = after.unwrap_or(last + 1);
        self.next = self.next.max(Some(end));
        self.given_up = frame.end.is_none().then_some(frame.timestamp);
        let received = frame.runs.packets();
        let missing = (end - begin).saturating_sub(received);
        let reason = match frame.bad {
            Some(reason) => reason,
            None if has_joined => LostReason::Joined,
            None => LostReason::Missing,
        };
        self.keep(frame.buffer);
        Some(self.lose(Some(frame.timestamp), missing, received, reason))
    }

    fn lose(
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

    fn keep(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < self.config.limits.max_spare_buffers {
            self.spare.push(buffer);
        }
    }
}
