//! Between the engine and its storage: what was changed, on its way to where it is kept.
//!
//! A turn's changes are appended with the lock on the engine, and committed without it: commands are executed while others
//! write, and whoever commits takes along what others have appended. What fails is kept and tried again; until that works,
//! changes are refused.

mod keeper;
#[cfg(test)]
mod tests;
mod values;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use netdyno_kv_core::Engine;

use crate::limits::{DUMPED_AT_ONCE_BYTES, KEPT_LOG_BYTES};
use crate::storage::{Form, Loader, Replayed, Storage, StorageError};
use values::Values;

/// What was changed could not be made durable.
#[derive(Debug)]
pub(crate) struct NotDurable;

/// Changes and their storage, as the threads of a server share them.
///
/// Locks are taken in this order: `storage`, `pending`; the engine's, `pending`. Nobody waits for `storage` with the
/// engine's, so that commands are executed while others write.
pub(crate) struct Journal<S: Storage + ?Sized = dyn Storage> {
    pending: Mutex<Pending>,
    storage: Mutex<Stored<S>>,
    /// It can be rewritten.
    rewrites: bool,
    name: &'static str,
    /// Up to which position the promise is kept.
    kept: AtomicU64,
    /// Up to which position the last write went, or would have.
    tried: AtomicU64,
    /// The last write failed, or a sync did.
    failing: AtomicBool,
    trouble: Mutex<String>,
    /// The engine knows. Changed with its lock only.
    refusing: AtomicBool,
    /// Keys are put into a new history.
    dumping: AtomicBool,
    /// From the begin of a rewrite until the new history has its place.
    rewriting: AtomicBool,
    rewrite_wanted: AtomicBool,
    /// Parameters that the storage is to be told.
    settings: Mutex<Vec<(String, String)>>,
    keeper: (Mutex<Errands>, Condvar),
}

/// What is written to, and what was taken over for it and is not in it yet.
struct Stored<S: ?Sized> {
    unwritten: Vec<u8>,
    storage: Box<S>,
}

/// What was changed and is not written.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Bytes that were ever appended.
    position: u64,
    /// The storage wants values.
    values: Option<Values>,
    rewrite: Option<Rewrite>,
}

/// What belongs into the new history and is not there yet.
#[derive(Default)]
struct Rewrite {
    bytes: Vec<u8>,
    /// All keys are in it, or were.
    dumped: bool,
    /// It could not be written: the rest of the keys is thrown away.
    failed: bool,
}

/// For the thread that keeps the storage.
#[derive(Default)]
struct Errands {
    stop: bool,
    finish: bool,
}

impl<S: Storage + ?Sized> Journal<S> {
    /// Has the storage loaded.
    pub(crate) fn open(mut storage: Box<S>, engine: &mut Engine) -> Result<(Self, Replayed), StorageError> {
        let replayed = Loader::run(&mut *storage, engine)?;
        let values = (storage.form() == Form::Values).then(Values::default);
        let (rewrites, name) = (values.is_none() && storage.rewrite().is_some(), storage.name());
        let journal = Self {
            pending: Mutex::new(Pending { values, ..Pending::default() }),
            storage: Mutex::new(Stored { unwritten: Vec::new(), storage }),
            rewrites,
            name,
            kept: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            trouble: Mutex::default(),
            refusing: AtomicBool::new(false),
            dumping: AtomicBool::new(false),
            rewriting: AtomicBool::new(false),
            rewrite_wanted: AtomicBool::new(false),
            settings: Mutex::default(),
            keeper: Default::default(),
        };
        Ok((journal, replayed))
    }

    /// Tells the engine whether changes are to be refused. With its lock, before commands are executed.
    pub(crate) fn tell(&self, engine: &mut Engine) {
        engine.set_log_state(self.rewrites, self.rewriting.load(Ordering::Acquire));
        let failing = self.failing.load(Ordering::Acquire);
        if failing != self.refusing.swap(failing, Ordering::Relaxed) {
            engine.refuse_writes(failing.then(|| self.refusal()));
        }
    }

    /// A parameter has another value now. The storage is told by whoever has it next: nobody waits for it here.
    pub(crate) fn set(&self, parameter: &str, value: &str) {
        let mut settings = lock(&self.settings);
        settings.retain(|(other, _)| other != parameter);
        settings.push((parameter.to_owned(), value.to_owned()));
    }

    fn pass_on_settings(&self, stored: &mut Stored<S>) {
        for (parameter, value) in lock(&self.settings).drain(..) {
            stored.storage.set(&parameter, &value);
        }
    }

    /// Takes over what was changed. With the lock on the engine, so that the order is that of the changes. Gives what
    /// to commit.
    ///
    /// One thread of a server (`leads`) also brings a rewrite forward.
    pub(crate) fn append(&self, engine: &mut Engine, leads: bool) -> u64 {
        let mut pending = lock(&self.pending);
        match &mut pending.values {
            None => pending.append(engine.take_log()),
            Some(values) => {
                let mut batch = values.take(engine);
                pending.append(&mut batch);
            }
        }
        if leads && (pending.rewrite.is_some() || self.rewrite_wanted.load(Ordering::Acquire)) {
            self.dump(&mut pending, engine);
        }
        pending.position
    }

    /// Has what was changed up to `position` kept. Without the lock on the engine.
    pub(crate) fn commit(&self, position: u64) -> Result<(), NotDurable> {
        if self.is_kept(position) {
            return Ok(());
        }
        if self.failing.load(Ordering::Acquire) && self.tried.load(Ordering::Acquire) >= position {
            // Nothing came since: the thread that keeps the storage tries again.
            return Err(NotDurable);
        }
        let mut stored = lock(&self.storage);
        if self.is_kept(position) {
            // Another thread has written it along with its own.
            return Ok(());
        }
        self.write(&mut stored)
    }

    /// Wants the storage rewritten, as soon as the leading thread has its turn. False if that is under way.
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

    fn write(&self, stored: &mut Stored<S>) -> Result<(), NotDurable> {
        self.pass_on_settings(stored);
        let mut pending = lock(&self.pending);
        stored.take(&mut pending.bytes);
        let position = pending.position;
        let for_new_history = pending.rewrite.as_mut().map(|rewrite| std::mem::take(&mut rewrite.bytes));
        drop(pending);
        if let Some(bytes) = for_new_history {
            self.write_new_history(stored, &bytes);
        }
        self.tried.store(position, Ordering::Release);
        if !stored.unwritten.is_empty() || self.failing.load(Ordering::Acquire) {
            stored.storage.commit(&stored.unwritten).map_err(|error| self.fail(&error))?;
            stored.forget();
        }
        self.failing.store(false, Ordering::Release);
        self.kept.store(position, Ordering::Release);
        Ok(())
    }

    /// The next keys, into what belongs into the new history.
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

    fn write_new_history(&self, stored: &mut Stored<S>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let written = stored.storage.rewrite().is_some_and(|rewrite| rewrite.write(bytes).is_ok());
        if !written {
            stored.give_up();
        }
        let mut pending = lock(&self.pending);
        let Some(rewrite) = &mut pending.rewrite else { return };
        rewrite.failed |= !written;
    }

    fn errand(&self, change: impl FnOnce(&mut Errands)) {
        let (errands, changed) = &self.keeper;
        change(&mut lock(errands));
        changed.notify_all();
    }

    /// From the next turn on changes are refused.
    fn fail(&self, error: &StorageError) -> NotDurable {
        *lock(&self.trouble) = error.to_string();
        self.failing.store(true, Ordering::Release);
        NotDurable
    }

    fn refusal(&self) -> String {
        format!("MISCONF Errors writing to the {}: {}", self.name, lock(&self.trouble))
    }
}

impl<S: Storage + ?Sized> Stored<S> {
    /// Takes bytes over, to be written.
    fn take(&mut self, bytes: &mut Vec<u8>) {
        if self.unwritten.is_empty() {
            std::mem::swap(&mut self.unwritten, bytes);
        } else {
            self.unwritten.append(bytes);
        }
    }

    /// All of it is written.
    fn forget(&mut self) {
        self.unwritten.clear();
        self.unwritten.shrink_to(KEPT_LOG_BYTES);
    }

    fn give_up(&mut self) {
        if let Some(rewrite) = self.storage.rewrite() {
            rewrite.give_up();
        }
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
