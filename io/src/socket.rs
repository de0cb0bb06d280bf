//! A UDP socket that sends and receives many datagrams at a time.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, InterfaceIndexOrAddress, SockRef, Socket, Type};

use crate::batch::{ReceiveBatch, plain};
use crate::datagram::DatagramSocket;
use crate::interface::Interface;
use crate::sealed::Sealed;
use crate::wait::wait_for;

/// Datagrams that one send can carry at the most (UDP_MAX_SEGMENTS before Linux 6.9).
pub const MAX_SEGMENTS: usize = 64;

/// Payload of the largest UDP datagram over IPv4, and so of all datagrams of one segmented send.
const MAX_SEND_BYTES: usize = 65_507;

/// Datagrams of so many bytes that one send can carry at the most: who hands over more at a time has them sent by several.
pub fn max_segments_of(segment_bytes: usize) -> usize {
    (MAX_SEND_BYTES / segment_bytes.max(1)).clamp(1, MAX_SEGMENTS)
}

/// What is asked of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketOptions {
    /// SO_RCVBUF, bytes. Linux grants `net.core.rmem_max` at the most, and says twice of what it granted. Its default
    /// of 212,992 holds some 90 small datagrams, which is less than what comes in one go. 0 leaves the default.
    pub receive_buffer_bytes: usize,
    /// SO_SNDBUF, bytes; `net.core.wmem_max` at the most. 0 leaves the default.
    pub send_buffer_bytes: usize,
    /// SO_REUSEADDR: others that ask for the same may bind the port too. What is sent to one address goes to the socket
    /// that is bound most closely, the last of several.
    pub reuse_address: bool,
    /// SO_REUSEPORT, Linux only: the port may be one that others of the same user have bound with this, or [share](UdpSocket::share_port).
    /// The kernel deals what comes out to them, by a hash of both addresses. Other systems would not, so there it is refused.
    pub reuse_port: bool,
    /// Takes no multicast, also where others on this machine have joined a group (IP_MULTICAST_ALL off), and no IPv4 by
    /// an IPv6 socket.
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

/// A bound UDP socket, never blocking, and connected only if it is one [for a peer](Self::for_peer).
#[derive(Debug)]
pub struct UdpSocket {
    socket: Arc<std::net::UdpSocket>,
    state: UdpSocketState,
    local: SocketAddr,
    /// Datagrams a send may carry; falls to 1 once the device has refused more.
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
            unicast_alone(&socket, address)?;
        }
        socket.bind(&address.into())?;
        let socket: std::net::UdpSocket = socket.into();
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let asked = (options.receive_buffer_bytes, options.send_buffer_bytes);
        largest(asked.0, |bytes| state.set_recv_buffer_size(UdpSockRef::from(&socket), bytes))?;
        largest(asked.1, |bytes| state.set_send_buffer_size(UdpSockRef::from(&socket), bytes))?;
        let segments = AtomicUsize::new(state.max_gso_segments().clamp(1, MAX_SEGMENTS));
        let local = socket.local_addr()?;
        Ok(Self { socket: Arc::new(socket), state, local, segments, errors: AtomicU64::new(0) })
    }

    /// From now on others may bind its port by [`reuse_port`](SocketOptions::reuse_port). Who binds first without that, and then
    /// shares, is told if another program has the port, also one that shares it.
    pub fn share_port(&self) -> io::Result<()> {
        set_reuse_port(&SockRef::from(&*self.socket))
    }

    /// One more socket at a port that is shared, for what `remote` sends to `local` alone: from now on that comes to it, and to no
    /// other. What came before may wait elsewhere, and for a moment it may be given what is for others, so that whoever reads it still looks at
    /// the sender. For receiving: what is sent goes out by any socket of the port.
    ///
    /// The kernel finds it by its addresses, since Linux 6.13 by a hash of them, before by a walk along all sockets of the port: a
    /// thousand of them cost each datagram some microseconds there.
    ///
    /// # Errors
    ///
    /// The system answers `remote` from another address than `local`, and those of [`bind`](Self::bind), such as no more file descriptors.
    pub fn for_peer(local: SocketAddr, remote: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        // Bound to all addresses, and to one only by connecting: so it never stands with those of one address, to which the kernel deals
        // what comes from strangers, and leaves those of all addresses at once.
        let any: IpAddr =
            if local.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let options = SocketOptions { reuse_port: true, only_unicast: true, ..options.clone() };
        let mut socket = Self::bind(SocketAddr::new(any, local.port()), &options)?;
        socket.socket.connect(remote)?;
        socket.local = plain(socket.socket.local_addr()?);
        if socket.local == plain(local) {
            return Ok(socket);
        }
        let why = format!("the system answers {remote} from {}, not from {local}", socket.local);
        Err(io::Error::new(ErrorKind::AddrNotAvailable, why))
    }

    /// The address that a datagram to `remote` would leave from, were the socket bound to `local`. Sends none.
    pub fn source_towards(local: SocketAddr, remote: SocketAddr) -> io::Result<IpAddr> {
        let socket = std::net::UdpSocket::bind(local)?;
        socket.connect(remote)?;
        Ok(socket.local_addr()?.ip())
    }

    /// The address that it is bound to, with the port that it got.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// What is sent to a group leaves by this interface from now on, from whatever address it is sent.
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

    /// Routers that what is sent to a group may pass, and one more; 1 without it.
    pub fn set_multicast_hops(&self, hops: u8) -> io::Result<()> {
        let socket = SockRef::from(&*self.socket);
        if self.local.is_ipv6() {
            socket.set_multicast_hops_v6(hops.into())
        } else {
            socket.set_multicast_ttl_v4(hops.into())
        }
    }

    /// Takes what is sent to a group from now on, by this interface, or by the one that the system chooses. Bind the group's
    /// own address, so that nothing else comes.
    pub fn join(&self, group: IpAddr, interface: Option<&Interface>) -> io::Result<()> {
        let (socket, index) =
            (SockRef::from(&*self.socket), interface.map_or(0, |interface| interface.index));
        match group {
            IpAddr::V4(group) => socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(index)),
            IpAddr::V6(group) => socket.join_multicast_v6(&group, index),
        }
    }

    /// The same socket, for single datagrams: what one of the two takes the other does not see. Datagrams that the kernel kept together
    /// (UDP_GRO) come as one.
    pub fn single(&self) -> DatagramSocket {
        DatagramSocket::same(Arc::clone(&self.socket), self.local)
    }

    /// SO_RCVBUF as the kernel tells it.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        self.state.recv_buffer_size(UdpSockRef::from(&*self.socket))
    }

    /// SO_SNDBUF as the kernel tells it.
    pub fn send_buffer_bytes(&self) -> io::Result<usize> {
        self.state.send_buffer_size(UdpSockRef::from(&*self.socket))
    }

    /// Datagrams that one system call sends: 1 without segmentation offload.
    pub fn max_segments(&self) -> usize {
        self.segments.load(Ordering::Relaxed)
    }

    /// Sends one datagram a system call from now on.
    pub fn disable_segmentation(&self) {
        self.segments.store(1, Ordering::Relaxed);
    }

    /// Datagrams, or segmented sends, that the kernel refused for another reason than a full buffer.
    pub fn send_errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Sends datagrams that lie side by side, `segment_bytes` each (at least 1), the last may be shorter. `local`
    /// matters where the socket is bound to all addresses. Gives the bytes that were taken: fewer than all means that
    /// the buffer of the socket is full, and the rest is to be sent once it is writable.
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

    /// Sends one datagram. `local` as in [`send`](Self::send). A full buffer of the socket is an error too: `WouldBlock`.
    pub fn send_one(&self, local: SocketAddr, remote: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.send_once(&self.route(local, remote), datagram, datagram.len())
    }

    fn route(&self, local: SocketAddr, remote: SocketAddr) -> Route {
        Route { source: self.source(local), destination: self.destination(remote) }
    }

    /// Waits for room to send; false if there was none in time, or a signal came.
    pub fn wait_writable(&self, timeout: Duration) -> io::Result<bool> {
        Ok(wait_for(&mut [PollFd::new(&*self.socket, PollFlags::OUT)], Some(timeout))? > 0)
    }

    /// Takes what has arrived, as much as the buffers of `batch` hold; 0 if there is nothing. No more than one system
    /// call: if the batch is full there may be more.
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

    /// Sends so many datagrams by as few calls as the system takes. `send_once` is given the numbers of those that are to go
    /// by one call. Gives how many were taken.
    fn send_runs(
        &self,
        count: usize,
        segment_bytes: usize,
        send_once: impl Fn(Range<usize>) -> io::Result<()>,
    ) -> usize {
        let mut sent = 0;
        while sent < count {
            let segments = self.max_segments().min(max_segments_of(segment_bytes));
            let run = sent..count.min(sent + segments);
            match send_once(run.clone()) {
                Ok(()) => sent = run.end,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                    if run.len() > 1 && refuses_segments(&error) {
                        sent += self.send_singly(run, &send_once);
                    } else {
                        // Lost, as on any network.
                        sent = run.end;
                    }
                }
            }
        }
        sent
    }

    /// After a segmented send was refused: the same datagrams one by one. If these go, segmentation is the culprit,
    /// and is not tried again; the last, which may be shorter, goes even where their length is the culprit. Gives how many
    /// were taken.
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

    /// The source address to ask for: none where the socket has but one.
    fn source(&self, local: SocketAddr) -> Option<IpAddr> {
        (self.local.ip().is_unspecified() && !local.ip().is_unspecified()).then_some(local.ip())
    }

    /// An IPv6 socket reaches IPv4 addresses by their mapped form (RFC 4291 section 2.5.5.2).
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

/// No multicast but what the socket itself has joined; no IPv4 on an IPv6 socket. Before it is bound.
pub(crate) fn unicast_alone(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
        #[cfg(target_os = "linux")]
        socket.set_multicast_all_v6(false)?;
    } else {
        #[cfg(target_os = "linux")]
        socket.set_multicast_all_v4(false)?;
    }
    Ok(())
}

/// Sets the largest size that the system grants, from `bytes` down: some refuse what is above their limit, Linux
/// does not. 0 sets none.
pub(crate) fn largest(bytes: usize, set: impl Fn(usize) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = bytes;
    if bytes == 0 {
        return Ok(());
    }
    loop {
        match set(bytes) {
            Err(_) if bytes > 1 << 16 => bytes /= 2,
            done => return done,
        }
    }
}

/// EIO: the device cannot segment. EINVAL: the same, or segments longer than the path takes.
fn refuses_segments(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EIO | EINVAL))
}

const EIO: i32 = 5;
const EINVAL: i32 = 22;

/// Nothing there, or an ICMP message about an earlier datagram, which says nothing about what may come.
fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests;
