//! Interfaces, addresses, ports and buffer sizes.

use std::net::IpAddr;
use std::time::Duration;

use crate::limits::SOURCE_LIMIT_PER_S;

/// The IP versions to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// IPv4, which nearly all devices use.
    #[default]
    V4,
    /// IPv6, within the link.
    V6,
    /// Both. A node that uses both is found twice.
    Both,
}

impl Family {
    /// Whether IPv4 is among them.
    pub fn has_v4(self) -> bool {
        self != Self::V6
    }

    /// Whether IPv6 is among them.
    pub fn has_v6(self) -> bool {
        self != Self::V4
    }
}

/// Network settings of a controller or a device. Start from [`Default`] and change fields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Names or addresses of the interfaces on which to join the group and to send searches and
    /// announcements. If empty, all interfaces that support multicast, or loopback if there are none.
    pub interfaces: Vec<String>,
    /// The local address to bind. `None`: all addresses of this machine. With different addresses, several
    /// controllers and devices can run on one machine.
    pub address: Option<IpAddr>,
    /// IP versions.
    pub family: Family,
    /// Share port 3610 with other programs. On the same address, only one of them receives each unicast
    /// datagram; without this option, that is an error.
    pub share_port: bool,
    /// Whether multicast messages are looped back to nodes on this machine.
    pub multicast_loop: bool,
    /// SO_RCVBUF of each socket. Answers to a search arrive in a burst, about 800 bytes each in the kernel's
    /// accounting: the default holds those of 1,000 nodes if `net.core.rmem_max` or a privilege permits it.
    pub receive_buffer_bytes: usize,
    /// Whether requests in datagrams from beyond a router are executed. If not, they are ignored and counted:
    /// a forged source address would receive the answers. Answers to a controller's own requests, and
    /// requests over TCP, are accepted from all addresses.
    pub off_link_requests: bool,
    /// Datagrams that a device or each node of a home accepts from one source in a second, while others are
    /// waiting and other sources exist ([`SourceLimit`](crate::core::SourceLimit)); 0: any number. The default
    /// is above the rate of legitimate sources: a controller that reads a hundred properties of a node every
    /// second needs a tenth of it. Controllers are not limited: they receive the answers to their own requests.
    pub source_limit_per_s: u32,
    /// Whether to accept TCP connections at port 3610. A controller always connects to nodes whose
    /// [`NodeSettings`](crate::core::NodeSettings) request it.
    pub tcp: bool,
    /// Limits of TCP connections.
    pub tcp_limits: TcpLimits,
}

/// Limits of TCP connections. Start from [`Default`] and change fields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpLimits {
    /// Incoming connections. A further one replaces the connection that has been idle longest.
    pub connections: usize,
    /// A connection without a received message for this long is closed, even if messages were sent. The next
    /// request opens another one.
    pub idle: Duration,
    /// Unsent bytes that a connection may have; with more it is closed. Incomplete incoming messages are
    /// bounded by the longest message, 131,083 bytes.
    pub output_bytes: usize,
}

impl Default for TcpLimits {
    fn default() -> Self {
        Self { connections: 64, idle: Duration::from_secs(60), output_bytes: 256 << 10 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            address: None,
            family: Family::V4,
            share_port: false,
            multicast_loop: true,
            receive_buffer_bytes: 4 << 20,
            off_link_requests: false,
            source_limit_per_s: SOURCE_LIMIT_PER_S,
            tcp: false,
            tcp_limits: TcpLimits::default(),
        }
    }
}

impl Settings {
    /// The default settings on this interface, given by name or address.
    pub fn on(interface: &str) -> Self {
        Self { interfaces: vec![interface.to_owned()], ..Self::default() }
    }
}
