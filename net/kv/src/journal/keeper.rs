//! The thread that maintains the storage: background syncs, retries, and the end of rewrites.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::{Journal, lock};
use crate::limits::KEEPER_INTERVAL;
use crate::storage::{Occasion, Storage, StorageError};

impl<S: Storage + ?Sized> Journal<S> {
    /// Maintains the storage until [`stop`](Self::stop). `wake` wakes the leading thread.
    pub(crate) fn maintain(&self, wake: impl Fn()) {
        loop {
            let (errands, changed) = &self.keeper;
            let nothing = lock(errands);
            let waited = changed
                .wait_timeout_while(nothing, KEEPER_INTERVAL, |errands| !errands.stop && !errands.finish);
            let (mut errands, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (stop, finish) = (errands.stop, std::mem::take(&mut errands.finish));
            drop(errands);
            if finish {
                self.finish_rewrite();
            }
            if let Err(error) = self.background(if stop { Occasion::End } else { Occasion::EverySecond }) {
                self.fail(&error);
            }
            if self.failing.load(Ordering::Acquire) && self.write(&mut lock(&self.storage)).is_ok() {
                wake();
            }
            if stop {
                return;
            }
            if self.has_grown() && self.request_rewrite() {
                wake();
            }
        }
    }

    /// Stops the thread after everything is written and synced. No thread may append any more.
    pub(crate) fn stop(&self) {
        self.errand(|errands| errands.stop = true);
    }

    /// Runs the storage's background work. Other threads can write meanwhile.
    fn background(&self, occasion: Occasion) -> Result<(), StorageError> {
        let mut stored = lock(&self.storage);
        self.apply_settings(&mut stored);
        let work = stored.storage.background(occasion);
        drop(stored);
        let Some(work) = work else { return Ok(()) };
        let result = work();
        lock(&self.storage).storage.background_done(result)
    }

    fn has_grown(&self) -> bool {
        let is_due = lock(&self.storage).storage.rewrite().is_some_and(|rewrite| rewrite.is_due());
        is_due && !self.is_dumping()
    }

    fn finish_rewrite(&self) {
        self.switch();
        self.rewriting.store(false, Ordering::Release);
    }

    /// All keys are in the new history, which now replaces the old one.
    fn switch(&self) {
        // Syncs most of it without blocking other threads.
        let prepared = self.background(Occasion::BeforeFinish);
        let mut stored = lock(&self.storage);
        let mut pending = lock(&self.pending);
        let Some(rewrite) = pending.rewrite.take() else { return };
        // No more changes are added after this point. Changes that the old history lacks are written to the
        // new one; if that fails, to the old one.
        stored.take(&mut pending.bytes);
        let position = pending.position;
        drop(pending);
        let Some(new) = stored.storage.rewrite() else { return };
        if rewrite.failed {
            return new.cancel();
        }
        if prepared.and_then(|()| new.write(&rewrite.bytes)).and_then(|()| new.finish()).is_err() {
            return new.cancel();
        }
        stored.forget();
        self.kept.store(position, Ordering::Release);
        self.failing.store(false, Ordering::Release);
    }
}
