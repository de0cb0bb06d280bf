//! Snapshots in both directions.
//!
//! A snapshot contains the keys as of its start. The host collects it in parts ([`Engine::snapshot`]), stores
//! it, and reports the result ([`Engine::snapshot_ended`]). A [`Loader`] loads a snapshot in parts.

use crate::engine::Engine;
use crate::keyspace::{KeyspaceSink, Loaded, PendingKey};
use crate::rdb::{RdbError, Reader};
use crate::timestamp::Timestamp;

impl Engine {
    /// Enables SAVE and similar commands: the host stores snapshots.
    pub fn keep_snapshots(&mut self, now: Timestamp) {
        (self.world.saves.kept, self.world.saves.last_ms) = (true, now.unix_ms);
    }

    /// Starts a snapshot for the shutdown, replacing one in progress.
    pub fn begin_snapshot(&mut self, now: Timestamp) {
        self.keys.now = now;
        self.world.begin_save(&mut self.keys);
    }

    /// Appends the next part of the snapshot in the RDB format, about `budget` bytes plus at most one value,
    /// and the previous values of keys that have changed. Returns `true` at the end or if there is no
    /// snapshot.
    pub fn snapshot(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        self.keys.snapshot_part(budget, out)
    }

    /// Reports the result of a snapshot; an error starts with a lower-case letter. Replies to the sessions
    /// that wait for it.
    pub fn snapshot_ended(&mut self, now: Timestamp, result: Result<(), &str>) {
        self.keys.drop_snapshot();
        let error = result.err().map(|why| format!("ERR {why}"));
        for id in self.world.saves.end(now, result) {
            self.world.reply_to(&mut self.keys, id, error.as_deref());
        }
    }

    /// Replies to SHUTDOWN that the final snapshot failed.
    pub fn refuse_shutdown(&mut self) {
        for id in self.world.saves.ending() {
            self.world.reply_to(&mut self.keys, id, Some("ERR Errors trying to SHUTDOWN. Check logs."));
        }
    }

    /// Whether the configuration demands a snapshot on shutdown (`save`).
    pub fn saves_at_end(&self) -> bool {
        self.world.saves.kept && !self.world.saves.points.is_empty()
    }
}

/// Loads a snapshot into an engine, in chunks of any size.
///
/// ```
/// use netdyno_kv_core::{Config, Engine, Loader, Timestamp};
///
/// let now = Timestamp { unix_ms: 1_700_000_000_000, monotonic_us: 0 };
/// let mut engine = Engine::new(Config::default(), 7);
/// let mut loader = Loader::new();
/// // An empty one, of Redis 2.4, which had no checksums.
/// assert_eq!(loader.feed(&mut engine, now, b"REDIS0002")?, 9);
/// assert_eq!(loader.feed(&mut engine, now, b"\xffmore")?, 1);
/// assert_eq!(loader.finish(&mut engine)?.keys, 0);
/// # Ok::<(), netdyno_kv_core::RdbError>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    reader: Reader,
    coming: PendingKey,
    loaded: Loaded,
}

impl Default for Loader {
    fn default() -> Self {
        Self::new()
    }
}

impl Loader {
    /// A loader for a complete snapshot.
    pub fn new() -> Self {
        Self { reader: Reader::new(), coming: PendingKey::default(), loaded: Loaded::default() }
    }

    /// Loads a chunk. Returns the number of bytes that belong to the snapshot, which is smaller than the
    /// input only at its end.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged or contains unsupported data. Keys that were loaded before remain.
    pub fn feed(&mut self, engine: &mut Engine, now: Timestamp, bytes: &[u8]) -> Result<usize, RdbError> {
        engine.keys.now = now;
        let mut filling =
            KeyspaceSink { keys: &mut engine.keys, coming: &mut self.coming, loaded: &mut self.loaded };
        self.reader.feed(bytes, &mut filling)
    }

    /// Whether the snapshot is complete and its checksum is correct.
    pub fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    /// The result.
    ///
    /// # Errors
    ///
    /// The snapshot is incomplete.
    pub fn finish(self, engine: &mut Engine) -> Result<Loaded, RdbError> {
        if !self.is_done() {
            return Err(self.reader.cut_off());
        }
        engine.world.saves.loaded = self.loaded;
        Ok(self.loaded)
    }
}
