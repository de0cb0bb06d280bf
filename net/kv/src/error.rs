//! Errors that prevent startup or stop a server. Each message names the cause and a remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting is invalid.
    #[error("{field}: must be {rule}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// The rule it violates.
        rule: &'static str,
    },
    /// Another program listens on this address.
    #[error(
        "{0} is in use by another program: stop it or choose another port (--port, --tls-port; 0 picks a free one)"
    )]
    AddressInUse(SocketAddr),
    /// Ports below 1024 require a privilege.
    #[error(
        "{0} requires a privilege that this user does not have: choose a port of 1024 or above (--port, --tls-port)"
    )]
    AddressDenied(SocketAddr),
    /// The address is not assigned to this machine.
    #[error(
        "{0} is not an address of this machine: choose one listed by `ip address`, or 127.0.0.1 (--bind)"
    )]
    AddressNotAvailable(SocketAddr),
    /// The kernel refused for another reason.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The operating system provides no random numbers.
    #[error(
        "cannot draw random numbers: {0}. The kernel must provide getrandom(2), and a seccomp filter must permit it"
    )]
    Entropy(#[source] io::Error),
    /// A reactor or thread could not be created.
    #[error("cannot start a thread that serves clients: {0}")]
    Reactor(#[source] io::Error),
    /// io_uring is missing or forbidden.
    #[error(
        "io_uring is unavailable: the kernel is older than Linux 6.1 or the container forbids it ({0}); use --io epoll"
    )]
    NoUring(#[source] io::Error),
    /// The append-only file cannot be used.
    #[error(transparent)]
    Aof(#[from] AofError),
    /// The snapshot cannot be loaded.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A custom storage failed to load its data.
    #[error("cannot load the stored data: {0}")]
    Storage(#[source] crate::storage::StorageError),
    /// A certificate or key is unusable.
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

/// An error with the append-only file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AofError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}. Its directory (--dir) must exist, be writable and have free space", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another server has it open.
    #[error("{} is in use by another server: choose another directory (--dir)", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Bytes before the end of the file are not a command. A crash only leaves an incomplete command at the end, which is
    /// truncated.
    #[error(
        "{} is damaged at byte {offset}: {reason}. Restore it from a backup, or discard everything after that byte: truncate -s {offset} {}",
        path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Offset of the first unreadable byte.
        offset: u64,
        /// The fault.
        reason: String,
    },
}

/// An error while loading a snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}. Make the file readable, or move it away", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is damaged, or holds a type that is not supported.
    #[error(
        "{} cannot be read at {source}. Restore it from a backup, or move it away to start without its data",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault and its position.
        source: netdyno_kv_core::RdbError,
    },
}

/// Why a running server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The kernel refused to wait or to send.
    #[error("cannot continue to serve clients: {0}")]
    Reactor(#[from] io::Error),
    /// The storage failed on shutdown.
    #[error("the last writes could not be stored; see earlier messages on standard error")]
    NotDurable,
    /// The snapshot on shutdown failed.
    #[error("changes since the last snapshot are lost: {0}")]
    NotSaved(String),
    /// A bug in the server or in a custom command; standard error has the location.
    #[error("a thread panicked, in the server or in a command that was added to it")]
    Panicked,
}
