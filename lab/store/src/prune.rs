//! Removal of runs.

use rusqlite::params;

use super::{Store, StoreError};

/// The rows of a run, referencing rows first.
const ROWS: [&str; 9] = [
    "DELETE FROM imported WHERE run = ?1",
    "DELETE FROM printed WHERE run = ?1",
    "DELETE FROM probes WHERE run = ?1",
    "DELETE FROM samples WHERE trial IN (SELECT id FROM trials WHERE run = ?1)",
    "DELETE FROM histograms WHERE trial IN (SELECT id FROM trials WHERE run = ?1)",
    "DELETE FROM trials WHERE run = ?1",
    "DELETE FROM cells WHERE run = ?1",
    "DELETE FROM overviews WHERE run = ?1",
    "DELETE FROM runs WHERE id = ?1",
];

impl Store {
    /// Removes a run with all its samples, unless a process is measuring it. `run` is a full id.
    pub fn remove(&mut self, run: &str) -> Result<(), StoreError> {
        let _claim = self.claim(run)?;
        self.in_one(|tx| ROWS.iter().try_for_each(|rows| tx.execute(rows, params![run]).map(drop)))
    }

    /// Returns the space of removed rows to the file system; the result is its size in bytes.
    pub fn compact(&mut self) -> Result<u64, StoreError> {
        let before = self.bytes();
        self.connection
            .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            .map_err(|e| self.fail(e))?;
        Ok(before.saturating_sub(self.bytes()))
    }

    /// The size of the file and its write-ahead log.
    fn bytes(&self) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let of = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |m| m.len());
        of(&self.path) + of(log.as_ref())
    }
}
