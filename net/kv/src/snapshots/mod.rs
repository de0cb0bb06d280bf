//! Snapshots: a file in Redis' own format (RDB), replaced as a whole.
//!
//! - A snapshot has the keys as they were when it was asked for. Commands go on meanwhile, also those of others while a client
//!   waits for its SAVE: what they change goes into the snapshot first, as it was. That takes at the most as much memory as the
//!   keys took.
//! - At its name there always is a whole snapshot, or none: a new one is written beside it, synced, then takes its place.
//! - One that cannot be written (a full disk) leaves the old one. If snapshots are to be made by themselves (`save`), changes
//!   are refused with `MISCONF` then, until one succeeds; it is tried again every five seconds.
//! - At the start the file is read, unless there is an append-only file, which has more. A file that is damaged, or has what
//!   cannot be kept here, stops the start, and is left as it is.
//! - At the end one is made if `save` says when to, or if SHUTDOWN asks for it; if that fails the server does not end by
//!   SHUTDOWN.
//!
//! What is not promised: what was changed since the last snapshot. That is the append-only file's part.

mod file;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use netdyno_kv_core::{Engine, Now};

use crate::limits::{DUMPED_AT_ONCE_BYTES, SNAPSHOT_QUEUE_BYTES};
use file::NewFile;
pub(crate) use file::load;

/// Where snapshots are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// The directory; it must exist (`dir`).
    pub directory: PathBuf,
    /// The file's name in it (`dbfilename`).
    pub file_name: String,
}

impl SnapshotSettings {
    /// `dump.rdb` in this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), file_name: "dump.rdb".into() }
    }
}

/// Where they are, as the configuration says now.
pub(crate) fn path(engine: &Engine) -> PathBuf {
    let name = engine.config("dbfilename").unwrap_or("dump.rdb");
    PathBuf::from(engine.config("dir").unwrap_or(".")).join(name)
}

/// The snapshot that is made, as the threads of a server share it.
///
/// Locks are taken in this order: the engine's, this one's.
#[derive(Default)]
pub(crate) struct Snapshots {
    job: Mutex<Job>,
    changed: Condvar,
    /// The thread that leads has something to do for it.
    wanted: AtomicBool,
    /// The server ends, and what it has is where it is to be.
    ended: AtomicBool,
}

/// A snapshot on its way from the engine into its file.
#[derive(Default)]
struct Job {
    /// Where it is to be, until the thread that writes has begun.
    path: Option<PathBuf>,
    parts: VecDeque<Vec<u8>>,
    /// Bytes of these, and of those that are being written.
    bytes: usize,
    /// From its begin until it has ended, however.
    active: bool,
    /// The engine has more of it.
    taking: bool,
    given_up: bool,
    result: Option<Result<(), String>>,
    stop: bool,
}

impl Snapshots {
    /// The engine has begun one. With its lock.
    pub(crate) fn begin(&self, engine: &Engine) {
        let mut job = lock(&self.job);
        *job = Job { path: Some(path(engine)), active: true, taking: true, stop: job.stop, ..Job::default() };
        self.wanted.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether the thread that leads is to have its turn.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    /// Takes the next part, or tells how it ended. With the lock on the engine, by the thread that leads.
    pub(crate) fn advance(&self, engine: &mut Engine, now: Now) {
        if !self.is_wanted() {
            return;
        }
        let mut job = lock(&self.job);
        if let Some(result) = job.result.take() {
            engine.snapshot_ended(now, told(&result));
        } else if job.taking {
            let mut part = Vec::new();
            job.taking = !engine.snapshot(DUMPED_AT_ONCE_BYTES, &mut part);
            job.bytes += part.len();
            job.parts.push_back(part);
            self.changed.notify_all();
        }
        self.want(&job);
    }

    /// Writes what there is, until [`stop`](Self::stop). `wake` wakes the thread that leads.
    pub(crate) fn write(&self, wake: impl Fn()) {
        let mut file = None;
        loop {
            let idle =
                |job: &mut Job| job.parts.is_empty() && job.path.is_none() && !job.given_up && !job.stop;
            let waited = self.changed.wait_while(lock(&self.job), idle);
            let mut job = waited.unwrap_or_else(PoisonError::into_inner);
            if job.stop {
                return;
            }
            if job.given_up {
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
            if !job.given_up && (last || written.is_err()) {
                file = None;
                *job = Job { result: Some(written), stop: job.stop, ..Job::default() };
            }
            if self.want(&job) {
                wake();
            }
        }
    }

    /// Ends the thread that writes. What it has not finished is thrown away.
    pub(crate) fn stop(&self) {
        lock(&self.job).stop = true;
        self.changed.notify_all();
    }

    /// Makes one at once, while nobody else is served; one that runs is given up. With the lock on the engine.
    pub(crate) fn save_now(&self, engine: &mut Engine, now: Now) -> Result<(), String> {
        let result = self.try_save_now(engine, now);
        engine.snapshot_ended(now, told(&result));
        result
    }

    fn try_save_now(&self, engine: &mut Engine, now: Now) -> Result<(), String> {
        self.give_up();
        engine.begin_snapshot(now);
        let mut file = NewFile::create(path(engine))?;
        let mut part = Vec::new();
        loop {
            let last = engine.snapshot(DUMPED_AT_ONCE_BYTES, &mut part);
            file.write(&part)?;
            part.clear();
            if last {
                return file.finish();
            }
        }
    }

    /// SHUTDOWN, with a snapshot first if it wants one. False: that failed, and the server is not to end. With the lock on the
    /// engine.
    pub(crate) fn end(&self, engine: &mut Engine, now: Now, save: bool, force: bool) -> bool {
        let ends = !save || self.save_now(engine, now).is_ok() || force;
        self.ended.store(ends, Ordering::Release);
        ends
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The one that runs ends; its file is gone then.
    fn give_up(&self) {
        let mut job = lock(&self.job);
        job.given_up = job.active;
        self.changed.notify_all();
        let waited = self.changed.wait_while(job, |job| !job.stop && job.given_up);
        let mut job = waited.unwrap_or_else(PoisonError::into_inner);
        job.result = None;
        self.want(&job);
    }

    fn want(&self, job: &Job) -> bool {
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
        None => return Err("the snapshot was given up".into()),
    };
    parts.iter().try_for_each(|part| new.write(part))?;
    if last {
        return new.finish();
    }
    *file = Some(Ok(new));
    Ok(())
}

fn told(result: &Result<(), String>) -> Result<(), &str> {
    match result {
        Ok(()) => Ok(()),
        Err(why) => Err(why),
    }
}

/// A thread that panicked with this lock has left bytes where they were: they are as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
