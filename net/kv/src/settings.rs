//! How a server is to be, before it starts.

use std::net::SocketAddr;
use std::time::Duration;

use netdyno_io::tcp::Backend;
use netdyno_kv_core::{Command, Config};

use crate::aof::LogFile;
use crate::limits::THREADS;
use crate::storage::Storage;
use crate::{AofSettings, Limits, SnapshotSettings, StartError};

/// Opens a storage, when the server starts.
pub(crate) type Open = Box<dyn FnOnce() -> Result<Box<dyn Storage>, StartError> + Send>;

/// What a server is made from: see [`Server::builder`](crate::Server::builder). Each method changes one thing and leaves the rest.
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
        }
    }
}

impl Builder {
    /// Listens at this address too. Without any address it is 127.0.0.1:6379. Port 0 lets the kernel choose: see
    /// [`Server::addresses`](crate::Server::addresses).
    #[must_use]
    pub fn bind(mut self, address: impl Into<SocketAddr>) -> Self {
        self.addresses.push(address.into());
        self
    }

    /// Listens at this address too, for clients that speak TLS, and for nobody else. See [`Server::tls_addresses`](crate::Server::tls_addresses).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, address: impl Into<SocketAddr>, settings: crate::TlsSettings) -> Self {
        self.tls.push((address.into(), settings));
        self
    }

    /// Threads that read, write and parse; commands are executed by one at a time. One is right unless clients are
    /// many or far.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// How the kernel is asked. The default is the faster way that it has.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// What clients can make the server hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether clients of other machines are refused while there is no password. They are, by default.
    #[must_use]
    pub fn protected_mode(mut self, protected: bool) -> Self {
        self.protected = protected;
        self
    }

    /// Closes clients that were silent for so long. By default they may be. Who waits for a key or listens to
    /// channels is not closed.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// The parameters of the commands: `maxmemory`, `requirepass` and the like.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Adds a command, or puts it in place of the one with its name.
    #[must_use]
    pub fn command(mut self, command: Command) -> Self {
        self.commands.push(command);
        self
    }

    /// Writes every change to a file, which is executed at the next start. See [`AofSettings`] and the promises of
    /// [`Fsync`](crate::Fsync).
    #[must_use]
    pub fn append_only(mut self, settings: AofSettings) -> Self {
        self.storage = Some(Box::new(|| Ok(Box::new(LogFile::open(settings)?))));
        self
    }

    /// Keeps every change in a storage of your own, which is loaded from at the start. There is one: this, or the append-only
    /// file.
    #[must_use]
    pub fn storage(mut self, storage: impl Storage + 'static) -> Self {
        self.storage = Some(Box::new(|| Ok(Box::new(storage))));
        self
    }

    /// Reads the snapshot that is there, unless there is an append-only file, and makes new ones: when a client asks for one,
    /// and when the parameter `save` says so. See [`snapshots`](crate::snapshots).
    #[must_use]
    pub fn snapshots(mut self, settings: SnapshotSettings) -> Self {
        self.snapshots = Some(settings);
        self
    }

    /// Has the keys of this server, and follows what it changes; clients only read, until `REPLICAOF NO ONE`. The parameters
    /// `masteruser` and `masterauth` say who we are to it.
    #[must_use]
    pub fn replica_of(mut self, primary: impl Into<SocketAddr>) -> Self {
        self.primary = Some(primary.into());
        self
    }

    /// Draws and hashes follow from this. By default it is random, so that nobody can choose keys that meet in a table.
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
