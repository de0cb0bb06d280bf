//! Receives one stream over UDP.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use netdyno_io::{Events, Interface, Poller, ReceiveBatch, SocketOptions, UdpSocket, enable_precise_waits};
use netdyno_mjpeg_core::{Depacketizer, DepacketizerConfig, DepacketizerStats, Event, Frame};
use netdyno_rtp::rtcp::{ItemKind, RtcpPacket};
use netdyno_rtp::{Kind, Packet, ReceptionStats, Ssrc, kind};

use crate::control::Control;
use crate::error::OpenError;
use crate::ports;

/// Poller key of the RTP socket.
const RTP: u32 = 0;
/// Poller key of the RTCP socket.
const RTCP: u32 = 1;

/// Number of buffers per receive call. Coalesced packets need few; unused ones take no memory.
const BUFFERS: usize = 16;

/// Number of RTP receives after which RTCP is received even if more RTP is available.
const RTP_TURNS: u32 = 256;

/// Settings of a receiver.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// Settings of the depacketizer.
    pub depacketizer: DepacketizerConfig,
    /// Requested SO_RCVBUF of the RTP socket in bytes; 0 keeps the system's default.
    pub receive_buffer_bytes: usize,
    /// Interface for joining a multicast group; `None` lets the system choose.
    pub interface: Option<Interface>,
}

impl Default for ReceiverConfig {
    /// The depacketizer's defaults; 4 MiB.
    fn default() -> Self {
        Self { depacketizer: DepacketizerConfig::default(), receive_buffer_bytes: 4 << 20, interface: None }
    }
}

/// Counters of a receiver since it was opened.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Counters of packets and frames.
    pub frames: DepacketizerStats,
    /// Loss and jitter; `None` before the first packet.
    pub reception: Option<ReceptionStats>,
    /// Bytes of received packets with RTP headers.
    pub packet_bytes: u64,
    /// Datagrams that are neither RTP nor RTCP.
    pub foreign_datagrams: u64,
}

/// Receives a stream and sends receiver reports.
///
/// One thread drives it by [`next`](Self::next). Return frames with [`recycle`](Self::recycle) to reuse their memory. Dropping the
/// receiver sends BYE.
#[derive(Debug)]
pub struct Receiver {
    rtp: UdpSocket,
    control: Control,
    poller: Poller,
    events: Events,
    batch: ReceiveBatch,
    turns: u32,
    /// Position in the batch: a buffer and an offset.
    at: (usize, usize),
    /// Arrival of the batch.
    arrived: Instant,
    depacketizer: Depacketizer,
    /// The SSRC of the source after its first packet.
    source: Option<Ssrc>,
    /// Source address of its reports.
    reports_from: Option<SocketAddr>,
    /// Its CNAME.
    source_name: Option<String>,
    has_ended: bool,
    packet_bytes: u64,
    foreign_datagrams: u64,
}

impl Receiver {
    /// Binds a local address or joins a multicast group. Port 0 selects a free even port. RTCP uses the next port, or the RTP port if the
    /// sender multiplexes them (RFC 5761).
    ///
    /// # Errors
    /// A setting is invalid, or an operation of the system failed.
    pub fn open(listen: SocketAddr, config: &ReceiverConfig) -> Result<Self, OpenError> {
        let mut options = SocketOptions::default();
        options.receive_buffer_bytes = config.receive_buffer_bytes;
        options.send_buffer_bytes = 0;
        let (rtp, rtcp) = if listen.ip().is_multicast() {
            ports::join(listen, config.interface.as_ref(), &options)?
        } else {
            ports::bind(listen, &options)?
        };
        let poller = Poller::new()?;
        poller.add(&rtp, RTP)?;
        poller.add(&rtcp, RTCP)?;
        Ok(Self {
            rtp,
            control: Control::new(rtcp, false)?,
            poller,
            events: Events::default(),
            batch: ReceiveBatch::new(BUFFERS),
            turns: 0,
            at: (0, 0),
            arrived: Instant::now(),
            depacketizer: Depacketizer::new(config.depacketizer)?,
            source: None,
            reports_from: None,
            source_name: None,
            has_ended: false,
            packet_bytes: 0,
            foreign_datagrams: 0,
        })
    }

    /// The RTP address with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.rtp.local_address()
    }

    /// SO_RCVBUF of the RTP socket as reported by the kernel.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        self.rtp.receive_buffer_bytes()
    }

    /// Counters since the start.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats {
            frames: *self.depacketizer.stats(),
            reception: self.depacketizer.reception().map(|reception| reception.stats()),
            packet_bytes: self.packet_bytes,
            foreign_datagrams: self.foreign_datagrams,
        }
    }

    /// The CNAME of the source, at most 255 bytes without control characters; `None` before the first SDES packet.
    pub fn source_name(&self) -> Option<&str> {
        self.source_name.as_deref()
    }

    /// Whether the source has sent BYE and no packets since.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Waits for the next frame or loss. Returns `None` at the deadline or after a signal. Enables precise wake-ups for the thread
    /// ([`enable_precise_waits`]).
    ///
    /// # Errors
    /// An operation on the sockets failed.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Option<Event>> {
        enable_precise_waits();
        loop {
            if let Some(event) = self.handle_batch() {
                return Ok(Some(event));
            }
            let now = Instant::now();
            if let Some(event) = self.depacketizer.poll_event(now) {
                return Ok(Some(event));
            }
            self.report_if_due(now);
            if now >= deadline {
                return Ok(None);
            }
            let losses = self.depacketizer.next_deadline().unwrap_or(deadline);
            let mut until = deadline.min(losses);
            // Without an address for reports, their deadline is irrelevant.
            if self.source.is_some() && self.reports_from.is_some() {
                until = until.min(self.control.next_deadline());
            }
            match self.poller.wait(&mut self.events, Some(until.saturating_duration_since(now))) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
                other => other?,
            }
            self.receive()?;
        }
    }

    /// Reuses the buffer of a frame.
    pub fn recycle(&mut self, frame: Frame) {
        self.depacketizer.recycle(frame);
    }

    /// Receives RTP, or RTCP if there is no RTP, so that BYE is handled after the last frame. RTCP is also received after many turns
    /// with RTP.
    fn receive(&mut self) -> io::Result<()> {
        let is_ready = |key| self.events.iter().any(|ready| ready.key == key);
        let (rtp, rtcp) = (is_ready(RTP), is_ready(RTCP));
        self.turns = self.turns.wrapping_add(1);
        self.arrived = Instant::now();
        if rtcp && (!rtp || self.turns.is_multiple_of(RTP_TURNS)) {
            let mut summary = RtcpSummary::new(self.source);
            self.control.receive(self.arrived, |packet, from| summary.handle(packet, from))?;
            self.handle_rtcp(summary);
        }
        if rtp {
            self.rtp.receive(&mut self.batch)?;
            self.at = (0, 0);
        }
        Ok(())
    }

    /// Handles the received batch until there is an event.
    fn handle_batch(&mut self) -> Option<Event> {
        let (first, mut offset) = self.at;
        let (mut summary, mut event) = (RtcpSummary::new(self.source), None);
        self.at = (usize::MAX, 0);
        'batch: for (index, received) in self.batch.iter().enumerate().skip(first) {
            let Some(rest) = received.datagrams.get(std::mem::take(&mut offset)..) else { continue };
            let mut end = received.datagrams.len() - rest.len();
            for datagram in rest.chunks(received.segment_bytes) {
                end += datagram.len();
                match kind(datagram) {
                    Kind::Rtp => {
                        let Ok(packet) = Packet::parse(datagram) else { continue };
                        self.packet_bytes += datagram.len() as u64;
                        self.depacketizer.handle_packet(self.arrived, &packet);
                        if self.source != Some(packet.header.ssrc) || self.has_ended {
                            self.source = self.depacketizer.reception().map(|reception| reception.ssrc());
                            self.has_ended &= self.source != Some(packet.header.ssrc);
                        }
                        event = self.depacketizer.poll_event(self.arrived);
                        if event.is_some() {
                            self.at = (index, end);
                            break 'batch;
                        }
                    }
                    Kind::Rtcp => {
                        summary.muxed = true;
                        let mut each = |packet: &RtcpPacket<'_>, from| summary.handle(packet, from);
                        self.control.handle(self.arrived, datagram, received.remote, &mut each);
                    }
                    Kind::Other => self.foreign_datagrams += 1,
                }
            }
        }
        self.handle_rtcp(summary);
        event
    }

    fn handle_rtcp(&mut self, summary: RtcpSummary) {
        if let Some((info, from)) = summary.report {
            self.depacketizer.handle_sender_report(self.arrived, &info);
            self.reports_from = Some(from);
            self.control.muxed = summary.muxed.then(|| self.rtp.datagram_socket());
        }
        if summary.name.is_some() {
            self.source_name = summary.name;
        }
        if summary.bye {
            self.has_ended = true;
            self.depacketizer.flush();
        }
    }

    fn report_if_due(&mut self, now: Instant) {
        let (Some(source), Some(to)) = (self.source, self.reports_from) else { return };
        self.control.handle_rtp(now, source);
        if self.control.is_due(now) {
            self.report(now, to, false);
        }
    }

    fn report(&mut self, now: Instant, to: SocketAddr, bye: bool) {
        let (block, ssrc) = (self.depacketizer.report(now), self.control.ssrc());
        self.control.send(now, to, bye, |writer| {
            writer.receiver_report(ssrc, block.as_slice());
        });
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some(to) = self.reports_from.filter(|_| self.control.has_sent() && self.control.may_leave(now))
        {
            self.report(now, to, true);
        }
    }
}

/// The contents of received RTCP packets that concern the source.
#[derive(Debug)]
struct RtcpSummary {
    source: Option<Ssrc>,
    report: Option<(netdyno_rtp::rtcp::SenderInfo, SocketAddr)>,
    name: Option<String>,
    bye: bool,
    /// Whether the packets arrived on the RTP port.
    muxed: bool,
}

impl RtcpSummary {
    fn new(source: Option<Ssrc>) -> Self {
        Self { source, report: None, name: None, bye: false, muxed: false }
    }

    fn handle(&mut self, packet: &RtcpPacket<'_>, from: SocketAddr) {
        match packet {
            RtcpPacket::SenderReport(report) if Some(report.info.ssrc) == self.source => {
                self.report = Some((report.info, from));
            }
            RtcpPacket::Sdes(sdes) => {
                let items = sdes.chunks().filter(|chunk| Some(chunk.ssrc) == self.source);
                let name = items.flat_map(|chunk| chunk.items).find(|item| item.kind == ItemKind::Cname);
                let text = name.map(|item| String::from_utf8_lossy(item.text).into_owned());
                self.name = text.map(|text| text.chars().filter(|c| !c.is_control()).collect());
            }
            RtcpPacket::Bye(bye) => self.bye |= bye.sources.clone().any(|ssrc| Some(ssrc) == self.source),
            _ => {}
        }
    }
}
