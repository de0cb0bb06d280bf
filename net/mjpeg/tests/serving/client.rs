//! An RTSP client that checks everything it receives.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::{Depacketizer, DepacketizerConfig, Event, Jpeg};
use netdyno_mjpeg::rtp::rtcp::{Compound, CompoundWriter, RtcpPacket, Rule};
use netdyno_mjpeg::rtp::{Packet, Ssrc};
use rustix::net::{AddressFamily, SocketType};

/// Bounds the test if the server hangs.
const GUARD: Duration = Duration::from_secs(60);

/// A response.
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> &str {
        let prefix = format!("{name}: ");
        let line = self.text.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.text))
    }
}

/// A received event.
pub(crate) enum ClientEvent {
    /// A complete frame, as its scan data.
    Frame(Vec<u8>),
    Lost,
    /// A sender report with its packet count, and whether BYE follows.
    Report {
        packets: u32,
        bye: bool,
    },
    Closed,
}

/// A packet with its channel, or a response.
type Message = (Option<u8>, Vec<u8>);

/// Connects from a local address.
pub(crate) fn stream_from(address: [u8; 4], server: SocketAddr) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((address, 0))).unwrap();
    rustix::net::connect(&socket, &server).unwrap();
    socket.into()
}

pub(crate) struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    base: String,
    cseq: u32,
    session: Option<String>,
    udp: Option<(UdpSocket, UdpSocket)>,
    /// The server's address for RTCP.
    pub(crate) server_rtcp: Option<SocketAddr>,
    depacketizer: Depacketizer,
    datagram: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(server: SocketAddr) -> Self {
        Self::new(TcpStream::connect(server).unwrap(), server)
    }

    /// Connects from another local address.
    pub(crate) fn connect_from(address: [u8; 4], server: SocketAddr) -> Self {
        Self::new(stream_from(address, server), server)
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

    /// Sends a request and returns the response. Packets before it are discarded.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &str) -> Response {
        self.cseq += 1;
        let session = self.session.as_ref().map(|id| format!("Session: {id}\r\n")).unwrap_or_default();
        let (base, cseq) = (&self.base, self.cseq);
        let text = format!("{method} {base}{path} RTSP/1.0\r\nCSeq: {cseq}\r\n{session}{headers}\r\n");
        self.write(text.as_bytes()).unwrap();
        self.response()
    }

    /// Whether the server responds on this connection.
    pub(crate) fn is_served(&mut self) -> bool {
        self.write(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n").is_ok() && self.message().is_some()
    }

    pub(crate) fn response(&mut self) -> Response {
        loop {
            if let (None, text) = self.message().expect("a response before the end") {
                let text = String::from_utf8(text).unwrap();
                return Response { code: text[9..12].parse().unwrap(), text };
            }
        }
    }

    /// Sets up and plays over TCP. Returns the response to PLAY.
    pub(crate) fn play_tcp(&mut self) -> Response {
        self.set_up("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n");
        self.request("PLAY", "", "")
    }

    /// Sets up and plays over UDP. Returns the response to PLAY.
    pub(crate) fn play_udp(&mut self) -> Response {
        let local = SocketAddr::new(self.stream.local_addr().unwrap().ip(), 0);
        let (rtp, rtcp) = (UdpSocket::bind(local).unwrap(), UdpSocket::bind(local).unwrap());
        rustix::net::sockopt::set_socket_recv_buffer_size(&rtp, 4 << 20).unwrap();
        rtp.set_read_timeout(Some(GUARD)).unwrap();
        rtcp.set_nonblocking(true).unwrap();
        let ports = (rtp.local_addr().unwrap().port(), rtcp.local_addr().unwrap().port());
        self.udp = Some((rtp, rtcp));
        self.set_up(&format!("Transport: RTP/AVP;unicast;client_port={}-{}\r\n", ports.0, ports.1));
        self.request("PLAY", "", "")
    }

    fn set_up(&mut self, transport: &str) {
        assert_eq!(self.request("DESCRIBE", "", "Accept: application/sdp\r\n").code, 200);
        let response = self.request("SETUP", "/video", transport);
        assert_eq!(response.code, 200, "{}", response.text);
        let port = response.header("Transport").split(';').find_map(|part| part.strip_prefix("server_port="));
        let port = port.map(|ports| ports.split_once('-').unwrap().1.parse().unwrap());
        let server = self.stream.peer_addr().unwrap();
        self.server_rtcp = port.map(|port| SocketAddr::new(server.ip(), port));
        self.session = Some(response.header("Session").split(';').next().unwrap().to_owned());
    }

    /// Sends a receiver report.
    pub(crate) fn report(&mut self) {
        let mut datagram = [0; 64];
        let mut writer = CompoundWriter::new(&mut datagram);
        writer.receiver_report(Ssrc(1), &[]);
        let length = writer.finish();
        let (_, rtcp) = self.udp.as_ref().unwrap();
        rtcp.send_to(&datagram[..length], self.server_rtcp.unwrap()).unwrap();
    }

    /// Closes the UDP ports. The session continues.
    #[allow(dead_code)]
    pub(crate) fn close_ports(&mut self) {
        self.udp = None;
    }

    /// Closes the connection. A UDP session continues.
    pub(crate) fn disconnect(&mut self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
    }

    /// The next packet on the connection, with its channel.
    pub(crate) fn packet(&mut self) -> (u8, Vec<u8>) {
        loop {
            if let (Some(channel), packet) = self.message().expect("a packet") {
                let parsed = Packet::parse(&packet);
                parsed.iter().for_each(|parsed| self.depacketizer.handle_packet(Instant::now(), parsed));
                return (channel, packet);
            }
        }
    }

    /// Waits for the next event.
    pub(crate) fn next(&mut self) -> ClientEvent {
        loop {
            match self.depacketizer.poll_event(Instant::now()) {
                Some(Event::Frame(frame)) => {
                    let scan = Jpeg::parse(frame.jpeg()).unwrap().scan().to_vec();
                    return ClientEvent::Frame(scan);
                }
                // No packets of skipped frames are received.
                Some(Event::Lost(lost)) if lost.received_packets > 0 => return ClientEvent::Lost,
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
            match self.message() {
                None => return ClientEvent::Closed,
                Some((Some(0), packet)) => {
                    let packet = Packet::parse(&packet).unwrap();
                    self.depacketizer.handle_packet(Instant::now(), &packet);
                }
                Some((Some(1), packet)) => return report(&packet),
                Some(_) => {}
            }
        }
    }

    /// Waits for the next frame; `None` at the end.
    pub(crate) fn frame(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.next() {
                ClientEvent::Frame(scan) => return Some(scan),
                ClientEvent::Lost => panic!("a frame is incomplete"),
                ClientEvent::Report { bye: true, .. } | ClientEvent::Closed => return None,
                ClientEvent::Report { .. } => {}
            }
        }
    }

    /// Reads the next packet or response; `None` at the end.
    fn message(&mut self) -> Option<Message> {
        loop {
            if let Some((count, message)) = parse_message(&self.input) {
                self.input.drain(..count);
                return Some(message);
            }
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    assert!(self.input.is_empty(), "the connection ends within a message");
                    return None;
                }
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Parses the first packet or response and returns its length.
fn parse_message(input: &[u8]) -> Option<(usize, Message)> {
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

fn report(datagram: &[u8]) -> ClientEvent {
    let compound = Compound::parse(datagram, Rule::Compound).unwrap();
    let (mut packets, mut bye) = (None, false);
    for packet in compound.packets() {
        match packet {
            RtcpPacket::SenderReport(report) => packets = Some(report.info.packets),
            RtcpPacket::Bye(_) => bye = true,
            _ => {}
        }
    }
    ClientEvent::Report { packets: packets.expect("a sender report"), bye }
}
