//! A server: its threads, from start to shutdown.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use netdyno_io::tcp::{self, Backend, ListenOptions, Listener, TcpReactor};
use netdyno_kv_core::{Config, Engine, Entropy, Loaded};

use crate::clock::Clock;
use crate::journal::Journal;
use crate::limits::{CONNECTIONS_TO_REFUSE, LISTEN_RETRIES, LISTEN_RETRY_INTERVAL};
use crate::settings::Builder;
use crate::shared::{Post, Shared, SharedSettings};
use crate::snapshots::{self, SnapshotSettings, Snapshots};
use crate::wire::Wire;
use crate::worker::Worker;
use crate::{Replayed, RunError, StartError, entropy};

/// A running server. It stops on [`stop`](Self::stop) or when dropped.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Addresses,
    threads: Vec<JoinHandle<Result<(), RunError>>>,
    /// Maintains the storage.
    keeper: Option<JoinHandle<()>>,
    /// Writes snapshots.
    saver: Option<JoinHandle<()>>,
    replayed: Option<Replayed>,
    loaded: Option<Loaded>,
}

/// Stops a server from another thread or a signal handler.
#[derive(Clone)]
pub struct Stopper {
    shared: Arc<Shared>,
}

impl Builder {
    /// Starts the threads. Clients can connect once this returns.
    ///
    /// # Errors
    ///
    /// If the server cannot start. The error names the cause and the remedy.
    pub fn start(self) -> Result<Server, StartError> {
        self.check()?;
        Server::start(self)
    }
}

impl Server {
    /// A server with default settings: 127.0.0.1:6379, one thread, in memory.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn start(mut builder: Builder) -> Result<Self, StartError> {
        let encryption = Encryption::from_builder(&builder)?;
        let mut addresses = Addresses::from_builder(&mut builder);
        // Listens first, since this is most likely to fail. Clients that connect meanwhile wait until the
        // file is loaded.
        if builder.threads > 1 {
            // Threads share a port by SO_REUSEPORT, which would also allow another server to share it.
            listening(&builder, &mut addresses.clone(), false)?;
        }
        let mut wakers = Vec::with_capacity(builder.threads);
        let mut wires = Vec::with_capacity(builder.threads);
        for _ in 0..builder.threads {
            let (reactor, listeners) = listening(&builder, &mut addresses, builder.threads > 1)?;
            wakers.push(reactor.waker());
            wires.push(encryption.wire(reactor, listeners, input_bytes(&builder)));
        }
        let config = with_snapshot_location(std::mem::take(&mut builder.config), builder.snapshots.as_ref())?;
        let clock = Clock::new();
        let entropy = match builder.seed {
            Some(seed) => Entropy::from(seed),
            None => entropy::system().map_err(StartError::Entropy)?,
        };
        let mut engine = Engine::new(config, entropy);
        engine.set_clients_max(builder.limits.clients);
        engine.fix_config("appendonly", "start it with --appendonly yes or no");
        engine.set_stopwatch(crate::usage::stopwatch_us);
        engine.set_info_source("cpu", crate::usage::cpu_lines);
        builder.commands.drain(..).for_each(|command| engine.register(command));
        let storage = builder.storage.take().map(|open| open()).transpose()?;
        let journal = storage.map(|storage| Journal::open(storage, &mut engine)).transpose();
        let (journal, replayed) = journal.map_err(StartError::loading)?.unzip();
        let mut loaded = None;
        if builder.snapshots.is_some() {
            if journal.is_none() {
                loaded = snapshots::load(&snapshots::path(&engine), &mut engine, clock.now())?;
            }
            engine.keep_snapshots(clock.now());
        }
        if builder.primary.is_some() {
            engine.follow(builder.primary);
        }
        let settings = SharedSettings {
            clock,
            limits: builder.limits,
            protected: builder.protected,
            idle_timeout_ms: builder.idle_timeout.map_or(0, |timeout| timeout.as_millis() as u64),
            journal,
            snapshots: builder.snapshots.map(|_| Snapshots::default()),
        };
        let shared = Arc::new(Shared::new(settings, engine, wakers));
        let mut server =
            Self { shared, addresses, threads: Vec::new(), keeper: None, saver: None, replayed, loaded };
        server.start_storage_thread()?;
        server.start_snapshot_thread()?;
        for (index, wire) in wires.into_iter().enumerate() {
            server.spawn(index, wire)?;
        }
        Ok(server)
    }

    /// The addresses that the server listens on, with the actual ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses.plain
    }

    /// The addresses that the server listens on for TLS clients, with the actual ports.
    #[cfg(feature = "tls")]
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.addresses.tls
    }

    /// The result of loading the append-only file or another storage.
    pub fn replayed(&self) -> Option<&Replayed> {
        self.replayed.as_ref()
    }

    /// The result of loading the snapshot, if one was loaded.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    /// Number of connected clients.
    pub fn clients(&self) -> usize {
        self.shared.clients()
    }

    /// A handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: self.shared.clone() }
    }

    /// Closes all connections and stops all threads. Acknowledged changes are as durable as the storage
    /// guarantees.
    ///
    /// # Errors
    ///
    /// The server had stopped before because of a failure.
    pub fn stop(mut self) -> Result<(), RunError> {
        self.shared.stop();
        self.join()
    }

    /// Waits until the server is stopped.
    ///
    /// # Errors
    ///
    /// The server failed.
    pub fn wait(mut self) -> Result<(), RunError> {
        self.join()
    }

    /// Accesses the engine between two iterations, so that no command executes meanwhile. Returns `None` if a
    /// thread has panicked.
    pub fn with_engine<T>(&self, use_it: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let result = use_it(&mut self.shared.lock().ok()?.engine);
        // Delivers the output for clients that this has produced.
        self.shared.posts.iter().take(1).for_each(Post::wake);
        Some(result)
    }

    fn start_storage_thread(&mut self) -> Result<(), StartError> {
        let shared = self.shared.clone();
        if shared.journal.is_none() {
            return Ok(());
        }
        let thread = thread::Builder::new().name("kv storage".into()).spawn(move || {
            if let Some(journal) = &shared.journal {
                journal.maintain(|| shared.posts[0].wake());
            }
        });
        self.keeper = Some(thread.map_err(StartError::Reactor)?);
        Ok(())
    }

    fn start_snapshot_thread(&mut self) -> Result<(), StartError> {
        let shared = self.shared.clone();
        if shared.snapshots.is_none() {
            return Ok(());
        }
        let thread = thread::Builder::new().name("kv snapshots".into()).spawn(move || {
            if let Some(snapshots) = &shared.snapshots {
                snapshots.write(|| shared.posts[0].wake());
            }
        });
        self.saver = Some(thread.map_err(StartError::Reactor)?);
        Ok(())
    }

    fn spawn(&mut self, index: usize, wire: Wire) -> Result<(), StartError> {
        let shared = self.shared.clone();
        let thread = thread::Builder::new().name(format!("kv {index}")).spawn(move || {
            // If this thread ends for any reason, the other threads stop too.
            let _stopper = StopAtEnd(shared.clone());
            Worker::new(shared, index, wire).run()
        });
        self.threads.push(thread.map_err(StartError::Reactor)?);
        Ok(())
    }

    fn join(&mut self) -> Result<(), RunError> {
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            result = result.and(thread.join().unwrap_or(Err(RunError::Panicked)));
        }
        // All threads that append have stopped.
        if let (Some(journal), Some(keeper)) = (&self.shared.journal, self.keeper.take()) {
            // Changes that `with_engine` has made since.
            if let Ok(mut core) = self.shared.lock() {
                let position = journal.append(&mut core.engine, false);
                drop(core);
                result = result.and(journal.commit(position).map_err(|_| RunError::NotDurable));
            }
            journal.stop();
            result = result.and(keeper.join().map_err(|_| RunError::Panicked));
        }
        if let (Some(snapshots), Some(saver)) = (&self.shared.snapshots, self.saver.take()) {
            snapshots.stop();
            result = result.and(saver.join().map_err(|_| RunError::Panicked));
            result = result.and(self.save_at_end(snapshots));
        }
        result
    }
}

impl Server {
    /// Saves a snapshot on shutdown if the configuration demands it, unless SHUTDOWN has done so.
    fn save_at_end(&self, snapshots: &Snapshots) -> Result<(), RunError> {
        // A thread that panicked with the lock held may have left a partial change.
        let Ok(mut core) = self.shared.lock() else { return Ok(()) };
        if snapshots.has_ended() || !core.engine.saves_at_end() {
            return Ok(());
        }
        snapshots.save_now(&mut core.engine, self.shared.clock.now()).map_err(RunError::NotSaved)
    }
}

/// The configuration, with the location of snapshots.
fn with_snapshot_location(
    config: Config,
    snapshots: Option<&SnapshotSettings>,
) -> Result<Config, StartError> {
    let Some(SnapshotSettings { directory, file_name }) = snapshots else { return Ok(config) };
    let config =
        config.with("dir", &directory.to_string_lossy()).and_then(|c| c.with("dbfilename", file_name));
    config.map_err(|_| StartError::Setting { field: "dbfilename", rule: "a file name without a directory" })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        // Use `stop` to obtain the result.
        let _ = self.join();
    }
}

impl Stopper {
    /// Requests a shutdown, which happens after the current iteration.
    pub fn stop(&self) {
        self.shared.stop();
    }
}

struct StopAtEnd(Arc<Shared>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Redis' default port.
const DEFAULT_PORT: u16 = 6379;

/// The addresses of a server.
#[derive(Clone)]
struct Addresses {
    plain: Vec<SocketAddr>,
    tls: Vec<SocketAddr>,
}

impl Addresses {
    fn from_builder(builder: &mut Builder) -> Self {
        let mut plain = std::mem::take(&mut builder.addresses);
        #[cfg(feature = "tls")]
        let tls: Vec<_> = builder.tls.iter().map(|(address, _)| *address).collect();
        #[cfg(not(feature = "tls"))]
        let tls = Vec::new();
        if plain.is_empty() && tls.is_empty() {
            plain.push((Ipv4Addr::LOCALHOST, DEFAULT_PORT).into());
        }
        Self { plain, tls }
    }
}

/// TLS configurations by listener (a listener without one accepts plain TCP), and that of the link to the primary.
#[cfg(feature = "tls")]
struct Encryption {
    listeners: Vec<Arc<rustls::ServerConfig>>,
    replica: Option<Arc<rustls::ClientConfig>>,
}

#[cfg(feature = "tls")]
impl Encryption {
    fn from_builder(builder: &Builder) -> Result<Self, StartError> {
        let listeners: Result<_, _> = builder.tls.iter().map(|(_, settings)| settings.load()).collect();
        let replica = builder.replica_tls.as_ref().map(crate::ReplicaTlsSettings::load).transpose()?;
        Ok(Self { listeners: listeners?, replica })
    }

    fn wire(&self, reactor: TcpReactor, listeners: Vec<Listener>, input_bytes: usize) -> Wire {
        let listeners = listeners.into_iter().zip(self.listeners.iter().cloned()).collect();
        Wire::new(reactor, listeners, self.replica.clone(), input_bytes)
    }
}

/// Without TLS there is no configuration.
#[cfg(not(feature = "tls"))]
struct Encryption;

#[cfg(not(feature = "tls"))]
impl Encryption {
    fn from_builder(_builder: &Builder) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn wire(&self, reactor: TcpReactor, _listeners: Vec<Listener>, _input_bytes: usize) -> Wire {
        reactor
    }
}

/// Received bytes of one client that are not executed yet.
fn input_bytes(builder: &Builder) -> usize {
    builder.limits.request.max_request_bytes.saturating_add(tcp::Limits::default().input_bytes)
}

/// Creates a reactor that listens on all addresses, and returns the TLS configuration of its listeners. The
/// first call replaces port 0 in `addresses` by the port that the kernel chose.
fn listening(
    builder: &Builder,
    addresses: &mut Addresses,
    shared: bool,
) -> Result<(TcpReactor, Vec<Listener>), StartError> {
    let mut limits = tcp::Limits::default();
    limits.connections = builder.limits.clients + CONNECTIONS_TO_REFUSE;
    limits.input_bytes = input_bytes(builder);
    // One reply can have any length; the server itself limits how many are pending.
    limits.output_bytes = usize::MAX;
    let mut reactor = TcpReactor::new(builder.backend, limits).map_err(|error| match builder.backend {
        Backend::Uring => StartError::NoUring(error),
        Backend::Auto | Backend::Epoll => StartError::Reactor(error),
    })?;
    let mut options = ListenOptions::default();
    options.share_port = shared;
    let mut listen = |address: &mut SocketAddr| {
        let listener =
            listen(&mut reactor, *address, &options).map_err(|error| StartError::listen(*address, error))?;
        *address = reactor.local_address(listener);
        Ok::<_, StartError>(listener)
    };
    addresses.plain.iter_mut().try_for_each(|address| listen(address).map(drop))?;
    let tls = addresses.tls.iter_mut().map(listen).collect::<Result<_, _>>()?;
    Ok((reactor, tls))
}

/// Listens at an address. If it is in use, tries again for a short time: after a crash of a server with io_uring, the
/// kernel closes its listening socket only after the process has ended, and a supervisor can be faster.
fn listen(reactor: &mut TcpReactor, address: SocketAddr, options: &ListenOptions) -> io::Result<Listener> {
    for _ in 0..LISTEN_RETRIES {
        match reactor.listen(address, options) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => thread::sleep(LISTEN_RETRY_INTERVAL),
            result => return result,
        }
    }
    reactor.listen(address, options)
}
