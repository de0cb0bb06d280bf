//! The sockets of ping.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use may::net::{TcpStream, UdpSocket};
use netdyno_contender::rtt::{BlockingWire, Job, TICK};

pub struct Udp {
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl Udp {
    pub fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local())?;
        socket.connect(peer)?;
        // The library sets a timer for each wait and has no cheaper timeout.
        socket.set_read_timeout(Some(TICK))?;
        Ok(Self { socket, buffer: vec![0; job.buffer_bytes()] })
    }
}

impl BlockingWire for Udp {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).map(drop)
    }

    fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        match self.socket.recv(&mut self.buffer) {
            Ok(length) => Ok(Some(&self.buffer[..length])),
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub struct Tcp {
    stream: TcpStream,
    message: Vec<u8>,
}

impl Tcp {
    pub fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, message: vec![0; job.message_bytes] })
    }
}

impl BlockingWire for Tcp {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.stream.write_all(message)
    }

    fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        self.stream.read_exact(&mut self.message)?;
        Ok(Some(&self.message))
    }
}
