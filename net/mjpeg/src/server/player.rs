//! A client that plays: what it gets, and how far it is.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use netdyno_io::tcp::{Key, TcpReactor};
use netdyno_io::{DatagramSocket, UdpSocket};
use netdyno_rtp::rtcp::{Compound, CompoundWriter, Item, ItemKind, ReportBlock, RtcpPacket, Rule};
use netdyno_rtp::{Interval, IntervalConfig, MediaClock, Sending, Ssrc};

use super::frame::Frame;
use super::limits::{QUEUE_FRAMES, REPORT_BYTES};
use crate::control::ntp_now;
use crate::rtsp::interleaved_header;

/// Our sockets for UDP.
#[derive(Debug)]
pub(super) struct UdpPair {
    pub(super) rtp: UdpSocket,
    pub(super) rtcp: DatagramSocket,
}

/// Who we are in all sessions.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) ssrc: Ssrc,
    pub(super) clock: MediaClock,
    /// CNAME (RFC 7022).
    pub(super) name: String,
}

/// How a client gets its packets.
#[derive(Debug)]
pub(super) enum Way {
    /// In slices, as all others by UDP.
    Udp {
        local: IpAddr,
        rtp: SocketAddr,
        rtcp: SocketAddr,
        /// Packets of the frame on its way that the socket has taken; none: it came in the midst of the frame.
        taken: Option<usize>,
    },
    /// In whole frames, as fast as it takes them.
    Tcp { key: Key, rtp: u8, rtcp: u8, queue: VecDeque<Arc<Frame>> },
}

/// A client that plays.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) peer: SocketAddr,
    pub(super) way: Way,
    books: Sending,
    reports: Interval,
    has_reported: bool,
    /// Frames that it was sent, whole.
    pub(super) frames: u64,
    /// Frames that it was not sent, or not whole, as it or the network did not take them in time.
    pub(super) left_out: u64,
    /// What it said last of its reception.
    pub(super) reported: Option<ReportBlock>,
}

impl Player {
    pub(super) fn new(now: Instant, peer: SocketAddr, way: Way, identity: &Identity, seed: [u8; 32]) -> Self {
        let mut reports = Interval::new(now, IntervalConfig::default(), REPORT_BYTES, seed);
        reports.handle_members(now, 2, 1, true);
        let books = Sending::new(identity.ssrc, identity.clock);
        Self { peer, way, books, reports, has_reported: false, frames: 0, left_out: 0, reported: None }
    }

    /// A frame begins.
    pub(super) fn begin(&mut self, frame: &Arc<Frame>) {
        match &mut self.way {
            Way::Udp { taken, .. } => *taken = Some(0),
            Way::Tcp { queue, .. } => {
                if queue.len() == QUEUE_FRAMES {
                    queue.pop_front();
                    self.left_out += 1;
                }
                queue.push_back(frame.clone());
            }
        }
    }

    /// By UDP: hands over the packets up to number `due` that the socket has not taken yet.
    pub(super) fn send_slice(&mut self, sockets: &UdpPair, frame: &Frame, due: usize) {
        let Way::Udp { local, rtp, taken: Some(taken), .. } = &mut self.way else { return };
        if *taken >= due {
            return;
        }
        let (bytes, packet_bytes) = frame.side_by_side(*taken..due);
        let sent = sockets.rtp.send(SocketAddr::new(*local, 0), *rtp, bytes, packet_bytes);
        *taken += sent.div_ceil(packet_bytes);
        if *taken == frame.packets {
            self.frames += 1;
            self.books.handle_sent(frame.packets as u64, frame.payload_bytes as u64);
        }
    }

    /// The frame's time is over: what the socket has not taken is lost.
    pub(super) fn end_frame(&mut self, frame: &Frame) {
        if let Way::Udp { taken: Some(taken), .. } = self.way {
            self.left_out += u64::from(taken < frame.packets);
        }
    }

    /// By TCP: the next whole frame, if the connection has taken all that it was given. True if there was one.
    pub(super) fn send_queued(&mut self, reactor: &mut TcpReactor) -> bool {
        let Way::Tcp { key, rtp, queue, .. } = &mut self.way else { return false };
        if queue.is_empty() || reactor.pending_output(*key) > 0 {
            return false;
        }
        let Some(frame) = queue.pop_front() else { return false };
        frame.append_interleaved(*rtp, reactor.output(*key));
        self.frames += 1;
        self.books.handle_sent(frame.packets as u64, frame.payload_bytes as u64);
        true
    }

    /// Sends a report if it is due, or `bye`: the last one.
    pub(super) fn report(
        &mut self,
        now: Instant,
        identity: &Identity,
        sockets: &UdpPair,
        reactor: &mut TcpReactor,
        bye: bool,
    ) {
        // The first goes with the first frame: a client can tell the time of what it sees.
        let is_first = self.books.packets() > 0 && !self.has_reported;
        if !bye && !is_first && !self.reports.handle_timeout(now) {
            return;
        }
        let mut datagram = [0; REPORT_BYTES];
        let mut writer = CompoundWriter::new(&mut datagram);
        writer.sender_report(&self.books.report(now, ntp_now()), &[]);
        writer.sdes(&[(identity.ssrc, &[Item { kind: ItemKind::Cname, text: identity.name.as_bytes() }])]);
        if bye {
            writer.bye(&[identity.ssrc], None);
        }
        let length = writer.finish();
        match &self.way {
            Way::Udp { rtcp, .. } => {
                // A report that cannot be sent is lost.
                let _ = sockets.rtcp.send(*rtcp, &datagram[..length]);
            }
            // Who does not even take frames gets no reports on top.
            Way::Tcp { key, rtcp, queue, .. } if queue.is_empty() || bye => {
                let out = reactor.output(*key);
                out.extend(interleaved_header(*rtcp, length).unwrap_or_default());
                out.extend_from_slice(&datagram[..length]);
            }
            Way::Tcp { .. } => {}
        }
        self.reports.handle_sent(now, length);
        self.has_reported = true;
    }

    /// RTCP of the client came.
    pub(super) fn handle_rtcp(&mut self, ssrc: Ssrc, datagram: &[u8]) {
        let Ok(compound) = Compound::parse(datagram, Rule::Compound) else { return };
        self.reports.handle_received(datagram.len());
        for packet in compound.packets() {
            let mut blocks = match packet {
                RtcpPacket::ReceiverReport(report) => report.blocks,
                RtcpPacket::SenderReport(report) => report.blocks,
                _ => continue,
            };
            self.reported = blocks.find(|block| block.ssrc == ssrc).or(self.reported);
        }
    }
}
