//! One stream from one address or group, by RTP over UDP.

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

/// Keys of the sockets.
const RTP: u32 = 0;
const RTCP: u32 = 1;

/// Buffers that one receive call fills: memory is taken as they are used, and coalesced packets fill few.
const BUFFERS: usize = 16;

/// Receives in which packets come first, before reports are looked at though packets are there.
const RTP_TURNS: u32 = 256;

/// How a stream is received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// How frames are put together.
    pub depacketizer: DepacketizerConfig,
    /// SO_RCVBUF of RTP, bytes, as far as the system grants it; 0 leaves the system's default.
    pub receive_buffer_bytes: usize,
    /// The interface by which a group is joined; without it the system chooses.
    pub interface: Option<Interface>,
}

impl Default for ReceiverConfig {
    /// A depacketiser's defaults; 4 MiB.
    fn default() -> Self {
        Self { depacketizer: DepacketizerConfig::default(), receive_buffer_bytes: 4 << 20, interface: None }
    }
}

/// What a receiver has had since it was opened.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Packets and frames.
    pub frames: DepacketizerStats,
    /// Loss and jitter of the source, as its reports tell; none before its first packet.
    pub reception: Option<ReceptionStats>,
    /// Bytes of packets, RTP headers included.
    pub packet_bytes: u64,
    /// Datagrams that were neither RTP nor RTCP.
    pub foreign_datagrams: u64,
}

/// Receives a stream, and says how it arrives (receiver reports).
///
/// One thread drives it by [`next`](Self::next). Give frames back with [`recycle`](Self::recycle), so that no memory is allocated. Dropping
/// it says goodbye (BYE) to the source.
#[derive(Debug)]
pub struct Receiver {
    rtp: UdpSocket,
    control: Control,
    poller: Poller,
    events: Events,
    batch: ReceiveBatch,
    turns: u32,
    /// What of the batch comes next: a buffer, and an offset in it; and when it came.
    at: (usize, usize),
    arrived: Instant,
    depacketizer: Depacketizer,
    /// Who the source is, once a packet of it came, and where its reports come from.
    source: Option<Ssrc>,
    reports_from: Option<SocketAddr>,
    /// What it calls itself.
    source_name: Option<String>,
    has_ended: bool,
    packet_bytes: u64,
    foreign_datagrams: u64,
}

impl Receiver {
    /// Listens at an address of this machine, or to a group. Port 0: an even one that is free. RTCP has the port after it; where a sender
    /// has it on the same port (RFC 5761), it is taken there, and answered from there.
    ///
    /// # Errors
    /// Settings that cannot be, and what the system does not give.
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

    /// Where it listens, with the port that it got.
    pub fn local_address(&self) -> SocketAddr {
        self.rtp.local_address()
    }

    /// SO_RCVBUF of RTP as the kernel tells it.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        self.rtp.receive_buffer_bytes()
    }

    /// Counts since the start.
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats {
            frames: *self.depacketizer.stats(),
            reception: self.depacketizer.reception().map(|reception| reception.stats()),
            packet_bytes: self.packet_bytes,
            foreign_datagrams: self.foreign_datagrams,
        }
    }

    /// What the source calls itself (SDES CNAME), at most 255 bytes, control characters left out; none before it said so.
    pub fn source_name(&self) -> Option<&str> {
        self.source_name.as_deref()
    }

    /// Whether the source has said goodbye, and sent nothing since.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The next frame or loss; none if there was none by the deadline, or a signal came. The thread that calls it is woken up as soon as
    /// packets are there, also where others keep its CPU busy ([`enable_precise_waits`]).
    ///
    /// # Errors
    /// What the system says of the sockets.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Option<Event>> {
        enable_precise_waits();
        loop {
            if let Some(event) = self.take_batch() {
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
            let holes = self.depacketizer.next_deadline().unwrap_or(deadline);
            let mut until = deadline.min(holes);
            // Without anybody to report to, the time for it passes.
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

    /// Takes the memory of a frame back, for one to come.
    pub fn recycle(&mut self, frame: Frame) {
        self.depacketizer.recycle(frame);
    }

    /// Takes packets, or reports where there are none, so that a goodbye comes after the last frame. If packets never end, reports have
    /// their turn, too.
    fn receive(&mut self) -> io::Result<()> {
        let is_ready = |key| self.events.iter().any(|ready| ready.key == key);
        let (rtp, rtcp) = (is_ready(RTP), is_ready(RTCP));
        self.turns = self.turns.wrapping_add(1);
        self.arrived = Instant::now();
        if rtcp && (!rtp || self.turns.is_multiple_of(RTP_TURNS)) {
            let mut heard = Heard::of(self.source);
            self.control.receive(self.arrived, |packet, from| heard.take(packet, from))?;
            self.handle_heard(heard);
        }
        if rtp {
            self.rtp.receive(&mut self.batch)?;
            self.at = (0, 0);
        }
        Ok(())
    }

    /// Goes on in what was received, until there is something to give out.
    fn take_batch(&mut self) -> Option<Event> {
        let (first, mut offset) = self.at;
        let (mut heard, mut event) = (Heard::of(self.source), None);
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
                        heard.muxed = true;
                        let mut each = |packet: &RtcpPacket<'_>, from| heard.take(packet, from);
                        self.control.handle(self.arrived, datagram, received.remote, &mut each);
                    }
                    Kind::Other => self.foreign_datagrams += 1,
                }
            }
        }
        self.handle_heard(heard);
        event
    }

    fn handle_heard(&mut self, heard: Heard) {
        if let Some((info, from)) = heard.report {
            self.depacketizer.handle_sender_report(self.arrived, &info);
            self.reports_from = Some(from);
            self.control.muxed = heard.muxed.then(|| self.rtp.datagram_socket());
        }
        if heard.name.is_some() {
            self.source_name = heard.name;
        }
        if heard.bye {
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

/// What RTCP said of the source.
#[derive(Debug)]
struct Heard {
    source: Option<Ssrc>,
    report: Option<(netdyno_rtp::rtcp::SenderInfo, SocketAddr)>,
    name: Option<String>,
    bye: bool,
    /// It came to RTP's port.
    muxed: bool,
}

impl Heard {
    fn of(source: Option<Ssrc>) -> Self {
        Self { source, report: None, name: None, bye: false, muxed: false }
    }

    fn take(&mut self, packet: &RtcpPacket<'_>, from: SocketAddr) {
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
