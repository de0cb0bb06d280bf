//! A UDP socket for small datagrams, and for multicast.

mod batch;
#[cfg(test)]
mod tests;
mod together;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};
use socket2::{Domain, InterfaceIndexOrAddress, SockRef, Socket, Type};

pub use batch::DatagramBatch;
pub use together::SendBatch;

use crate::interface::Interface;
use crate::sealed::Sealed;
use crate::socket::{largest, unicast_alone};
use crate::wait::wait_for;

/// Datagrams that one call takes or sends at the most.
const DATAGRAMS: usize = 16;

/// What is asked of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatagramOptions {
    /// SO_RCVBUF, bytes; beyond `net.core.rmem_max` where the process may (SO_RCVBUFFORCE).
    pub receive_buffer_bytes: usize,
    /// SO_SNDBUF, bytes.
    pub send_buffer_bytes: usize,
    /// SO_REUSEADDR: others that ask for the same may bind the port too. Multicast goes to all of them, what is sent to
    /// one address to the socket that is bound most closely.
    pub reuse_address: bool,
    /// Whether sockets on this machine, this one among them, hear what it sends to a group.
    pub multicast_loop: bool,
    /// Routers that a multicast datagram may pass, and one more.
    pub multicast_hops: u8,
    /// Receives wait for so long, in the one system call that receives (SO_RCVTIMEO). `None`: they never wait.
    pub wait: Option<Duration>,
}

impl Default for DatagramOptions {
    fn default() -> Self {
        Self {
            receive_buffer_bytes: 4 << 20,
            send_buffer_bytes: 1 << 20,
            reuse_address: false,
            multicast_loop: true,
            multicast_hops: 1,
            wait: None,
        }
    }
}

/// A bound UDP socket that takes either what is sent to an address of ours, or what is sent to one group on one interface:
/// so nobody has to ask which of them a datagram was.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Arc<std::net::UdpSocket>,
    local: SocketAddr,
}

impl DatagramSocket {
    /// Binds an address, or all of them (`0.0.0.0` or `::`), for unicast alone. Port 0 lets the kernel choose.
    pub fn bind(address: SocketAddr, options: &DatagramOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        unicast_alone(&socket, address)?;
        Self::finish(socket, address, options)
    }

    /// Joins a group on an interface, and binds it: takes what is sent to it there, and nothing else. What it sends to
    /// the group leaves by that interface.
    pub fn join(group: SocketAddr, interface: &Interface, options: &DatagramOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
        unicast_alone(&socket, group)?;
        let mut bound = group;
        match group.ip() {
            IpAddr::V4(ip) => {
                socket.join_multicast_v4_n(&ip, &InterfaceIndexOrAddress::Index(interface.index))?;
            }
            IpAddr::V6(ip) => {
                // Every host has joined all nodes of each link (ff02::1) already; asking again does no harm.
                socket.join_multicast_v6(&ip, interface.index)?;
                bound = SocketAddrV6::new(ip, group.port(), 0, interface.index).into();
            }
        }
        multicast_by(&socket, group.is_ipv4(), interface, options)?;
        Self::finish(socket, bound, options)
    }

    /// What it sends to a group leaves by this interface from now on, from the address that it is bound to.
    pub fn set_multicast_interface(
        &self,
        interface: &Interface,
        options: &DatagramOptions,
    ) -> io::Result<()> {
        multicast_by(&SockRef::from(&*self.socket), self.local.is_ipv4(), interface, options)
    }

    fn finish(socket: Socket, address: SocketAddr, options: &DatagramOptions) -> io::Result<Self> {
        if options.reuse_address {
            socket.set_reuse_address(true)?;
        }
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, options.receive_buffer_bytes)
            .is_err()
        {
            largest(options.receive_buffer_bytes, |bytes| socket.set_recv_buffer_size(bytes))?;
        }
        largest(options.send_buffer_bytes, |bytes| socket.set_send_buffer_size(bytes))?;
        match options.wait {
            Some(wait) => socket.set_read_timeout(Some(wait))?,
            None => socket.set_nonblocking(true)?,
        }
        socket.bind(&address.into())?;
        let socket: std::net::UdpSocket = socket.into();
        let local = socket.local_addr()?;
        Ok(Self { socket: Arc::new(socket), local })
    }

    /// A socket that is bound already, and never waits.
    pub(crate) fn same(socket: Arc<std::net::UdpSocket>, local: SocketAddr) -> Self {
        Self { socket, local }
    }

    /// The address that it is bound to, with the port that it got.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// SO_RCVBUF as the kernel tells it.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        SockRef::from(&*self.socket).recv_buffer_size()
    }

    /// Sends one datagram. What the network did with earlier ones (an ICMP message) is no error of this one.
    pub fn send(&self, remote: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        // Without the bookkeeping that a library's call does where a program has several threads.
        let send = || sendto(&*self.socket, datagram, SendFlags::empty(), &remote).map_err(io::Error::from);
        match send() {
            Err(error) if is_about_earlier(&error) => send().map(drop),
            other => other.map(drop),
        }
    }

    /// Takes one datagram; gives its length and sender. `None`: there was none in the time that
    /// [`DatagramOptions::wait`] says. One system call.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.take(buffer, RecvFlags::empty())
    }

    /// Takes one datagram that is there, and never waits. One system call.
    pub fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.take(buffer, RecvFlags::DONTWAIT)
    }

    fn take(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<Option<(usize, SocketAddr)>> {
        let received = unless_nothing(recvfrom(&*self.socket, buffer, flags).map_err(io::Error::from))?;
        Ok(received.and_then(|(bytes, _, sender)| Some((bytes, SocketAddr::try_from(sender?).ok()?))))
    }

    fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&*self.socket, PollFlags::IN)
    }

    /// Waits until one of these sockets has a datagram, without taking it, and gives its place; `None` if none had in time,
    /// or a signal came.
    pub fn wait_any(sockets: &[Self], timeout: Duration) -> io::Result<Option<usize>> {
        let wait = |fds: &mut [PollFd<'_>]| {
            wait_for(fds, Some(timeout))?;
            Ok(fds.iter().position(|fd| !fd.revents().is_empty()))
        };
        match sockets {
            // Nothing is allocated for the usual one.
            [one] => wait(&mut [one.poll_fd()]),
            _ => wait(&mut sockets.iter().map(Self::poll_fd).collect::<Vec<_>>()),
        }
    }
}

/// What is sent to a group leaves by this interface.
fn multicast_by(
    socket: &Socket,
    is_v4: bool,
    interface: &Interface,
    options: &DatagramOptions,
) -> io::Result<()> {
    if !is_v4 {
        socket.set_multicast_if_v6(interface.index)?;
        socket.set_multicast_loop_v6(options.multicast_loop)?;
        return socket.set_multicast_hops_v6(options.multicast_hops.into());
    }
    let address = interface.v4.unwrap_or(Ipv4Addr::UNSPECIFIED);
    let any = Ipv4Addr::UNSPECIFIED;
    rustix::net::sockopt::set_ip_multicast_if_with_ifindex(socket, &any, &address, interface.index)?;
    socket.set_multicast_loop_v4(options.multicast_loop)?;
    socket.set_multicast_ttl_v4(options.multicast_hops.into())
}

impl Sealed for DatagramSocket {
    fn inner(&self) -> &Arc<std::net::UdpSocket> {
        &self.socket
    }
}

/// `None`: there was nothing to receive.
fn unless_nothing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(received) => Ok(Some(received)),
        Err(error) if is_nothing(&error) || is_about_earlier(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// ICMP messages about datagrams sent before, which the kernel tells with the next call.
fn is_about_earlier(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    )
}
