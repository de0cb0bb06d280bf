//! A frame that is being put together.

use std::time::Instant;

use netdyno_rtp::Timestamp;

use super::LostReason;
use super::runs::{Inserted, Runs};
use crate::limits::{DepacketizerLimits, MAX_JPEG_HEADER_BYTES};
use crate::tables::QuantTables;
use crate::wire::{FIRST_TOLD_Q, IN_BAND_Q, MainHeader, Payload};

/// What a frame's first packet said about tables.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "one a frame, in place; a box would be allocated for each")]
enum Told {
    /// It was told before, or is computed.
    Before,
    Tables(QuantTables),
    Malformed,
}

/// A packet that belongs to a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    pub(super) sequence: u64,
    pub(super) timestamp: Timestamp,
    pub(super) marker: bool,
    pub(super) payload: Payload<'a>,
}

/// The packets of a frame so far, and their data where they belong.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) timestamp: Timestamp,
    /// What all packets say alike; its offset is 0.
    pub(super) main: MainHeader,
    /// Minimum coded units between restart markers; 0 if there are none.
    pub(super) restart_interval: u16,
    pub(super) runs: Runs,
    /// Number of the packet at offset 0, and of that with the marker.
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
    told: Told,
    /// Why the frame is of no use, even if it should become whole.
    pub(super) bad: Option<LostReason>,
    /// Room for the headers of a JPEG file, then the scan.
    pub(super) buffer: Vec<u8>,
    pub(super) first_arrived: Instant,
    pub(super) last_arrived: Instant,
}

impl Assembly {
    /// A frame whose first packet this is; [`insert`](Self::insert) it. The buffer is an old one, or empty.
    pub(super) fn new(now: Instant, fragment: &Fragment<'_>, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.resize(MAX_JPEG_HEADER_BYTES, 0);
        let mut frame = Self {
            timestamp: fragment.timestamp,
            main: MainHeader { offset: 0, ..fragment.payload.main },
            restart_interval: restart_interval(&fragment.payload),
            runs: Runs::default(),
            start: None,
            end: None,
            told: Told::Before,
            bad: None,
            buffer,
            first_arrived: now,
            last_arrived: now,
        };
        let q = frame.main.q;
        if frame.main.kind.sampling().is_none() {
            frame.bad = Some(LostReason::Type(frame.main.kind.0));
        } else if q == 0 || (100..FIRST_TOLD_Q).contains(&q) {
            frame.bad = Some(LostReason::ReservedQ(q));
        }
        frame
    }

    /// Whether a packet belongs to this frame: its timestamp does, and it is within the frame as far as that is known. So
    /// that frames of one timestamp, which a careless sender makes, are told apart.
    pub(super) fn takes(&self, fragment: &Fragment<'_>) -> bool {
        let sequence = fragment.sequence;
        let is_start = fragment.payload.main.offset == 0;
        self.timestamp == fragment.timestamp
            && self.end.is_none_or(|end| sequence <= end)
            && self.start.is_none_or(|start| if is_start { sequence == start } else { sequence > start })
    }

    /// Takes a packet that belongs to the frame.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        fragment: &Fragment<'_>,
        limits: &DepacketizerLimits,
    ) -> Inserted {
        let Fragment { sequence, marker, payload, .. } = *fragment;
        let offset = payload.main.offset;
        let end = offset + payload.data.len() as u32;
        let inserted = self.runs.insert(sequence, offset, end, limits.max_runs);
        match inserted {
            Inserted::New => {}
            Inserted::Contradiction => self.spoil(LostReason::Contradictory),
            Inserted::Duplicate => return inserted,
            Inserted::TooMany => {
                self.spoil(LostReason::TooManyPieces);
                return inserted;
            }
        }
        self.last_arrived = now;
        let same = MainHeader { offset: 0, ..payload.main } == self.main;
        if !same || restart_interval(&payload) != self.restart_interval {
            self.spoil(LostReason::Contradictory);
        }
        if offset == 0 {
            self.start = Some(sequence);
            self.take_tables(&payload);
        }
        if marker {
            self.end = Some(sequence);
        }
        if end as usize > limits.max_frame_bytes {
            self.spoil(LostReason::TooLarge);
        }
        if self.bad.is_none() {
            self.copy(offset as usize, payload.data);
        }
        inserted
    }

    /// First and last packet, if all are there.
    pub(super) fn whole(&self) -> Option<(u64, u64)> {
        self.runs.whole().filter(|(first, last)| self.start == Some(*first) && self.end == Some(*last))
    }

    /// Whether something is missing that was sent before what is there.
    pub(super) fn has_hole(&self) -> bool {
        self.start.is_none() || self.runs.whole().is_none()
    }

    /// The tables that its first packet told.
    pub(super) fn told_tables(&self) -> Option<QuantTables> {
        match self.told {
            Told::Tables(tables) => Some(tables),
            _ => None,
        }
    }

    /// The tables of a frame that is whole; `known` are those that its Q stood for.
    pub(super) fn tables(&self, known: Option<&QuantTables>) -> Result<QuantTables, LostReason> {
        let q = self.main.q;
        match (self.told, known) {
            (Told::Malformed, _) => Err(LostReason::Tables),
            (Told::Tables(tables), _) => Ok(tables),
            (Told::Before, _) if q < FIRST_TOLD_Q => QuantTables::computed(q).ok_or(LostReason::ReservedQ(q)),
            (Told::Before, _) if q == IN_BAND_Q => Err(LostReason::Tables),
            (Told::Before, Some(tables)) => Ok(*tables),
            (Told::Before, None) => Err(LostReason::TablesUnknown(q)),
        }
    }

    fn take_tables(&mut self, payload: &Payload<'_>) {
        self.told = match payload.tables {
            None => Told::Before,
            Some(header) if header.data.is_empty() => Told::Before,
            Some(header) => header.tables().map_or(Told::Malformed, Told::Tables),
        };
    }

    /// The frame is of no use: what it held is given up, what comes is only counted.
    fn spoil(&mut self, reason: LostReason) {
        self.bad.get_or_insert(reason);
    }

    fn copy(&mut self, offset: usize, data: &[u8]) {
        let at = MAX_JPEG_HEADER_BYTES + offset;
        if at == self.buffer.len() {
            self.buffer.extend_from_slice(data);
            return;
        }
        let end = at + data.len();
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer[at..end].copy_from_slice(data);
    }
}

fn restart_interval(payload: &Payload<'_>) -> u16 {
    payload.restart.map_or(0, |restart| restart.interval)
}
