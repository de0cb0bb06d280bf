//! The sockets of ping. monoio owns a buffer during an operation, so each socket has one for sending and one for receiving.

use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::rc::Rc;

use monoio::io::{AsyncReadRentExt, AsyncWriteRentExt};
use monoio::net::TcpStream;
use monoio::net::udp::UdpSocket;
use netdyno_contender::rtt::{Inbox, Job, Ticks, Wire};

pub struct Udp<R, F> {
    socket: Rc<UdpSocket>,
    request: Vec<u8>,
    inbox: Inbox<R, F>,
}

pub async fn connect_udp(job: &Job, peer: SocketAddr, ticks: &Ticks) -> io::Result<impl Wire> {
    let socket = Rc::new(UdpSocket::bind(job.local())?);
    socket.connect(peer).await?;
    let receiver = Rc::clone(&socket);
    let inbox = Inbox::new(vec![0; job.buffer_bytes()], ticks, move |buffer| {
        let socket = Rc::clone(&receiver);
        async move { socket.recv(buffer).await }
    });
    Ok(Udp { socket, request: vec![0; job.message_bytes], inbox })
}

impl<R, F> Wire for Udp<R, F>
where
    R: Fn(Vec<u8>) -> F,
    F: Future<Output = (io::Result<usize>, Vec<u8>)>,
{
    fn prepare(&mut self, message: &[u8]) {
        self.request.copy_from_slice(message);
    }

    async fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        let (sent, request) = self.socket.send(take(&mut self.request)).await;
        self.request = request;
        sent.map(drop)
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        self.inbox.next().await
    }
}

pub struct Tcp {
    stream: TcpStream,
    request: Vec<u8>,
    echo: Vec<u8>,
}

impl Tcp {
    pub async fn connect(job: &Job, peer: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_addr(peer).await?;
        stream.set_nodelay(true)?;
        let (request, echo) = (vec![0; job.message_bytes], vec![0; job.message_bytes]);
        Ok(Self { stream, request, echo })
    }
}

impl Wire for Tcp {
    fn prepare(&mut self, message: &[u8]) {
        self.request.copy_from_slice(message);
    }

    async fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        let (sent, request) = self.stream.write_all(take(&mut self.request)).await;
        self.request = request;
        sent.map(drop)
    }

    /// Fills the buffer to its capacity, which `vec!` makes exact.
    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        let (filled, echo) = self.stream.read_exact(take(&mut self.echo)).await;
        self.echo = echo;
        filled.map(|_| Some(&self.echo[..]))
    }
}
