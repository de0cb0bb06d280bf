//! Insertion of rows, each group in one transaction.

use rusqlite::{Transaction, params};

use super::{
    CellRecord, Run, RunHeader, RunStatus, StopReason, Store, StoreError, TrialRecord, json, overview,
};

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// It was added.
    Added,
    /// It was already in the store, unchanged.
    AlreadyThere,
}

impl Store {
    /// Imports a run with its printed verdicts, completely or not at all. A different stored run with the same id is
    /// kept, and is an error.
    pub fn import(&mut self, run: &Run, printed: &str) -> Result<Imported, StoreError> {
        match self.load(&run.header.id) {
            Ok(there) if there == *run => return Ok(Imported::AlreadyThere),
            Ok(_) => return Err(StoreError::Taken(run.header.id.clone())),
            Err(StoreError::NoRun(_)) => {}
            Err(e) => return Err(e),
        }
        self.in_one(|tx| {
            self::run(tx, &run.header, &run.cells, (run.status, run.stopped_because))?;
            run.trials.iter().try_for_each(|one| trial(tx, &run.header.id, one))?;
            tx.execute("INSERT INTO imported (run) VALUES (?1)", [&run.header.id])?;
            keep(tx, &run.header.id, printed)
        })?;
        Ok(Imported::Added)
    }

    /// Whether a run was imported, so that its trials may be from another machine and other builds.
    pub fn is_imported(&self, run: &str) -> Result<bool, StoreError> {
        Ok(self.value::<String>("SELECT run FROM imported WHERE run = ?1", [run])?.is_some())
    }

    /// Stores the printed verdicts of a run, replacing previous ones.
    pub fn keep_printed(&mut self, run: &str, printed: &str) -> Result<(), StoreError> {
        if self.is_read_only {
            return Ok(());
        }
        self.in_one(|tx| keep(tx, run, printed))
    }

    /// The printed verdicts of a run, if stored.
    pub fn printed(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.value("SELECT text FROM printed WHERE run = ?1", [run])
    }

    /// Runs `write` in a transaction.
    pub(super) fn in_one(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.path.clone();
        let fail = |source| StoreError::Sqlite { path, source };
        let written = self.connection.transaction().and_then(|tx| {
            write(&tx)?;
            tx.commit()
        });
        written.map_err(fail)
    }
}

fn keep(tx: &Transaction<'_>, run: &str, text: &str) -> rusqlite::Result<()> {
    tx.execute("INSERT OR REPLACE INTO printed (run, text) VALUES (?1, ?2)", params![run, text]).map(drop)
}

pub(super) fn run(
    tx: &Transaction<'_>,
    header: &RunHeader,
    cells: &[CellRecord],
    (status, stopped_because): (RunStatus, StopReason),
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO runs (id, workload, started_at, status, header, stopped_because) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            header.id,
            header.workload,
            header.started_at.to_string(),
            status.as_str(),
            json(header),
            stopped_because.as_str()
        ],
    )?;
    for (index, cell) in cells.iter().enumerate() {
        tx.execute(
            "INSERT INTO cells (run, idx, record) VALUES (?1, ?2, ?3)",
            params![header.id, index, json(cell)],
        )?;
    }
    overview::begin(tx, header, cells)
}

pub(super) fn trial(tx: &Transaction<'_>, run: &str, trial: &TrialRecord) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO trials (run, cell, block, position, started_at, seconds, seed, outcome, notes, turns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            run,
            trial.cell,
            trial.block,
            trial.position,
            trial.started_at.to_string(),
            trial.seconds,
            trial.seed,
            json(&trial.outcome),
            json(&trial.notes),
            trial.turns.as_ref().map(json)
        ],
    )?;
    let id = tx.last_insert_rowid();
    let mut insert = tx.prepare_cached(
        "INSERT INTO samples (trial, role, kind, mark, at_ns, name, value, source)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for s in &trial.samples {
        insert.execute(params![
            id,
            s.role,
            <&str>::from(s.kind),
            s.mark,
            s.at_ns,
            s.name,
            s.value,
            s.source
        ])?;
    }
    let mut insert =
        tx.prepare_cached("INSERT INTO histograms (trial, role, name, data) VALUES (?1, ?2, ?3, ?4)")?;
    for (role, name, encoded) in &trial.histograms {
        insert.execute(params![id, role, name, encoded.text()])?;
    }
    Ok(())
}
