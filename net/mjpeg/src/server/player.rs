//! Clients that play the stream.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use netdyno_io::tcp::{Key, TcpReactor};
use netdyno_io::{DatagramSocket, UdpSocket};
use netdyno_rtp::rtcp::{Compound, CompoundWriter, Item, ItemKind, ReportBlock, RtcpPacket, Rule};
use netdyno_rtp::{Interval, IntervalConfig, MediaClock, Sending, Ssrc};
use netdyno_rtsp::interleaved_header;

use super::frame::Frame;
use super::limits::{QUEUE_FRAMES, REPORT_BYTES};
use crate::control::ntp_now;

/// The UDP sockets for RTP and RTCP.
#[derive(Debug)]
pub(super) struct UdpPair {
    pub(super) rtp: UdpSocket,
    pub(super) rtcp: DatagramSocket,
}

/// The RTP identity of the server, shared by all sessions.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) ssrc: Ssrc,
    pub(super) clock: MediaClock,
    /// CNAME (RFC 7022).
    pub(super) name: String,
}

/// The route of a client's packets.
#[derive(Debug)]
pub(super) enum Route {
    /// UDP: packets are sent in slices.
    Udp {
        local: IpAddr,
        rtp: SocketAddr,
        rtcp: SocketAddr,
        /// Number of packets of the current frame that were sent. `None` if the client joined within the frame.
        sent: Option<usize>,
    },
    /// TCP: complete frames are sent as fast as the client accepts them.
    Tcp { key: Key, rtp: u8, rtcp: u8, queue: VecDeque<Arc<Frame>> },
}

/// A client that plays the stream.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) peer: SocketAddr,
    pub(super) route: Route,
    sending: Sending,
    reports: Interval,
    has_reported: bool,
    /// Frames sent completely.
    pub(super) frames: u64,
    /// Frames that were not sent completely because the client or the network was too slow.
    pub(super) skipped_frames: u64,
    /// The client's last report block.
    pub(super) last_block: Option<ReportBlock>,
}

impl Player {
    pub(super) fn new(
        now: Instant,
        peer: SocketAddr,
        route: Route,
        identity: &Identity,
        seed: [u8; 32],
    ) -> Self {
        let mut reports = Interval::new(now, IntervalConfig::default(), REPORT_BYTES, seed);
        reports.handle_members(now, 2, 1, true);
        let sending = Sending::new(identity.ssrc, identity.clock);
        Self {
            peer,
            route,
            sending,
            reports,
            has_reported: false,
            frames: 0,
            skipped_frames: 0,
            last_block: None,
        }
    }

    /// Starts a frame.
    pub(super) fn start_frame(&mut self, frame: &Arc<Frame>) {
        match &mut self.route {
            Route::Udp { sent, .. } => *sent = Some(0),
            Route::Tcp { queue, .. } => {
                if queue.len() == QUEUE_FRAMES {
                    queue.pop_front();
                    self.skipped_frames += 1;
                }
                queue.push_back(frame.clone());
            }
        }
    }

    /// Over UDP, sends the remaining packets before index `due`.
    pub(super) fn send_slice(&mut self, sockets: &UdpPair, frame: &Frame, due: usize) {
        let Route::Udp { local, rtp, sent: Some(sent), .. } = &mut self.route else { return };
        if *sent >= due {
            return;
        }
        let (bytes, packet_bytes) = frame.segments(*sent..due);
        let accepted_bytes = sockets.rtp.send(SocketAddr::new(*local, 0), *rtp, bytes, packet_bytes);
        *sent += accepted_bytes.div_ceil(packet_bytes);
        if *sent == frame.packets {
            self.frames += 1;
            self.sending.handle_sent(frame.packets as u64, frame.payload_bytes as u64);
        }
    }

    /// Ends the frame. Packets that the socket has not accepted are lost.
    pub(super) fn end_frame(&mut self, frame: &Frame) {
        if let Route::Udp { sent: Some(sent), .. } = self.route {
            self.skipped_frames += u64::from(sent < frame.packets);
        }
    }

    /// Over TCP, appends the next queued frame if the connection's output is empty. Returns whether there was one.
    pub(super) fn send_queued(&mut self, reactor: &mut TcpReactor) -> bool {
        let Route::Tcp { key, rtp, queue, .. } = &mut self.route else { return false };
        if queue.is_empty() || reactor.pending_output(*key) > 0 {
            return false;
        }
        let Some(frame) = queue.pop_front() else { return false };
        frame.append_interleaved(*rtp, reactor.output(*key));
        self.frames += 1;
        self.sending.handle_sent(frame.packets as u64, frame.payload_bytes as u64);
        true
    }

    /// Sends a report if one is due, or the last one with BYE.
    pub(super) fn report(
        &mut self,
        now: Instant,
        identity: &Identity,
        sockets: &UdpPair,
        reactor: &mut TcpReactor,
        bye: bool,
    ) {
        // The first report accompanies the first frame, so that the client can map timestamps to wall-clock time.
        let is_first = self.sending.packets() > 0 && !self.has_reported;
        if !bye && !is_first && !self.reports.handle_timeout(now) {
            return;
        }
        let mut datagram = [0; REPORT_BYTES];
        let mut writer = CompoundWriter::new(&mut datagram);
        writer.sender_report(&self.sending.report(now, ntp_now()), &[]);
        writer.sdes(&[(identity.ssrc, &[Item { kind: ItemKind::Cname, text: identity.name.as_bytes() }])]);
        if bye {
            writer.bye(&[identity.ssrc], None);
        }
        let length = writer.finish();
        match &self.route {
            Route::Udp { rtcp, .. } => {
                // A report that the socket rejects is lost, like any datagram.
                let _ = sockets.rtcp.send(*rtcp, &datagram[..length]);
            }
            // A connection with queued frames is slow: it gets no reports.
            Route::Tcp { key, rtcp, queue, .. } if queue.is_empty() || bye => {
                let out = reactor.output(*key);
                out.extend(interleaved_header(*rtcp, length).unwrap_or_default());
                out.extend_from_slice(&datagram[..length]);
            }
            Route::Tcp { .. } => {}
        }
        self.reports.handle_sent(now, length);
        self.has_reported = true;
    }

    /// Handles RTCP from the client.
    pub(super) fn handle_rtcp(&mut self, ssrc: Ssrc, datagram: &[u8]) {
        let Ok(compound) = Compound::parse(datagram, Rule::Compound) else { return };
        self.reports.handle_received(datagram.len());
        for packet in compound.packets() {
            let mut blocks = match packet {
                RtcpPacket::ReceiverReport(report) => report.blocks,
                RtcpPacket::SenderReport(report) => report.blocks,
                _ => continue,
            };
            self.last_block = blocks.find(|block| block.ssrc == ssrc).or(self.last_block);
        }
    }
}
