//! Settings of a server before it starts.

use std::net::SocketAddr;
use std::time::Duration;

use netdyno_io::tcp::Backend;
use netdyno_kv_core::{Command, Config};

use crate::aof::LogFile;
use crate::limits::THREADS;
use crate::storage::Storage;
use crate::{AofSettings, Limits, SnapshotSettings, StartError};

/// Opens a storage on startup.
pub(crate) type Open = Box<dyn FnOnce() -> Result<Box<dyn Storage>, StartError> + Send>;

/// The settings of a server; see [`Server::builder`](crate::Server::builder). Each method changes one
/// setting.
pub struct Builder {
    pub(crate) addresses: Vec<SocketAddr>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Vec<(SocketAddr, crate::TlsSettings)>,
    pub(crate) threads: usize,
    pub(crate) backend: Backend,
    pub(crate) limits: Limits,
    pub(crate) protected: bool,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) config: Config,
    pub(crate) commands: Vec<Command>,
    pub(crate) seed: Option<u64>,
    pub(crate) storage: Option<Open>,
    pub(crate) snapshots: Option<SnapshotSettings>,
    pub(crate) primary: Option<SocketAddr>,
    #[cfg(feature = "tls")]
    pub(crate) replica_tls: Option<crate::ReplicaTlsSettings>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            #[cfg(feature = "tls")]
            tls: Vec::new(),
            threads: 1,
            backend: Backend::Auto,
            limits: Limits::default(),
            protected: true,
            idle_timeout: None,
            config: Config::default(),
            commands: Vec::new(),
            seed: None,
            storage: None,
            snapshots: None,
            primary: None,
            #[cfg(feature = "tls")]
            replica_tls: None,
        }
    }
}

impl Builder {
    /// Adds a listening address; the default is 127.0.0.1:6379. Port 0 lets the kernel choose; see
    /// [`Server::addresses`](crate::Server::addresses).
    #[must_use]
    pub fn bind(mut self, address: impl Into<SocketAddr>) -> Self {
        self.addresses.push(address.into());
        self
    }

    /// Adds a listening address that accepts only TLS clients. See
    /// [`Server::tls_addresses`](crate::Server::tls_addresses).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, address: impl Into<SocketAddr>, settings: crate::TlsSettings) -> Self {
        self.tls.push((address.into(), settings));
        self
    }

    /// Sets the number of threads for I/O and parsing; commands execute one at a time. One thread is best
    /// unless there are many clients or replies are large.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Selects the kernel interface. The default is the fastest one available.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Sets the limits on what clients can make the server hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether clients from other machines are refused while there is no password. The default is true.
    #[must_use]
    pub fn protected_mode(mut self, protected: bool) -> Self {
        self.protected = protected;
        self
    }

    /// Disconnects clients that are idle for this long. The default is no timeout. Clients that wait for a
    /// key or are subscribed to channels are exempt.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets the configuration parameters of commands, such as `maxmemory` and `requirepass`.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Adds a command, or replaces the one with the same name.
    #[must_use]
    pub fn command(mut self, command: Command) -> Self {
        self.commands.push(command);
        self
    }

    /// Logs every change to a file, which is replayed on startup. See [`AofSettings`] and
    /// [`Fsync`](crate::Fsync) for the guarantees.
    #[must_use]
    pub fn append_only(mut self, settings: AofSettings) -> Self {
        self.storage = Some(Box::new(|| Ok(Box::new(LogFile::open(settings)?))));
        self
    }

    /// Keeps every change in a custom storage, which is loaded on startup. It replaces the append-only file.
    #[must_use]
    pub fn storage(mut self, storage: impl Storage + 'static) -> Self {
        self.storage = Some(Box::new(|| Ok(Box::new(storage))));
        self
    }

    /// Loads the snapshot on startup, unless there is an append-only file. Saves new snapshots on request and
    /// by the parameter `save`. See [`snapshots`](crate::snapshots).
    #[must_use]
    pub fn snapshots(mut self, settings: SnapshotSettings) -> Self {
        self.snapshots = Some(settings);
        self
    }

    /// Replicates a primary; clients can only read until `REPLICAOF NO ONE`. The parameters `masteruser` and
    /// `masterauth` are used to authenticate.
    #[must_use]
    pub fn replica_of(mut self, primary: impl Into<SocketAddr>) -> Self {
        self.primary = Some(primary.into());
        self
    }

    /// Connects to the primary over TLS, also after a later `REPLICAOF`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn replica_tls(mut self, settings: crate::ReplicaTlsSettings) -> Self {
        self.replica_tls = Some(settings);
        self
    }

    /// Draws all secrets and random numbers from a seed, for tests: clients can predict them. The default is the
    /// operating system's generator.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    pub(crate) fn check(&self) -> Result<(), StartError> {
        if !(1..=THREADS).contains(&self.threads) {
            return Err(StartError::Setting { field: "threads", rule: "from 1 to 256" });
        }
        if self.limits.clients == 0 {
            return Err(StartError::Setting { field: "clients", rule: "at least 1" });
        }
        Ok(())
    }
}
