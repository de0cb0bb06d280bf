//! The sockets of ping.

use std::io;
use std::net::SocketAddr;

use netdyno_contender::rtt::{Job, TICK, Wire};
use smol::Timer;
use smol::future::or;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpStream, UdpSocket};

pub struct Udp {
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// One for many messages, because a timeout per message would register a timer each.
    tick: Timer,
}

impl Udp {
    pub async fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local()).await?;
        socket.connect(peer).await?;
        Ok(Self { socket, buffer: vec![0; job.buffer_bytes()], tick: Timer::after(TICK) })
    }
}

impl Wire for Udp {
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).await.map(drop)
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        let Self { socket, buffer, tick } = self;
        // The socket is polled first; if the tick completes, no datagram was received.
        let datagram = async { socket.recv(buffer).await.map(Some) };
        let silence = async {
            (&mut *tick).await;
            tick.set_after(TICK);
            Ok(None)
        };
        let length = or(datagram, silence).await?;
        Ok(length.map(|length| &self.buffer[..length]))
    }
}

pub struct Tcp {
    stream: TcpStream,
    message: Vec<u8>,
}

impl Tcp {
    pub async fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(peer).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, message: vec![0; job.message_bytes] })
    }
}

impl Wire for Tcp {
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.stream.write_all(message).await
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        self.stream.read_exact(&mut self.message).await?;
        Ok(Some(&self.message))
    }
}
