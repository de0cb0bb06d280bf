//! A UDP socket for small datagrams and for multicast.

mod batch;
mod send_batch;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};
use socket2::{Domain, InterfaceIndexOrAddress, SockRef, Socket, Type};

pub use batch::DatagramBatch;
pub use send_batch::SendBatch;

use crate::icmp::is_about_earlier;
use crate::interface::Interface;
use crate::options::{restrict_to_unicast, set_largest_size};
use crate::sealed::Sealed;
use crate::wait::wait_for;

/// Most datagrams per call.
const DATAGRAMS: usize = 16;

/// Socket options of a [`DatagramSocket`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatagramOptions {
    /// SO_RCVBUF in bytes. Exceeds `net.core.rmem_max` if the process is privileged (SO_RCVBUFFORCE).
    pub receive_buffer_bytes: usize,
    /// SO_SNDBUF in bytes.
    pub send_buffer_bytes: usize,
    /// SO_REUSEADDR: other sockets with this option may bind the same port. Multicast reaches all of them; a
    /// unicast datagram reaches the socket with the most specific address.
    pub reuse_address: bool,
    /// Whether sockets on this machine, including this one, receive what it sends to a group.
    pub multicast_loop: bool,
    /// TTL or hop limit of multicast datagrams: 1 stays on the link.
    pub multicast_hops: u8,
    /// Longest wait of a receive, within its one system call (SO_RCVTIMEO). `None`: receives never block.
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

/// A bound UDP socket that receives either unicast datagrams to a local address or the datagrams to one group
/// on one interface. Callers therefore never need to ask which of the two a datagram was.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Arc<std::net::UdpSocket>,
    local: SocketAddr,
}

impl DatagramSocket {
    /// Binds an address, or all addresses (`0.0.0.0` or `::`), for unicast only. Port 0 lets the kernel
    /// choose.
    pub fn bind(address: SocketAddr, options: &DatagramOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        restrict_to_unicast(&socket, address)?;
        Self::finish(socket, address, options)
    }

    /// Joins a group on an interface and binds to it, so that the socket receives only datagrams to that
    /// group on that interface. Multicast is sent through the same interface.
    pub fn join(group: SocketAddr, interface: &Interface, options: &DatagramOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
        restrict_to_unicast(&socket, group)?;
        let mut bound = group;
        match group.ip() {
            IpAddr::V4(ip) => {
                socket.join_multicast_v4_n(&ip, &InterfaceIndexOrAddress::Index(interface.index))?;
            }
            IpAddr::V6(ip) => {
                // Every host is already a member of the all-nodes group of each link (ff02::1); joining
                // again does no harm.
                socket.join_multicast_v6(&ip, interface.index)?;
                bound = SocketAddrV6::new(ip, group.port(), 0, interface.index).into();
            }
        }
        multicast_by(&socket, group.is_ipv4(), interface, options)?;
        Self::finish(socket, bound, options)
    }

    /// Sends multicast through this interface from now on, from the address that the socket is bound to.
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
            set_largest_size(options.receive_buffer_bytes, |bytes| socket.set_recv_buffer_size(bytes))?;
        }
        set_largest_size(options.send_buffer_bytes, |bytes| socket.set_send_buffer_size(bytes))?;
        match options.wait {
            Some(wait) => socket.set_read_timeout(Some(wait))?,
            None => socket.set_nonblocking(true)?,
        }
        socket.bind(&address.into())?;
        let socket: std::net::UdpSocket = socket.into();
        let local = socket.local_addr()?;
        Ok(Self { socket: Arc::new(socket), local })
    }

    /// Wraps a socket that is already bound and non-blocking.
    pub(crate) fn from_bound(socket: Arc<std::net::UdpSocket>, local: SocketAddr) -> Self {
        Self { socket, local }
    }

    /// The address that the socket is bound to, with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// SO_RCVBUF as the kernel reports it.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        SockRef::from(&*self.socket).recv_buffer_size()
    }

    /// Sends one datagram. Delivery failures of earlier datagrams (ICMP messages) are not returned as errors.
    pub fn send(&self, remote: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        // Avoids the per-call bookkeeping of the C library in multi-threaded programs.
        let send = || sendto(&*self.socket, datagram, SendFlags::empty(), &remote).map_err(io::Error::from);
        match send() {
            Err(error) if is_about_earlier(&error) => send().map(drop),
            other => other.map(drop),
        }
    }

    /// Receives one datagram and returns its length and sender. `None`: none arrived within
    /// [`DatagramOptions::wait`]. One system call.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.receive_with(buffer, RecvFlags::empty())
    }

    /// Receives one datagram if one is waiting, without blocking. One system call.
    pub fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        self.receive_with(buffer, RecvFlags::DONTWAIT)
    }

    fn receive_with(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<Option<(usize, SocketAddr)>> {
        let received = unless_nothing(recvfrom(&*self.socket, buffer, flags).map_err(io::Error::from))?;
        Ok(received.and_then(|(bytes, _, sender)| Some((bytes, SocketAddr::try_from(sender?).ok()?))))
    }

    fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&*self.socket, PollFlags::IN)
    }

    /// Waits until one of these sockets has a datagram, does not receive it, and returns the socket's index.
    /// `None`: the timeout expired or a signal arrived.
    pub fn wait_any(sockets: &[Self], timeout: Duration) -> io::Result<Option<usize>> {
        let wait = |fds: &mut [PollFd<'_>]| {
            wait_for(fds, Some(timeout))?;
            Ok(fds.iter().position(|fd| !fd.revents().is_empty()))
        };
        match sockets {
            // The common case allocates nothing.
            [single] => wait(&mut [single.poll_fd()]),
            _ => wait(&mut sockets.iter().map(Self::poll_fd).collect::<Vec<_>>()),
        }
    }
}

/// Sends multicast through this interface.
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
