//! A simple RFC 2435 packetizer with one buffer per packet.

const RTP_BYTES: usize = 12;
const PAYLOAD_TYPE: u8 = 26;
const SSRC: u32 = 0x6d6a_7067;
/// The Q value with tables in each picture.
const IN_BAND_Q: u8 = 255;
/// Minimum packet length: the longest headers and one byte of data.
pub const PACKET_BYTES_MIN: usize = RTP_BYTES + 8 + 4 + 4 + 128 + 1;

/// The state of the RTP stream.
#[derive(Default)]
pub struct Stream {
    sequence: u16,
}

impl Stream {
    /// Returns the packets of a picture, in order.
    pub fn packets(
        &mut self,
        picture: &Picture<'_>,
        timestamp: u32,
        packet_bytes: usize,
    ) -> Option<Vec<Vec<u8>>> {
        let (mut packets, mut offset) = (Vec::new(), 0);
        while offset < picture.scan.len() {
            let mut packet = Vec::with_capacity(packet_bytes);
            packet.extend([0x80, PAYLOAD_TYPE]);
            packet.extend(self.sequence.to_be_bytes());
            packet.extend(timestamp.to_be_bytes());
            packet.extend(SSRC.to_be_bytes());
            // Section 3.1: type-specific (0), offset, type, Q, size in blocks of eight pixels.
            packet.push(0);
            packet.extend(&u32::try_from(offset).ok()?.to_be_bytes()[1..]);
            packet.push(picture.kind + if picture.restart > 0 { 64 } else { 0 });
            packet.extend([IN_BAND_Q, picture.width, picture.height]);
            if picture.restart > 0 {
                // Section 3.1.7: intervals are not aligned with packets.
                packet.extend(picture.restart.to_be_bytes());
                packet.extend([0xff, 0xff]);
            }
            if offset == 0 {
                packet.extend([0, 0]);
                packet.extend(u16::try_from(picture.tables.len()).ok()?.to_be_bytes());
                packet.extend(&picture.tables);
            }
            let end = picture.scan.len().min(offset + (packet_bytes - packet.len()));
            packet.extend(&picture.scan[offset..end]);
            if end == picture.scan.len() {
                packet[1] |= 0x80;
            }
            offset = end;
            self.sequence = self.sequence.wrapping_add(1);
            packets.push(packet);
        }
        Some(packets)
    }
}

/// The parts of a file that RFC 2435 transports.
pub struct Picture<'a> {
    /// In blocks of eight pixels.
    width: u8,
    height: u8,
    /// 0: 4:2:2, 1: 4:2:0.
    kind: u8,
    restart: u16,
    tables: Vec<u8>,
    /// The entropy-coded data.
    pub scan: &'a [u8],
}

impl<'a> Picture<'a> {
    /// Parses a baseline file with two 8-bit tables and a size of at most 2,040 pixels.
    pub fn parse(jpeg: &'a [u8]) -> Option<Self> {
        let mut picture = Self { width: 0, height: 0, kind: 0, restart: 0, tables: Vec::new(), scan: &[] };
        let mut at = 2;
        loop {
            let &[0xff, marker, high, low] = jpeg.get(at..at + 4)? else { return None };
            let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
            let segment = jpeg.get(at + 4..end)?;
            match marker {
                0xdb => {
                    for table in segment.chunks(65).filter(|table| table[0] < 2) {
                        picture.tables.extend(&table[1..]);
                    }
                }
                0xc0 => {
                    let blocks = |at: usize| {
                        let pixels = u16::from_be_bytes([*segment.get(at)?, *segment.get(at + 1)?]);
                        u8::try_from(pixels.div_ceil(8)).ok()
                    };
                    (picture.height, picture.width) = (blocks(1)?, blocks(3)?);
                    picture.kind = u8::from(*segment.get(7)? == 0x22);
                }
                0xdd => picture.restart = u16::from_be_bytes(*segment.first_chunk()?),
                0xda => {
                    let scan = &jpeg[end..];
                    picture.scan = scan.strip_suffix(&[0xff, 0xd9]).unwrap_or(scan);
                    return Some(picture);
                }
                _ => {}
            }
            at = end;
        }
    }
}
