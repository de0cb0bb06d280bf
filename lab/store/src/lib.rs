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
mod printed;
pub mod probe;
mod probes;
mod prune;
mod question;
mod record;
pub mod samples;
mod schema;
mod status;
mod tolerance;

#[cfg(any(test, feature = "fixture"))]
#[path = "tests/fixture.rs"]
pub mod fixture;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

pub use equal::Equal;
pub use error::StoreError;
pub use host::Host;
pub use insert::Imported;
pub use overview::{Listed, Listing};
pub use printed::{Printed, TOLERANCE, Verdict, VerdictKind};
pub use question::{Is, Question, Relation, Side};
pub use record::{
    BuildRecord, CellRecord, CellStatus, Outcome, Run, RunHeader, Settings, TrialRecord, Turns,
};
pub use samples::{Sample, SampleKind};
pub use status::{RunStatus, StopReason};
pub use tolerance::{Limit, Tolerance};

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
pub struct RunLock {
    path: PathBuf,
    _file: std::fs::File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Best effort: the lock itself is released when the process ends.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Store {
    /// The default path of the store.
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
        match source {
            rusqlite::Error::FromSqlConversionFailure(_, _, error) => StoreError::Damaged(error.to_string()),
            source => StoreError::Sqlite { path: self.path.clone(), source },
        }
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut query = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        let rows = query.query_map(params, read).and_then(Iterator::collect);
        rows.map_err(|e| self.fail(e))
    }

    /// The first column of the first row of a query, if there is a row.
    fn value<T: FromSql>(&self, sql: &str, params: impl rusqlite::Params) -> Result<Option<T>, StoreError> {
        let found = self.connection.query_row(sql, params, |r| r.get(0));
        found.optional().map_err(|e| self.fail(e))
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<(), StoreError> {
        self.connection.execute(sql, params).map(drop).map_err(|e| self.fail(e))
    }

    /// Adds a new run with its cells. Fails with [`StoreError::Taken`] if the store has a run of this id.
    pub fn begin_run(&mut self, header: &RunHeader, cells: &[CellRecord]) -> Result<(), StoreError> {
        let added =
            self.in_one(|tx| insert::run(tx, header, cells, (RunStatus::Running, StopReason::Running)));
        added.map_err(|error| match error {
            StoreError::Sqlite { source, .. }
                if source.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                StoreError::Taken(header.id.clone())
            }
            other => other,
        })
    }

    /// Replaces the record of a cell.
    pub fn update_cell(&mut self, run: &str, index: usize, cell: &CellRecord) -> Result<(), StoreError> {
        let sql = "UPDATE cells SET record = ?3 WHERE run = ?1 AND idx = ?2";
        self.execute(sql, params![run, index, json(cell)])
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
        stopped_because: StopReason,
    ) -> Result<(), StoreError> {
        self.in_one(|tx| {
            let sql = "UPDATE runs SET status = ?2, stopped_because = ?3 WHERE id = ?1";
            tx.execute(sql, params![run, status.as_str(), stopped_because.as_str()])?;
            // The cached summary of a previous status is outdated.
            let sql =
                "UPDATE overviews SET outcome = NULL, digest_version = NULL, digest = NULL WHERE run = ?1";
            tx.execute(sql, [run]).map(drop)
        })
    }

    /// Replaces a run's header.
    pub fn update_header(&mut self, header: &RunHeader) -> Result<(), StoreError> {
        self.execute("UPDATE runs SET header = ?2 WHERE id = ?1", params![header.id, json(header)])
    }

    /// The full id of a run, given an id, a unique prefix of one, or `last`.
    pub fn find(&self, wanted: &str) -> Result<String, StoreError> {
        let none = || StoreError::NoRun(wanted.to_owned());
        if wanted == "last" {
            let sql = "SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT 1";
            return self.value(sql, [])?.ok_or_else(none);
        }
        let sql = "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2";
        let mut found: Vec<String> = self.rows(sql, [wanted], |r| r.get(0))?;
        match found.len() {
            0 | 1 => found.pop().ok_or_else(none),
            _ => Err(StoreError::Ambiguous(wanted.to_owned())),
        }
    }

    /// The full id of the newest unfinished run that was measured here. Imported ones cannot be resumed.
    pub fn find_unfinished(&self) -> Result<String, StoreError> {
        let sql = "SELECT id FROM runs WHERE status <> ?1 AND id NOT IN (SELECT run FROM imported)
                   ORDER BY started_at DESC, id DESC LIMIT 1";
        self.value(sql, [RunStatus::Finished.as_str()])?.ok_or(StoreError::NoneUnfinished)
    }

    /// Locks a run for this process until the lock is dropped, so that no other process measures it.
    pub fn claim(&self, run: &str) -> Result<RunLock, StoreError> {
        let path = self.path.with_extension(format!("{run}.lock"));
        let folder = |source| StoreError::Folder { path: path.clone(), source };
        let file = std::fs::File::create(&path).map_err(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(RunLock { path, _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Busy(run.to_owned())),
            Err(std::fs::TryLockError::Error(source)) => Err(folder(source)),
        }
    }

    /// Whether a process is measuring this run.
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
