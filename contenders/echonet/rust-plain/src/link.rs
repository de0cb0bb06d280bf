//! The socket of a node, at port 3610 and in the group.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use netdyno_contender::echonet::{GROUP, PORT};
use socket2::{Domain, Socket, Type};

pub struct Link {
    socket: UdpSocket,
}

impl Link {
    /// Opens the socket on the interface of `local`. `wait` is the timeout of a receive, if any.
    pub fn open(local: Ipv4Addr, wait: Option<Duration>) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        socket.set_reuse_address(true)?;
        // Otherwise, the socket receives every group that any process of this host has joined.
        socket.set_multicast_all_v4(false)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
        socket.join_multicast_v4(&GROUP, &local)?;
        socket.set_multicast_if_v4(&local)?;
        socket.set_multicast_loop_v4(false)?;
        socket.set_read_timeout(wait)?;
        Ok(Self { socket: socket.into() })
    }

    /// Receives a datagram. Returns its length and source, or `None` on a timeout.
    pub fn receive(&self, datagram: &mut [u8]) -> io::Result<Option<(usize, IpAddr)>> {
        match self.socket.recv_from(datagram) {
            Ok((length, from)) => Ok(Some((length, from.ip()))),
            // Interrupted: the process was stopped and goes on.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a datagram to port 3610.
    pub fn send(&self, datagram: &[u8], to: Ipv4Addr) -> io::Result<()> {
        loop {
            match self.socket.send_to(datagram, SocketAddrV4::new(to, PORT)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent.map(drop),
            }
        }
    }
}
