//! Every sample kept, in one SQLite file.
//!
//! | does | does not |
//! |---|---|
//! | keep runs, cells, trials, samples and histograms | compute a statistic: [`crate::metrics`] does, from these rows |
//! | survive a kill: a trial is one transaction | hold the builds: they are in the cache |
//!
//! The file is `$NETDYNO_STORE`, else `netdyno/runs.db` under the user's data directory.

mod error;
mod insert;
mod limits;
mod prune;
mod record;
mod schema;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

pub use error::StoreError;
pub use insert::Imported;
pub use record::{
    BuildRecord, CellRecord, CellStatus, Outcome, Run, RunHeader, RunStatus, Sample, SampleKind, Settings,
    TrialRecord, Turns,
};

/// The store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// A run that this process measures.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: std::fs::File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Best effort: the lock itself ends with the process.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Store {
    /// Where the store is unless told otherwise.
    #[must_use]
    pub fn default_path() -> PathBuf {
        if let Some(path) = std::env::var_os("NETDYNO_STORE").filter(|path| !path.is_empty()) {
            return PathBuf::from(path);
        }
        use etcetera::BaseStrategy;
        let data = etcetera::choose_base_strategy().map_or_else(|_| PathBuf::from("."), |s| s.data_dir());
        data.join("netdyno").join("runs.db")
    }

    /// Opens the store, making it where there is none.
    ///
    /// # Errors
    /// When the file or its folder cannot be made, read or written: the environment is at fault.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(limits::BUSY).map_err(fail)?;
        let found = schema::prepare(&connection).map_err(fail)?;
        if found > schema::FORMAT {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: schema::FORMAT });
        }
        Ok(Store { connection, path: path.to_owned() })
    }

    fn fail(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: self.path.clone(), source }
    }

    /// Begins a run: its header and cells, in one transaction.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin_run(&mut self, header: &RunHeader, cells: &[CellRecord]) -> Result<(), StoreError> {
        self.in_one(|tx| insert::run(tx, header, cells, (RunStatus::Running, "")))
    }

    /// Replaces what is known of a cell.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn update_cell(&mut self, run: &str, index: usize, cell: &CellRecord) -> Result<(), StoreError> {
        self.connection
            .execute(
                "UPDATE cells SET record = ?3 WHERE run = ?1 AND idx = ?2",
                params![run, index, json(cell)],
            )
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// Adds a finished trial with all its samples, in one transaction.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the trial is kept then.
    pub fn add_trial(&mut self, run: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.in_one(|tx| insert::trial(tx, run, trial))
    }

    /// Says how a run stands.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_status(
        &mut self,
        run: &str,
        status: RunStatus,
        stopped_because: &str,
    ) -> Result<(), StoreError> {
        self.connection
            .execute(
                "UPDATE runs SET status = ?2, stopped_because = ?3 WHERE id = ?1",
                params![run, status.as_str(), stopped_because],
            )
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// Writes a run's header again: what was learnt since it began.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn update_header(&mut self, header: &RunHeader) -> Result<(), StoreError> {
        self.connection
            .execute("UPDATE runs SET header = ?2 WHERE id = ?1", params![header.id, json(header)])
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// The runs with their cells, without their trials, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, most: usize) -> Result<Vec<Run>, StoreError> {
        let mut query = self
            .connection
            .prepare(
                "SELECT header, status, stopped_because FROM runs ORDER BY started_at DESC, id DESC LIMIT ?1",
            )
            .map_err(|e| self.fail(e))?;
        let rows = query
            .query_map([most], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            })
            .map_err(|e| self.fail(e))?;
        rows.map(|row| {
            let (header, status, why) = row.map_err(|e| self.fail(e))?;
            let mut run = run_of(&header, &status, why)?;
            run.cells = self.load_cells(&run.header.id)?;
            Ok(run)
        })
        .collect()
    }

    /// The full id of the run that `wanted` names: an id, the unique start of one, or `last`.
    ///
    /// # Errors
    /// When there is none, or more than one.
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

    /// The full id of the newest run that is not finished.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_unfinished(&self) -> Result<String, StoreError> {
        let query = "SELECT id FROM runs WHERE status <> ?1 ORDER BY started_at DESC, id DESC LIMIT 1";
        let found = self.connection.query_row(query, [RunStatus::Finished.as_str()], |r| r.get(0)).optional();
        found.map_err(|e| self.fail(e))?.ok_or(StoreError::NoneUnfinished)
    }

    /// Claims a run for this process until the lock is dropped: two labs must not measure the same blocks.
    ///
    /// # Errors
    /// When another process has it, or the lock file cannot be made.
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

    /// A whole run. `run` is a full id.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn load(&self, run: &str) -> Result<Run, StoreError> {
        let (header, status, why): (String, String, String) = self
            .connection
            .query_row("SELECT header, status, stopped_because FROM runs WHERE id = ?1", [run], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?))
            })
            .optional()
            .map_err(|e| self.fail(e))?
            .ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let mut loaded = run_of(&header, &status, why)?;
        loaded.cells = self.load_cells(run)?;
        loaded.trials = self.load_trials(run)?;
        Ok(loaded)
    }

    fn load_cells(&self, run: &str) -> Result<Vec<CellRecord>, StoreError> {
        let records = self.strings("SELECT record FROM cells WHERE run = ?1 ORDER BY idx", run)?;
        records.iter().map(|text| from_json(text)).collect()
    }

    fn load_trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        let mut query = self
            .connection
            .prepare(
                "SELECT id, cell, block, position, started_at, seconds, seed, outcome, notes, turns FROM trials
                 WHERE run = ?1 ORDER BY block, position, id",
            )
            .map_err(|e| self.fail(e))?;
        let rows: Vec<(i64, TrialRow)> = query
            .query_map([run], |r| Ok((r.get(0)?, TrialRow::read(r)?)))
            .and_then(Iterator::collect)
            .map_err(|e| self.fail(e))?;
        rows.into_iter()
            .map(|(id, row)| {
                let mut trial = row.decode()?;
                trial.samples = self.load_samples(id)?;
                trial.histograms = self.load_histograms(id)?;
                Ok(trial)
            })
            .collect()
    }

    fn load_samples(&self, trial: i64) -> Result<Vec<Sample>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(
                "SELECT role, kind, mark, at_ns, name, value, source FROM samples WHERE trial = ?1 ORDER BY rowid",
            )
            .map_err(|e| self.fail(e))?;
        query
            .query_map([trial], |r| {
                let kind: String = r.get(1)?;
                Ok(Sample {
                    role: r.get(0)?,
                    kind: SampleKind::parse(&kind).unwrap_or(SampleKind::Counter),
                    mark: r.get(2)?,
                    at_ns: r.get(3)?,
                    name: r.get(4)?,
                    value: r.get(5)?,
                    source: r.get(6)?,
                })
            })
            .and_then(Iterator::collect)
            .map_err(|e| self.fail(e))
    }

    fn load_histograms(&self, trial: i64) -> Result<Vec<(String, String, String)>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT role, name, data FROM histograms WHERE trial = ?1 ORDER BY rowid")
            .map_err(|e| self.fail(e))?;
        query
            .query_map([trial], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(|e| self.fail(e))
    }

    fn strings(&self, sql: &str, run: &str) -> Result<Vec<String>, StoreError> {
        let mut query = self.connection.prepare(sql).map_err(|e| self.fail(e))?;
        query.query_map([run], |r| r.get(0)).and_then(Iterator::collect).map_err(|e| self.fail(e))
    }
}

/// A row of `trials` as SQLite has it.
struct TrialRow {
    cell: usize,
    block: u32,
    position: u32,
    started_at: String,
    seconds: f64,
    seed: u64,
    outcome: String,
    notes: String,
    turns: Option<String>,
}

impl TrialRow {
    fn read(r: &Row<'_>) -> rusqlite::Result<TrialRow> {
        Ok(TrialRow {
            cell: r.get(1)?,
            block: r.get(2)?,
            position: r.get(3)?,
            started_at: r.get(4)?,
            seconds: r.get(5)?,
            seed: r.get(6)?,
            outcome: r.get(7)?,
            notes: r.get(8)?,
            turns: r.get(9)?,
        })
    }

    fn decode(self) -> Result<TrialRecord, StoreError> {
        Ok(TrialRecord {
            cell: self.cell,
            block: self.block,
            position: self.position,
            started_at: self
                .started_at
                .parse()
                .map_err(|e| StoreError::Damaged(format!("trial's time {:?}: {e}", self.started_at)))?,
            seconds: self.seconds,
            seed: self.seed,
            outcome: from_json(&self.outcome)?,
            notes: from_json(&self.notes)?,
            turns: self.turns.as_deref().map(from_json).transpose()?,
            samples: Vec::new(),
            histograms: Vec::new(),
        })
    }
}

fn run_of(header: &str, status: &str, stopped_because: String) -> Result<Run, StoreError> {
    Ok(Run {
        header: from_json(header)?,
        status: RunStatus::parse(status)
            .ok_or_else(|| StoreError::Damaged(format!("run status {status:?}")))?,
        stopped_because,
        cells: Vec::new(),
        trials: Vec::new(),
    })
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records hold nothing that JSON cannot")
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Damaged(e.to_string()))
}
