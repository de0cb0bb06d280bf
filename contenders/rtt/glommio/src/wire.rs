//! The sockets of ping.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use glommio::net::{TcpStream, UdpSocket};
use netdyno_contender::rtt::{Inbox, Job, Ticks, Wire};
use socket2::Socket;

pub struct Udp<R, F> {
    socket: Rc<UdpSocket>,
    inbox: Inbox<R, F>,
}

pub async fn connect_udp(job: &Job, peer: SocketAddr, ticks: &Ticks) -> io::Result<impl Wire> {
    // glommio's own `bind` sets SO_REUSEPORT, with which the system may assign the same port to two lanes.
    let bound = std::net::UdpSocket::bind(job.local())?;
    let socket = Rc::new(UdpSocket::from(Socket::from(bound)));
    socket.connect(peer).await?;
    let receiver = Rc::clone(&socket);
    // glommio allocates this length for each receive, so it is only one byte longer than a message.
    let inbox = Inbox::new(vec![0; job.message_bytes + 1], ticks, move |mut buffer| {
        let socket = Rc::clone(&receiver);
        async move {
            let length = socket.recv(&mut buffer).await;
            (length.map_err(io::Error::from), buffer)
        }
    });
    Ok(Udp { socket, inbox })
}

impl<R, F> Wire for Udp<R, F>
where
    R: Fn(Vec<u8>) -> F,
    F: Future<Output = (io::Result<usize>, Vec<u8>)>,
{
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).await?;
        Ok(())
    }

    async fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        self.inbox.next().await
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
