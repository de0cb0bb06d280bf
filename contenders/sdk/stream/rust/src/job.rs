//! The parameters.

use std::net::{IpAddr, SocketAddr};

use netdyno_contender::{Lab, Setup};

/// The shortest message: a sequence number.
const MIN_MESSAGE_BYTES: usize = 8;
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The maximum payload of a UDP datagram over IPv4.
const MAX_DATAGRAM_BYTES: usize = 65_507;
const MAX_CONNECTIONS: usize = 256;

/// The parameter `transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Reliable and ordered.
    Tcp,
    /// One datagram for each message.
    Udp,
}

/// The parameters of a role.
#[derive(Debug, Clone)]
pub struct Job {
    /// The lab.
    pub lab: Lab,
    /// The transport protocol.
    pub transport: Transport,
    /// Length of each message.
    pub message_bytes: usize,
    /// Number of connections.
    pub connections: usize,
    /// Address of the other role.
    pub peer: IpAddr,
    pub(crate) local: IpAddr,
    pub(crate) seed: u64,
    pub(crate) verify_messages: u64,
}

impl Job {
    pub(crate) fn new(lab: Lab, setup: &Setup) -> Self {
        if setup.workload != "stream" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        let transport = match setup.params.text("transport").as_str() {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            other => lab.unsupported(format!("the transport `{other}`")),
        };
        let int = |name| usize::try_from(setup.params.int(name)).unwrap_or(usize::MAX);
        let (message_bytes, connections) = (int("message_bytes"), int("connections"));
        if transport == Transport::Udp && message_bytes > MAX_DATAGRAM_BYTES {
            lab.unsupported(format!(
                "UDP messages of {message_bytes} bytes; a datagram has at most {MAX_DATAGRAM_BYTES}"
            ));
        }
        let is_length = (MIN_MESSAGE_BYTES..=MAX_MESSAGE_BYTES).contains(&message_bytes);
        if !is_length || !(1..=MAX_CONNECTIONS).contains(&connections) {
            lab.failed(format!("{connections} connections with messages of {message_bytes} bytes"));
        }
        let verify_messages = setup.params.int("verify_messages");
        let (local, peer, seed) = (setup.local, setup.peer, setup.seed);
        Self { lab, transport, message_bytes, connections, peer, local, seed, verify_messages }
    }

    /// The address to bind, at a port of the system's choice.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, 0)
    }

    /// The length of a message as written before it over TCP.
    pub fn prefix(&self) -> [u8; crate::PREFIX_BYTES] {
        // A message has at most 1 MiB.
        (self.message_bytes as u32).to_be_bytes()
    }

    /// Ends the process if a message has another length, before it is read.
    pub fn check_prefix(&self, length: u32) {
        if length as usize != self.message_bytes {
            self.lab.failed(format!("a message of {length} bytes, not {}", self.message_bytes));
        }
    }
}
