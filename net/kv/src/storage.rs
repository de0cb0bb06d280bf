//! The interface of storages: the append-only file ([`crate::aof`]) or a custom one.
//!
//! The keys are in memory. A storage receives changes in one of two forms ([`Form`]): as commands that
//! produce the same state when replayed, or as the changed keys with their new values. The changes of an iteration
//! are committed together before any of their replies is sent. One thread at a time uses a storage, so it
//! needs no locks.
//!
//! Guarantees of a server with a storage:
//!
//! - A reply is sent only after [`Storage::commit`] has returned. The change is as durable as the storage
//!   makes it.
//! - When a commit fails, changes are refused with `MISCONF` and reads continue. Failed changes are retried
//!   once a second, together with later ones. Clients that made them are disconnected without a reply.
//! - On startup everything that [`Storage::load`] provides is executed before clients can connect.
//!
//! ```
//! use netdyno_kv::Server;
//! use netdyno_kv::storage::{Loader, Storage, StorageError};
//! use std::fs::File;
//! use std::io::{Read, Write};
//!
//! struct Lines(File);
//!
//! impl Storage for Lines {
//!     fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError> {
//!         let mut kept = Vec::new();
//!         self.0.read_to_end(&mut kept)?;
//!         loader.load(&kept)
//!     }
//!
//!     fn commit(&mut self, changes: &[u8]) -> Result<(), StorageError> {
//!         // After a write that fails halfway it would have to cut the file.
//!         self.0.write_all(changes)?;
//!         Ok(self.0.sync_data()?)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("lines");
//! let file = File::options().read(true).append(true).create(true).open(path)?;
//! let server = Server::builder().bind(([127, 0, 0, 1], 0)).storage(Lines(file)).start()?;
//! # server.stop()?;
//! # Ok(())
//! # }
//! ```

use std::error::Error;
use std::io;

use netdyno_kv_core::{Engine, SessionId, Timestamp};
use netdyno_resp::{Args, Progress, RequestLimits, RequestParser};

/// The cause and the remedy; shown to clients and operators.
pub type StorageError = Box<dyn Error + Send + Sync>;

/// Background work such as a sync. It runs without the storage, which receives the result.
pub type Background = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Stores changes. The [module](self) describes when its methods are called; `net/kv/examples/own_storage.rs`
/// is an example.
pub trait Storage: Send {
    /// Provides everything that was committed, in order. Called once, before any other method.
    ///
    /// # Errors
    ///
    /// The server does not start.
    fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError>;

    /// Stores these changes, in its [`form`](Self::form): all of them or none. After an error it is also
    /// called with no changes, to test whether it works again.
    ///
    /// # Errors
    ///
    /// No change was stored; the same changes are passed again.
    fn commit(&mut self, changes: &[u8]) -> Result<(), StorageError>;

    /// The form in which changes are passed.
    fn form(&self) -> Form {
        Form::Commands
    }

    /// Returns background work for this occasion, which a separate thread runs.
    fn background(&mut self, occasion: Occasion) -> Option<Background> {
        let _ = occasion;
        None
    }

    /// Receives the result of the background work.
    ///
    /// # Errors
    ///
    /// Changes are refused until a commit succeeds.
    fn background_done(&mut self, result: io::Result<()>) -> Result<(), StorageError> {
        result.map_err(Into::into)
    }

    /// The interface that replaces a long history by the current keys, if supported.
    fn rewrite(&mut self) -> Option<&mut dyn Rewrite> {
        None
    }

    /// Receives a parameter that `CONFIG SET` has changed, such as `appendfsync`, before the next commit.
    fn set(&mut self, parameter: &str, value: &str) {
        let _ = (parameter, value);
    }

    /// The name used in error messages.
    fn name(&self) -> &'static str {
        "storage"
    }
}

/// The form of the changes that a storage receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Form {
    /// Complete commands in RESP, to be appended to the earlier ones: [`commands`] splits them. They apply to
    /// the database of the last `SELECT`, which carries over between batches. Commands between `MULTI` and
    /// `EXEC` form a transaction.
    #[default]
    Commands,
    /// Current values: [`changes`] splits them. Applying a batch twice is harmless. A changed key is passed
    /// as a whole, and `SWAPDB` passes both databases. A custom command must declare its keys. [`Rewrite`] is
    /// not used.
    Values,
}

/// A storage that can replace its history by the current keys (`BGREWRITEAOF`).
pub trait Rewrite {
    /// Whether an automatic rewrite is due.
    fn is_due(&self) -> bool;

    /// Receives the next part of the new history as complete commands in RESP: keys, and the changes since it
    /// began. The first part begins it. Until the end, [`Storage::commit`] receives the changes as well.
    ///
    /// # Errors
    ///
    /// The rewrite is cancelled.
    fn write(&mut self, part: &[u8]) -> Result<(), StorageError>;

    /// Replaces the old history by the new one, which has all changes, including those that could not be
    /// committed.
    ///
    /// # Errors
    ///
    /// The old history stays in use, and the rewrite is cancelled.
    fn finish(&mut self) -> Result<(), StorageError>;

    /// Discards the new history, if one was begun.
    fn cancel(&mut self);
}

/// When [`Storage::background`] is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occasion {
    /// Once a second.
    EverySecond,
    /// All but the last changes are in the new history, which is about to be finished.
    BeforeFinish,
    /// On shutdown.
    End,
}

/// The result of loading a storage on startup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Commands that were executed.
    pub commands: u64,
    /// Their length in bytes.
    pub bytes: u64,
    /// Bytes truncated at the end: an incomplete command or transaction, or zeros.
    pub cut_bytes: u64,
    /// Commands that failed now although they succeeded when they were logged.
    pub refused: u64,
    /// The error of the first of them.
    pub first_refusal: Option<String>,
}

/// Executes the contents of a storage. Keys do not expire meanwhile; otherwise a command could recreate an
/// expired key without its deadline.
#[derive(Debug)]
pub struct Loader<'a> {
    engine: &'a mut Engine,
    session: SessionId,
    pub(crate) found: Replayed,
    out: Vec<u8>,
}

/// A fixed time, at which no key expires.
const NOW: Timestamp = Timestamp { unix_ms: 0, monotonic_us: 0 };

impl<'a> Loader<'a> {
    /// Loads a storage into an engine.
    pub(crate) fn run<S: Storage + ?Sized>(
        storage: &mut S,
        engine: &'a mut Engine,
    ) -> Result<Replayed, StorageError> {
        engine.record(false);
        let session = engine.open_trusted(NOW);
        let mut loader = Loader { engine, session, found: Replayed::default(), out: Vec::new() };
        let result = storage.load(&mut loader);
        let Loader { engine, found, .. } = loader;
        engine.close(session);
        while engine.poll_output().is_some() {}
        engine.record(true);
        result.map(|()| found)
    }

    /// Executes complete commands in RESP, as [`Storage::commit`] received them.
    ///
    /// # Errors
    ///
    /// The bytes contain something other than complete commands.
    pub fn load(&mut self, changes: &[u8]) -> Result<(), StorageError> {
        let mut all = commands(changes);
        for command in &mut all {
            self.execute(&command);
        }
        self.found.bytes += all.at as u64;
        match changes.len() - all.at {
            0 => Ok(()),
            _ => Err(format!("no complete command at byte {}: restore it from a backup", all.at).into()),
        }
    }

    /// Restores a key from the value that [`Change::Key`] provided.
    ///
    /// # Errors
    ///
    /// The bytes are not such a value.
    pub fn load_value(&mut self, db: usize, value: &[u8]) -> Result<(), StorageError> {
        self.execute(&[b"SELECT", db.to_string().as_bytes()]);
        self.load(value)
    }

    /// Executes a command.
    pub fn execute(&mut self, command: &[&[u8]]) {
        if command.is_empty() {
            return;
        }
        self.out.clear();
        self.engine.execute(NOW, self.session, command, &mut self.out);
        self.found.commands += 1;
        if self.out.first() == Some(&b'-') {
            self.found.refused += 1;
            let text = || String::from_utf8_lossy(&self.out[1..]).trim_end().to_owned();
            self.found.first_refusal.get_or_insert_with(text);
        }
    }
}

/// No limits: everything was within limits when it was written.
pub(crate) fn no_limits() -> RequestLimits {
    let most = u32::MAX as usize;
    RequestLimits {
        max_request_bytes: most,
        max_bulk_bytes: most,
        max_arguments: most,
        ..RequestLimits::default()
    }
}

/// Splits changes into commands, each as its name and arguments. Stops at the first bytes that are not a
/// complete command.
pub fn commands(changes: &[u8]) -> Commands<'_> {
    Commands { changes, at: 0, parser: RequestParser::new(no_limits()), args: Args::default() }
}

/// The iterator of [`commands`].
#[derive(Debug)]
pub struct Commands<'a> {
    changes: &'a [u8],
    at: usize,
    parser: RequestParser,
    args: Args,
}

impl<'a> Iterator for Commands<'a> {
    type Item = Vec<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.changes[self.at..];
        if rest.first() != Some(&b'*') {
            return None;
        }
        let Ok(Progress::Complete(bytes)) = self.parser.parse(rest, &mut self.args) else { return None };
        self.at += bytes;
        // The log has no inline commands.
        Some(self.args.in_input(rest)?.collect())
    }
}

/// A change, with the new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A database, or all of them, was emptied. Its current keys follow.
    Emptied(Option<usize>),
    /// A key has this value, or was removed.
    Key {
        /// The database.
        db: usize,
        /// The key.
        key: &'a [u8],
        /// Commands in RESP that restore the value, for [`Loader::load_value`].
        value: Option<&'a [u8]>,
    },
}

/// Takes the place of a database number.
pub(crate) const EMPTIED: &[u8] = b"emptied";

/// The changes in a batch for a storage of [`Form::Values`].
pub fn changes(batch: &[u8]) -> impl Iterator<Item = Change<'_>> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    commands(batch).filter_map(move |words| match *words {
        [EMPTIED] => Some(Change::Emptied(None)),
        [EMPTIED, db] => Some(Change::Emptied(Some(number(db)?))),
        [db, key] => Some(Change::Key { db: number(db)?, key, value: None }),
        [db, key, value] => Some(Change::Key { db: number(db)?, key, value: Some(value) }),
        _ => None,
    })
}
