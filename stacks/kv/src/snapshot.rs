//! Snapshots, both ways.
//!
//! One that is made has the keys as they were when it began. The program takes it part by part ([`Engine::snapshot`]), puts it
//! where it belongs, and says how that went ([`Engine::snapshot_ended`]). One that is read comes part by part ([`Loader`]).

use crate::engine::Engine;
use crate::keyspace::{Coming, Filling, Loaded};
use crate::now::Now;
use crate::rdb::{RdbError, Reader};

impl Engine {
    /// From now on SAVE and its kin work: the program keeps snapshots.
    pub fn keep_snapshots(&mut self, now: Now) {
        (self.world.saves.kept, self.world.saves.last_ms) = (true, now.unix_ms);
    }

    /// Begins a snapshot of the keys as they are now, for the end of the program; one that runs is dropped.
    pub fn begin_snapshot(&mut self, now: Now) {
        self.keys.now = now;
        self.world.begin_save(&mut self.keys);
    }

    /// Appends the next part of the snapshot that runs, in the RDB format: about `budget` bytes, one value's more at the most, and
    /// what was changed since the last part, as it was before. `true` at its end; nothing is appended if none runs.
    pub fn snapshot(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        self.keys.snapshot_part(budget, out)
    }

    /// The snapshot that ran is where it belongs, or why it is not, in words that begin small. Whoever waits for it is told.
    pub fn snapshot_ended(&mut self, now: Now, result: Result<(), &str>) {
        self.keys.drop_snapshot();
        let error = result.err().map(|why| format!("ERR {why}"));
        for id in self.world.saves.end(now, result) {
            self.world.answer(&mut self.keys, id, error.as_deref());
        }
    }

    /// The server does not end, since what it has could not be saved: whoever asked for it is told.
    pub fn refuse_shutdown(&mut self) {
        for id in self.world.saves.ending() {
            self.world.answer(&mut self.keys, id, Some("ERR Errors trying to SHUTDOWN. Check logs."));
        }
    }

    /// Whether the configuration wants a snapshot when the server ends (`save`).
    pub fn saves_at_end(&self) -> bool {
        self.world.saves.kept && !self.world.saves.points.is_empty()
    }
}

/// Reads a snapshot into an engine, in pieces of any size.
///
/// ```
/// use netdyno_kv_core::{Config, Engine, Loader, Now};
///
/// let now = Now { unix_ms: 1_700_000_000_000, monotonic_us: 0 };
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
    coming: Coming,
    loaded: Loaded,
}

impl Default for Loader {
    fn default() -> Self {
        Self::new()
    }
}

impl Loader {
    /// For a snapshot from its beginning.
    pub fn new() -> Self {
        Self { reader: Reader::new(), coming: Coming::default(), loaded: Loaded::default() }
    }

    /// Reads on. Gives how many of the bytes belong to the snapshot: fewer than there are once it has come to its end.
    ///
    /// # Errors
    ///
    /// It is damaged, or has what cannot be kept here. What was read before stays in the engine.
    pub fn feed(&mut self, engine: &mut Engine, now: Now, bytes: &[u8]) -> Result<usize, RdbError> {
        engine.keys.now = now;
        let mut filling =
            Filling { keys: &mut engine.keys, coming: &mut self.coming, loaded: &mut self.loaded };
        self.reader.feed(bytes, &mut filling)
    }

    /// Whether it has come to its end, and its checksum was right.
    pub fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    /// What it had.
    ///
    /// # Errors
    ///
    /// It has not come to its end.
    pub fn finish(self, engine: &mut Engine) -> Result<Loaded, RdbError> {
        if !self.is_done() {
            return Err(self.reader.cut_off());
        }
        engine.world.saves.loaded = self.loaded;
        Ok(self.loaded)
    }
}
