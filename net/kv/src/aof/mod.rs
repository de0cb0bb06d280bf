//! The append-only file: every change, as a command, in the order in which they were made.
//!
//! What is promised, by policy ([`Fsync`]):
//!
//! | | `always` | `everysec` | `no` |
//! |---|---|---|---|
//! | an answer was sent: the change survives the end of the process, however it ends (`kill -9`) | yes | yes | yes |
//! | an answer was sent: the change survives a crash of the machine | yes | after two seconds at the most | when the kernel has written it |
//!
//! - With `always` all that a turn's commands changed is synced at once, then all their answers go out: one sync for
//!   however many clients.
//! - Nothing that was answered is lost because a later write fails. A write that fails (a full disk) leaves no half
//!   command behind: the file is cut to where it was, and the bytes are kept to be tried again, with the next change
//!   or within a second. Until it works, commands that change something are refused with `MISCONF`, and reads go on.
//!   Clients whose change was made but could not be written are closed without an answer; others may see such a
//!   change meanwhile.
//! - A sync that fails is not tried again: the kernel may have thrown away what it could not write. Changes are
//!   refused until the server is started again.
//! - At the start the file is executed. A command that is not whole at its end, or a transaction without its end, is
//!   cut off: nobody had an answer to it. Zeros at its end are, too, which some file systems leave, also within the
//!   last command. Anything else that is no command stops the start, and is left as it is.
//! - No deadline passes while the file is executed, so that a key that outlived its commands is not made anew without
//!   one.
//! - A rewrite puts the keys, part by part, and meanwhile all changes, into a new file, which then takes the place of
//!   the old one. Until it does, the old one has everything.
//!
//! What is not promised: the order of changes and the answers of *reads*. With `everysec` and `no` a client can read
//! what a crash of the machine then takes.

mod file;
mod keeper;
mod replay;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use netdyno_kv_core::Engine;

use crate::AofError;
use crate::limits::DUMPED_AT_ONCE_BYTES;
use file::LogFile;
pub use replay::Replayed;

/// When what was written is synced to the disk (`appendfsync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// Before a command that changed something is answered.
    Always,
    /// Once a second.
    #[default]
    EverySecond,
    /// When the kernel likes.
    No,
}

/// Where the append-only file is, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AofSettings {
    /// The directory; it must exist.
    pub directory: PathBuf,
    /// The file's name in it.
    pub file_name: String,
    /// When it is synced.
    pub fsync: Fsync,
    /// Rewritten by itself once it has grown by so many percent since the last time (`auto-aof-rewrite-percentage`);
    /// 0: never.
    pub rewrite_percent: u64,
    /// Not while it is shorter than this (`auto-aof-rewrite-min-size`).
    pub rewrite_min_bytes: u64,
}

impl AofSettings {
    /// `appendonly.aof` in this directory, synced once a second.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            file_name: "appendonly.aof".into(),
            fsync: Fsync::default(),
            rewrite_percent: 100,
            rewrite_min_bytes: 64 << 20,
        }
    }
}

/// What was changed could not be made durable.
#[derive(Debug)]
pub(crate) struct NotDurable;

/// The file, as the threads of a server share it.
///
/// Locks are taken in this order: `file`, `pending`; the engine's, `pending`. Nobody waits for `file` with the
/// engine's, so that commands are executed while others write.
pub(crate) struct Aof {
    settings: AofSettings,
    /// An [`Fsync`], which may change while it runs.
    fsync: AtomicU8,
    pending: Mutex<Pending>,
    file: Mutex<LogFile>,
    /// Up to which position the policy's promise is kept.
    kept: AtomicU64,
    /// Up to which position the last write went, or would have.
    tried: AtomicU64,
    /// Something was written and not synced yet.
    unsynced: AtomicBool,
    /// The last write failed, or a sync did.
    failing: AtomicBool,
    trouble: Mutex<String>,
    /// The engine knows. Changed with its lock only.
    refusing: AtomicBool,
    /// Keys are put into a new file.
    dumping: AtomicBool,
    /// From the begin of a rewrite until the new file has its place.
    rewriting: AtomicBool,
    rewrite_wanted: AtomicBool,
    keeper: (Mutex<Errands>, Condvar),
}

/// What was changed and is not written.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Bytes that were ever appended.
    position: u64,
    rewrite: Option<Rewrite>,
}

/// What belongs into the new file and is not there yet.
#[derive(Default)]
struct Rewrite {
    bytes: Vec<u8>,
    /// All keys are in it, or were.
    dumped: bool,
    /// The new file could not be written: the rest of the keys is thrown away.
    failed: bool,
}

/// For the thread that keeps the file.
#[derive(Default)]
struct Errands {
    stop: bool,
    finish: bool,
}

impl Aof {
    /// Opens the file, and executes it.
    pub(crate) fn open(settings: AofSettings, engine: &mut Engine) -> Result<(Self, Replayed), AofError> {
        let mut file = LogFile::open(&settings)?;
        engine.record(false);
        let replayed = replay::replay(&mut file, engine)?;
        engine.record(true);
        let aof = Self {
            fsync: AtomicU8::new(settings.fsync as u8),
            settings,
            pending: Mutex::default(),
            file: Mutex::new(file),
            kept: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            unsynced: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            trouble: Mutex::default(),
            refusing: AtomicBool::new(false),
            dumping: AtomicBool::new(false),
            rewriting: AtomicBool::new(false),
            rewrite_wanted: AtomicBool::new(false),
            keeper: Default::default(),
        };
        Ok((aof, replayed))
    }

    /// Tells the engine whether changes are to be refused. With its lock, before commands are executed.
    pub(crate) fn tell(&self, engine: &mut Engine) {
        engine.set_log_state(true, self.rewriting.load(Ordering::Acquire));
        let failing = self.failing.load(Ordering::Acquire);
        if failing != self.refusing.swap(failing, Ordering::Relaxed) {
            engine.refuse_writes(failing.then(|| self.refusal()));
        }
    }

    /// Takes over what was changed. With the lock on the engine, so that the order is that of the changes. Gives what
    /// to commit.
    ///
    /// One thread of a server (`leads`) also brings a rewrite forward.
    pub(crate) fn append(&self, engine: &mut Engine, leads: bool) -> u64 {
        let mut pending = lock(&self.pending);
        pending.append(engine.take_log());
        if leads && (pending.rewrite.is_some() || self.rewrite_wanted.load(Ordering::Acquire)) {
            self.dump(&mut pending, engine);
        }
        pending.position
    }

    /// Writes what was changed up to `position`, and syncs it where the policy says so. Without the lock on the engine.
    pub(crate) fn commit(&self, position: u64) -> Result<(), NotDurable> {
        if self.is_kept(position) {
            return Ok(());
        }
        if self.failing.load(Ordering::Acquire) && self.tried.load(Ordering::Acquire) >= position {
            // Nothing came since: the thread that keeps the file tries again.
            return Err(NotDurable);
        }
        let mut file = lock(&self.file);
        if self.is_kept(position) {
            // Another thread has written it along with its own.
            return Ok(());
        }
        self.write(&mut file)
    }

    /// Wants the file rewritten, as soon as the leading thread has its turn. False if that is under way.
    pub(crate) fn want_rewrite(&self) -> bool {
        let free = !self.rewriting.swap(true, Ordering::AcqRel);
        self.rewrite_wanted.fetch_or(free, Ordering::AcqRel);
        free
    }

    /// Whether a rewrite is to be brought forward: turn follows turn then.
    pub(crate) fn is_dumping(&self) -> bool {
        self.dumping.load(Ordering::Acquire) || self.rewrite_wanted.load(Ordering::Acquire)
    }

    fn is_kept(&self, position: u64) -> bool {
        self.kept.load(Ordering::Acquire) >= position && !self.dumping.load(Ordering::Acquire)
    }

    /// As `appendfsync` has it. What was promised before is kept: what is not synced yet is, at the next turn of the policy that does.
    pub(crate) fn set_fsync(&self, name: &str) {
        let policy = match name {
            "always" => Fsync::Always,
            "everysec" => Fsync::EverySecond,
            "no" => Fsync::No,
            _ => return,
        };
        self.fsync.store(policy as u8, Ordering::Release);
    }

    fn fsync(&self) -> Fsync {
        let fsync = self.fsync.load(Ordering::Acquire);
        [Fsync::Always, Fsync::EverySecond, Fsync::No]
            .into_iter()
            .find(|f| *f as u8 == fsync)
            .unwrap_or_default()
    }

    fn write(&self, file: &mut LogFile) -> Result<(), NotDurable> {
        let mut pending = lock(&self.pending);
        file.take(&mut pending.bytes);
        let position = pending.position;
        let for_new_file = pending.rewrite.as_mut().map(|rewrite| std::mem::take(&mut rewrite.bytes));
        drop(pending);
        if let Some(bytes) = for_new_file {
            self.write_new_file(file, bytes);
        }
        self.tried.store(position, Ordering::Release);
        let always = self.fsync() == Fsync::Always;
        let written = file.write().and_then(|()| if always { file.sync() } else { Ok(()) });
        if written.is_err() {
            return Err(self.fail(file));
        }
        self.failing.store(false, Ordering::Release);
        self.kept.store(position, Ordering::Release);
        self.unsynced.store(!always, Ordering::Release);
        Ok(())
    }

    /// The next keys, into what belongs into the new file.
    fn dump(&self, pending: &mut Pending, engine: &mut Engine) {
        if pending.rewrite.is_none() {
            engine.begin_dump();
            pending.rewrite = Some(Rewrite::default());
            self.rewrite_wanted.store(false, Ordering::Release);
            self.dumping.store(true, Ordering::Release);
        }
        let Some(rewrite) = pending.rewrite.as_mut().filter(|rewrite| !rewrite.dumped) else { return };
        rewrite.dumped = engine.dump(DUMPED_AT_ONCE_BYTES, &mut rewrite.bytes);
        if rewrite.failed {
            rewrite.bytes.clear();
        }
        if rewrite.dumped {
            self.dumping.store(false, Ordering::Release);
            self.errand(|errands| errands.finish = true);
        }
    }

    fn write_new_file(&self, file: &mut LogFile, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let written = file.write_new(&bytes);
        let mut pending = lock(&self.pending);
        let Some(rewrite) = &mut pending.rewrite else { return };
        rewrite.failed |= written.is_err();
    }

    fn errand(&self, change: impl FnOnce(&mut Errands)) {
        let (errands, changed) = &self.keeper;
        change(&mut lock(errands));
        changed.notify_all();
    }

    /// From the next turn on changes are refused.
    fn fail(&self, file: &LogFile) -> NotDurable {
        *lock(&self.trouble) = file.trouble();
        self.failing.store(true, Ordering::Release);
        NotDurable
    }

    fn refusal(&self) -> String {
        format!("MISCONF Errors writing to the AOF file: {}", lock(&self.trouble))
    }
}

impl Pending {
    fn append(&mut self, log: &mut Vec<u8>) {
        self.position += log.len() as u64;
        if let Some(rewrite) = &mut self.rewrite
            && !rewrite.failed
        {
            rewrite.bytes.extend_from_slice(log);
        }
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, log);
        } else {
            self.bytes.append(log);
        }
    }
}

/// A thread that panicked with one of these locks has left bytes where they were: they are as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
