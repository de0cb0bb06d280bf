//! Whole messages over non-blocking sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use mio::event::Source;
use mio::net::{TcpStream, UdpSocket};
use mio::{Interest, Registry, Token};

/// A socket and its two calls.
pub trait Socket {
    /// Whether a message may arrive in pieces.
    const STREAM: bool;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Returns the error of a failed connection attempt.
    fn error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    /// The event source to register with `Poll`.
    fn source(&mut self) -> &mut impl Source;
}

/// A connected socket.
impl Socket for UdpSocket {
    const STREAM: bool = false;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv(buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn source(&mut self) -> &mut impl Source {
        self
    }
}

impl Socket for TcpStream {
    const STREAM: bool = true;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match Read::read(self, buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn error(&self) -> io::Result<Option<io::Error>> {
        self.take_error()
    }

    fn source(&mut self) -> &mut impl Source {
        self
    }
}

/// A socket that sends to the source of the last received datagram.
pub struct Answering {
    socket: UdpSocket,
    from: SocketAddr,
}

impl Answering {
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let from = socket.local_addr()?;
        Ok(Self { socket, from })
    }
}

impl Socket for Answering {
    const STREAM: bool = false;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, from) = self.socket.recv_from(buffer)?;
        self.from = from;
        Ok(length)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send_to(bytes, self.from)
    }

    fn source(&mut self) -> &mut impl Source {
        &mut self.socket
    }
}

/// A socket, with the progress of a message in each direction.
pub struct Link<S> {
    socket: S,
    token: Token,
    buffer: Vec<u8>,
    filled: usize,
    written: usize,
    /// The rest of a message waits until the socket is writable.
    pub blocked: bool,
    watching_writable: bool,
}

impl<S: Socket> Link<S> {
    /// `buffer_bytes` is the length of every message (stream) or of the longest one (datagrams).
    pub fn new(mut socket: S, token: Token, buffer_bytes: usize, registry: &Registry) -> io::Result<Self> {
        // A UDP socket reports that it is writable after each sent datagram, so this interest is registered only when needed.
        let watching_writable = S::STREAM;
        registry.register(socket.source(), token, interest(watching_writable))?;
        let buffer = vec![0; buffer_bytes];
        Ok(Self { socket, token, buffer, filled: 0, written: 0, blocked: false, watching_writable })
    }

    /// Returns the error of a failed connection attempt.
    pub fn error(&self) -> io::Result<()> {
        self.socket.error()?.map_or(Ok(()), Err)
    }

    /// Sends a message. If the socket buffer is full, the link is [`blocked`](Self::blocked).
    pub fn send(&mut self, message: &[u8], registry: &Registry) -> io::Result<()> {
        self.written = 0;
        self.resume(message, registry)
    }

    /// Sends the rest of the message.
    pub fn resume(&mut self, message: &[u8], registry: &Registry) -> io::Result<()> {
        self.blocked = !push(&mut self.socket, &mut self.written, message)?;
        self.watch(registry)
    }

    /// Like [`send`](Self::send), for the last received message, which has this length.
    pub fn send_back(&mut self, length: usize, registry: &Registry) -> io::Result<()> {
        self.written = 0;
        self.resume_back(length, registry)
    }

    /// Like [`resume`](Self::resume), for the last received message.
    pub fn resume_back(&mut self, length: usize, registry: &Registry) -> io::Result<()> {
        self.blocked = !push(&mut self.socket, &mut self.written, &self.buffer[..length])?;
        self.watch(registry)
    }

    /// Returns the next message if it is complete.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let Some(read) = unblocked(self.socket.read(&mut self.buffer[self.filled..]))? else {
                return Ok(None);
            };
            self.filled += read;
            if !S::STREAM || self.filled == self.buffer.len() {
                let length = std::mem::take(&mut self.filled);
                return Ok(Some(&self.buffer[..length]));
            }
        }
    }

    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let wanted = S::STREAM || self.blocked;
        if self.watching_writable != wanted {
            self.watching_writable = wanted;
            registry.reregister(self.socket.source(), self.token, interest(wanted))?;
        }
        Ok(())
    }
}

fn interest(writable: bool) -> Interest {
    if writable { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE }
}

/// Returns true if the whole message has been sent.
fn push(socket: &mut impl Socket, written: &mut usize, message: &[u8]) -> io::Result<bool> {
    loop {
        match unblocked(socket.write(&message[*written..]))? {
            Some(more) => *written += more,
            None => return Ok(false),
        }
        if *written == message.len() {
            return Ok(true);
        }
    }
}

/// Returns `None` if the call would have blocked.
fn unblocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
