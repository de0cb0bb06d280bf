//! RTCP of one end: when reports are due, what they begin with, and who else is there.

use std::io;
use std::net::SocketAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use netdyno_io::DatagramSocket;
use netdyno_rtp::rtcp::{Compound, CompoundWriter, Item, ItemKind, RtcpPacket, Rule};
use netdyno_rtp::{Interval, IntervalConfig, Members, NtpTime, Ssrc};

use crate::limits::{RTCP_BYTES, RTCP_PER_TURN};

/// Bytes of a report with its SDES, about: what the first interval is computed of.
const REPORT_BYTES: usize = 100;

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) socket: DatagramSocket,
    /// RTP's, once it is known that the other end has RTCP there too: where reports leave from then.
    pub(crate) muxed: Option<DatagramSocket>,
    ssrc: Ssrc,
    cname: String,
    interval: Interval,
    members: Members,
    /// Whether it is this end that sends pictures.
    is_sender: bool,
    has_sent: bool,
    datagram: Box<[u8]>,
}

impl Control {
    /// With a random SSRC, and a random name (RFC 7022 section 4.2) that nobody can be told by.
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

    /// Others that were heard of lately.
    pub(crate) fn others(&self) -> usize {
        self.members.count() - 1
    }

    /// A packet of pictures came from another.
    pub(crate) fn handle_rtp(&mut self, now: Instant, ssrc: Ssrc) {
        self.members.handle_rtp(now, ssrc);
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.interval.next_deadline()
    }

    /// Takes what has arrived, a bounded number of datagrams, and shows each packet of others with the address that it came from.
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

    /// Takes a datagram. What is malformed is dropped (RFC 3550 section A.2).
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
                // A group gives back what we sent.
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

    /// Whether a report is to be sent now.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.interval.next_deadline() {
            return false;
        }
        self.members.handle_timeout(now, self.interval.mean());
        self.count(now);
        self.interval.handle_timeout(now)
    }

    /// Sends a report that `fill` begins, SDES after it, and BYE where this is the last. What cannot be sent is lost.
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
        // Nobody may be there: that is no error.
        let _ = self.muxed.as_ref().unwrap_or(&self.socket).send(to, &self.datagram[..bytes]);
        self.interval.handle_sent(now, bytes);
        self.has_sent = true;
    }

    /// Whether a goodbye is in place: not in a session of so many that all would speak at once (RFC 3550 section 6.3.7); there
    /// others find out by silence.
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

/// Random bytes of the system's.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// The time of day, as reports tell it.
pub(crate) fn ntp_now() -> NtpTime {
    NtpTime::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
