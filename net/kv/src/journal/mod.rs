//! The journal carries changes from the engine to the storage.
//!
//! Changes of an iteration are appended with the lock on the engine and committed without it, so that commands
//! execute while another thread writes. A commit includes changes that other threads have appended. Failed
//! writes are retained and retried; until they succeed, changes are refused.

mod keeper;
#[cfg(test)]
mod tests;
mod values;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use netdyno_kv_core::Engine;

use crate::limits::{DUMP_PART_BYTES, KEPT_LOG_BYTES};
use crate::storage::{Form, Loader, Replayed, Storage, StorageError};
use values::Values;

/// A change could not be made durable.
#[derive(Debug)]
pub(crate) struct NotDurable;

/// Pending changes and their storage, shared by the threads of a server.
///
/// Lock order: `storage` before `pending`; the engine before `pending`. No thread waits for `storage` while
/// it holds the lock on the engine, so commands execute while another thread writes.
pub(crate) struct Journal<S: Storage + ?Sized = dyn Storage> {
    pending: Mutex<Pending>,
    storage: Mutex<Stored<S>>,
    /// The storage supports rewrites.
    rewrites: bool,
    name: &'static str,
    /// Position up to which changes are as durable as the policy demands.
    kept: AtomicU64,
    /// Position up to which the last write was attempted.
    tried: AtomicU64,
    /// The last write or sync failed.
    failing: AtomicBool,
    trouble: Mutex<String>,
    /// The engine refuses changes. Modified with the lock on the engine only.
    refusing: AtomicBool,
    /// Keys are being copied to a new history.
    dumping: AtomicBool,
    /// From the start of a rewrite until the new history is in place.
    rewriting: AtomicBool,
    rewrite_wanted: AtomicBool,
    /// Parameters to pass to the storage.
    settings: Mutex<Vec<(String, String)>>,
    keeper: (Mutex<Errands>, Condvar),
}

/// The storage, with bytes that are taken over and not written yet.
struct Stored<S: ?Sized> {
    unwritten: Vec<u8>,
    storage: Box<S>,
}

/// Changes that no thread has taken over yet.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Total bytes appended.
    position: u64,
    /// Set if the storage wants values.
    values: Option<Values>,
    rewrite: Option<Rewrite>,
}

/// Bytes for the new history that are not written yet.
#[derive(Default)]
struct Rewrite {
    bytes: Vec<u8>,
    /// All keys have been copied.
    dumped: bool,
    /// A write failed, so the remaining keys are discarded.
    failed: bool,
}

/// Requests to the thread that maintains the storage.
#[derive(Default)]
struct Errands {
    stop: bool,
    finish: bool,
}

impl<S: Storage + ?Sized> Journal<S> {
    /// Loads the storage into the engine.
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

    /// Updates whether the engine refuses changes. Call with the lock on the engine, before commands execute.
    pub(crate) fn update_engine(&self, engine: &mut Engine) {
        engine.set_log_state(self.rewrites, self.rewriting.load(Ordering::Acquire));
        let failing = self.failing.load(Ordering::Acquire);
        if failing != self.refusing.swap(failing, Ordering::Relaxed) {
            engine.refuse_writes(failing.then(|| self.refusal()));
        }
    }

    /// Queues a changed parameter for the storage. The next thread that uses the storage applies it, so that
    /// no thread waits here.
    pub(crate) fn set(&self, parameter: &str, value: &str) {
        let mut settings = lock(&self.settings);
        settings.retain(|(other, _)| other != parameter);
        settings.push((parameter.to_owned(), value.to_owned()));
    }

    fn apply_settings(&self, stored: &mut Stored<S>) {
        for (parameter, value) in lock(&self.settings).drain(..) {
            stored.storage.set(&parameter, &value);
        }
    }

    /// Takes over the changes of an iteration and returns the position to commit. Call with the lock on the engine,
    /// so that changes stay in order.
    ///
    /// The leading thread (`leads`) also advances a rewrite.
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

    /// Makes changes up to `position` durable. Call without the lock on the engine.
    pub(crate) fn commit(&self, position: u64) -> Result<(), NotDurable> {
        if self.is_kept(position) {
            return Ok(());
        }
        if self.failing.load(Ordering::Acquire) && self.tried.load(Ordering::Acquire) >= position {
            // There are no new changes; the background thread retries.
            return Err(NotDurable);
        }
        let mut stored = lock(&self.storage);
        if self.is_kept(position) {
            // Another thread has written these changes with its own.
            return Ok(());
        }
        self.write(&mut stored)
    }

    /// Requests a rewrite, which starts with the leading thread's next iteration. Returns false if one is in
    /// progress.
    pub(crate) fn request_rewrite(&self) -> bool {
        let free = !self.rewriting.swap(true, Ordering::AcqRel);
        self.rewrite_wanted.fetch_or(free, Ordering::AcqRel);
        free
    }

    /// Whether a rewrite needs more iterations of the leading thread.
    pub(crate) fn is_dumping(&self) -> bool {
        self.dumping.load(Ordering::Acquire) || self.rewrite_wanted.load(Ordering::Acquire)
    }

    fn is_kept(&self, position: u64) -> bool {
        self.kept.load(Ordering::Acquire) >= position && !self.dumping.load(Ordering::Acquire)
    }

    fn write(&self, stored: &mut Stored<S>) -> Result<(), NotDurable> {
        self.apply_settings(stored);
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

    /// Copies the next keys to the new history.
    fn dump(&self, pending: &mut Pending, engine: &mut Engine) {
        if pending.rewrite.is_none() {
            engine.begin_dump();
            pending.rewrite = Some(Rewrite::default());
            self.rewrite_wanted.store(false, Ordering::Release);
            self.dumping.store(true, Ordering::Release);
        }
        let Some(rewrite) = pending.rewrite.as_mut().filter(|rewrite| !rewrite.dumped) else { return };
        rewrite.dumped = engine.dump(DUMP_PART_BYTES, &mut rewrite.bytes);
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
            stored.cancel();
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

    /// Changes are refused from the next iteration.
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
    /// Takes over bytes to write.
    fn take(&mut self, bytes: &mut Vec<u8>) {
        if self.unwritten.is_empty() {
            std::mem::swap(&mut self.unwritten, bytes);
        } else {
            self.unwritten.append(bytes);
        }
    }

    /// Everything is written.
    fn forget(&mut self) {
        self.unwritten.clear();
        self.unwritten.shrink_to(KEPT_LOG_BYTES);
    }

    fn cancel(&mut self) {
        if let Some(rewrite) = self.storage.rewrite() {
            rewrite.cancel();
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

/// A panic with the lock held cannot leave the guarded bytes in an inconsistent state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
