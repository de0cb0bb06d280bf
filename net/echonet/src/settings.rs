//! Which interfaces, addresses and ports, and how much the kernel may hold.

use std::net::IpAddr;
use std::time::Duration;

/// IP versions to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// IPv4: what nearly all devices speak.
    #[default]
    V4,
    /// IPv6, within the link.
    V6,
    /// Both. A node that speaks both is found twice.
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

/// How a controller or a device meets its network. Made by [`Default`], then changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Names or addresses of the interfaces whose group is joined, and where searches and announcements go. None: all that
    /// carry multicast, or, where there are none, loopback.
    pub interfaces: Vec<String>,
    /// The one address to take requests and answers at. `None`: all of this machine. With an address, several
    /// controllers and devices can live on one machine, each with its own.
    pub address: Option<IpAddr>,
    /// IP versions.
    pub family: Family,
    /// Bind port 3610 beside other programs that use it. On the same address all but one of them lose what they are sent, so that
    /// this is an error without it.
    pub share_port: bool,
    /// Whether nodes on this machine hear what is sent to all.
    pub multicast_loop: bool,
    /// SO_RCVBUF of each socket. Answers to a search come all at once, some 800 bytes each as the kernel counts: the default holds
    /// those of 1,000 nodes where `net.core.rmem_max` or a privilege permits it.
    pub receive_buffer_bytes: usize,
    /// Whether others may connect by TCP, at port 3610 too. A controller makes connections in any case, to nodes whose
    /// [`NodeSettings`](crate::core::NodeSettings) say so.
    pub tcp: bool,
    /// What TCP connections may cost.
    pub tcp_limits: TcpLimits,
}

/// What TCP connections may cost. Made by [`Default`], then changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpLimits {
    /// Connections that others may have. A further one takes the place of that which was silent longest.
    pub connections: usize,
    /// A connection by which no message came for so long, though one was sent or not, is closed. The next request makes
    /// another one.
    pub idle: Duration,
    /// Bytes that the other end of a connection leaves waiting to be sent; with more it is closed. What has come and is no
    /// whole message yet is bounded by the longest message, 131,083 bytes.
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
            tcp: false,
            tcp_limits: TcpLimits::default(),
        }
    }
}

impl Settings {
    /// The defaults, at this interface: its name, or an address that it has.
    pub fn on(interface: &str) -> Self {
        Self { interfaces: vec![interface.to_owned()], ..Self::default() }
    }
}
