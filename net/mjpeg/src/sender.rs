//! One stream to one address, by RTP over UDP.

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

/// Payload types that RTP must not have on a port that has RTCP too (RFC 5761 section 4).
const MUXED_RTCP: RangeInclusive<u8> = 64..=95;

/// How a stream is sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SenderConfig {
    /// How packets are made.
    pub packetizer: PacketizerConfig,
    /// The address to send from; without it the system chooses.
    pub local: Option<IpAddr>,
    /// Routers that what goes to a group may pass, and one more.
    pub multicast_hops: u8,
    /// The interface by which a group is sent to; without it the system chooses.
    pub interface: Option<Interface>,
    /// Where RTCP goes; without it to the port after RTP's.
    pub rtcp_port: Option<u16>,
    /// RTCP goes from and to RTP's own port (RFC 5761), whatever `rtcp_port` says: not to a group.
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

/// What a sender has done and heard since it was opened.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SenderStats {
    /// Pictures sent.
    pub frames: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes of these, RTP headers included.
    pub packet_bytes: u64,
    /// Packets that the system did not take in time.
    pub unsent_packets: u64,
    /// Sends that the system refused: no route, or longer than the link takes.
    pub send_errors: u64,
    /// How much later than due the last packets of frames were sent, all together.
    pub late: Duration,
    /// Receivers that were heard of lately.
    pub receivers: usize,
    /// The last report of one of them.
    pub last_report: Option<PeerReport>,
}

/// What a receiver has told of this stream.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PeerReport {
    /// The address that the report came from.
    pub from: SocketAddr,
    /// When it came.
    pub arrived: Instant,
    /// What it says.
    pub block: ReportBlock,
    /// The round trip, if it had a report of ours.
    pub round_trip: Option<Duration>,
}

/// What came of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// Packets that it went in.
    pub packets: usize,
    /// Width of the picture, pixels.
    pub width: u16,
    /// Height.
    pub height: u16,
}

/// Sends pictures to one address. It needs no receiver: whether somebody is there, only reports tell.
///
/// One thread drives it: [`send`](Self::send) and [`wait`](Self::wait) block, take reports of receivers meanwhile, and send those that are
/// due. Dropping it says goodbye (BYE).
#[derive(Debug)]
pub struct Sender {
    rtp: UdpSocket,
    control: Control,
    remote: SocketAddr,
    remote_rtcp: SocketAddr,
    packetizer: Packetizer,
    pacer: Pacer,
    /// Bytes of a frame's packets but the last.
    packet_bytes: usize,
    clock: MediaClock,
    sending: Sending,
    /// Those that go next.
    packets: Vec<u8>,
    stats: SenderStats,
}

impl Sender {
    /// A sender to this address, or group. SSRC, first sequence number and timestamp are random (RFC 3550 section 5.1).
    ///
    /// # Errors
    /// Settings that cannot be, and what the system does not give. Nothing is sent.
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

    /// Where it sends to.
    pub fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// The stream's number.
    pub fn ssrc(&self) -> Ssrc {
        self.control.ssrc()
    }

    /// The sender's lasting name (CNAME).
    pub fn cname(&self) -> &str {
        self.control.cname()
    }

    /// Counts since the start.
    pub fn stats(&self) -> SenderStats {
        let receivers = self.control.others();
        SenderStats { send_errors: self.rtp.send_errors(), receivers, ..self.stats }
    }

    /// Sends a picture, a JPEG file, whole: it was sampled at `at`, and its packets leave from then on, evenly over `spread`. Returns once the
    /// last is out. Without `spread` all leave at once, which most receivers have no room for.
    ///
    /// # Errors
    /// A picture that RFC 2435 cannot carry; nothing of it is sent. That packets do not arrive, or cannot be sent, is no error:
    /// see [`stats`](Self::stats).
    pub fn send(&mut self, file: &[u8], at: Instant, spread: Duration) -> Result<Sent, PictureError> {
        let jpeg = Jpeg::parse(file)?;
        let frame = self.packetizer.packets(&jpeg, self.clock.at(at))?;
        let slices = self.pacer.slices(frame.count(), at, spread);
        // What is late is caught up with at twice the rate, not at once: the receiver's buffer has no more room for it.
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
            self.look(now);
        }
        Ok(Sent { packets: frame.count(), width: jpeg.width(), height: jpeg.height() })
    }

    /// Waits until then, takes reports of receivers, and sends those that are due. Goes on through signals. The thread's timers are set to end
    /// when they are due ([`enable_precise_waits`]).
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
                // The socket cannot be waited for: then by the clock.
                Err(_) => std::thread::sleep(wait),
            }
        }
    }

    /// Some packets of a frame, as many as one system call takes at the most. They are put together side by side first: the kernel takes
    /// longer for two pieces a packet than that copy does.
    fn send_packets(&mut self, frame: &FramePackets<'_>, indices: Range<usize>) {
        self.packets.clear();
        indices.for_each(|index| {
            frame.append(index, &mut self.packets);
        });
        let mut rest = &self.packets[..];
        loop {
            rest = &rest[self.rtp.send(self.rtp.local_address(), self.remote, rest, self.packet_bytes)..];
            // The buffer is full: a slow link. What does not fit in time is lost.
            if rest.is_empty() || !self.rtp.wait_writable(WRITE_TIMEOUT).unwrap_or(false) {
                break;
            }
        }
        self.stats.unsent_packets += rest.len().div_ceil(self.packet_bytes) as u64;
    }

    /// Without waiting: takes reports if it is time to send one, as flat out nobody waits.
    fn look(&mut self, now: Instant) {
        if now >= self.control.next_deadline() {
            self.receive();
            self.report_if_due(now);
        }
    }

    fn receive(&mut self) {
        let (now, ntp, ssrc) = (Instant::now(), ntp_now(), self.control.ssrc());
        let mut last = None;
        let heard = self.control.receive(now, |packet, from| {
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
        // A socket that fails is one without reports; pictures go on.
        heard.unwrap_or_default();
    }

    fn report_if_due(&mut self, now: Instant) {
        // Who has sent nothing has nothing to report.
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
