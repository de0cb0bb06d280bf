//! The sockets of ping.

use std::io;
use std::net::SocketAddr;

use netdyno_contender::rtt::{Job, TICK, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Interval, MissedTickBehavior, interval};

pub struct Udp {
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// One for all messages, because a timeout per message would register a timer each.
    ticks: Interval,
}

impl Udp {
    pub async fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local()).await?;
        socket.connect(peer).await?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { socket, buffer: vec![0; job.buffer_bytes()], ticks })
    }
}

impl Wire for Udp {
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).await.map(drop)
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        tokio::select! {
            biased;
            received = self.socket.recv(&mut self.buffer) => Ok(Some(&self.buffer[..received?])),
            _ = self.ticks.tick() => Ok(None),
        }
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
