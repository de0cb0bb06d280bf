//! RTCP of one participant: report intervals, sent and received packets, members.

use std::io;
use std::net::SocketAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use netdyno_io::DatagramSocket;
use netdyno_rtp::rtcp::{Compound, CompoundWriter, Item, ItemKind, RtcpPacket, Rule};
use netdyno_rtp::{Interval, IntervalConfig, Members, NtpTime, Ssrc};

use crate::limits::{RTCP_BYTES, RTCP_PER_TURN};

/// Approximate length of a report with SDES, for the first interval.
const REPORT_BYTES: usize = 100;

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) socket: DatagramSocket,
    /// The RTP socket, if the peer multiplexes RTCP; reports are then sent from it.
    pub(crate) muxed: Option<DatagramSocket>,
    ssrc: Ssrc,
    cname: String,
    interval: Interval,
    members: Members,
    /// Whether this participant sends the stream.
    is_sender: bool,
    has_sent: bool,
    datagram: Box<[u8]>,
}

impl Control {
    /// Creates a participant with a random SSRC and an anonymous random CNAME (RFC 7022 section 4.2).
    pub(crate) fn new(socket: DatagramSocket, is_sender: bool) -> io::Result<Self> {
        let name: [u8; 12] = random()?;
        let ssrc = Ssrc(u32::from_ne_bytes(random()?));
        let interval = Interval::new(Instant::now(), IntervalConfig::default(), REPORT_BYTES, random()?);
        Ok(Self {
            socket,
            muxed: None,
            ssrc,
            cname: name.iter().map(|byte| format!("{byte:02x}")).collect(),
            interval,
            members: Members::default(),
            is_sender,
            has_sent: false,
            datagram: vec![0; RTCP_BYTES].into(),
        })
    }

    pub(crate) fn ssrc(&self) -> Ssrc {
        self.ssrc
    }

    pub(crate) fn cname(&self) -> &str {
        &self.cname
    }

    /// Number of other participants heard recently.
    pub(crate) fn others(&self) -> usize {
        self.members.count() - 1
    }

    /// Handles an RTP packet of another participant.
    pub(crate) fn handle_rtp(&mut self, now: Instant, ssrc: Ssrc) {
        self.members.handle_rtp(now, ssrc);
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.interval.next_deadline()
    }

    /// Receives a bounded number of datagrams and passes each packet of other participants with its source address to `each`.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        mut each: impl FnMut(&RtcpPacket<'_>, SocketAddr),
    ) -> io::Result<()> {
        let mut datagram = std::mem::take(&mut self.datagram);
        let mut result = Ok(());
        for _ in 0..RTCP_PER_TURN {
            match self.socket.receive_now(&mut datagram) {
                Ok(Some((bytes, from))) => self.handle(now, &datagram[..bytes], from, &mut each),
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.datagram = datagram;
        result
    }

    /// Handles a datagram. Malformed ones are dropped (RFC 3550 section A.2).
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: SocketAddr,
        each: &mut impl FnMut(&RtcpPacket<'_>, SocketAddr),
    ) {
        let Ok(compound) = Compound::parse(datagram, Rule::ReducedSize) else { return };
        self.interval.handle_received(datagram.len());
        for packet in compound.packets() {
            match &packet {
                RtcpPacket::SenderReport(report) if report.info.ssrc != self.ssrc => {
                    self.members.handle_rtcp(now, report.info.ssrc);
                }
                RtcpPacket::ReceiverReport(report) if report.ssrc != self.ssrc => {
                    self.members.handle_rtcp(now, report.ssrc);
                }
                // The participant's own packet, looped back by a multicast group.
                RtcpPacket::SenderReport(_) | RtcpPacket::ReceiverReport(_) => return,
                RtcpPacket::Bye(bye) => {
                    for source in bye.sources {
                        self.members.handle_bye(source);
                        self.interval.handle_bye();
                    }
                }
                _ => {}
            }
            each(&packet, from);
        }
        self.count(now);
    }

    /// Whether a report is due.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.interval.next_deadline() {
            return false;
        }
        self.members.handle_timeout(now, self.interval.mean());
        self.count(now);
        self.interval.handle_timeout(now)
    }

    /// Sends the report written by `fill`, followed by SDES and, if `bye`, by BYE. Send errors are ignored.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        to: SocketAddr,
        bye: bool,
        fill: impl FnOnce(&mut CompoundWriter<'_>),
    ) {
        let mut writer = CompoundWriter::new(&mut self.datagram);
        fill(&mut writer);
        let name = [Item { kind: ItemKind::Cname, text: self.cname.as_bytes() }];
        writer.sdes(&[(self.ssrc, &name)]);
        if bye {
            writer.bye(&[self.ssrc], None);
        }
        let bytes = writer.finish();
        // A missing receiver is not an error.
        let _ = self.muxed.as_ref().unwrap_or(&self.socket).send(to, &self.datagram[..bytes]);
        self.interval.handle_sent(now, bytes);
        self.has_sent = true;
    }

    /// Whether BYE may be sent at once. In large sessions, simultaneous BYE packets must be avoided (RFC 3550 section 6.3.7).
    pub(crate) fn may_leave(&mut self, now: Instant) -> bool {
        self.interval.leave(now, REPORT_BYTES)
    }

    pub(crate) fn has_sent(&self) -> bool {
        self.has_sent
    }

    fn count(&mut self, now: Instant) {
        let senders = self.members.senders() + usize::from(self.is_sender);
        self.interval.handle_members(now, self.members.count(), senders, self.is_sender);
    }
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// The wall-clock time for sender reports.
pub(crate) fn ntp_now() -> NtpTime {
    NtpTime::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
