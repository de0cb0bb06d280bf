//! Errors of endpoints and handles; errors of a peer connection are those of the core.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use netdyno_rtc_core as core;

/// An endpoint or connection could not be created, or a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The endpoint's UDP port could not be bound.
    #[error("cannot bind UDP port {address}: {source}; {remedy}")]
    Bind {
        /// The address and port; with several reactors, those of the reactor that failed.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
        /// What to do about it.
        remedy: String,
    },
    /// The endpoint could not listen on `tcp_port`.
    #[error("cannot listen on TCP port {address}: {source}; {remedy}")]
    Listen {
        /// The address and port; with several reactors, those of the reactor that failed.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A system call failed, for example because no socket or thread could be created.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer connection failed.
    #[error(transparent)]
    Peer(#[from] core::Error),
    /// A description or candidate was rejected.
    #[error(transparent)]
    Signaling(#[from] core::SignalingError),
    /// A data channel could not be created.
    #[error(transparent)]
    Channel(#[from] core::ChannelError),
    /// The endpoint has `max_connections` connections.
    #[error("too many connections (limit: `max_connections`)")]
    Limit,
    /// One of `addresses` is unreachable because the endpoint is bound to another address.
    #[error(
        "addresses: {0} is not the address that the endpoint is bound to; bind all addresses (0.0.0.0 or ::), or remove it"
    )]
    Address(IpAddr),
    /// An entry of `ice_servers` is invalid.
    #[error("ice_servers: {url}: {reason}")]
    IceServer {
        /// The URL as given.
        url: String,
        /// What is wrong, and how to fix it.
        reason: &'static str,
    },
    /// A system call of the thread or task that drives the endpoint failed. All connections of the endpoint have
    /// ended.
    #[error("the endpoint has ended because a system call failed: {0}")]
    Driver(Arc<io::Error>),
    /// The connection is over.
    #[error("the connection is closed")]
    Closed,
    /// The Tokio endpoint was bound outside a runtime.
    #[error("no Tokio runtime: bind the endpoint within one, in a task or in `block_on`")]
    NoRuntime,
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    Random,
}

impl Error {
    /// The error for an address that could not be bound.
    pub(crate) fn bind(address: SocketAddr, source: io::Error) -> Self {
        let remedy = match source.kind() {
            io::ErrorKind::AddrInUse => "bind another port, or 0 for any free port",
            io::ErrorKind::AddrNotAvailable => {
                "bind an address of this machine, or all of them (0.0.0.0 or ::)"
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege: bind a higher one",
            _ => "bind another address, or check why the system refuses this one",
        };
        Self::Bind { address, source, remedy: remedy.to_owned() }
    }

    /// The error for an address that could not be listened on.
    pub(crate) fn listen(address: SocketAddr, source: io::Error) -> Self {
        let remedy = match source.kind() {
            io::ErrorKind::AddrInUse => {
                "set another `tcp_port`, different from the UDP port, or 0 for any free port"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need a privilege: set a higher `tcp_port`, and redirect port 443 to it in the firewall"
            }
            _ => "set another `tcp_port`, or none",
        };
        Self::Listen { address, source, remedy }
    }
}

/// No further message will arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The channel is closed, and all received messages have been taken.
    #[error("the data channel is closed")]
    Closed,
    /// The connection failed, and all received messages have been taken. Its `wait_closed` returns the
    /// reason.
    #[error("the connection failed")]
    Failed,
}
