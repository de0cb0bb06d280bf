//! The state that the threads of a server share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use netdyno_io::Waker;
use netdyno_io::tcp::Key;
use netdyno_kv_core::{Engine, Output, SessionId};

use crate::Limits;
use crate::clock::Clock;
use crate::feed::Feed;
use crate::journal::Journal;
use crate::snapshots::Snapshots;

pub(crate) struct Shared {
    /// Locked once per iteration, for all commands that have arrived.
    core: Mutex<Core>,
    /// One per thread.
    pub(crate) posts: Vec<Post>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    /// Refuse clients from other machines while there is no password.
    pub(crate) protected: bool,
    idle_timeout_ms: AtomicU64,
    keepalive_s: AtomicU64,
    pub(crate) journal: Option<Journal>,
    pub(crate) snapshots: Option<Snapshots>,
    clients_most: AtomicUsize,
    clients: AtomicUsize,
    stop: AtomicBool,
}

/// State that requires the lock.
pub(crate) struct Core {
    pub(crate) engine: Engine,
    /// The client of each session.
    pub(crate) owners: HashMap<SessionId, Owner>,
    /// Replicas of this server.
    pub(crate) feed: Feed,
}

/// A client, and the thread that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) thread: usize,
    pub(crate) key: Key,
}

/// Output from other threads for the clients of one thread. Filled and emptied with the lock on [`Core`],
/// which preserves the order.
pub(crate) struct Post {
    letters: Mutex<Vec<(Key, Output)>>,
    waker: Waker,
}

/// A thread panicked with the lock held, so the guarded state may be inconsistent.
#[derive(Debug)]
pub(crate) struct Poisoned;

impl Shared {
    pub(crate) fn new(settings: SharedSettings, engine: Engine, wakers: Vec<Waker>) -> Self {
        let posts = wakers.into_iter().map(|waker| Post { letters: Mutex::default(), waker }).collect();
        let SharedSettings { clock, limits, protected, idle_timeout_ms, journal, snapshots } = settings;
        let keepalive_s =
            AtomicU64::new(engine.config("tcp-keepalive").and_then(|text| text.parse().ok()).unwrap_or(0));
        let core = Mutex::new(Core { engine, owners: HashMap::new(), feed: Feed::default() });
        let (clients, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (clients_most, idle_timeout_ms) =
            (AtomicUsize::new(limits.clients), AtomicU64::new(idle_timeout_ms));
        Self {
            core,
            posts,
            clock,
            limits,
            protected,
            idle_timeout_ms,
            keepalive_s,
            journal,
            snapshots,
            clients_most,
            clients,
            stop,
        }
    }

    /// Applies parameters of the server that `CONFIG SET` has changed.
    pub(crate) fn configure(&self, engine: &Engine, names: &[String]) {
        for name in names {
            let text = engine.config(name).unwrap_or_default();
            match (name.as_str(), text.parse::<u64>()) {
                ("maxclients", Ok(clients)) => {
                    let clients = usize::try_from(clients).unwrap_or(usize::MAX).min(self.limits.clients);
                    self.clients_most.store(clients, Ordering::Relaxed);
                }
                ("timeout", Ok(seconds)) => {
                    self.idle_timeout_ms.store(seconds.saturating_mul(1000), Ordering::Relaxed);
                }
                ("tcp-keepalive", Ok(seconds)) => self.keepalive_s.store(seconds, Ordering::Relaxed),
                ("appendfsync", _) => self.journal.iter().for_each(|journal| journal.set(name, text)),
                _ => {}
            }
        }
        // Each thread computes its own timeout.
        self.posts.iter().for_each(Post::wake);
    }

    /// Seconds of silence after which TCP keepalive probes a client; 0 disables them.
    pub(crate) fn keepalive_s(&self) -> u64 {
        self.keepalive_s.load(Ordering::Relaxed)
    }

    /// Milliseconds after which an idle client is disconnected; 0 disables the timeout.
    pub(crate) fn idle_timeout_ms(&self) -> u64 {
        self.idle_timeout_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Core>, Poisoned> {
        self.core.lock().map_err(|_| Poisoned)
    }

    /// Stops all threads after their current iterations.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.posts.iter().for_each(Post::wake);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Counts a new client; false if the limit is reached.
    pub(crate) fn admit(&self) -> bool {
        let clients = self.clients.fetch_add(1, Ordering::Relaxed);
        let most = self.clients_most.load(Ordering::Relaxed);
        if clients >= most {
            self.clients.fetch_sub(1, Ordering::Relaxed);
        }
        clients < most
    }

    pub(crate) fn dismiss(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }
}

/// The parts of a [`Shared`] other than the engine.
pub(crate) struct SharedSettings {
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) protected: bool,
    pub(crate) idle_timeout_ms: u64,
    pub(crate) journal: Option<Journal>,
    pub(crate) snapshots: Option<Snapshots>,
}

impl Post {
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Call with the lock on [`Core`].
    pub(crate) fn push(&self, key: Key, output: Output) {
        if let Ok(mut letters) = self.letters.lock() {
            letters.push((key, output));
        }
    }

    /// Call with the lock on [`Core`]. `into` must be empty; its allocation holds the next outputs.
    pub(crate) fn collect(&self, into: &mut Vec<(Key, Output)>) {
        if let Ok(mut letters) = self.letters.lock() {
            std::mem::swap(&mut *letters, into);
        }
    }
}
