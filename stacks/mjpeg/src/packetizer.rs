//! The packetizer (RFC 2435 section 3).

use std::num::NonZeroU32;

use netdyno_rtp::{HEADER_BYTES, Header, Sequence, Ssrc, Timestamp};

use crate::error::{ConfigError, FrameError};
use crate::jpeg::Jpeg;
use crate::limits::{
    MAX_FRAME_PACKETS, MAX_PACKET_BYTES, MAX_SCAN_BYTES, MAX_STATIC_TABLES, MIN_PACKET_BYTES,
};
use crate::tables::QuantTables;
use crate::wire::{
    Dimensions, FIRST_TABLE_Q, Field, IN_BAND_Q, JpegType, MAIN_HEADER_BYTES, MainHeader,
    RESTART_HEADER_BYTES, RestartHeader, TABLE_HEADER_BYTES, TableHeader,
};

/// The static payload type of JPEG (RFC 3551 section 6).
pub const PAYLOAD_TYPE: u8 = 26;

/// RTP clock rate (RFC 2435 section 3).
pub const CLOCK_RATE_HZ: u32 = 90_000;

/// Settings of a packetizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketizerConfig {
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Maximum packet length with the RTP header, without UDP and IP headers: 300 to 65,507. An Ethernet frame carries 1,472
    /// over IPv4 and 1,452 over IPv6.
    pub max_packet_bytes: usize,
    /// Whether to send the computed tables of RFC 2435 section 4.2 as Q 1 to 99, which saves 132 bytes per frame.
    pub computed_tables: bool,
    /// Number of frames after which other tables are repeated for receivers that joined later; they are sent as Q 128 to 254.
    /// With `None`, they are sent in every frame, as Q 255.
    pub static_tables_every: Option<NonZeroU32>,
}

impl Default for PacketizerConfig {
    /// Payload type 26, packets of 1,400 bytes, computed tables as Q 1 to 99, other tables in every frame.
    fn default() -> Self {
        Self {
            payload_type: PAYLOAD_TYPE,
            max_packet_bytes: 1_400,
            computed_tables: true,
            static_tables_every: None,
        }
    }
}

/// Packetizes the frames of one stream. Sequence numbers continue from frame to frame; the caller chooses timestamps.
#[derive(Debug, Clone)]
pub struct Packetizer {
    config: PacketizerConfig,
    ssrc: Ssrc,
    next: Sequence,
    /// The previous frame's tables, and their Q if they are computed ones.
    last: Option<(QuantTables, Option<u8>)>,
    /// Static tables and the number of frames sent with each. Q is the index plus 128.
    static_tables: Vec<(QuantTables, u32)>,
}

impl Packetizer {
    /// Creates a packetizer. The SSRC and the first sequence number should be random (RFC 3550 section 5.1).
    pub fn new(config: PacketizerConfig, ssrc: Ssrc, first: Sequence) -> Result<Self, ConfigError> {
        if !(MIN_PACKET_BYTES..=MAX_PACKET_BYTES).contains(&config.max_packet_bytes) {
            return Err(ConfigError::PacketBytes(config.max_packet_bytes));
        }
        if config.payload_type > 127 {
            return Err(ConfigError::PayloadType(config.payload_type));
        }
        Ok(Self { config, ssrc, next: first, last: None, static_tables: Vec::new() })
    }

    /// The sequence number of the next frame's first packet, for RTSP's `RTP-Info`.
    pub fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// Packetizes a frame. This call assigns the sequence numbers, so that a receiver counts packets that are not sent as lost.
    /// `timestamp` is in units of [`CLOCK_RATE_HZ`] and differs between frames. The cost is constant; only tables are copied.
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
        // Check the count before selecting tables: a rejected frame must not mark its tables as sent.
        let max_count = (scan.len() + TABLE_HEADER_BYTES + jpeg.tables().length()).div_ceil(capacity);
        if max_count > MAX_FRAME_PACKETS {
            return Err(FrameError::TooManyPackets(max_count));
        }
        let (q, tables) = self.quantisation(jpeg.tables());
        let table_bytes = match &tables {
            TablesInPacket::None => 0,
            TablesInPacket::Empty => TABLE_HEADER_BYTES,
            TablesInPacket::Tables(tables) => TABLE_HEADER_BYTES + tables.length(),
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
                kind: JpegType::new(jpeg.sampling(), restart > 0),
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

    /// Q and the tables in the first packet.
    fn quantisation(&mut self, tables: &QuantTables) -> (u8, TablesInPacket) {
        if self.config.computed_tables {
            let q = match self.last {
                Some((last, q)) if last == *tables => q,
                _ => tables.to_q(),
            };
            self.last = Some((*tables, q));
            if let Some(q) = q {
                return (q, TablesInPacket::None);
            }
        }
        let Some(every) = self.config.static_tables_every else {
            return (IN_BAND_Q, TablesInPacket::Tables(*tables));
        };
        let index = match self.static_tables.iter().position(|(known, _)| known == tables) {
            Some(index) => index,
            // The stream has too many different tables for static Q values.
            None if self.static_tables.len() == MAX_STATIC_TABLES => {
                return (IN_BAND_Q, TablesInPacket::Tables(*tables));
            }
            None => {
                self.static_tables.push((*tables, 0));
                self.static_tables.len() - 1
            }
        };
        let frames = &mut self.static_tables[index].1;
        let is_due = *frames % every == 0;
        *frames = frames.wrapping_add(1) % every;
        let in_packet = if is_due { TablesInPacket::Tables(*tables) } else { TablesInPacket::Empty };
        (FIRST_TABLE_Q + index as u8, in_packet)
    }
}

/// The table header in the first packet.
#[derive(Debug, Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "one value per frame on the stack; a box would need an allocation per frame"
)]
enum TablesInPacket {
    /// No header: Q implies the tables.
    None,
    /// A header without tables: they were sent before.
    Empty,
    /// A header with tables.
    Tables(QuantTables),
}

/// The packets of a frame. All but the last have the maximum length, so that they can be sent as segments of one buffer (GSO).
/// Their number is the minimum for the frame.
#[derive(Debug, Clone)]
pub struct FramePackets<'a> {
    rtp: Header,
    main: MainHeader,
    restart: Option<RestartHeader>,
    tables: TablesInPacket,
    table_bytes: usize,
    /// Bytes available for tables and scan data in each packet.
    capacity: usize,
    count: usize,
    scan: &'a [u8],
}

impl<'a> FramePackets<'a> {
    /// Number of packets, at least 1.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Total length of the packets with RTP headers.
    pub fn wire_bytes(&self) -> usize {
        let restart = if self.restart.is_some() { RESTART_HEADER_BYTES } else { 0 };
        self.count * (HEADER_BYTES + MAIN_HEADER_BYTES + restart) + self.table_bytes + self.scan.len()
    }

    /// Total length of the payloads, as counted in sender reports.
    pub fn payload_bytes(&self) -> usize {
        self.wire_bytes() - self.count * HEADER_BYTES
    }

    /// The timestamp of the packets.
    pub fn timestamp(&self) -> Timestamp {
        self.rtp.timestamp
    }

    /// The sequence number of the first packet.
    pub fn first_sequence(&self) -> Sequence {
        self.rtp.sequence
    }

    /// Appends the headers of packet `index` to `headers`, starting with the RTP header, and returns its scan data. Returns
    /// `None` and appends nothing if `index` is out of range. The headers have at most [`MAX_PACKET_HEADER_BYTES`], those of
    /// packets other than the first at most 24. The cost is constant.
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
                TablesInPacket::None => {}
                TablesInPacket::Empty => TableHeader::append(None, headers),
                TablesInPacket::Tables(tables) => TableHeader::append(Some(tables), headers),
            }
        }
        Some(&self.scan[before..after])
    }

    /// Appends packet `index` including a copy of its scan data. Returns `false` if `index` is out of range.
    pub fn append(&self, index: usize, out: &mut Vec<u8>) -> bool {
        let data = self.packet(index, out);
        out.extend_from_slice(data.unwrap_or_default());
        data.is_some()
    }
}
