//! Where changes are kept, and loaded from at the start: the append-only file ([`crate::aof`]), or what you write.
//!
//! The keys are in memory; a storage gets what was changed, in one of two forms ([`Form`]): as commands that give the same state
//! when executed again, or as the keys that were changed with what they have now. A turn's changes are committed together,
//! before any of their answers leaves, by one thread at a time: whatever the number of clients and threads, a storage has
//! nothing to lock.
//!
//! What a server promises with it:
//!
//! - What [`Storage::commit`] has returned from is as safe as the storage says; only then it is answered.
//! - What it fails with is told to clients as `MISCONF`: changes are refused, reads go on. The changes that could not be kept are
//!   tried again with those that came since, once a second; clients that made them are closed without an answer.
//! - At the start all that [`Storage::load`] hands over is executed before anybody can connect.
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

use netdyno_kv_core::{Engine, Now, SessionId};
use netdyno_resp::{Args, Progress, RequestLimits, RequestParser};

/// What went wrong, with the remedy: clients and operators read it.
pub type StorageError = Box<dyn Error + Send + Sync>;

/// Work that nobody waits for, such as a sync. It is done without the storage, which gets the result.
pub type Background = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Keeps what was changed. See the [module](self) for when its methods are called, `net/kv/examples/own_storage.rs` for one.
pub trait Storage: Send {
    /// Hands over all that was committed, in that order. Called once, before anything else.
    ///
    /// # Errors
    ///
    /// The server does not start.
    fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError>;

    /// Keeps these changes, in its [`form`](Self::form): all of them, or none. After an error it also is called without any, to
    /// see whether it works again.
    ///
    /// # Errors
    ///
    /// None of them is kept; they come again.
    fn commit(&mut self, changes: &[u8]) -> Result<(), StorageError>;

    /// How it wants what was changed.
    fn form(&self) -> Form {
        Form::Commands
    }

    /// What is to be done beside: asked for on each occasion, and done by a thread of its own.
    fn background(&mut self, occasion: Occasion) -> Option<Background> {
        let _ = occasion;
        None
    }

    /// What came of it.
    ///
    /// # Errors
    ///
    /// Changes are refused, until a commit succeeds.
    fn background_done(&mut self, result: io::Result<()>) -> Result<(), StorageError> {
        result.map_err(Into::into)
    }

    /// How it takes all keys anew in place of a long history, if it does.
    fn rewrite(&mut self) -> Option<&mut dyn Rewrite> {
        None
    }

    /// `CONFIG SET` has set a parameter that may be the storage's, such as `appendfsync`: before the next commit.
    fn set(&mut self, parameter: &str, value: &str) {
        let _ = (parameter, value);
    }

    /// What errors call it.
    fn name(&self) -> &'static str {
        "storage"
    }
}

/// How a storage wants what was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Form {
    /// As whole commands in RESP, to be kept behind those of before: [`commands`] takes them apart. They are for the database of
    /// the last `SELECT`, each batch goes on where the one before was, and between `MULTI` and `EXEC` they belong together.
    #[default]
    Commands,
    /// As what there is now: [`changes`] takes it apart. What comes twice does no harm. A key is told as a whole, however little of
    /// it was changed, and after `SWAPDB` both databases are. A command of your own must say where its keys are. There is no
    /// [`Rewrite`].
    Values,
}

/// A storage that can begin anew, with what the keys are now (`BGREWRITEAOF`).
pub trait Rewrite {
    /// Whether it is time.
    fn is_due(&self) -> bool;

    /// Takes the next part of the new history, whole commands in RESP: keys, and the changes since it began. The first part
    /// begins it. Until the end, [`Storage::commit`] gets the changes, too.
    ///
    /// # Errors
    ///
    /// It is given up.
    fn write(&mut self, part: &[u8]) -> Result<(), StorageError>;

    /// The new history takes the place of the old one. It has all changes, also those that could not be committed.
    ///
    /// # Errors
    ///
    /// The old one is the one that counts; it is given up.
    fn finish(&mut self) -> Result<(), StorageError>;

    /// Throws away what was written of the new history, if anything was.
    fn give_up(&mut self);
}

/// When [`Storage::background`] is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occasion {
    /// Once a second.
    EverySecond,
    /// All but the last changes are in the new history, which is about to be finished.
    BeforeFinish,
    /// Nothing comes after that.
    End,
}

/// What was found in a storage at the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Commands that were executed.
    pub commands: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that were cut off at the end: a command that is not whole, a transaction without its end, zeros.
    pub cut_bytes: u64,
    /// Commands that failed. They had not, when they were written.
    pub refused: u64,
    /// What the first of them said.
    pub first_refusal: Option<String>,
}

/// Executes what a storage hands over. No deadline passes meanwhile, so that a key that outlived its commands is not made anew
/// without one.
#[derive(Debug)]
pub struct Loader<'a> {
    engine: &'a mut Engine,
    session: SessionId,
    pub(crate) found: Replayed,
    out: Vec<u8>,
}

/// The only time there is: no deadline passes.
const NOW: Now = Now { unix_ms: 0, monotonic_us: 0 };

impl<'a> Loader<'a> {
    /// Has a storage loaded into an engine.
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

    /// Executes whole commands in RESP, as [`Storage::commit`] got them.
    ///
    /// # Errors
    ///
    /// At this place there is something else, or a command's begin only.
    pub fn load(&mut self, changes: &[u8]) -> Result<(), StorageError> {
        let mut all = commands(changes);
        for command in &mut all {
            self.execute(&command);
        }
        self.found.bytes += all.at as u64;
        match changes.len() - all.at {
            0 => Ok(()),
            _ => Err(format!("no whole command begins at byte {}: restore it from a copy", all.at).into()),
        }
    }

    /// Gives a key of a database what [`Change::Key`] told of it.
    ///
    /// # Errors
    ///
    /// It is something else.
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

/// None: what was written was within bounds then.
pub(crate) fn no_limits() -> RequestLimits {
    let most = u32::MAX as usize;
    RequestLimits {
        max_request_bytes: most,
        max_bulk_bytes: most,
        max_arguments: most,
        ..RequestLimits::default()
    }
}

/// The commands in changes, each as its name and arguments. Ends before the first thing that is no whole command.
pub fn commands(changes: &[u8]) -> Commands<'_> {
    Commands { changes, at: 0, parser: RequestParser::new(no_limits()), args: Args::default() }
}

/// What [`commands`] gives.
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
        // None of them is inline.
        Some(self.args.in_input(rest)?.collect())
    }
}

/// Something that was changed, and how it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A database lost all its keys, or all databases did. What there is in it now follows.
    Emptied(Option<usize>),
    /// A key of a database has this value, or none.
    Key {
        /// The database.
        db: usize,
        /// The key.
        key: &'a [u8],
        /// For [`Loader::load_value`]: commands in RESP that make it, whatever there was before.
        value: Option<&'a [u8]>,
    },
}

/// What stands in place of a number of a database.
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
