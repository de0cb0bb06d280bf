//! A client of RTSP that looks at everything it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::{Depacketizer, DepacketizerConfig, Event, Jpeg};
use netdyno_mjpeg::rtp::rtcp::{Compound, CompoundWriter, RtcpPacket, Rule};
use netdyno_mjpeg::rtp::{Packet, Ssrc};
use rustix::net::{AddressFamily, SocketType};

/// Only guards against hanging.
const GUARD: Duration = Duration::from_secs(60);

/// An answer: its code, and all of its text.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        let prefix = format!("{name}: ");
        let line = self.text.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.text))
    }
}

/// What came.
pub(crate) enum Came {
    /// A picture's scan data.
    Frame(Vec<u8>),
    Lost,
    /// A report's counts of packets and bytes; and whether it is the last.
    Report {
        packets: u32,
        bye: bool,
    },
    Closed,
}

/// A packet with its channel, or an answer.
type Unit = (Option<u8>, Vec<u8>);

pub(crate) struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    base: String,
    cseq: u32,
    session: Option<String>,
    udp: Option<(UdpSocket, UdpSocket)>,
    /// Where the server takes RTCP.
    server_rtcp: Option<SocketAddr>,
    depacketizer: Depacketizer,
    datagram: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(server: SocketAddr) -> Self {
        Self::new(TcpStream::connect(server).unwrap(), server)
    }

    /// By another address of this machine.
    pub(crate) fn connect_from(address: [u8; 4], server: SocketAddr) -> Self {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddr::from((address, 0))).unwrap();
        rustix::net::connect(&socket, &server).unwrap();
        Self::new(socket.into(), server)
    }

    fn new(stream: TcpStream, server: SocketAddr) -> Self {
        stream.set_read_timeout(Some(GUARD)).unwrap();
        stream.set_write_timeout(Some(GUARD)).unwrap();
        Self {
            stream,
            input: Vec::new(),
            base: format!("rtsp://{server}/stream"),
            cseq: 0,
            session: None,
            udp: None,
            server_rtcp: None,
            depacketizer: Depacketizer::new(DepacketizerConfig::default()).unwrap(),
            datagram: vec![0; 1 << 16],
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Asks, and gives the answer; packets before it are thrown away.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str) -> Answer {
        self.cseq += 1;
        let session = self.session.as_ref().map(|id| format!("Session: {id}\r\n")).unwrap_or_default();
        let (base, cseq) = (&self.base, self.cseq);
        let request = format!("{method} {base}{path} RTSP/1.0\r\nCSeq: {cseq}\r\n{session}{headers}\r\n");
        self.write(request.as_bytes()).unwrap();
        self.answer()
    }

    /// Whether the server has taken the connection, and answers.
    pub(crate) fn is_heard(&mut self) -> bool {
        self.write(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n").is_ok() && self.unit().is_some()
    }

    pub(crate) fn answer(&mut self) -> Answer {
        loop {
            if let (None, text) = self.unit().expect("an answer before the end") {
                let text = String::from_utf8(text).unwrap();
                return Answer { code: text[9..12].parse().unwrap(), text };
            }
        }
    }

    /// Sets up and plays on the connection. The answer to PLAY.
    pub(crate) fn play_tcp(&mut self) -> Answer {
        self.set_up("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n");
        self.ask("PLAY", "", "")
    }

    /// Sets up and plays by UDP. The answer to PLAY.
    pub(crate) fn play_udp(&mut self) -> Answer {
        let local = SocketAddr::new(self.stream.local_addr().unwrap().ip(), 0);
        let (rtp, rtcp) = (UdpSocket::bind(local).unwrap(), UdpSocket::bind(local).unwrap());
        rustix::net::sockopt::set_socket_recv_buffer_size(&rtp, 4 << 20).unwrap();
        rtp.set_read_timeout(Some(GUARD)).unwrap();
        rtcp.set_nonblocking(true).unwrap();
        let ports = (rtp.local_addr().unwrap().port(), rtcp.local_addr().unwrap().port());
        self.udp = Some((rtp, rtcp));
        self.set_up(&format!("Transport: RTP/AVP;unicast;client_port={}-{}\r\n", ports.0, ports.1));
        self.ask("PLAY", "", "")
    }

    fn set_up(&mut self, transport: &str) {
        assert_eq!(self.ask("DESCRIBE", "", "Accept: application/sdp\r\n").code, 200);
        let answer = self.ask("SETUP", "/video", transport);
        assert_eq!(answer.code, 200, "{}", answer.text);
        let port = answer.header("Transport").split(';').find_map(|part| part.strip_prefix("server_port="));
        let port = port.map(|ports| ports.split_once('-').unwrap().1.parse().unwrap());
        let server = self.stream.peer_addr().unwrap();
        self.server_rtcp = port.map(|port| SocketAddr::new(server.ip(), port));
        self.session = Some(answer.header("Session").split(';').next().unwrap().to_owned());
    }

    /// Says by RTCP that it is there.
    pub(crate) fn report(&mut self) {
        let mut datagram = [0; 64];
        let mut writer = CompoundWriter::new(&mut datagram);
        writer.receiver_report(Ssrc(1), &[]);
        let length = writer.finish();
        let (_, rtcp) = self.udp.as_ref().unwrap();
        rtcp.send_to(&datagram[..length], self.server_rtcp.unwrap()).unwrap();
    }

    /// Closes the connection; UDP goes on.
    pub(crate) fn disconnect(&mut self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
    }

    /// The next packet on the connection, with its channel.
    pub(crate) fn packet(&mut self) -> (u8, Vec<u8>) {
        loop {
            if let (Some(channel), packet) = self.unit().expect("a packet") {
                let parsed = Packet::parse(&packet);
                parsed.iter().for_each(|parsed| self.depacketizer.handle_packet(Instant::now(), parsed));
                return (channel, packet);
            }
        }
    }

    /// The next thing that comes.
    pub(crate) fn next(&mut self) -> Came {
        loop {
            match self.depacketizer.poll_event(Instant::now()) {
                Some(Event::Frame(frame)) => {
                    let scan = Jpeg::parse(frame.jpeg()).unwrap().scan().to_vec();
                    return Came::Frame(scan);
                }
                // Of frames that were left out whole nothing came.
                Some(Event::Lost(lost)) if lost.received_packets > 0 => return Came::Lost,
                _ => {}
            }
            if let Some((rtp, rtcp)) = &self.udp {
                if let Ok(length) = rtcp.recv(&mut self.datagram) {
                    return report(&self.datagram[..length]);
                }
                rtp.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                match rtp.recv(&mut self.datagram) {
                    Ok(length) => {
                        let packet = Packet::parse(&self.datagram[..length]).unwrap();
                        self.depacketizer.handle_packet(Instant::now(), &packet);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => panic!("{error}"),
                }
                continue;
            }
            match self.unit() {
                None => return Came::Closed,
                Some((Some(0), packet)) => {
                    let packet = Packet::parse(&packet).unwrap();
                    self.depacketizer.handle_packet(Instant::now(), &packet);
                }
                Some((Some(1), packet)) => return report(&packet),
                Some(_) => {}
            }
        }
    }

    /// The next picture, whatever comes before it; none at the end.
    pub(crate) fn frame(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.next() {
                Came::Frame(scan) => return Some(scan),
                Came::Lost => panic!("a part of a frame is missing"),
                Came::Report { bye: true, .. } | Came::Closed => return None,
                Came::Report { .. } => {}
            }
        }
    }

    /// The next packet on the connection with its channel, or answer; none at the end.
    fn unit(&mut self) -> Option<Unit> {
        loop {
            if let Some((count, unit)) = whole(&self.input) {
                self.input.drain(..count);
                return Some(unit);
            }
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    assert!(self.input.is_empty(), "it ends behind something whole");
                    return None;
                }
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The first packet or answer of an input, and its bytes.
fn whole(input: &[u8]) -> Option<(usize, Unit)> {
    if let [b'$', channel, high, low, rest @ ..] = input {
        let packet = rest.get(..usize::from(u16::from_be_bytes([*high, *low])))?;
        return Some((4 + packet.len(), (Some(*channel), packet.to_vec())));
    }
    let end = input.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    assert!(input.starts_with(b"RTSP/1.0 "), "{:?}", String::from_utf8_lossy(&input[..end]));
    let head = std::str::from_utf8(&input[..end]).unwrap();
    let body = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap_or(0);
    Some((end + body, (None, input.get(..end + body)?.to_vec())))
}

fn report(datagram: &[u8]) -> Came {
    let compound = Compound::parse(datagram, Rule::Compound).unwrap();
    let (mut packets, mut bye) = (None, false);
    for packet in compound.packets() {
        match packet {
            RtcpPacket::SenderReport(report) => packets = Some(report.info.packets),
            RtcpPacket::Bye(_) => bye = true,
            _ => {}
        }
    }
    Came::Report { packets: packets.expect("a sender report"), bye }
}
