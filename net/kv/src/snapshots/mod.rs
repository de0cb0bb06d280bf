//! Snapshots: a file in Redis' RDB format, replaced atomically.
//!
//! - A snapshot contains the keys as of the time of the request. Commands continue to execute, even while a
//!   client waits for its SAVE: the old value of a key that changes is written to the snapshot first. The
//!   additional memory is at most that of the keys.
//! - The path of the snapshot always refers to a complete file or none: a new snapshot is written next to it,
//!   synced, and renamed.
//! - If a snapshot cannot be written (for example on a full disk), the old one remains. With save points
//!   (`save`), changes are then refused with `MISCONF` until a snapshot succeeds; it is retried every five
//!   seconds.
//! - On startup the snapshot is loaded, unless there is an append-only file, which is more recent. A file
//!   that is damaged or holds unsupported data prevents startup and is not modified.
//! - On shutdown a snapshot is saved if save points are set or SHUTDOWN requests it. If that fails, SHUTDOWN
//!   is refused.
//!
//! Not guaranteed: changes after the last snapshot. Use the append-only file for those.

mod file;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use netdyno_kv_core::{Engine, Timestamp};

use crate::limits::{DUMP_PART_BYTES, SNAPSHOT_QUEUE_BYTES};
use file::NewFile;
pub(crate) use file::load;

/// The location of snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// The directory; it must exist (`dir`).
    pub directory: PathBuf,
    /// The name of the file in the directory (`dbfilename`).
    pub file_name: String,
}

impl SnapshotSettings {
    /// `dump.rdb` in this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), file_name: "dump.rdb".into() }
    }
}

/// The current path, by the configuration.
pub(crate) fn path(engine: &Engine) -> PathBuf {
    let name = engine.config("dbfilename").unwrap_or("dump.rdb");
    PathBuf::from(engine.config("dir").unwrap_or(".")).join(name)
}

/// The snapshot in progress, shared by the threads of a server.
///
/// Lock order: the engine before this one.
#[derive(Default)]
pub(crate) struct Snapshots {
    job: Mutex<Job>,
    changed: Condvar,
    /// The leading thread has work for the snapshot.
    wanted: AtomicBool,
    /// The server is shutting down, and its final snapshot is saved.
    ended: AtomicBool,
}

/// A snapshot on its way from the engine to its file.
#[derive(Default)]
struct Job {
    /// The final path, until the writing thread has started.
    path: Option<PathBuf>,
    parts: VecDeque<Vec<u8>>,
    /// Bytes of queued parts and of those being written.
    bytes: usize,
    /// From the start of a snapshot until its end or failure.
    active: bool,
    /// The engine has more parts.
    taking: bool,
    cancelled: bool,
    result: Option<Result<(), String>>,
    stop: bool,
}

impl Snapshots {
    /// Starts to write a snapshot that the engine has begun. Call with the lock on the engine.
    pub(crate) fn begin(&self, engine: &Engine) {
        let mut job = lock(&self.job);
        *job = Job { path: Some(path(engine)), active: true, taking: true, stop: job.stop, ..Job::default() };
        self.wanted.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether the leading thread has to call [`advance`](Self::advance).
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Takes the next part, or reports the result to the engine. Called by the leading thread, with the lock
    /// on the engine.
    pub(crate) fn advance(&self, engine: &mut Engine, now: Timestamp) {
        if !self.is_wanted() {
            return;
        }
        let mut job = lock(&self.job);
        if let Some(result) = job.result.take() {
            engine.snapshot_ended(now, receives_messages(&result));
        } else if job.taking {
            let mut part = Vec::new();
            job.taking = !engine.snapshot(DUMP_PART_BYTES, &mut part);
            job.bytes += part.len();
            job.parts.push_back(part);
            self.changed.notify_all();
        }
        self.set_wanted(&job);
    }

    /// Writes queued parts until [`stop`](Self::stop). `wake` wakes the leading thread.
    pub(crate) fn write(&self, wake: impl Fn()) {
        let mut file = None;
        loop {
            let idle =
                |job: &mut Job| job.parts.is_empty() && job.path.is_none() && !job.cancelled && !job.stop;
            let waited = self.changed.wait_while(lock(&self.job), idle);
            let mut job = waited.unwrap_or_else(PoisonError::into_inner);
            if job.stop {
                return;
            }
            if job.cancelled {
                file = None;
                *job = Job::default();
                self.changed.notify_all();
                continue;
            }
            let (path, parts, last) = (job.path.take(), std::mem::take(&mut job.parts), !job.taking);
            drop(job);
            if let Some(path) = path {
                file = Some(NewFile::create(path));
            }
            let written = write(&mut file, &parts, last);
            let bytes: usize = parts.iter().map(Vec::len).sum();
            let mut job = lock(&self.job);
            job.bytes = job.bytes.saturating_sub(bytes);
            if !job.cancelled && (last || written.is_err()) {
                file = None;
                *job = Job { result: Some(written), stop: job.stop, ..Job::default() };
            }
            if self.set_wanted(&job) {
                wake();
            }
        }
    }

    /// Stops the writing thread. An unfinished snapshot is discarded.
    pub(crate) fn stop(&self) {
        lock(&self.job).stop = true;
        self.changed.notify_all();
    }

    /// Saves a snapshot synchronously; one in progress is cancelled. Call with the lock on the engine.
    pub(crate) fn save_now(&self, engine: &mut Engine, now: Timestamp) -> Result<(), String> {
        let result = self.try_save_now(engine, now);
        engine.snapshot_ended(now, receives_messages(&result));
        result
    }

    fn try_save_now(&self, engine: &mut Engine, now: Timestamp) -> Result<(), String> {
        self.cancel();
        engine.begin_snapshot(now);
        let mut file = NewFile::create(path(engine))?;
        let mut part = Vec::new();
        loop {
            let last = engine.snapshot(DUMP_PART_BYTES, &mut part);
            file.write(&part)?;
            part.clear();
            if last {
                return file.finish();
            }
        }
    }

    /// SHUTDOWN, with a snapshot if requested. Returns false if the snapshot failed and the server must keep
    /// running. Call with the lock on the engine.
    pub(crate) fn end(&self, engine: &mut Engine, now: Timestamp, save: bool, force: bool) -> bool {
        let ends = !save || self.save_now(engine, now).is_ok() || force;
        self.ended.store(ends, Ordering::Release);
        ends
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Cancels the snapshot in progress and removes its file.
    fn cancel(&self) {
        let mut job = lock(&self.job);
        job.cancelled = job.active;
        self.changed.notify_all();
        let waited = self.changed.wait_while(job, |job| !job.stop && job.cancelled);
        let mut job = waited.unwrap_or_else(PoisonError::into_inner);
        job.result = None;
        self.set_wanted(&job);
    }

    fn set_wanted(&self, job: &Job) -> bool {
        let wanted = job.result.is_some() || job.taking && job.bytes < SNAPSHOT_QUEUE_BYTES;
        self.wanted.store(wanted, Ordering::Release);
        wanted
    }
}

fn write(
    file: &mut Option<Result<NewFile, String>>,
    parts: &VecDeque<Vec<u8>>,
    last: bool,
) -> Result<(), String> {
    let mut new = match file.take() {
        Some(Ok(new)) => new,
        Some(Err(why)) => return Err(why),
        None => return Err("the snapshot was cancelled".into()),
    };
    parts.iter().try_for_each(|part| new.write(part))?;
    if last {
        return new.finish();
    }
    *file = Some(Ok(new));
    Ok(())
}

fn receives_messages(result: &Result<(), String>) -> Result<(), &str> {
    match result {
        Ok(()) => Ok(()),
        Err(why) => Err(why),
    }
}

/// A panic with the lock held cannot leave the guarded bytes in an inconsistent state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
