//! Errors of the faces; those of a peer connection are its core's.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netdyno_rtc_core as core;

/// Why an endpoint or a connection was not made, or did not come to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The endpoint's UDP port could not be bound.
    #[error("no UDP port at {address}: {source}; {remedy}")]
    Bind {
        /// The address and port: of several reactors', the one at fault.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What helps.
        remedy: String,
    },
    /// The endpoint could not accept connections by TCP (`tcp_port`).
    #[error("no TCP port at {address}: {source}; {remedy}")]
    Listen {
        /// The address and port: of several reactors', the one at fault.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What helps.
        remedy: &'static str,
    },
    /// The system: no socket, no thread.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer connection failed.
    #[error(transparent)]
    Peer(#[from] core::Error),
    /// A description or candidate was not taken.
    #[error(transparent)]
    Signaling(#[from] core::SignalingError),
    /// A channel was not made.
    #[error(transparent)]
    Channel(#[from] core::ChannelError),
    /// More connections than `max_connections`.
    #[error("more connections than the limit")]
    Limit,
    /// One of `addresses` cannot be reached, since the endpoint is bound to another one.
    #[error(
        "addresses: {0} is not the address that the endpoint is bound to; bind all addresses (0.0.0.0 or ::), or leave it out"
    )]
    Address(IpAddr),
    /// One of `ice_servers` cannot be used.
    #[error("ice_servers: {url}: {why}")]
    IceServer {
        /// As it was given.
        url: String,
        /// What is wrong, and what would not be.
        why: &'static str,
    },
    /// The connection is over.
    #[error("the connection is closed")]
    Closed,
    /// The Tokio face was bound outside a runtime.
    #[error("no Tokio runtime here: bind the endpoint within one, by block_on or in a task")]
    NoRuntime,
    /// The system has no random numbers.
    #[error("no random numbers from the system")]
    Random,
}

impl Error {
    /// An address that could not be bound.
    pub(crate) fn bind(address: SocketAddr, source: io::Error) -> Self {
        let remedy = match source.kind() {
            io::ErrorKind::AddrInUse => "bind another port, or 0 for any that is free",
            io::ErrorKind::AddrNotAvailable => {
                "bind an address of this machine, or all of them (0.0.0.0 or ::)"
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: bind a higher one",
            _ => "bind another address, or find out why the system does not give this one",
        };
        Self::Bind { address, source, remedy: remedy.to_owned() }
    }

    /// An address at which nobody can connect.
    pub(crate) fn listen(address: SocketAddr, source: io::Error) -> Self {
        let remedy = match source.kind() {
            io::ErrorKind::AddrInUse => {
                "set another `tcp_port`, not the number of the UDP port, or 0 for any that is free"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need a privilege: set a higher `tcp_port`, and have the firewall lead 443 there"
            }
            _ => "set another `tcp_port`, or none",
        };
        Self::Listen { address, source, remedy }
    }
}

/// Why no message will come any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The channel is closed, and all that came before has been taken.
    #[error("the data channel is closed")]
    Closed,
    /// The connection failed, and all that came before has been taken. `wait_closed` of the connection says why it failed.
    #[error("the connection failed")]
    Failed,
}
