//! A UDP socket that sends and receives many datagrams per system call.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, InterfaceIndexOrAddress, SockRef, Socket, Type};

use crate::batch::{ReceiveBatch, normalise};
use crate::datagram::DatagramSocket;
use crate::icmp::is_about_earlier;
use crate::interface::Interface;
use crate::options::{restrict_to_unicast, set_largest_size};
use crate::sealed::Sealed;
use crate::wait::wait_for;

/// Most datagrams per segmented send (UDP_MAX_SEGMENTS before Linux 6.9).
pub const MAX_SEGMENTS: usize = 64;

/// Payload of the largest UDP datagram over IPv4, and so the limit of one segmented send.
const MAX_SEND_BYTES: usize = 65_507;

/// Returns how many datagrams of `segment_bytes` one system call can send. Longer buffers are sent in several
/// calls.
pub fn max_segments_for(segment_bytes: usize) -> usize {
    (MAX_SEND_BYTES / segment_bytes.max(1)).clamp(1, MAX_SEGMENTS)
}

/// Socket options of a [`UdpSocket`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketOptions {
    /// SO_RCVBUF in bytes; 0 leaves the system's default. Linux grants at most `net.core.rmem_max` and
    /// reports twice the granted size. Its default of 212,992 holds about 90 small datagrams, which is less
    /// than a typical burst.
    pub receive_buffer_bytes: usize,
    /// SO_SNDBUF in bytes, at most `net.core.wmem_max`. 0 leaves the default.
    pub send_buffer_bytes: usize,
    /// SO_REUSEADDR: other sockets with this option may bind the same port. A datagram goes to the socket
    /// with the most specific address, and among equals to the last one bound.
    pub reuse_address: bool,
    /// SO_REUSEPORT, Linux only: the port may be one that the same user has already bound with this option or
    /// [shared](UdpSocket::share_port). The kernel distributes datagrams over these sockets by a hash of both
    /// addresses. Other systems do not, so there it is an error.
    pub reuse_port: bool,
    /// Receives no multicast, even if another process on this machine has joined a group (IP_MULTICAST_ALL
    /// off), and no IPv4 on an IPv6 socket.
    pub only_unicast: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            receive_buffer_bytes: 4 << 20,
            send_buffer_bytes: 4 << 20,
            reuse_address: false,
            reuse_port: false,
            only_unicast: false,
        }
    }
}

/// A bound, non-blocking UDP socket. It is connected only if created [for a peer](Self::for_peer).
#[derive(Debug)]
pub struct UdpSocket {
    socket: Arc<std::net::UdpSocket>,
    state: UdpSocketState,
    local: SocketAddr,
    /// Datagrams per send; reduced to 1 once the device has refused a segmented send.
    segments: AtomicUsize,
    errors: AtomicU64,
}

impl UdpSocket {
    /// Binds `address`; port 0 lets the kernel choose.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        if options.reuse_address {
            socket.set_reuse_address(true)?;
        }
        if options.reuse_port {
            set_reuse_port(&SockRef::from(&socket))?;
        }
        if options.only_unicast {
            restrict_to_unicast(&socket, address)?;
        }
        socket.bind(&address.into())?;
        let socket: std::net::UdpSocket = socket.into();
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let asked = (options.receive_buffer_bytes, options.send_buffer_bytes);
        set_largest_size(asked.0, |bytes| state.set_recv_buffer_size(UdpSockRef::from(&socket), bytes))?;
        set_largest_size(asked.1, |bytes| state.set_send_buffer_size(UdpSockRef::from(&socket), bytes))?;
        let segments = AtomicUsize::new(state.max_gso_segments().clamp(1, MAX_SEGMENTS));
        let local = socket.local_addr()?;
        Ok(Self { socket: Arc::new(socket), state, local, segments, errors: AtomicU64::new(0) })
    }

    /// Lets other sockets bind this port with [`reuse_port`](SocketOptions::reuse_port) from now on. Binding
    /// first without that option, then sharing, detects a port that another program already holds, even one
    /// that shares it.
    pub fn share_port(&self) -> io::Result<()> {
        set_reuse_port(&SockRef::from(&*self.socket))
    }

    /// Opens another socket at a shared port, to which the kernel steers what `remote` sends to `local`.
    /// Datagrams that arrived earlier may still wait at another socket. For a moment this socket may receive
    /// datagrams of others, so check the sender. Use it for receiving only: any socket of the port can send.
    ///
    /// Since Linux 6.13 the kernel finds the socket by a hash of its addresses. Earlier kernels search all
    /// sockets of the port, which takes noticeable time per datagram with a thousand sockets.
    ///
    /// # Errors
    ///
    /// Fails if the system would answer `remote` from an address other than `local`, and for the reasons of
    /// [`bind`](Self::bind), such as too many open files.
    pub fn for_peer(local: SocketAddr, remote: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        // Bound to all addresses, and narrowed to one only by connecting. It is therefore never in the
        // group of sockets bound to that address, over which the kernel distributes datagrams of unknown
        // peers, and it leaves the wildcard group at once.
        let any: IpAddr =
            if local.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let options = SocketOptions { reuse_port: true, only_unicast: true, ..options.clone() };
        let mut socket = Self::bind(SocketAddr::new(any, local.port()), &options)?;
        socket.socket.connect(remote)?;
        socket.local = normalise(socket.socket.local_addr()?);
        if socket.local == normalise(local) {
            return Ok(socket);
        }
        let why = format!("the system answers {remote} from {}, not from {local}", socket.local);
        Err(io::Error::new(ErrorKind::AddrNotAvailable, why))
    }

    /// Returns the address from which a socket bound to `local` would send to `remote`. Sends nothing.
    pub fn source_towards(local: SocketAddr, remote: SocketAddr) -> io::Result<IpAddr> {
        let socket = std::net::UdpSocket::bind(local)?;
        socket.connect(remote)?;
        Ok(socket.local_addr()?.ip())
    }

    /// The address that the socket is bound to, with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Sends multicast through this interface from now on, whatever the source address.
    pub fn set_multicast_interface(&self, interface: &Interface) -> io::Result<()> {
        if self.local.is_ipv6() {
            return Ok(rustix::net::sockopt::set_ipv6_multicast_if(&*self.socket, interface.index)?);
        }
        let (any, unset) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
        let address = interface.v4.unwrap_or(unset);
        Ok(rustix::net::sockopt::set_ip_multicast_if_with_ifindex(
            &*self.socket,
            &any,
            &address,
            interface.index,
        )?)
    }

    /// Sets the TTL or hop limit of multicast datagrams; the default of 1 stays on the link.
    pub fn set_multicast_hops(&self, hops: u8) -> io::Result<()> {
        let socket = SockRef::from(&*self.socket);
        if self.local.is_ipv6() {
            socket.set_multicast_hops_v6(hops.into())
        } else {
            socket.set_multicast_ttl_v4(hops.into())
        }
    }

    /// Joins a group on this interface, or on the one that the system chooses. Bind to the group's address to
    /// receive nothing else.
    pub fn join(&self, group: IpAddr, interface: Option<&Interface>) -> io::Result<()> {
        let (socket, index) =
            (SockRef::from(&*self.socket), interface.map_or(0, |interface| interface.index));
        match group {
            IpAddr::V4(group) => socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(index)),
            IpAddr::V6(group) => socket.join_multicast_v6(&group, index),
        }
    }

    /// Returns the same socket for single datagrams. Each datagram is received through only one of the two.
    /// Datagrams that the kernel coalesced (UDP_GRO) are received as one.
    pub fn datagram_socket(&self) -> DatagramSocket {
        DatagramSocket::from_bound(Arc::clone(&self.socket), self.local)
    }

    /// SO_RCVBUF as the kernel reports it.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        self.state.recv_buffer_size(UdpSockRef::from(&*self.socket))
    }

    /// SO_SNDBUF as the kernel reports it.
    pub fn send_buffer_bytes(&self) -> io::Result<usize> {
        self.state.send_buffer_size(UdpSockRef::from(&*self.socket))
    }

    /// Most datagrams per system call: 1 without segmentation offload.
    pub fn max_segments(&self) -> usize {
        self.segments.load(Ordering::Relaxed)
    }

    /// Sends one datagram per system call from now on.
    pub fn disable_segmentation(&self) {
        self.segments.store(1, Ordering::Relaxed);
    }

    /// Number of datagrams or segmented sends that the kernel refused for a reason other than a full buffer.
    pub fn send_errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Sends consecutive datagrams of `segment_bytes` each (at least 1); the last may be shorter. `local`
    /// matters if the socket is bound to all addresses. Returns the number of bytes accepted. Fewer than all
    /// means that the socket's buffer is full: send the rest when the socket is writable.
    pub fn send(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        datagrams: &[u8],
        segment_bytes: usize,
    ) -> usize {
        let segment_bytes = segment_bytes.max(1);
        let route = self.route(local, remote);
        let count = datagrams.len().div_ceil(segment_bytes);
        let end = |number: usize| (number * segment_bytes).min(datagrams.len());
        end(self.send_runs(count, segment_bytes, |run| {
            self.send_once(&route, &datagrams[end(run.start)..end(run.end)], segment_bytes)
        }))
    }

    /// Sends one datagram. `local` is as in [`send`](Self::send). A full socket buffer is the error
    /// `WouldBlock`.
    pub fn send_one(&self, local: SocketAddr, remote: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.send_once(&self.route(local, remote), datagram, datagram.len())
    }

    fn route(&self, local: SocketAddr, remote: SocketAddr) -> Route {
        Route { source: self.source(local), destination: self.destination(remote) }
    }

    /// Waits for buffer space to send; false if the timeout expired or a signal arrived.
    pub fn wait_writable(&self, timeout: Duration) -> io::Result<bool> {
        Ok(wait_for(&mut [PollFd::new(&*self.socket, PollFlags::OUT)], Some(timeout))? > 0)
    }

    /// Receives what has arrived, as far as the buffers of `batch` hold it; 0 if there is nothing. At most
    /// one system call: if the batch is full, more may be waiting.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        let filled = batch.fill(self.local, |slices, metas| {
            self.state.recv(UdpSockRef::from(&*self.socket), slices, metas)
        });
        match filled {
            Err(error) if is_nothing(&error) => Ok(0),
            other => other,
        }
    }

    fn send_once(&self, route: &Route, contents: &[u8], segment_bytes: usize) -> io::Result<()> {
        let transmit = Transmit {
            destination: route.destination,
            ecn: None,
            contents,
            segment_size: (contents.len() > segment_bytes).then_some(segment_bytes),
            src_ip: route.source,
        };
        self.state.try_send(UdpSockRef::from(&*self.socket), &transmit)
    }

    /// Sends `count` datagrams with as few calls as the system allows. `send_once` receives the indices for
    /// one call. Returns how many were accepted.
    fn send_runs(
        &self,
        count: usize,
        segment_bytes: usize,
        send_once: impl Fn(Range<usize>) -> io::Result<()>,
    ) -> usize {
        let mut sent = 0;
        while sent < count {
            let segments = self.max_segments().min(max_segments_for(segment_bytes));
            let run = sent..count.min(sent + segments);
            match send_once(run.clone()) {
                Ok(()) => sent = run.end,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                    if run.len() > 1 && refuses_segments(&error) {
                        sent += self.send_singly(run, &send_once);
                    } else {
                        // Treated as lost in the network.
                        sent = run.end;
                    }
                }
            }
        }
        sent
    }

    /// Sends the datagrams of a refused segmented send one by one. If these succeed, segmentation is disabled
    /// for the socket. The last, shorter datagram is ignored in that decision, because it may succeed where
    /// the length of the others is the cause. Returns how many were accepted.
    fn send_singly(&self, run: Range<usize>, send_once: &impl Fn(Range<usize>) -> io::Result<()>) -> usize {
        let (mut sent, mut one_went) = (0, false);
        for number in run.clone() {
            match send_once(number..number + 1) {
                Ok(()) => one_went |= number + 1 < run.end,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                }
            }
            sent += 1;
        }
        if one_went {
            self.disable_segmentation();
        }
        sent
    }

    /// The source address to request: none if the socket is bound to a single address.
    fn source(&self, local: SocketAddr) -> Option<IpAddr> {
        (self.local.ip().is_unspecified() && !local.ip().is_unspecified()).then_some(local.ip())
    }

    /// An IPv6 socket reaches IPv4 addresses in their mapped form (RFC 4291 section 2.5.5.2).
    fn destination(&self, remote: SocketAddr) -> SocketAddr {
        match remote {
            SocketAddr::V4(v4) if self.local.is_ipv6() => {
                SocketAddrV6::new(Ipv4Addr::to_ipv6_mapped(v4.ip()), v4.port(), 0, 0).into()
            }
            other => other,
        }
    }
}

impl Sealed for UdpSocket {
    fn inner(&self) -> &Arc<std::net::UdpSocket> {
        &self.socket
    }
}

struct Route {
    source: Option<IpAddr>,
    destination: SocketAddr,
}

fn set_reuse_port(socket: &SockRef<'_>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return socket.set_reuse_port(true);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        Err(ErrorKind::Unsupported.into())
    }
}

/// EIO: the device cannot segment. EINVAL: the same, or the segments exceed the path MTU.
fn refuses_segments(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EIO | EINVAL))
}

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// Nothing to receive, or an ICMP message about an earlier datagram.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) || is_about_earlier(error)
}

#[cfg(test)]
mod tests;
