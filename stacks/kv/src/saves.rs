//! Snapshots: when one is made, who waits for it, how the last one went.
//!
//! A snapshot has the keys as they were when it began. The program takes it part by part ([`Engine::snapshot`]), puts it where it
//! belongs, and says how that went ([`Engine::snapshot_ended`]).

use std::fmt::Write as _;

use netdyno_resp::Reply;

use crate::config::{Config, SavePoint};
use crate::keyspace::{Coming, Filling, Keyspace, Loaded};
use crate::limits::SAVE_AGAIN_MS;
use crate::rdb::Reader;
use crate::session::{OnTimeout, SessionId};
use crate::world::World;
use crate::{Engine, Now, RdbError, Wish};

/// What is known of snapshots.
#[derive(Debug, Default)]
pub(crate) struct Saves {
    /// The program keeps them.
    pub(crate) kept: bool,
    /// By themselves one is made when one of these says so.
    pub(crate) points: Vec<SavePoint>,
    running: Option<Running>,
    /// When the last one that succeeded ended; else when the program began.
    pub(crate) last_ms: u64,
    /// Changes that it has.
    saved: u64,
    tried_ms: u64,
    /// Why nothing may be changed, since the last one failed.
    failed: Option<Box<str>>,
    took_ms: Option<u64>,
    count: u64,
    loaded: Loaded,
    /// Sessions that wait for the one that runs.
    waiting: Vec<SessionId>,
    /// Sessions that wait for the server's end.
    ending: Vec<SessionId>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    began_ms: u64,
    changes: u64,
}

impl Saves {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn await_end(&mut self, id: SessionId) {
        self.waiting.push(id);
    }

    pub(crate) fn await_shutdown(&mut self, id: SessionId) {
        self.ending.push(id);
    }

    /// When one is to be made by itself, with so many changes until now.
    fn due_ms(&self, changes: u64) -> Option<u64> {
        if !self.kept || self.running.is_some() {
            return None;
        }
        let changes = changes.saturating_sub(self.saved);
        let reached = self.points.iter().filter(|point| changes >= point.changes);
        let due = reached.map(|point| self.last_ms.saturating_add(point.seconds.saturating_mul(1000))).min()?;
        Some(if self.failed.is_some() { due.max(self.tried_ms + SAVE_AGAIN_MS) } else { due })
    }

    /// Why nothing may be changed now.
    pub(crate) fn refusal(&self, config: &Config) -> Option<&str> {
        let failed = self.failed.as_deref().filter(|_| !self.points.is_empty())?;
        (config.get("stop-writes-on-bgsave-error") == Some("yes")).then_some(failed)
    }

    /// Lines of INFO.
    pub(crate) fn tell(&self, changes: u64, now: Now, text: &mut String) {
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

impl World {
    /// A snapshot begins, of the keys as they are now.
    pub(crate) fn begin_save(&mut self, keys: &mut Keyspace) {
        let (made_s, used) = ((keys.now.unix_ms / 1000).to_string(), keys.memory_bytes().to_string());
        let about = [
            ("redis-ver", crate::config::REDIS_VERSION),
            ("redis-bits", "64"),
            ("ctime", &made_s),
            ("used-mem", &used),
            ("aof-base", "0"),
        ];
        keys.begin_snapshot(self.config.get("rdbcompression") == Some("yes"), &about);
        self.saves.tried_ms = keys.now.unix_ms;
        self.saves.running = Some(Running { began_ms: keys.now.unix_ms, changes: keys.dirty });
    }

    fn answer(&mut self, keys: &mut Keyspace, id: SessionId, error: Option<&str>) {
        let waits = |blocked: &crate::session::Blocked| blocked.on_timeout == OnTimeout::Never;
        if !self.sessions.get(id).and_then(|s| s.blocked.as_deref()).is_some_and(waits) {
            return;
        }
        self.blocking.remove(keys, &mut self.sessions, id);
        let protocol = self.sessions.get(id).map(|session| session.protocol).unwrap_or_default();
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, protocol);
        match error {
            Some(text) => reply.error(text),
            None => reply.ok(),
        }
        self.sessions.resume(id, &out);
    }
}

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
        let saves = &mut self.world.saves;
        let Some(running) = saves.running.take() else { return };
        saves.failed = result.err().map(|why| {
            format!("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk: {why}").into()
        });
        saves.took_ms = Some(now.unix_ms.saturating_sub(running.began_ms));
        if result.is_ok() {
            (saves.last_ms, saves.saved) = (now.unix_ms, running.changes);
            saves.count += 1;
        }
        let error = result.err().map(|why| format!("ERR {why}"));
        for id in std::mem::take(&mut saves.waiting) {
            self.world.answer(&mut self.keys, id, error.as_deref());
        }
    }

    /// The server does not end, since what it has could not be saved: whoever asked for it is told.
    pub fn refuse_shutdown(&mut self) {
        for id in std::mem::take(&mut self.world.saves.ending) {
            self.world.answer(&mut self.keys, id, Some("ERR Errors trying to SHUTDOWN. Check logs."));
        }
    }

    /// Whether the configuration wants a snapshot when the server ends (`save`).
    pub fn saves_at_end(&self) -> bool {
        self.world.saves.kept && !self.world.saves.points.is_empty()
    }

    pub(crate) fn save_if_due(&mut self) {
        let due = self.world.saves.due_ms(self.keys.dirty);
        if due.is_some_and(|at| at <= self.keys.now.unix_ms) {
            self.world.begin_save(&mut self.keys);
            self.world.host.wish(Wish::Snapshot);
        }
    }

    pub(crate) fn save_due_ms(&self) -> Option<u64> {
        self.world.saves.due_ms(self.keys.dirty)
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
