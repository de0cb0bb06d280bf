//! The reassembly of a frame.

use std::time::Instant;

use netdyno_rtp::Timestamp;

use super::LostReason;
use super::runs::{Inserted, Runs};
use crate::limits::{DepacketizerLimits, MAX_JPEG_HEADER_BYTES};
use crate::tables::QuantTables;
use crate::wire::{FIRST_TABLE_Q, IN_BAND_Q, MainHeader, Payload};

/// The table header in the first packet of a frame.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::large_enum_variant,
    reason = "one value per frame in place; a box would need an allocation per frame"
)]
enum TableUpdate {
    /// No tables: they were sent before or are computed.
    None,
    Tables(QuantTables),
    Malformed,
}

/// A packet of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment<'a> {
    pub(super) sequence: u64,
    pub(super) timestamp: Timestamp,
    pub(super) marker: bool,
    pub(super) payload: Payload<'a>,
}

/// A frame with the packets received so far.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) timestamp: Timestamp,
    /// The main header that all packets share, with offset 0.
    pub(super) main: MainHeader,
    /// Restart interval in minimum coded units (MCU); 0 without restart markers.
    pub(super) restart_interval: u16,
    pub(super) runs: Runs,
    /// Extended sequence numbers of the packet at offset 0 and of the packet with the marker bit.
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
    table_update: TableUpdate,
    /// The reason why the frame is lost even if it becomes complete.
    pub(super) fault: Option<LostReason>,
    /// Space for the headers of a JPEG file, followed by the scan.
    pub(super) buffer: Vec<u8>,
    pub(super) first_arrived: Instant,
    pub(super) last_arrived: Instant,
}

impl Assembly {
    /// Creates a frame for a packet, which must then be [inserted](Self::insert). `buffer` is reused.
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
            table_update: TableUpdate::None,
            fault: None,
            buffer,
            first_arrived: now,
            last_arrived: now,
        };
        let q = frame.main.q;
        if frame.main.kind.sampling().is_none() {
            frame.fault = Some(LostReason::Type(frame.main.kind.0));
        } else if q == 0 || (100..FIRST_TABLE_Q).contains(&q) {
            frame.fault = Some(LostReason::ReservedQ(q));
        }
        frame
    }

    /// Whether a packet belongs to this frame: it has the same timestamp and lies within the known bounds of the frame. The bounds
    /// separate consecutive frames that have the same timestamp, as faulty senders produce.
    pub(super) fn accepts(&self, fragment: &Fragment<'_>) -> bool {
        let sequence = fragment.sequence;
        let is_start = fragment.payload.main.offset == 0;
        self.timestamp == fragment.timestamp
            && self.end.is_none_or(|end| sequence <= end)
            && self.start.is_none_or(|start| if is_start { sequence == start } else { sequence > start })
    }

    /// Inserts a packet that belongs to the frame.
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
            Inserted::Contradiction => self.invalidate(LostReason::Contradictory),
            Inserted::Duplicate => return inserted,
            Inserted::TooMany => {
                self.invalidate(LostReason::TooManyPieces);
                return inserted;
            }
        }
        self.last_arrived = now;
        let same = MainHeader { offset: 0, ..payload.main } == self.main;
        if !same || restart_interval(&payload) != self.restart_interval {
            self.invalidate(LostReason::Contradictory);
        }
        if offset == 0 {
            self.start = Some(sequence);
            self.handle_tables(&payload);
        }
        if marker {
            self.end = Some(sequence);
        }
        if end as usize > limits.max_frame_bytes {
            self.invalidate(LostReason::TooLarge);
        }
        if self.fault.is_none() {
            self.copy(offset as usize, payload.data);
        }
        inserted
    }

    /// The first and the last packet, if all have arrived.
    pub(super) fn complete_range(&self) -> Option<(u64, u64)> {
        self.runs.single_run().filter(|(first, last)| self.start == Some(*first) && self.end == Some(*last))
    }

    /// Whether a packet before the last received one is missing.
    pub(super) fn has_hole(&self) -> bool {
        self.start.is_none() || self.runs.single_run().is_none()
    }

    /// The tables in its first packet.
    pub(super) fn tables_in_packet(&self) -> Option<QuantTables> {
        match self.table_update {
            TableUpdate::Tables(tables) => Some(tables),
            _ => None,
        }
    }

    /// The tables of a complete frame. `known` are the tables previously sent for its Q.
    pub(super) fn tables(&self, known: Option<&QuantTables>) -> Result<QuantTables, LostReason> {
        let q = self.main.q;
        match (self.table_update, known) {
            (TableUpdate::Malformed, _) => Err(LostReason::Tables),
            (TableUpdate::Tables(tables), _) => Ok(tables),
            (TableUpdate::None, _) if q < FIRST_TABLE_Q => {
                QuantTables::computed(q).ok_or(LostReason::ReservedQ(q))
            }
            (TableUpdate::None, _) if q == IN_BAND_Q => Err(LostReason::Tables),
            (TableUpdate::None, Some(tables)) => Ok(*tables),
            (TableUpdate::None, None) => Err(LostReason::TablesUnknown(q)),
        }
    }

    fn handle_tables(&mut self, payload: &Payload<'_>) {
        self.table_update = match payload.tables {
            None => TableUpdate::None,
            Some(header) if header.data.is_empty() => TableUpdate::None,
            Some(header) => header.tables().map_or(TableUpdate::Malformed, TableUpdate::Tables),
        };
    }

    /// Marks the frame as lost. Its later packets are counted but not stored.
    fn invalidate(&mut self, reason: LostReason) {
        self.fault.get_or_insert(reason);
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
