//! Errors of the faces; those of a request are its own.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netdyno_echonet_core::{AnswerError, DescriptionError, RequestError};
use netdyno_io::Interface;

/// Why a controller or a device was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The UDP port could not be bound.
    #[error("no UDP port at {address}: {source}; {remedy}")]
    Bind {
        /// The address and port.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What helps.
        remedy: &'static str,
    },
    /// TCP connections cannot be taken at the port.
    #[error("no TCP port at {address}: {source}; {remedy}")]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What helps.
        remedy: &'static str,
    },
    /// A group could not be joined.
    #[error("the group {group} cannot be joined at {interface}: {source}; choose another interface")]
    Join {
        /// The group.
        group: IpAddr,
        /// The interface.
        interface: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is no interface of that name or address.
    #[error("{0}")]
    Interface(String),
    /// None of the interfaces has an address of the IP version.
    #[error(
        "no interface with an address of this IP version ({0}): choose another one, or the other version"
    )]
    NoAddress(String),
    /// The description of the node.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The system: no socket, no thread.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It was ended.
    #[error("the controller or device is closed")]
    Closed,
    /// The Tokio face was opened outside a runtime.
    #[error("no Tokio runtime here: open it within one, by block_on or in a task")]
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
            "none that is up carries multicast".to_owned()
        } else {
            names.join(", ")
        })
    }
}

/// What helps where a port cannot be had.
fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "another program here speaks ECHONET Lite: end it, give each an address of its own, or share the port"
        }
        io::ErrorKind::AddrNotAvailable => "bind an address of this machine",
        io::ErrorKind::PermissionDenied => "the system forbids it: run it where sockets are permitted",
        _ => "bind another address, or find out why the system does not give this one",
    }
}

/// Why a call of a controller gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The request was not taken.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no answer.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The controller was closed.
    #[error("the controller is closed")]
    Closed,
}
