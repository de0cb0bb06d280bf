//! The store: every sample of every run, in one SQLite file.
//!
//! | does | does not |
//! |---|---|
//! | store runs, cells, trials, samples and histograms | compute statistics: [`netdyno_lab_analysis::metrics`] does |
//! | survive a kill: a trial is one transaction | store builds: they are in the cache |
//!
//! The file is `$NETDYNO_STORE`, else `netdyno/runs.db` under the user's data directory.

pub mod code_lines;
mod equal;
mod error;
pub mod export;
mod host;
mod insert;
pub mod limits;
mod load;
mod overview;
mod planned;
mod printed;
pub mod probe;
mod probes;
mod prune;
mod question;
mod record;
pub mod samples;
mod schema;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

pub use equal::Equal;
pub use error::StoreError;
pub use host::Host;
pub use insert::Imported;
pub use overview::{Listed, Listing};
pub use planned::PlannedCell;
pub use printed::{Printed, TOLERANCE, Verdict, VerdictKind};
pub use question::{Is, Question, Relation, Side};
pub use record::{
    BuildRecord, CellRecord, CellStatus, Outcome, Run, RunHeader, RunStatus, Settings, TrialRecord, Turns,
};
pub use samples::{Sample, SampleKind};

/// The store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Whether the file cannot be written. Caches are then not kept.
    is_read_only: bool,
}

/// A lock on a run that this process measures.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: std::fs::File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Best effort: the lock itself is released when the process ends.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Store {
    /// The default path of the store.
    #[must_use]
    pub fn default_path() -> PathBuf {
        if let Some(path) = std::env::var_os("NETDYNO_STORE").filter(|path| !path.is_empty()) {
            return PathBuf::from(path);
        }
        use etcetera::BaseStrategy;
        let data = etcetera::choose_base_strategy().map_or_else(|_| PathBuf::from("."), |s| s.data_dir());
        data.join("netdyno").join("runs.db")
    }

    /// Opens the store, creating it if necessary.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        match Store::open_writable(path) {
            // For example, on a read-only mount.
            Err(error @ (StoreError::Sqlite { .. } | StoreError::Folder { .. })) if path.is_file() => {
                Store::open_read_only(path).ok_or(error)
            }
            opened => opened,
        }
    }

    /// Opens a store for reading only, if it has the current format.
    fn open_read_only(path: &Path) -> Option<Store> {
        let text = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        // A write-ahead log can be read only if its index can be written. Without it, the file itself is complete.
        let connection = ["", "?immutable=1"].into_iter().find_map(|option| {
            let connection = Connection::open_with_flags(format!("file:{text}{option}"), flags).ok()?;
            connection.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0)).ok()?;
            Some(connection)
        })?;
        let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
        (format == schema::FORMAT).then(|| Store { connection, path: path.to_owned(), is_read_only: true })
    }

    fn open_writable(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let mut connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(limits::BUSY).map_err(fail)?;
        let found = schema::prepare(&mut connection).map_err(fail)?;
        if found > schema::FORMAT {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: schema::FORMAT });
        }
        Ok(Store { connection, path: path.to_owned(), is_read_only: false })
    }

    fn fail(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: self.path.clone(), source }
    }

    /// Adds a new run with its cells.
    pub fn begin_run(&mut self, header: &RunHeader, cells: &[CellRecord]) -> Result<(), StoreError> {
        self.in_one(|tx| insert::run(tx, header, cells, (RunStatus::Running, "")))
    }

    /// Replaces the record of a cell.
    pub fn update_cell(&mut self, run: &str, index: usize, cell: &CellRecord) -> Result<(), StoreError> {
        self.connection
            .execute(
                "UPDATE cells SET record = ?3 WHERE run = ?1 AND idx = ?2",
                params![run, index, json(cell)],
            )
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// Adds a finished trial with all its samples, or nothing on an error.
    pub fn add_trial(&mut self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.in_one(|tx| insert::trial(tx, run, trial))
    }

    /// Sets the status of a run.
    pub fn set_status(
        &mut self,
        run: &str,
        status: RunStatus,
        stopped_because: &str,
    ) -> Result<(), StoreError> {
        // The cached summary of a previous status is outdated.
        let sql = [
            "UPDATE runs SET status = ?2, stopped_because = ?3 WHERE id = ?1",
            "UPDATE overviews SET outcome = NULL, digest_version = NULL, digest = NULL WHERE run = ?1",
        ];
        let path = self.path.clone();
        let fail = |source| StoreError::Sqlite { path: path.clone(), source };
        let tx = self.connection.transaction().map_err(fail)?;
        tx.execute(sql[0], params![run, status.as_str(), stopped_because]).map_err(fail)?;
        tx.execute(sql[1], [run]).map_err(fail)?;
        tx.commit().map_err(fail)
    }

    /// Replaces a run's header.
    pub fn update_header(&mut self, header: &RunHeader) -> Result<(), StoreError> {
        self.connection
            .execute("UPDATE runs SET header = ?2 WHERE id = ?1", params![header.id, json(header)])
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// The full id of a run, given an id, a unique prefix of one, or `last`.
    pub fn find(&self, wanted: &str) -> Result<String, StoreError> {
        if wanted == "last" {
            return self
                .connection
                .query_row("SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT 1", [], |r| r.get(0))
                .optional()
                .map_err(|e| self.fail(e))?
                .ok_or_else(|| StoreError::NoRun(wanted.to_owned()));
        }
        let mut query = self
            .connection
            .prepare("SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2")
            .map_err(|e| self.fail(e))?;
        let found: Vec<String> =
            query.query_map([wanted], |r| r.get(0)).and_then(Iterator::collect).map_err(|e| self.fail(e))?;
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(StoreError::NoRun(wanted.to_owned())),
            _ => Err(StoreError::Ambiguous(wanted.to_owned())),
        }
    }

    /// The full id of the newest unfinished run.
    pub fn find_unfinished(&self) -> Result<String, StoreError> {
        let query = "SELECT id FROM runs WHERE status <> ?1 ORDER BY started_at DESC, id DESC LIMIT 1";
        let found = self.connection.query_row(query, [RunStatus::Finished.as_str()], |r| r.get(0)).optional();
        found.map_err(|e| self.fail(e))?.ok_or(StoreError::NoneUnfinished)
    }

    /// Locks a run for this process until the lock is dropped, so that no other process measures it.
    pub fn claim(&self, run: &str) -> Result<Claim, StoreError> {
        let path = self.path.with_extension(format!("{run}.lock"));
        let folder = |source| StoreError::Folder { path: path.clone(), source };
        let file = std::fs::File::create(&path).map_err(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(Claim { path, _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Busy(run.to_owned())),
            Err(std::fs::TryLockError::Error(source)) => Err(folder(source)),
        }
    }

    /// Whether a process is measuring this run.
    #[must_use]
    pub fn is_measured(&self, run: &str) -> bool {
        let path = self.path.with_extension(format!("{run}.lock"));
        // A shared lock, so that concurrent callers do not mistake each other for a measuring process.
        let is_taken =
            |file: std::fs::File| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock));
        std::fs::File::open(path).is_ok_and(is_taken)
    }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records hold nothing that JSON cannot")
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Damaged(e.to_string()))
}
