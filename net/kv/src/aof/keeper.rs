//! The thread that keeps the file: syncs it once a second, tries again what failed, ends rewrites.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::{Aof, Fsync, lock};
use crate::limits::KEEPER_INTERVAL;

impl Aof {
    /// Keeps the file until [`stop`](Self::stop). `wake` wakes the thread that leads.
    pub(crate) fn keep(&self, wake: impl Fn()) {
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
            if self.fsync() == Fsync::EverySecond || stop {
                self.sync();
            }
            if self.failing.load(Ordering::Acquire) && self.write(&mut lock(&self.file)).is_ok() {
                wake();
            }
            if stop {
                return;
            }
            if self.has_grown() && self.want_rewrite() {
                wake();
            }
        }
    }

    /// Ends the thread, once all is written and synced. Nobody appends any more.
    pub(crate) fn stop(&self) {
        self.errand(|errands| errands.stop = true);
    }

    /// Whatever the policy, at the end all is synced.
    fn sync(&self) {
        if !self.unsynced.swap(false, Ordering::AcqRel) {
            return;
        }
        // Others write meanwhile.
        let file = lock(&self.file).file.try_clone();
        if let Err(error) = file.and_then(|file| file.sync_data()) {
            let mut file = lock(&self.file);
            file.sync_failed(&error);
            self.fail(&file);
        }
    }

    fn has_grown(&self) -> bool {
        let file = lock(&self.file);
        let percent = self.settings.rewrite_percent;
        let enough = file.base.saturating_add(file.base / 100 * percent);
        percent > 0
            && file.length >= self.settings.rewrite_min_bytes
            && file.length > enough
            && !self.is_dumping()
    }

    fn finish_rewrite(&self) {
        self.switch();
        self.rewriting.store(false, Ordering::Release);
    }

    /// All keys are in the new file: it takes the old one's place.
    fn switch(&self) {
        // Most of it, without anybody waiting.
        let new = lock(&self.file).new_file();
        let synced = new.map(|file| file.and_then(|file| file.sync_all()));
        let mut file = lock(&self.file);
        let mut pending = lock(&self.pending);
        let Some(rewrite) = pending.rewrite.take() else { return };
        // From here on nothing is added to it. What the old file has not got yet, the new one gets now; should that
        // fail, the old one gets it.
        file.take(&mut pending.bytes);
        let position = pending.position;
        drop(pending);
        let switched = match synced {
            _ if rewrite.failed => return file.drop_new(),
            Some(Err(error)) => Err(error),
            _ => file.write_new(&rewrite.bytes).and_then(|()| file.switch()),
        };
        if switched.is_ok() {
            self.kept.store(position, Ordering::Release);
            self.failing.store(false, Ordering::Release);
        } else {
            file.drop_new();
        }
    }
}
