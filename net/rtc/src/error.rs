//! Errors of the faces; those of a peer connection are its core's.

use std::io;
use std::net::IpAddr;

use netdyno_rtc_core as core;

/// Why an endpoint or a connection was not made, or did not come to be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
