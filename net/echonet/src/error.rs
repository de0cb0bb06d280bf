//! Errors of the blocking and Tokio APIs.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use netdyno_echonet_core::{AnswerError, DescriptionError, RequestError};
use netdyno_io::Interface;

/// An error that keeps a controller or device from being created, or ends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The UDP port could not be bound.
    #[error("cannot bind UDP port at {address}: {source}; {remedy}")]
    Bind {
        /// The address and port.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// The TCP port could not be opened for listening.
    #[error("cannot listen on TCP port at {address}: {source}; {remedy}")]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// A group could not be joined.
    #[error("cannot join multicast group {group} on {interface}: {source}; choose another interface")]
    Join {
        /// The group.
        group: IpAddr,
        /// The interface.
        interface: String,
        /// The system's error.
        source: io::Error,
    },
    /// No interface has that name or address.
    #[error("{0}")]
    Interface(String),
    /// No selected interface has an address of the IP version.
    #[error(
        "no interface has an address of this IP version ({0}): choose another interface or the other version"
    )]
    NoAddress(String),
    /// The node's description is invalid.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A system call of its driver failed, so the controller or device has ended.
    #[error("the controller or device has ended because a system call failed: {0}")]
    Driver(#[source] Arc<io::Error>),
    /// The controller or device was closed.
    #[error("the controller or device is closed")]
    Closed,
    /// The Tokio API was used outside a runtime.
    #[error("no Tokio runtime: open the controller or device inside block_on or a task")]
    NoRuntime,
}

impl Error {
    pub(crate) fn bind(address: SocketAddr, source: io::Error) -> Self {
        let remedy = remedy(&source);
        Self::Bind { address, source, remedy }
    }

    pub(crate) fn listen(address: SocketAddr, source: io::Error) -> Self {
        let remedy = remedy(&source);
        Self::Listen { address, source, remedy }
    }

    pub(crate) fn no_interface(asked: &[Interface]) -> Self {
        let names: Vec<_> = asked.iter().map(ToString::to_string).collect();
        Self::NoAddress(if names.is_empty() {
            "no active interface supports multicast".to_owned()
        } else {
            names.join(", ")
        })
    }
}

/// The remedy for a port that cannot be bound.
fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "another ECHONET Lite program uses it: stop it, give each a different address, or share the port"
        }
        io::ErrorKind::AddrNotAvailable => "choose an address of this machine",
        io::ErrorKind::PermissionDenied => "run the program with permission to open sockets",
        _ => "choose another address",
    }
}

/// Why a controller call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The request was rejected before it was sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The node did not answer, or answered with an error.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The controller was closed, or has ended: then `updates` returns the reason.
    #[error("the controller is closed")]
    Closed,
}
