//! Sends one stream to one address over UDP.

use std::net::{IpAddr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::slice;
use std::time::{Duration, Instant};

use netdyno_io::{
    DatagramSocket, Interface, SocketOptions, UdpSocket, enable_precise_waits, max_segments_for,
};
use netdyno_mjpeg_core::{CLOCK_RATE_HZ, FramePackets, Jpeg, Packetizer, PacketizerConfig};
use netdyno_rtp::rtcp::{ReportBlock, RtcpPacket};
use netdyno_rtp::{MediaClock, Sending, Sequence, Ssrc, Timestamp, round_trip};

use crate::control::{Control, ntp_now, random};
use crate::error::{OpenError, PictureError};
use crate::limits::WRITE_TIMEOUT;
use crate::pace::Pacer;
use crate::ports;

/// RTP payload types that conflict with RTCP on a shared port (RFC 5761 section 4).
const MUXED_RTCP: RangeInclusive<u8> = 64..=95;

/// Settings of a sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SenderConfig {
    /// Settings of the packetizer.
    pub packetizer: PacketizerConfig,
    /// Local address; `None` lets the system choose.
    pub local: Option<IpAddr>,
    /// TTL of multicast packets.
    pub multicast_hops: u8,
    /// Interface for multicast; `None` lets the system choose.
    pub interface: Option<Interface>,
    /// Destination port of RTCP; `None` selects the port after RTP's.
    pub rtcp_port: Option<u16>,
    /// Whether RTCP shares the RTP port (RFC 5761); overrides `rtcp_port`. Unicast only.
    pub rtcp_mux: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            packetizer: PacketizerConfig::default(),
            local: None,
            multicast_hops: 1,
            interface: None,
            rtcp_port: None,
            rtcp_mux: false,
        }
    }
}

/// Counters of a sender since it was opened.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SenderStats {
    /// Sent frames.
    pub frames: u64,
    /// Sent packets.
    pub packets: u64,
    /// Bytes of sent packets with RTP headers.
    pub packet_bytes: u64,
    /// Packets that the socket did not accept in time.
    pub unsent_packets: u64,
    /// Failed sends, for example without a route or beyond the link's MTU.
    pub send_errors: u64,
    /// Total delay of the last packets of frames.
    pub late: Duration,
    /// Number of receivers that sent RTCP recently.
    pub receivers: usize,
    /// The last receiver report.
    pub last_report: Option<PeerReport>,
}

/// A receiver's report on this stream.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PeerReport {
    /// Source address of the report.
    pub from: SocketAddr,
    /// Arrival of the report.
    pub arrived: Instant,
    /// The report block.
    pub block: ReportBlock,
    /// Round-trip time, if the receiver had received a sender report.
    pub round_trip: Option<Duration>,
}

/// Result of [`Sender::send`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// Number of packets.
    pub packets: usize,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
}

/// Sends pictures to one address. It does not need a receiver.
///
/// One thread drives it. [`send`](Self::send) and [`wait`](Self::wait) block; meanwhile they receive reports and send those that are due.
/// Dropping the sender sends BYE.
#[derive(Debug)]
pub struct Sender {
    rtp: UdpSocket,
    control: Control,
    remote: SocketAddr,
    remote_rtcp: SocketAddr,
    packetizer: Packetizer,
    pacer: Pacer,
    /// Length of all packets of a frame except the last.
    packet_bytes: usize,
    clock: MediaClock,
    sending: Sending,
    /// The packets of the next system call.
    packets: Vec<u8>,
    stats: SenderStats,
}

impl Sender {
    /// Opens a sender to a unicast or multicast address. SSRC, first sequence number and timestamp are random (RFC 3550 section 5.1).
    ///
    /// # Errors
    /// A setting is invalid, or an operation of the system failed.
    pub fn open(remote: SocketAddr, config: &SenderConfig) -> Result<Self, OpenError> {
        let payload_type = config.packetizer.payload_type;
        if config.rtcp_mux && remote.ip().is_multicast() {
            return Err(OpenError::MuxedGroup(remote));
        }
        if config.rtcp_mux && MUXED_RTCP.contains(&payload_type) {
            return Err(OpenError::MuxedPayloadType(payload_type));
        }
        let local = SocketAddr::new(config.local.unwrap_or(ports::any(remote.ip())), 0);
        let options = SocketOptions::default();
        let (rtp, rtcp) = if config.rtcp_mux {
            let rtp = ports::bind_one(local, &options)?;
            let rtcp = rtp.datagram_socket();
            (rtp, rtcp)
        } else {
            ports::bind(local, &options)?
        };
        if remote.ip().is_multicast() {
            let failed = |error| OpenError::Group { group: remote, error };
            let interface = ports::interface_towards(remote, config.interface.as_ref()).map_err(failed)?;
            rtp.set_multicast_interface(&interface).map_err(failed)?;
            rtp.set_multicast_hops(config.multicast_hops).map_err(failed)?;
            let mut options = netdyno_io::DatagramOptions::default();
            options.multicast_hops = config.multicast_hops;
            rtcp.set_multicast_interface(&interface, &options).map_err(failed)?;
        }
        let control = Control::new(rtcp, true)?;
        let ssrc = control.ssrc();
        let first = Sequence(u16::from_ne_bytes(random()?));
        let clock = MediaClock::new(Instant::now(), Timestamp(u32::from_ne_bytes(random()?)), CLOCK_RATE_HZ);
        let mut remote_rtcp = ports::after(remote);
        let rtcp_port = if config.rtcp_mux { Some(remote.port()) } else { config.rtcp_port };
        remote_rtcp.set_port(rtcp_port.unwrap_or(remote_rtcp.port()));
        Ok(Self {
            rtp,
            control,
            remote,
            remote_rtcp,
            packetizer: Packetizer::new(config.packetizer, ssrc, first)?,
            pacer: Pacer::new(config.packetizer.max_packet_bytes),
            packet_bytes: config.packetizer.max_packet_bytes,
            clock,
            sending: Sending::new(ssrc, clock),
            packets: Vec::new(),
            stats: SenderStats::default(),
        })
    }

    /// The destination.
    pub fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// The SSRC of the stream.
    pub fn ssrc(&self) -> Ssrc {
        self.control.ssrc()
    }

    /// The canonical name (CNAME).
    pub fn cname(&self) -> &str {
        self.control.cname()
    }

    /// Counters since the start.
    pub fn stats(&self) -> SenderStats {
        let receivers = self.control.others();
        SenderStats { send_errors: self.rtp.send_errors(), receivers, ..self.stats }
    }

    /// Sends a JPEG file. `at` determines its timestamp; its packets are sent from `at` on, evenly over `spread`. Returns after the last
    /// packet. With a `spread` of 0, all packets are sent at once, which may overflow the receiver's buffer.
    ///
    /// # Errors
    /// RFC 2435 cannot carry the picture; nothing is sent. Failed sends and lost packets are not errors; see [`stats`](Self::stats).
    pub fn send(&mut self, file: &[u8], at: Instant, spread: Duration) -> Result<Sent, PictureError> {
        let jpeg = Jpeg::parse(file)?;
        let frame = self.packetizer.packets(&jpeg, self.clock.at(at))?;
        let slices = self.pacer.slices(frame.count(), at, spread);
        // Late slices are sent at twice the rate rather than at once, to avoid overflowing the receiver's buffer.
        let gap = spread / (2 * slices.len() as u32);
        let (mut last_due, mut not_before) = (at, at);
        for (due, packets) in slices {
            if !spread.is_zero() {
                self.wait(due.max(not_before));
                not_before = Instant::now() + gap;
            }
            last_due = due;
            let run = max_segments_for(self.packet_bytes);
            for begin in packets.clone().step_by(run) {
                self.send_packets(&frame, begin..packets.end.min(begin + run));
            }
        }
        self.sending.handle_sent(frame.count() as u64, frame.payload_bytes() as u64);
        self.stats.frames += 1;
        self.stats.packets += frame.count() as u64;
        self.stats.packet_bytes += frame.wire_bytes() as u64;
        let now = Instant::now();
        self.stats.late += now.saturating_duration_since(last_due);
        if spread.is_zero() {
            self.poll_reports(now);
        }
        Ok(Sent { packets: frame.count(), width: jpeg.width(), height: jpeg.height() })
    }

    /// Waits until a time, receives reports and sends those that are due. Signals do not interrupt it. Enables precise timers for the
    /// thread ([`enable_precise_waits`]).
    pub fn wait(&mut self, until: Instant) {
        enable_precise_waits();
        loop {
            let now = Instant::now();
            self.report_if_due(now);
            let Some(left) = until.checked_duration_since(now).filter(|left| !left.is_zero()) else { return };
            let mut wait = left;
            if self.stats.frames > 0 {
                wait = wait.min(self.control.next_deadline().saturating_duration_since(now));
            }
            match DatagramSocket::wait_any(slice::from_ref(&self.control.socket), wait) {
                Ok(Some(_)) => self.receive(),
                Ok(None) => {}
                // Waiting for the socket failed: wait for the time only.
                Err(_) => std::thread::sleep(wait),
            }
        }
    }

    /// Sends packets of a frame with one system call. They are copied to a contiguous buffer first, which costs less than gathering two
    /// slices per packet in the kernel.
    fn send_packets(&mut self, frame: &FramePackets<'_>, indices: Range<usize>) {
        self.packets.clear();
        indices.for_each(|index| {
            frame.append(index, &mut self.packets);
        });
        let mut rest = &self.packets[..];
        loop {
            rest = &rest[self.rtp.send(self.rtp.local_address(), self.remote, rest, self.packet_bytes)..];
            // The send buffer is full. Packets that do not fit in time are lost.
            if rest.is_empty() || !self.rtp.wait_writable(WRITE_TIMEOUT).unwrap_or(false) {
                break;
            }
        }
        self.stats.unsent_packets += rest.len().div_ceil(self.packet_bytes) as u64;
    }

    /// Receives reports if one is due, for callers that never wait.
    fn poll_reports(&mut self, now: Instant) {
        if now >= self.control.next_deadline() {
            self.receive();
            self.report_if_due(now);
        }
    }

    fn receive(&mut self) {
        let (now, ntp, ssrc) = (Instant::now(), ntp_now(), self.control.ssrc());
        let mut last = None;
        let result = self.control.receive(now, |packet, from| {
            let blocks = match packet {
                RtcpPacket::SenderReport(report) => report.blocks,
                RtcpPacket::ReceiverReport(report) => report.blocks,
                _ => return,
            };
            for block in blocks.filter(|block| block.ssrc == ssrc) {
                last = Some(PeerReport { from, arrived: now, block, round_trip: round_trip(ntp, &block) });
            }
        });
        self.stats.last_report = last.or(self.stats.last_report);
        // An RTCP socket that fails provides no reports; pictures are still sent.
        result.unwrap_or_default();
    }

    fn report_if_due(&mut self, now: Instant) {
        // Without sent frames, there is nothing to report.
        if self.stats.frames > 0 && self.control.is_due(now) {
            self.report(now, false);
        }
    }

    fn report(&mut self, now: Instant, bye: bool) {
        let info = self.sending.report(now, ntp_now());
        self.control.send(now, self.remote_rtcp, bye, |writer| {
            writer.sender_report(&info, &[]);
        });
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let now = Instant::now();
        if self.stats.frames > 0 && self.control.may_leave(now) {
            self.report(now, true);
        }
    }
}
