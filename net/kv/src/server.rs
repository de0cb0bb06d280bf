//! A server: its threads, from their start to their end.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use netdyno_io::tcp::{self, Backend, ListenOptions, Listener, TcpReactor};
use netdyno_kv_core::{Config, Engine, Loaded};

use crate::clock::Clock;
use crate::journal::Journal;
use crate::limits::CONNECTIONS_TO_REFUSE;
use crate::settings::Builder;
use crate::shared::{Post, Shared, SharedSettings};
use crate::snapshots::{self, SnapshotSettings, Snapshots};
use crate::wire::Wire;
use crate::worker::Worker;
use crate::{Replayed, RunError, StartError};

/// A server that runs. It ends by [`stop`](Self::stop), or when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Addresses,
    threads: Vec<JoinHandle<Result<(), RunError>>>,
    /// Keeps the storage.
    keeper: Option<JoinHandle<()>>,
    /// Writes snapshots.
    saver: Option<JoinHandle<()>>,
    replayed: Option<Replayed>,
    loaded: Option<Loaded>,
}

/// Stops a server from anywhere: from another thread, or when a signal comes.
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
    /// A server as it is by default: at 127.0.0.1:6379, one thread, in memory.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn start(mut builder: Builder) -> Result<Self, StartError> {
        let encryption = Encryption::of(&builder)?;
        let mut addresses = Addresses::of(&mut builder);
        // First what fails soonest. Who connects meanwhile waits until the file is read.
        if builder.threads > 1 {
            // Threads share a port, and would with another server, too.
            listening(&builder, &mut addresses.clone(), false)?;
        }
        let mut wakers = Vec::with_capacity(builder.threads);
        let mut wires = Vec::with_capacity(builder.threads);
        for _ in 0..builder.threads {
            let (reactor, listeners) = listening(&builder, &mut addresses, builder.threads > 1)?;
            wakers.push(reactor.waker());
            wires.push(encryption.wire(reactor, listeners, input_bytes(&builder)));
        }
        let config = with_place(std::mem::take(&mut builder.config), builder.snapshots.as_ref())?;
        let clock = Clock::new();
        let mut engine = Engine::new(config, builder.seed.unwrap_or_else(random));
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
        server.keep()?;
        server.save()?;
        for (index, wire) in wires.into_iter().enumerate() {
            server.spawn(index, wire)?;
        }
        Ok(server)
    }

    /// The addresses that it listens at, with the ports that it got.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses.plain
    }

    /// The addresses that it listens at for clients that speak TLS, with the ports that it got.
    #[cfg(feature = "tls")]
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.addresses.tls
    }

    /// What was found in the append-only file or another storage at the start.
    pub fn replayed(&self) -> Option<&Replayed> {
        self.replayed.as_ref()
    }

    /// What was found in the snapshot at the start, if it was read.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    /// Clients that are connected.
    pub fn clients(&self) -> usize {
        self.shared.clients()
    }

    /// What stops it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: self.shared.clone() }
    }

    /// Ends all connections and threads. What was answered is where the promises of the storage say.
    ///
    /// # Errors
    ///
    /// It had ended by itself before.
    pub fn stop(mut self) -> Result<(), RunError> {
        self.shared.stop();
        self.join()
    }

    /// Waits until somebody stops it.
    ///
    /// # Errors
    ///
    /// It ended by itself.
    pub fn wait(mut self) -> Result<(), RunError> {
        self.join()
    }

    /// Uses the engine from here: between two turns, so that no command runs meanwhile. `None` if a thread has panicked.
    pub fn with_engine<T>(&self, use_it: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let result = use_it(&mut self.shared.lock().ok()?.engine);
        // For what clients are to be told of it.
        self.shared.posts.iter().take(1).for_each(Post::wake);
        Some(result)
    }

    fn keep(&mut self) -> Result<(), StartError> {
        let shared = self.shared.clone();
        if shared.journal.is_none() {
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("kv storage".into()).spawn(move || {
            if let Some(journal) = &shared.journal {
                journal.keep(|| shared.posts[0].wake());
            }
        });
        self.keeper = Some(thread.map_err(StartError::Reactor)?);
        Ok(())
    }

    fn save(&mut self) -> Result<(), StartError> {
        let shared = self.shared.clone();
        if shared.snapshots.is_none() {
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("kv snapshots".into()).spawn(move || {
            if let Some(snapshots) = &shared.snapshots {
                snapshots.write(|| shared.posts[0].wake());
            }
        });
        self.saver = Some(thread.map_err(StartError::Reactor)?);
        Ok(())
    }

    fn spawn(&mut self, index: usize, wire: Wire) -> Result<(), StartError> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name(format!("kv {index}")).spawn(move || {
            // However it ends, the others end with it.
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
        // Whoever could append has ended.
        if let (Some(journal), Some(keeper)) = (&self.shared.journal, self.keeper.take()) {
            // What was changed by `with_engine` since.
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
    /// What the configuration wants saved, unless SHUTDOWN has seen to that.
    fn save_at_end(&self, snapshots: &Snapshots) -> Result<(), RunError> {
        // Who panicked with the lock may have left half a change.
        let Ok(mut core) = self.shared.lock() else { return Ok(()) };
        if snapshots.has_ended() || !core.engine.saves_at_end() {
            return Ok(());
        }
        snapshots.save_now(&mut core.engine, self.shared.clock.now()).map_err(RunError::NotSaved)
    }
}

/// The configuration, with the place of snapshots.
fn with_place(config: Config, snapshots: Option<&SnapshotSettings>) -> Result<Config, StartError> {
    let Some(SnapshotSettings { directory, file_name }) = snapshots else { return Ok(config) };
    let config =
        config.with("dir", &directory.to_string_lossy()).and_then(|c| c.with("dbfilename", file_name));
    config
        .map_err(|_| StartError::Setting { field: "dbfilename", rule: "a file's name, without a directory" })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        // Whoever wants to know how it ended calls `stop`.
        let _ = self.join();
    }
}

impl Stopper {
    /// Asks it to end: it does after the turn that it is in.
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

/// Redis' port.
const DEFAULT_PORT: u16 = 6379;

/// A number that others do not know, from what the standard library seeds its tables with.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed")
}

/// Where a server listens.
#[derive(Clone)]
struct Addresses {
    plain: Vec<SocketAddr>,
    tls: Vec<SocketAddr>,
}

impl Addresses {
    fn of(builder: &mut Builder) -> Self {
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

/// What makes TLS of the connections of some listeners.
#[cfg(feature = "tls")]
struct Encryption(Vec<Arc<rustls::ServerConfig>>);

#[cfg(feature = "tls")]
impl Encryption {
    fn of(builder: &Builder) -> Result<Self, StartError> {
        let configs: Result<_, _> = builder.tls.iter().map(|(_, settings)| settings.load()).collect();
        Ok(Self(configs?))
    }

    fn wire(&self, reactor: TcpReactor, listeners: Vec<Listener>, input_bytes: usize) -> Wire {
        Wire::new(reactor, listeners.into_iter().zip(self.0.iter().cloned()).collect(), input_bytes)
    }
}

/// Nothing does.
#[cfg(not(feature = "tls"))]
struct Encryption;

#[cfg(not(feature = "tls"))]
impl Encryption {
    fn of(_builder: &Builder) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn wire(&self, reactor: TcpReactor, _listeners: Vec<Listener>, _input_bytes: usize) -> Wire {
        reactor
    }
}

/// What may have arrived from one client and not been executed.
fn input_bytes(builder: &Builder) -> usize {
    builder.limits.request.max_request_bytes.saturating_add(tcp::Limits::default().input_bytes)
}

/// A reactor that listens everywhere, and its listeners that speak TLS. The first one learns which ports the kernel
/// chose, and puts them into `addresses`.
fn listening(
    builder: &Builder,
    addresses: &mut Addresses,
    shared: bool,
) -> Result<(TcpReactor, Vec<Listener>), StartError> {
    let mut limits = tcp::Limits::default();
    limits.connections = builder.limits.clients + CONNECTIONS_TO_REFUSE;
    limits.input_bytes = input_bytes(builder);
    // One answer can have any length; how many wait is bounded by us.
    limits.output_bytes = usize::MAX;
    let mut reactor = TcpReactor::new(builder.backend, limits).map_err(|error| match builder.backend {
        Backend::Uring => StartError::NoUring(error),
        Backend::Auto | Backend::Epoll => StartError::Reactor(error),
    })?;
    let mut options = ListenOptions::default();
    options.share_port = shared;
    let mut listen = |address: &mut SocketAddr| {
        let listener =
            reactor.listen(*address, &options).map_err(|error| StartError::listen(*address, error))?;
        *address = reactor.local_address(listener);
        Ok::<_, StartError>(listener)
    };
    addresses.plain.iter_mut().try_for_each(|address| listen(address).map(drop))?;
    let tls = addresses.tls.iter_mut().map(listen).collect::<Result<_, _>>()?;
    Ok((reactor, tls))
}
