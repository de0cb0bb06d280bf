//! A UDP socket that sends and receives many datagrams at a time.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Socket, Type};

use crate::batch::ReceiveBatch;
use crate::interface::Interface;
use crate::sealed::Sealed;

/// Datagrams that one send can carry at the most (UDP_MAX_SEGMENTS before Linux 6.9).
pub const MAX_SEGMENTS: usize = 64;

/// Payload of the largest UDP datagram over IPv4, and so of all datagrams of one segmented send.
const MAX_SEND_BYTES: usize = 65_507;

/// What is asked of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketOptions {
    /// SO_RCVBUF, bytes. Linux grants `net.core.rmem_max` at the most, and says twice of what it granted. Its default
    /// of 212,992 holds some 90 small datagrams, which is less than what comes in one go.
    pub receive_buffer_bytes: usize,
    /// SO_SNDBUF, bytes; `net.core.wmem_max` at the most.
    pub send_buffer_bytes: usize,
    /// SO_REUSEADDR: others that ask for the same may bind the port too. What is sent to one address goes to the socket
    /// that is bound most closely, the last of several.
    pub reuse_address: bool,
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
            only_unicast: false,
        }
    }
}

/// A bound UDP socket, not connected and never blocking.
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
        let route = Route { source: self.source(local), destination: self.destination(remote) };
        let mut sent = 0;
        while sent < datagrams.len() {
            let rest = &datagrams[sent..];
            let segments = self.max_segments().min(MAX_SEND_BYTES / segment_bytes).max(1);
            let length = rest.len().min(segments * segment_bytes);
            match self.send_once(&route, &rest[..length], segment_bytes) {
                Ok(()) => sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                    sent += if length > segment_bytes && refuses_segments(&error) {
                        self.send_singly(&route, &rest[..length], segment_bytes)
                    } else {
                        // Lost, as on any network.
                        length
                    };
                }
            }
        }
        sent
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

    /// After a segmented send was refused: the same datagrams one by one. If these go, segmentation is the culprit,
    /// and is not tried again; a short last one goes even where their length is the culprit. Gives the bytes taken.
    fn send_singly(&self, route: &Route, datagrams: &[u8], segment_bytes: usize) -> usize {
        let (mut sent, mut one_went) = (0, false);
        for datagram in datagrams.chunks(segment_bytes) {
            match self.send_once(route, datagram, segment_bytes) {
                Ok(()) => one_went |= datagram.len() == segment_bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.errors.fetch_add(1, Ordering::Relaxed);
                }
            }
            sent += datagram.len();
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
/// does not.
pub(crate) fn largest(bytes: usize, set: impl Fn(usize) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = bytes;
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
