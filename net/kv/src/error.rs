//! Why a server does not start, or ends. Each names the cause and the remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Something cannot be as it was set.
    #[error("{field}: must be {rule}")]
    Setting {
        /// What was set.
        field: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// Somebody else listens there.
    #[error(
        "{0} is taken by another program: end it, or choose another port (--port, --tls-port; 0 lets the kernel choose)"
    )]
    AddressInUse(SocketAddr),
    /// Ports below 1024 need a right.
    #[error("{0} needs a right that this user has not: choose a port from 1024 on (--port, --tls-port)")]
    AddressDenied(SocketAddr),
    /// No address of this machine.
    #[error("{0} is no address of this machine: choose one of `ip address`, or 127.0.0.1 (--bind)")]
    AddressNotAvailable(SocketAddr),
    /// The kernel refused, for another reason.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// A reactor or thread could not be made.
    #[error("cannot start a thread that serves clients: {0}")]
    Reactor(#[source] io::Error),
    /// The kernel has no io_uring, or forbids it.
    #[error(
        "this kernel or container permits no io_uring, or an older one than Linux 6.1's ({0}): choose --io epoll"
    )]
    NoUring(#[source] io::Error),
    /// The append-only file.
    #[error(transparent)]
    Aof(#[from] AofError),
    /// What a storage of your own says.
    #[error("cannot load what was kept: {0}")]
    Storage(#[source] crate::storage::StorageError),
    /// Certificates and keys.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] crate::TlsError),
}

impl StartError {
    pub(crate) fn loading(error: crate::storage::StorageError) -> Self {
        error.downcast::<AofError>().map_or_else(Self::Storage, |error| Self::Aof(*error))
    }

    pub(crate) fn listen(address: SocketAddr, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::AddressInUse(address),
            io::ErrorKind::PermissionDenied => Self::AddressDenied(address),
            io::ErrorKind::AddrNotAvailable => Self::AddressNotAvailable(address),
            _ => Self::Listen(address, error),
        }
    }
}

/// What is wrong with an append-only file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AofError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}. Its directory (--dir) must exist, with room in it, and be this user's to write to", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another server has it open.
    #[error("{} is in use by another server: choose another directory (--dir)", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Something in its midst is no command. What a crash leaves is cut off at the end; this is something else.
    #[error(
        "{} is damaged at byte {offset}: {reason}. Restore it from a copy, or lose all from there on: truncate -s {offset} {}",
        path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the first thing begins that cannot be read.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why a server ended that nobody stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The kernel refused to wait or to send.
    #[error("cannot serve clients any more: {0}")]
    Reactor(#[from] io::Error),
    /// The storage failed at the end.
    #[error("the last changes could not be kept: nobody had an answer to them, or standard error has why")]
    NotDurable,
    /// A bug, in the server or in a command of yours: standard error has where.
    #[error("a thread panicked, in the server or in a command that was added to it")]
    Panicked,
}
