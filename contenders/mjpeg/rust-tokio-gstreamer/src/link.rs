//! The RTP stream over Tokio's socket.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use netdyno_contender::Lab;
use netdyno_contender::mjpeg::Job;
use netdyno_mjpeg_rust_gstreamer::packets::{Picture, Stream};
use tokio::net::UdpSocket;

const CLOCK_HZ: u64 = 90_000;
/// The frame rate of the timestamps without pacing.
const FLAT_OUT_FPS: u32 = 30;

pub struct Link {
    lab: Lab,
    socket: UdpSocket,
    peer: SocketAddr,
    stream: Stream,
    packet_bytes: usize,
    /// Timestamp increment per picture (90 kHz).
    step: u64,
    frames: u64,
}

impl Link {
    pub async fn open(job: &Job, port: u16) -> io::Result<Self> {
        Ok(Self {
            lab: job.lab,
            socket: UdpSocket::bind((job.local, 0)).await?,
            peer: (job.peer, port).into(),
            stream: Stream::default(),
            packet_bytes: job.packet_bytes,
            step: CLOCK_HZ / u64::from(if job.fps > 0 { job.fps } else { FLAT_OUT_FPS }),
            frames: 0,
        })
    }

    pub async fn send(&mut self, jpeg: &Bytes) -> io::Result<()> {
        // Timestamps wrap around.
        let timestamp = (self.frames * self.step) as u32;
        self.frames += 1;
        let packets = self.packets(jpeg, timestamp);
        for packet in packets.unwrap_or_else(|| self.lab.failed("RFC 2435 cannot transport a picture")) {
            self.socket.send_to(&packet, self.peer).await?;
        }
        Ok(())
    }

    /// As in the published program, the scan and each packet are copies.
    fn packets(&mut self, jpeg: &Bytes, timestamp: u32) -> Option<Vec<Bytes>> {
        let mut picture = Picture::parse(jpeg)?;
        let scan = Bytes::copy_from_slice(picture.scan);
        picture.scan = &scan;
        let packets = self.stream.packets(&picture, timestamp, self.packet_bytes)?;
        Some(packets.into_iter().map(Bytes::from).collect())
    }
}
