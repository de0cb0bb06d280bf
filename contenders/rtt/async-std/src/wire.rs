//! The sockets of ping.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;

use async_std::io::{ReadExt, WriteExt};
use async_std::net::{TcpStream, UdpSocket};
use async_std::task::sleep;
use netdyno_contender::rtt::{Job, TICK, Wire};

pub struct Udp {
    socket: UdpSocket,
    buffer: Vec<u8>,
    /// One for many messages, because a timeout per message would register a timer each.
    tick: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Udp {
    pub async fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local()).await?;
        socket.connect(peer).await?;
        Ok(Self { socket, buffer: vec![0; job.buffer_bytes()], tick: Box::pin(sleep(TICK)) })
    }

    /// Returns the length of the datagram in the buffer, or `None` if the tick comes first.
    async fn datagram(&mut self) -> io::Result<Option<usize>> {
        let mut datagram = pin!(self.socket.recv(&mut self.buffer));
        let tick = &mut self.tick;
        poll_fn(|cx| {
            let received = datagram.as_mut().poll(cx).map_ok(Some);
            if received.is_pending() && tick.as_mut().poll(cx).is_ready() {
                *tick = Box::pin(sleep(TICK));
                return Poll::Ready(Ok(None));
            }
            received
        })
        .await
    }
}

impl Wire for Udp {
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).await.map(drop)
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        let length = self.datagram().await?;
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
