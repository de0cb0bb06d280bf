//! The schedule and the results of snapshots, and the sessions that wait for them.

use std::fmt::Write as _;

use crate::config::{Config, SavePoint};
use crate::keyspace::Loaded;
use crate::limits::SAVE_AGAIN_MS;
use crate::session::SessionId;
use crate::timestamp::Timestamp;

/// The state of snapshots.
#[derive(Debug, Default)]
pub(crate) struct SaveState {
    /// The host stores snapshots.
    pub(crate) kept: bool,
    /// The save points.
    pub(crate) points: Vec<SavePoint>,
    running: Option<Running>,
    /// Time of the last successful snapshot, or of the start.
    pub(crate) last_ms: u64,
    /// Number of changes that it contains.
    saved: u64,
    tried_ms: u64,
    /// The error of write commands after a failed snapshot.
    failed: Option<Box<str>>,
    took_ms: Option<u64>,
    count: u64,
    pub(crate) loaded: Loaded,
    /// Sessions that wait for the snapshot in progress.
    waiting: Vec<SessionId>,
    /// Sessions that wait for SHUTDOWN.
    ending: Vec<SessionId>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    began_ms: u64,
    changes: u64,
}

impl SaveState {
    /// Records the start of a snapshot at this number of changes.
    pub(crate) fn begin(&mut self, now: Timestamp, changes: u64) {
        self.tried_ms = now.unix_ms;
        self.running = Some(Running { began_ms: now.unix_ms, changes });
    }

    /// Records the end of a snapshot and returns the sessions that wait for it.
    pub(crate) fn end(&mut self, now: Timestamp, result: Result<(), &str>) -> Vec<SessionId> {
        let Some(running) = self.running.take() else { return Vec::new() };
        self.failed = result.err().map(|why| {
            format!("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk: {why}").into()
        });
        self.took_ms = Some(now.unix_ms.saturating_sub(running.began_ms));
        if result.is_ok() {
            (self.last_ms, self.saved) = (now.unix_ms, running.changes);
            self.count += 1;
        }
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn await_end(&mut self, id: SessionId) {
        self.waiting.push(id);
    }

    pub(crate) fn await_shutdown(&mut self, id: SessionId) {
        self.ending.push(id);
    }

    /// Takes the sessions that wait for SHUTDOWN.
    pub(crate) fn ending(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.ending)
    }

    /// When the next automatic snapshot is due, at this number of changes.
    pub(crate) fn due_ms(&self, changes: u64) -> Option<u64> {
        if !self.kept || self.running.is_some() {
            return None;
        }
        let changes = changes.saturating_sub(self.saved);
        let reached = self.points.iter().filter(|point| changes >= point.changes);
        let due =
            reached.map(|point| self.last_ms.saturating_add(point.seconds.saturating_mul(1000))).min()?;
        Some(if self.failed.is_some() { due.max(self.tried_ms + SAVE_AGAIN_MS) } else { due })
    }

    /// The error for write commands while they are refused.
    pub(crate) fn refusal(&self, config: &Config) -> Option<&str> {
        let failed = self.failed.as_deref().filter(|_| !self.points.is_empty())?;
        (config.get("stop-writes-on-bgsave-error") == Some("yes")).then_some(failed)
    }

    /// The lines of INFO.
    pub(crate) fn write_info(&self, changes: u64, now: Timestamp, text: &mut String) {
        let seconds = |ms: Option<u64>| ms.map_or(-1, |ms| (ms / 1000) as i64);
        let _ = write!(
            text,
            "rdb_changes_since_last_save:{}\r\nrdb_bgsave_in_progress:{}\r\nrdb_last_save_time:{}\r\n\
             rdb_last_bgsave_status:{}\r\nrdb_last_bgsave_time_sec:{}\r\nrdb_current_bgsave_time_sec:{}\r\nrdb_saves:{}\r\n\
             rdb_last_load_keys_expired:{}\r\nrdb_last_load_keys_loaded:{}\r\n",
            changes.saturating_sub(self.saved),
            u8::from(self.is_running()),
            self.last_ms / 1000,
            if self.failed.is_some() { "err" } else { "ok" },
            seconds(self.took_ms),
            seconds(self.running.map(|running| now.unix_ms.saturating_sub(running.began_ms))),
            self.count,
            self.loaded.expired,
            self.loaded.keys,
        );
    }
}
