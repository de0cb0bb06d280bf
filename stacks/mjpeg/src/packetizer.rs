//! Pictures to packets (RFC 2435 section 3).

use std::num::NonZeroU32;

use netdyno_rtp::{HEADER_BYTES, Header, Sequence, Ssrc, Timestamp};

use crate::error::{ConfigError, FrameError};
use crate::jpeg::Jpeg;
use crate::limits::{
    MAX_FRAME_PACKETS, MAX_PACKET_BYTES, MAX_SCAN_BYTES, MAX_STATIC_TABLES, MIN_PACKET_BYTES,
};
use crate::tables::QuantTables;
use crate::wire::{
    Dimensions, FIRST_TOLD_Q, Field, IN_BAND_Q, Kind, MAIN_HEADER_BYTES, MainHeader, RESTART_HEADER_BYTES,
    RestartHeader, TABLE_HEADER_BYTES, TableHeader,
};

/// The payload type that is JPEG's without SDP (RFC 3551 section 6).
pub const PAYLOAD_TYPE: u8 = 26;

/// Ticks a second of the payload's clock (RFC 2435 section 3).
pub const CLOCK_RATE_HZ: u32 = 90_000;

/// How packets are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketizerConfig {
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Bytes of a packet, RTP header included, UDP and IP headers left out: 300 to 65,507. Ethernet has room for 1,472
    /// over IPv4, 1,452 over IPv6.
    pub max_packet_bytes: usize,
    /// Whether tables that RFC 2435 section 4.2 computes go as Q 1 to 99, which saves 132 bytes a frame.
    pub computed_tables: bool,
    /// Whether other tables are told once, as Q 128 to 254, and again every so many frames, for who joins later. Without
    /// it they go with every frame, as Q 255.
    pub static_tables_every: Option<NonZeroU32>,
}

impl Default for PacketizerConfig {
    /// Payload type 26, packets of 1,400 bytes, computed tables recognised, others with every frame.
    fn default() -> Self {
        Self {
            payload_type: PAYLOAD_TYPE,
            max_packet_bytes: 1_400,
            computed_tables: true,
            static_tables_every: None,
        }
    }
}

/// Makes packets of pictures, for one stream. Sequence numbers go on from frame to frame; time and size are the caller's.
#[derive(Debug, Clone)]
pub struct Packetizer {
    config: PacketizerConfig,
    ssrc: Ssrc,
    next: Sequence,
    /// The tables of the frame before, and their Q if they are computed ones.
    last: Option<(QuantTables, Option<u8>)>,
    /// Tables told so far; their index and 128 make Q. And how many frames of them were sent.
    told: Vec<(QuantTables, u32)>,
}

impl Packetizer {
    /// A stream's packetizer. SSRC and first sequence number should be random (RFC 3550 section 5.1).
    pub fn new(config: PacketizerConfig, ssrc: Ssrc, first: Sequence) -> Result<Self, ConfigError> {
        if !(MIN_PACKET_BYTES..=MAX_PACKET_BYTES).contains(&config.max_packet_bytes) {
            return Err(ConfigError::PacketBytes(config.max_packet_bytes));
        }
        if config.payload_type > 127 {
            return Err(ConfigError::PayloadType(config.payload_type));
        }
        Ok(Self { config, ssrc, next: first, last: None, told: Vec::new() })
    }

    /// The sequence number of the next frame's first packet, as RTSP's `RTP-Info` tells it.
    pub fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// The packets of a frame, which take their sequence numbers with this call: those not sent are lost to the receiver.
    /// `timestamp` is of [`CLOCK_RATE_HZ`], one a frame. Costs the same for any frame; nothing is copied but tables.
    pub fn packets<'a>(
        &mut self,
        jpeg: &Jpeg<'a>,
        timestamp: Timestamp,
    ) -> Result<FramePackets<'a>, FrameError> {
        let scan = jpeg.scan();
        if scan.len() > MAX_SCAN_BYTES {
            return Err(FrameError::TooLong(scan.len()));
        }
        let restart = jpeg.restart_interval();
        let restart_bytes = if restart > 0 { RESTART_HEADER_BYTES } else { 0 };
        let capacity = self.config.max_packet_bytes - HEADER_BYTES - MAIN_HEADER_BYTES - restart_bytes;
        // Whatever the tables take, the count is checked first: a frame refused has told no tables.
        let most = (scan.len() + TABLE_HEADER_BYTES + jpeg.tables().length()).div_ceil(capacity);
        if most > MAX_FRAME_PACKETS {
            return Err(FrameError::TooManyPackets(most));
        }
        let (q, tables) = self.quantisation(jpeg.tables());
        let table_bytes = match &tables {
            InPacket::Nothing => 0,
            InPacket::Told => TABLE_HEADER_BYTES,
            InPacket::Tables(tables) => TABLE_HEADER_BYTES + tables.length(),
        };
        let count = (scan.len() + table_bytes).div_ceil(capacity);
        let first = self.next;
        self.next = first.add(count as u16);
        Ok(FramePackets {
            rtp: Header {
                marker: false,
                payload_type: self.config.payload_type,
                sequence: first,
                timestamp,
                ssrc: self.ssrc,
            },
            main: MainHeader {
                field: Field::Progressive,
                offset: 0,
                kind: Kind::new(jpeg.sampling(), restart > 0),
                q,
                dimensions: Dimensions::new(jpeg.width(), jpeg.height()),
            },
            restart: (restart > 0).then(|| RestartHeader::unaligned(restart)),
            tables,
            table_bytes,
            capacity,
            count,
            scan,
        })
    }

    /// Q, and what of the tables the first packet has.
    fn quantisation(&mut self, tables: &QuantTables) -> (u8, InPacket) {
        if self.config.computed_tables {
            let q = match self.last {
                Some((last, q)) if last == *tables => q,
                _ => tables.to_q(),
            };
            self.last = Some((*tables, q));
            if let Some(q) = q {
                return (q, InPacket::Nothing);
            }
        }
        let Some(every) = self.config.static_tables_every else {
            return (IN_BAND_Q, InPacket::Tables(*tables));
        };
        let index = match self.told.iter().position(|(told, _)| told == tables) {
            Some(index) => index,
            // Whoever changes tables with every picture has no static ones.
            None if self.told.len() == MAX_STATIC_TABLES => return (IN_BAND_Q, InPacket::Tables(*tables)),
            None => {
                self.told.push((*tables, 0));
                self.told.len() - 1
            }
        };
        let frames = &mut self.told[index].1;
        let is_due = *frames % every == 0;
        *frames = frames.wrapping_add(1) % every;
        let in_packet = if is_due { InPacket::Tables(*tables) } else { InPacket::Told };
        (FIRST_TOLD_Q + index as u8, in_packet)
    }
}

/// What the first packet says about tables.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "one a frame, in place; a box would be allocated for each")]
enum InPacket {
    /// Nothing: Q says it.
    Nothing,
    /// That they were told before.
    Told,
    /// The tables.
    Tables(QuantTables),
}

/// The packets of a frame, in any order and as often as wanted. All but the last are of the full size, so that they can go
/// as segments of one datagram (GSO); no fewer packets could carry the frame.
#[derive(Debug, Clone)]
pub struct FramePackets<'a> {
    rtp: Header,
    main: MainHeader,
    restart: Option<RestartHeader>,
    tables: InPacket,
    table_bytes: usize,
    /// Bytes for tables and data in a packet.
    capacity: usize,
    count: usize,
    scan: &'a [u8],
}

impl<'a> FramePackets<'a> {
    /// How many packets there are, at least 1.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of all packets, RTP headers included.
    pub fn wire_bytes(&self) -> usize {
        let restart = if self.restart.is_some() { RESTART_HEADER_BYTES } else { 0 };
        self.count * (HEADER_BYTES + MAIN_HEADER_BYTES + restart) + self.table_bytes + self.scan.len()
    }

    /// Bytes of all payloads, as sender reports count them.
    pub fn payload_bytes(&self) -> usize {
        self.wire_bytes() - self.count * HEADER_BYTES
    }

    /// The timestamp of all packets.
    pub fn timestamp(&self) -> Timestamp {
        self.rtp.timestamp
    }

    /// Sequence number of the first packet.
    pub fn first_sequence(&self) -> Sequence {
        self.rtp.sequence
    }

    /// Appends the headers of packet `index` to `headers`, RTP header first, and gives the scan data that follow them; none,
    /// and nothing appended, if there is no such packet. At most [`MAX_PACKET_HEADER_BYTES`] are appended, for any packet but
    /// the first at most 24. Costs a few operations.
    ///
    /// [`MAX_PACKET_HEADER_BYTES`]: crate::limits::MAX_PACKET_HEADER_BYTES
    pub fn packet(&self, index: usize, headers: &mut Vec<u8>) -> Option<&'a [u8]> {
        if index >= self.count {
            return None;
        }
        let before = (index * self.capacity).saturating_sub(self.table_bytes);
        let after = ((index + 1) * self.capacity - self.table_bytes).min(self.scan.len());
        let sequence = self.rtp.sequence.add(index as u16);
        let rtp = Header { marker: index + 1 == self.count, sequence, ..self.rtp };
        headers.extend(rtp.to_bytes());
        headers.extend(MainHeader { offset: before as u32, ..self.main }.to_bytes());
        if let Some(restart) = self.restart {
            headers.extend(restart.to_bytes());
        }
        if index == 0 {
            match &self.tables {
                InPacket::Nothing => {}
                InPacket::Told => TableHeader::append(None, headers),
                InPacket::Tables(tables) => TableHeader::append(Some(tables), headers),
            }
        }
        Some(&self.scan[before..after])
    }

    /// Appends packet `index` whole, scan data copied; false if there is no such packet.
    pub fn append(&self, index: usize, out: &mut Vec<u8>) -> bool {
        let data = self.packet(index, out);
        out.extend_from_slice(data.unwrap_or_default());
        data.is_some()
    }
}
