//! Listening sockets, and the handling of failed accepts.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use socket2::SockRef;

use super::limits::{ACCEPT_PAUSE, KEEPALIVE_MAX, KEEPALIVE_PROBES, REFUSED_AT_ONCE};
use crate::batch::normalise;

/// Options of a listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenOptions {
    /// SO_REUSEPORT: several reactors listen on one address, and the kernel distributes connections over
    /// them.
    pub share_port: bool,
    /// Connections that may wait to be accepted; the kernel grants at most `net.core.somaxconn`.
    pub backlog: u32,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { share_port: false, backlog: 4096 }
    }
}

/// Identifies a listening socket of a reactor, in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Listener(pub(super) u16);

#[derive(Debug)]
pub(super) struct ListenSocket {
    pub(super) socket: OwnedFd,
    pub(super) local: SocketAddr,
    /// epoll: connections are waiting. io_uring: an accept is in progress.
    pub(super) active: bool,
    /// Accept nothing before this time.
    pub(super) not_before: Option<Instant>,
}

/// Outcome of an accept call.
#[derive(Debug)]
pub(super) enum Accepted {
    Connection(OwnedFd, SocketAddr),
    /// No connection is waiting.
    None,
    /// This connection failed; the next may succeed.
    Lost,
    /// The process ran out of descriptors or memory.
    Exhausted,
}

/// Listening sockets, and a descriptor reserved for running out of descriptors.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    pub(super) sockets: Vec<ListenSocket>,
    reserve: Option<OwnedFd>,
    /// Whether the sockets block, as io_uring requires.
    blocking: bool,
    /// Silence after which keep-alive probes start.
    keepalive: Option<Duration>,
    /// Most unsent bytes that the kernel accepts per connection.
    unsent_bytes: Option<u32>,
}

impl Listeners {
    pub(super) fn add(
        &mut self,
        address: SocketAddr,
        options: &ListenOptions,
        flags: SocketFlags,
    ) -> io::Result<()> {
        let socket = listening(address, options, flags)?;
        self.blocking = !flags.contains(SocketFlags::NONBLOCK);
        keep_alive(&socket, self.keepalive)?;
        if let Some(bytes) = self.unsent_bytes {
            SockRef::from(&socket).set_tcp_notsent_lowat(bytes)?;
        }
        let local = net::getsockname(&socket)?.try_into()?;
        self.refill();
        self.sockets.push(ListenSocket { socket, local, active: false, not_before: None });
        Ok(())
    }

    pub(super) fn set_keepalive(&mut self, silence: Option<Duration>) -> io::Result<()> {
        self.keepalive = silence;
        self.sockets.iter().try_for_each(|listener| keep_alive(&listener.socket, silence))
    }

    pub(super) fn set_unsent_bytes(&mut self, bytes: u32) -> io::Result<()> {
        self.unsent_bytes = Some(bytes);
        self.sockets
            .iter()
            .try_for_each(|listener| SockRef::from(&listener.socket).set_tcp_notsent_lowat(bytes))
    }

    /// Whether the listener is not paused, or its pause is over.
    pub(super) fn may_accept(&mut self, index: usize) -> bool {
        let listener = &mut self.sockets[index];
        if listener.not_before.is_some_and(|at| Instant::now() >= at) {
            listener.not_before = None;
        }
        listener.not_before.is_none()
    }

    /// When the next pause ends.
    pub(super) fn next_attempt(&self) -> Option<Instant> {
        self.sockets.iter().filter_map(|listener| listener.not_before).min()
    }

    /// Pauses a listener. The connections that have waited longest are refused instead of left hanging: the
    /// reserved descriptor allows accepting and closing them.
    pub(super) fn exhausted(&mut self, index: usize) {
        let listener = &mut self.sockets[index];
        listener.not_before = Some(Instant::now() + ACCEPT_PAUSE);
        if self.reserve.take().is_some() {
            // With io_uring the socket is a blocking one.
            let _ = rustix::io::ioctl_fionbio(&listener.socket, true);
            for _ in 0..REFUSED_AT_ONCE {
                if !matches!(accept(&listener.socket, SocketFlags::CLOEXEC), Accepted::Connection(..)) {
                    break;
                }
            }
            let _ = rustix::io::ioctl_fionbio(&listener.socket, !self.blocking);
        }
        self.refill();
    }

    fn refill(&mut self) {
        if self.reserve.is_none() {
            self.reserve = eventfd(0, EventfdFlags::CLOEXEC).ok();
        }
    }
}

/// A TCP socket of the family of `address`.
pub(super) fn socket(address: SocketAddr, flags: SocketFlags) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?)
}

fn listening(address: SocketAddr, options: &ListenOptions, flags: SocketFlags) -> io::Result<OwnedFd> {
    let socket = socket(address, flags)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if options.share_port {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        // Allows listening on all IPv4 and all IPv6 addresses at the same time.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // Accepted connections inherit it.
    sockopt::set_tcp_nodelay(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// Accepted connections inherit it. A peer that misses three probes, each a third of `silence` apart, is
/// considered gone.
fn keep_alive(socket: &OwnedFd, silence: Option<Duration>) -> io::Result<()> {
    if let Some(silence) = silence {
        let seconds = |time: Duration| time.clamp(Duration::from_secs(1), KEEPALIVE_MAX);
        sockopt::set_tcp_keepidle(socket, seconds(silence))?;
        sockopt::set_tcp_keepintvl(socket, seconds(silence / KEEPALIVE_PROBES))?;
        sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    }
    Ok(sockopt::set_socket_keepalive(socket, silence.is_some())?)
}

pub(super) fn accept(socket: &OwnedFd, flags: SocketFlags) -> Accepted {
    match net::acceptfrom_with(socket, flags) {
        Ok((connection, peer)) => match peer.map(SocketAddr::try_from) {
            Some(Ok(peer)) => Accepted::Connection(connection, normalise(peer)),
            _ => Accepted::Lost,
        },
        Err(error) => classify_error(error),
    }
}

/// Classifies an accept error. Linux also reports pending errors of the new connection here.
pub(super) fn classify_error(error: Errno) -> Accepted {
    match error {
        Errno::AGAIN => Accepted::None,
        Errno::CONNABORTED | Errno::INTR | Errno::CANCELED | Errno::PERM | Errno::PROTO => Accepted::Lost,
        Errno::NETDOWN | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::HOSTUNREACH => Accepted::Lost,
        Errno::NONET | Errno::NOPROTOOPT | Errno::OPNOTSUPP => Accepted::Lost,
        // Out of descriptors or memory, or an unknown error, which must not be retried in a loop either.
        _ => Accepted::Exhausted,
    }
}

/// The peer's address.
pub(super) fn peer_of(socket: impl AsFd) -> Option<SocketAddr> {
    net::getpeername(socket).ok().flatten()?.try_into().ok().map(normalise)
}
