//! How abusers act: each repeats a step without waiting for the server.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::server::{Options, TestServer};

/// All abusers have this address.
const ADDRESS: [u8; 4] = [127, 0, 0, 66];
pub(crate) const ADDRESS_TEXT: &str = "addr=127.0.0.66:";
/// Most bytes that an abuser reads per connection and step.
const READ_BYTES: usize = 64 << 10;

/// Pause of an abuser that only holds its connections.
const PAUSE: Duration = Duration::from_millis(10);

/// Connections that guests keep open.
const GUESTS: usize = 500;

/// Receive buffer of abusers that do not read.
const UNREAD_BUFFER_BYTES: usize = 4 << 10;

/// How the server reports an abuser.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Evidence {
    /// A field of INFO has at least this value.
    Info(&'static str, u64),
    /// CLIENT LIST shows the abuser's address with at least this value of a field.
    Client(&'static str, u64),
    /// The same with a field that contains this text.
    ClientText(&'static str, &'static str),
}

pub(crate) struct Abuse {
    pub(crate) name: &'static str,
    pub(crate) options: Options,
    pub(crate) start: fn(&TestServer) -> Box<dyn Abuser>,
    pub(crate) evidence: Evidence,
}

/// An abuser at work; dropping it closes its connections.
pub(crate) trait Abuser {
    /// Acts without waiting for the server.
    fn step(&mut self);
}

/// A connection from the abuser's address. With a small receive buffer, the kernel keeps little of what is not read.
fn connect(server: SocketAddr, reads: bool) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    if !reads {
        sockopt::set_socket_recv_buffer_size(&socket, UNREAD_BUFFER_BYTES).unwrap();
    }
    rustix::net::bind(&socket, &SocketAddr::from((ADDRESS, 0))).unwrap();
    rustix::net::connect(&socket, &server).unwrap();
    socket.into()
}

/// A RESP request.
pub(crate) fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    netdyno_resp::write_command(&mut bytes, words);
    bytes
}

/// Connections that send an opening and then repeat a text. One that the server closes is replaced.
pub(crate) struct Writers {
    server: SocketAddr,
    streams: Vec<(TcpStream, usize)>,
    opening: Vec<u8>,
    repeated: Vec<u8>,
    settings: Writing,
    /// The connection that writes next.
    next: usize,
    input: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(crate) struct Writing {
    pub(crate) connections: usize,
    /// Connections that write in a step, and bytes that each writes.
    pub(crate) active: usize,
    pub(crate) part_bytes: usize,
    pub(crate) reads: bool,
}

pub(crate) const IDLE: Writing = Writing { connections: 500, active: 0, part_bytes: 0, reads: false };
pub(crate) const FLOOD: Writing = Writing { connections: 8, active: 8, part_bytes: 16 << 10, reads: true };
pub(crate) const UNREAD: Writing = Writing { reads: false, ..FLOOD };
pub(crate) const BYTES: Writing = Writing { connections: 200, active: 200, part_bytes: 1, reads: true };

impl Writers {
    pub(crate) fn start(
        server: SocketAddr,
        settings: Writing,
        opening: &[u8],
        repeated: &[u8],
    ) -> Box<dyn Abuser> {
        // Long enough for every part.
        let copies = if settings.part_bytes > 1 { 1 + settings.part_bytes / repeated.len() } else { 1 };
        let mut writers = Self {
            server,
            streams: Vec::new(),
            opening: opening.to_vec(),
            repeated: repeated.repeat(copies),
            settings,
            next: 0,
            input: vec![0; READ_BYTES],
        };
        writers.streams = (0..settings.connections).map(|_| (writers.open(), 0)).collect();
        Box::new(writers)
    }

    fn open(&self) -> TcpStream {
        let mut stream = connect(self.server, self.settings.reads);
        // The server may close the connection at once.
        let _ = stream.write_all(&self.opening);
        stream.set_nonblocking(true).unwrap();
        stream
    }
}

impl Abuser for Writers {
    fn step(&mut self) {
        if self.settings.active == 0 {
            return thread::sleep(PAUSE);
        }
        for _ in 0..self.settings.active {
            self.next = (self.next + 1) % self.streams.len();
            let (stream, at) = &mut self.streams[self.next];
            let mut closed = false;
            let end = self.repeated.len().min(*at + self.settings.part_bytes);
            match stream.write(&self.repeated[*at..end]) {
                Ok(count) => *at = (*at + count) % self.repeated.len(),
                Err(error) => closed |= error.kind() != ErrorKind::WouldBlock,
            }
            if self.settings.reads {
                closed |= matches!(stream.read(&mut self.input), Ok(0));
            }
            if closed {
                self.streams[self.next] = (self.open(), 0);
            }
        }
    }
}

/// Opens a connection per step, sends a text, and resets the connection before the last one.
pub(crate) struct Visitors {
    server: SocketAddr,
    sends: Vec<u8>,
    open: Option<TcpStream>,
}

impl Visitors {
    pub(crate) fn start(server: SocketAddr, sends: &[u8]) -> Box<dyn Abuser> {
        Box::new(Self { server, sends: sends.to_vec(), open: None })
    }
}

impl Abuser for Visitors {
    fn step(&mut self) {
        let mut stream = connect(self.server, false);
        stream.set_nonblocking(true).unwrap();
        let _ = stream.write(&self.sends);
        // A reset leaves no connection in TIME_WAIT, so the ports suffice.
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        self.open = Some(stream);
    }
}

/// Opens a connection per step, sends a text, and receives from all connections until the server closes them. Beyond a
/// number of open connections, the oldest is reset.
pub(crate) struct Guests {
    server: SocketAddr,
    sends: Vec<u8>,
    reads: bool,
    open: VecDeque<TcpStream>,
    input: Vec<u8>,
}

impl Guests {
    pub(crate) fn start(server: SocketAddr, reads: bool, sends: &[u8]) -> Box<dyn Abuser> {
        let (sends, open, input) = (sends.to_vec(), VecDeque::new(), vec![0; READ_BYTES]);
        Box::new(Self { server, sends, reads, open, input })
    }
}

impl Abuser for Guests {
    fn step(&mut self) {
        let stream = connect(self.server, self.reads);
        stream.set_nonblocking(true).unwrap();
        // A reset leaves no connection in TIME_WAIT, so the ports suffice.
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        let _ = (&stream).write(&self.sends);
        self.open.push_back(stream);
        if self.open.len() > GUESTS {
            self.open.pop_front();
        }
        if self.reads {
            let input = &mut self.input;
            self.open.retain(|mut stream| match stream.read(input) {
                Ok(count) => count > 0,
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            });
        }
    }
}

/// A publisher, and a subscriber that does not read.
pub(crate) struct DeafSubscriber {
    pub(crate) _subscriber: Box<dyn Abuser>,
    pub(crate) publisher: Box<dyn Abuser>,
}

impl Abuser for DeafSubscriber {
    fn step(&mut self) {
        self.publisher.step();
    }
}
