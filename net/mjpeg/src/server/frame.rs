//! Packetized frames, shared by all clients.

use netdyno_mjpeg_core::{FramePackets, Jpeg, Packetizer};
use netdyno_rtp::{Sequence, Timestamp};
use netdyno_rtsp::{INTERLEAVED_HEADER_BYTES, interleaved_header};

use crate::error::PictureError;

/// Position of the timestamp in the RTP header.
const TIMESTAMP: std::ops::Range<usize> = 4..8;

/// The concatenated packets of a frame. All but the last have the same length, as segmented sends require.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    packet_bytes: usize,
    pub(super) packets: usize,
    pub(super) payload_bytes: usize,
    first: Sequence,
    /// Width and height in pixels.
    pub(super) dimensions: (u16, u16),
}

impl Frame {
    /// Packetizes a picture into a reused buffer. Scan data are copied once for all clients.
    pub(super) fn packetize(
        packetizer: &mut Packetizer,
        picture: &[u8],
        buffer: Vec<u8>,
    ) -> Result<Self, (PictureError, Vec<u8>)> {
        let mut bytes = buffer;
        bytes.clear();
        let parsed = Jpeg::parse(picture).map_err(PictureError::from);
        let packetized = parsed.and_then(|jpeg| Ok((jpeg, packetizer.packets(&jpeg, Timestamp(0))?)));
        let (jpeg, packets): (Jpeg<'_>, FramePackets<'_>) = match packetized {
            Ok(packetized) => packetized,
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

    /// Sets the timestamp of all packets. It is known when the frame is sent.
    pub(super) fn set_timestamp(&mut self, timestamp: Timestamp) {
        for packet in self.bytes.chunks_mut(self.packet_bytes) {
            packet[TIMESTAMP].copy_from_slice(&timestamp.0.to_be_bytes());
        }
    }

    /// Total length of the packets with RTP headers.
    pub(super) fn wire_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The sequence number after the last packet.
    pub(super) fn next_sequence(&self) -> Sequence {
        self.first.add(self.packets as u16)
    }

    /// A range of concatenated packets, and the length of each packet except the frame's last.
    pub(super) fn segments(&self, packets: std::ops::Range<usize>) -> (&[u8], usize) {
        let offset = |packet: usize| (packet * self.packet_bytes).min(self.bytes.len());
        (&self.bytes[offset(packets.start)..offset(packets.end)], self.packet_bytes)
    }

    /// Appends all packets, each with the header of an interleaved channel.
    pub(super) fn append_interleaved(&self, channel: u8, out: &mut Vec<u8>) {
        out.reserve(self.bytes.len() + self.packets * INTERLEAVED_HEADER_BYTES);
        for packet in self.bytes.chunks(self.packet_bytes) {
            out.extend(interleaved_header(channel, packet.len()).unwrap_or_default());
            out.extend_from_slice(packet);
        }
    }

    /// The buffer, for reuse.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }
}
