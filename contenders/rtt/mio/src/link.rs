//! Whole messages over sockets that never block.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use mio::event::Source;
use mio::net::{TcpStream, UdpSocket};
use mio::{Interest, Registry, Token};

/// A socket and its two calls.
pub trait Socket {
    /// Whether a message may come in pieces.
    const STREAM: bool;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Why the connection could not be made.
    fn error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    /// What is registered with `Poll`.
    fn source(&mut self) -> &mut impl Source;
}

/// Connected.
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

/// Answers where the last datagram came from.
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

/// A socket, and how much of a message is through in each direction.
pub struct Link<S> {
    socket: S,
    token: Token,
    buffer: Vec<u8>,
    filled: usize,
    written: usize,
    /// Part of a message waits for the socket to be writable.
    pub blocked: bool,
    watching_writable: bool,
}

impl<S: Socket> Link<S> {
    /// `buffer_bytes`: of a stream, the length of each message; of datagrams, of the longest.
    pub fn new(mut socket: S, token: Token, buffer_bytes: usize, registry: &Registry) -> io::Result<Self> {
        // A socket of UDP tells that it is writable after each datagram sent: it is asked only where that matters.
        let watching_writable = S::STREAM;
        registry.register(socket.source(), token, interest(watching_writable))?;
        let buffer = vec![0; buffer_bytes];
        Ok(Self { socket, token, buffer, filled: 0, written: 0, blocked: false, watching_writable })
    }

    /// Why the connection could not be made.
    pub fn error(&self) -> io::Result<()> {
        self.socket.error()?.map_or(Ok(()), Err)
    }

    /// Sends a message, or what the socket takes of it now; then the link is [`blocked`](Self::blocked).
    pub fn send(&mut self, message: &[u8], registry: &Registry) -> io::Result<()> {
        self.written = 0;
        self.resume(message, registry)
    }

    /// Sends what is left of the message.
    pub fn resume(&mut self, message: &[u8], registry: &Registry) -> io::Result<()> {
        self.blocked = !push(&mut self.socket, &mut self.written, message)?;
        self.watch(registry)
    }

    /// As [`send`](Self::send), of the message last received, which had this length.
    pub fn send_back(&mut self, length: usize, registry: &Registry) -> io::Result<()> {
        self.written = 0;
        self.resume_back(length, registry)
    }

    /// As [`resume`](Self::resume), of the same.
    pub fn resume_back(&mut self, length: usize, registry: &Registry) -> io::Result<()> {
        self.blocked = !push(&mut self.socket, &mut self.written, &self.buffer[..length])?;
        self.watch(registry)
    }

    /// The next message, once it is there.
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

/// True if the message is through.
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

/// None where the call would have blocked.
fn unblocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
