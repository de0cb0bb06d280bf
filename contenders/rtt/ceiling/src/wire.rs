//! Whole messages over non-blocking sockets, with one system call per piece.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use netdyno_contender::rtt::Job;

/// A connected socket and its two calls.
pub trait Socket: AsFd + Sized {
    /// Whether a message may arrive in pieces.
    const STREAM: bool;

    fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self>;
    fn set_nonblocking(&self) -> io::Result<()>;
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

impl Socket for UdpSocket {
    const STREAM: bool = false;

    fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local())?;
        UdpSocket::connect(&socket, peer)?;
        Ok(socket)
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        UdpSocket::set_nonblocking(self, true)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv(buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        UdpSocket::send(self, bytes)
    }
}

impl Socket for TcpStream {
    const STREAM: bool = true;

    fn connect(_: &Job, peer: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        TcpStream::set_nonblocking(self, true)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.read(buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }
}

/// A socket, with the progress of a message in each direction.
pub struct Wire<S> {
    socket: S,
    buffer: Vec<u8>,
    received: usize,
    sent: usize,
    /// The rest of a message waits for space in the socket buffer.
    pub sending: bool,
}

impl<S: Socket> Wire<S> {
    pub fn new(socket: S, message_bytes: usize) -> io::Result<Self> {
        socket.set_nonblocking()?;
        // Exactly a message for streams; one more byte for datagrams, so that longer ones are detected.
        let buffer = vec![0; message_bytes + usize::from(!S::STREAM)];
        Ok(Self { socket, buffer, received: 0, sent: 0, sending: false })
    }

    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Receives by one call. Returns the message that it completed, if any.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(more) = done(self.socket.receive(&mut self.buffer[self.received..]))? else {
            return Ok(None);
        };
        self.received += more;
        if S::STREAM && self.received < self.buffer.len() {
            return Ok(None);
        }
        let length = std::mem::take(&mut self.received);
        Ok(Some(&self.buffer[..length]))
    }

    /// Sends the rest of this message by one call.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        push(&mut self.socket, &mut self.sent, &mut self.sending, message)
    }

    /// Sends the rest of the last received message (streams).
    pub fn send_back(&mut self) -> io::Result<()> {
        push(&mut self.socket, &mut self.sent, &mut self.sending, &self.buffer)
    }
}

fn push(socket: &mut impl Socket, sent: &mut usize, sending: &mut bool, message: &[u8]) -> io::Result<()> {
    *sent += done(socket.send(&message[*sent..]))?.unwrap_or(0);
    *sending = *sent < message.len();
    if !*sending {
        *sent = 0;
    }
    Ok(())
}

/// Returns `None` if the call would have blocked or was interrupted: it is repeated in any case.
pub fn done<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
