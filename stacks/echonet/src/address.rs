//! Source and destination addresses of messages.

use core::fmt;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};

use crate::limits::PORT;

/// A node: an address without a port. Nodes send from any port, and all listen on 3610.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeAddress {
    /// The address.
    pub ip: IpAddr,
    /// The interface index of a link-local IPv6 address; otherwise 0.
    pub scope_id: u32,
}

impl NodeAddress {
    /// The socket address of this node: port 3610, for UDP and TCP.
    pub fn socket_address(self) -> SocketAddr {
        match self.ip {
            IpAddr::V4(ip) => (ip, PORT).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, PORT, 0, self.scope_id).into(),
        }
    }
}

impl From<IpAddr> for NodeAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip: ip.to_canonical(), scope_id: 0 }
    }
}

impl From<SocketAddr> for NodeAddress {
    /// Drops the port and converts an IPv4-mapped IPv6 address to IPv4.
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_none() => {
                Self { ip: IpAddr::V6(*v6.ip()), scope_id: v6.scope_id() }
            }
            other => other.ip().into(),
        }
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope_id {
            0 => write!(f, "{}", self.ip),
            scope => write!(f, "{}%{scope}", self.ip),
        }
    }
}

/// A TCP connection, identified by a number from the caller. A controller or device must never see a number
/// reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// The source of a message and its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The node that sent it.
    pub address: NodeAddress,
    /// Whether it was sent by multicast. If unknown, use `false`: the answers are the same.
    pub multicast: bool,
    /// The TCP connection that carried it; `None` for a datagram.
    pub connection: Option<ConnectionId>,
    /// Whether the address is beyond a router. Requests from there are ignored: ECHONET Lite nodes share a
    /// link, and a forged address beyond it would receive the answers.
    pub is_off_link: bool,
}

impl Source {
    /// The source of a unicast datagram.
    pub fn unicast(address: impl Into<NodeAddress>) -> Self {
        Self { address: address.into(), multicast: false, connection: None, is_off_link: false }
    }

    /// The source of a multicast datagram.
    pub fn multicast(address: impl Into<NodeAddress>) -> Self {
        Self { multicast: true, ..Self::unicast(address) }
    }

    /// The source of a message from a TCP stream.
    pub fn connection(address: impl Into<NodeAddress>, connection: ConnectionId) -> Self {
        Self { connection: Some(connection), ..Self::unicast(address) }
    }

    /// The destination of an answer: the transport that carried the request.
    pub fn reply(&self) -> Destination {
        self.connection.map_or(Destination::Node(self.address), Destination::Connection)
    }
}

/// The destination of a message. Datagrams always go to port 3610.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To one node, as a datagram.
    Node(NodeAddress),
    /// To all nodes, as a datagram to 224.0.23.0 or ff02::1 on each interface in use.
    Multicast,
    /// Over a TCP connection. The message is dropped if the connection is closed.
    Connection(ConnectionId),
}

/// A message at the start of the caller's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where it goes.
    pub to: Destination,
    /// Its length.
    pub bytes: usize,
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_its_address_whatever_the_port() {
        let rows = [
            ("192.0.2.7:3610", "192.0.2.7", "192.0.2.7:3610"),
            ("192.0.2.7:50000", "192.0.2.7", "192.0.2.7:3610"),
            ("[::ffff:192.0.2.7]:1", "192.0.2.7", "192.0.2.7:3610"),
            ("[2001:db8::7]:1", "2001:db8::7", "[2001:db8::7]:3610"),
            ("[fe80::7%3]:1", "fe80::7%3", "[fe80::7%3]:3610"),
        ];
        for (from, node, to) in rows {
            let address: SocketAddr = from.parse().unwrap();
            let node_address = NodeAddress::from(address);
            assert_eq!(
                (node_address.to_string(), node_address.socket_address().to_string()),
                (node.into(), to.into())
            );
        }
        let mapped: IpAddr = "::ffff:192.0.2.7".parse().unwrap();
        assert_eq!(NodeAddress::from(mapped), NodeAddress::from(IpAddr::from([192, 0, 2, 7])));
        let [here, there] =
            ["[fe80::7%3]:1", "[fe80::7%4]:1"].map(|text| text.parse::<SocketAddr>().unwrap());
        assert_ne!(NodeAddress::from(here), NodeAddress::from(there), "two links, two nodes");
    }
}
