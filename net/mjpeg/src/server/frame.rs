//! A frame as all clients get it: its packets, made once.

use netdyno_mjpeg_core::{FramePackets, Jpeg, Packetizer};
use netdyno_rtp::{Sequence, Timestamp};

use crate::error::PictureError;
use crate::rtsp::{INTERLEAVED_HEADER_BYTES, interleaved_header};

/// Bytes of the RTP header before the timestamp, and behind it.
const TIMESTAMP: std::ops::Range<usize> = 4..8;

/// A frame's packets, side by side: all of one length but the last, as segmented sends want them.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    packet_bytes: usize,
    pub(super) packets: usize,
    pub(super) payload_bytes: usize,
    first: Sequence,
    /// Width and height, pixels.
    pub(super) dimensions: (u16, u16),
}

impl Frame {
    /// Packs a picture, into a buffer that is used again. Scan data are copied here, once for all clients.
    pub(super) fn pack(
        packetizer: &mut Packetizer,
        picture: &[u8],
        buffer: Vec<u8>,
    ) -> Result<Self, (PictureError, Vec<u8>)> {
        let mut bytes = buffer;
        bytes.clear();
        let parsed = Jpeg::parse(picture).map_err(PictureError::from);
        let packed = parsed.and_then(|jpeg| Ok((jpeg, packetizer.packets(&jpeg, Timestamp(0))?)));
        let (jpeg, packets): (Jpeg<'_>, FramePackets<'_>) = match packed {
            Ok(packed) => packed,
            Err(error) => return Err((error, bytes)),
        };
        bytes.reserve(packets.wire_bytes());
        packets.append(0, &mut bytes);
        let packet_bytes = bytes.len();
        for index in 1..packets.count() {
            packets.append(index, &mut bytes);
        }
        Ok(Self {
            bytes,
            packet_bytes,
            packets: packets.count(),
            payload_bytes: packets.payload_bytes(),
            first: packets.first_sequence(),
            dimensions: (jpeg.width(), jpeg.height()),
        })
    }

    /// Sets the time of all its packets, which is known when the frame is sent.
    pub(super) fn stamp(&mut self, timestamp: Timestamp) {
        for packet in self.bytes.chunks_mut(self.packet_bytes) {
            packet[TIMESTAMP].copy_from_slice(&timestamp.0.to_be_bytes());
        }
    }

    /// Bytes of all its packets, RTP headers included.
    pub(super) fn wire_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The sequence number after its last packet's.
    pub(super) fn next_sequence(&self) -> Sequence {
        self.first.add(self.packets as u16)
    }

    /// Packets side by side, and the length of each but the last of the frame.
    pub(super) fn side_by_side(&self, packets: std::ops::Range<usize>) -> (&[u8], usize) {
        let at = |packet: usize| (packet * self.packet_bytes).min(self.bytes.len());
        (&self.bytes[at(packets.start)..at(packets.end)], self.packet_bytes)
    }

    /// All packets, each on a channel of a connection.
    pub(super) fn append_interleaved(&self, channel: u8, out: &mut Vec<u8>) {
        out.reserve(self.bytes.len() + self.packets * INTERLEAVED_HEADER_BYTES);
        for packet in self.bytes.chunks(self.packet_bytes) {
            out.extend(interleaved_header(channel, packet.len()).unwrap_or_default());
            out.extend_from_slice(packet);
        }
    }

    /// Its buffer, for the next one.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}
