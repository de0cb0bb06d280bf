//! What the threads of a server share.

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
    /// Taken once a turn, for all commands that arrived in it.
    core: Mutex<Core>,
    /// One a thread.
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

/// What may be used only with the lock.
pub(crate) struct Core {
    pub(crate) engine: Engine,
    /// Where the client of each session is.
    pub(crate) owners: HashMap<SessionId, Owner>,
    /// For servers that follow this one.
    pub(crate) feed: Feed,
}

/// A client, and the thread that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) thread: usize,
    pub(crate) key: Key,
}

/// What other threads want a thread to send. Filled and emptied with the lock on [`Core`], so that its order is theirs.
pub(crate) struct Post {
    letters: Mutex<Vec<(Key, Output)>>,
    waker: Waker,
}

/// A thread panicked while it had the lock: what it guards cannot be trusted.
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

    /// `CONFIG SET` has set these: what of them is ours.
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
        // Each has its own time to wait until.
        self.posts.iter().for_each(Post::wake);
    }

    /// After which silence a client is asked whether it is there; 0: never.
    pub(crate) fn keepalive_s(&self) -> u64 {
        self.keepalive_s.load(Ordering::Relaxed)
    }

    /// After which time a silent client is closed; 0: never.
    pub(crate) fn idle_timeout_ms(&self) -> u64 {
        self.idle_timeout_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Core>, Poisoned> {
        self.core.lock().map_err(|_| Poisoned)
    }

    /// Ends all threads after their turns.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.posts.iter().for_each(Post::wake);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Counts a client, unless there are as many as may be.
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

/// What a [`Shared`] is made of besides the engine.
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

    /// With the lock on [`Core`].
    pub(crate) fn push(&self, key: Key, output: Output) {
        if let Ok(mut letters) = self.letters.lock() {
            letters.push((key, output));
        }
    }

    /// With the lock on [`Core`]. `into` is empty, and its room is used for the next letters.
    pub(crate) fn collect(&self, into: &mut Vec<(Key, Output)>) {
        if let Ok(mut letters) = self.letters.lock() {
            std::mem::swap(&mut *letters, into);
        }
    }
}
