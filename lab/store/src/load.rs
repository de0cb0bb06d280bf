//! Loading of runs, completely or incrementally.

use rusqlite::{Row, params};

use super::{CellRecord, Run, RunStatus, Sample, SampleKind, Store, StoreError, TrialRecord, from_json};
use netdyno_stats::Encoded;

impl Store {
    /// Loads a run. `run` is a full id.
    pub fn load(&self, run: &str) -> Result<Run, StoreError> {
        let mut loaded = self.load_head(run)?;
        self.load_more(&mut loaded, 0)?;
        Ok(loaded)
    }

    /// Loads a run with its cells, without its trials. `run` is a full id.
    pub fn load_head(&self, run: &str) -> Result<Run, StoreError> {
        let sql = "SELECT header, status, stopped_because FROM runs WHERE id = ?1";
        let mut rows: Vec<(String, String, String)> =
            self.rows(sql, [run], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let (header, status, why) = rows.pop().ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let mut loaded = run_of(&header, &status, why)?;
        loaded.cells = self.load_cells(run)?;
        Ok(loaded)
    }

    /// Adds the trials stored after row `last`, or all for 0. Returns the last row.
    pub fn load_more(&self, run: &mut Run, last: i64) -> Result<i64, StoreError> {
        let sql =
            "SELECT id, cell, block, position, started_at, seconds, seed, outcome, notes, turns FROM trials
                   WHERE run = ?1 AND id > ?2 ORDER BY id";
        let rows: Vec<(i64, TrialRow)> =
            self.rows(sql, params![run.header.id, last], |r| Ok((r.get(0)?, TrialRow::read(r)?)))?;
        let last = rows.last().map_or(last, |(id, _)| *id);
        for (id, row) in rows {
            let mut trial = row.decode()?;
            trial.samples = self.load_samples(id)?;
            trial.histograms = self.load_histograms(id)?;
            run.trials.push(trial);
        }
        run.trials.sort_by_key(|t| (t.block, t.position));
        Ok(last)
    }

    pub(super) fn load_cells(&self, run: &str) -> Result<Vec<CellRecord>, StoreError> {
        let sql = "SELECT record FROM cells WHERE run = ?1 ORDER BY idx";
        let records: Vec<String> = self.rows(sql, [run], |r| r.get(0))?;
        records.iter().map(|text| from_json(text)).collect()
    }

    fn load_samples(&self, trial: i64) -> Result<Vec<Sample>, StoreError> {
        let sql = "SELECT role, kind, mark, at_ns, name, value, source FROM samples WHERE trial = ?1 ORDER BY rowid";
        let rows: Vec<Result<Sample, StoreError>> = self.rows(sql, [trial], |r| {
            let kind: String = r.get(1)?;
            let Some(kind) = SampleKind::parse(&kind) else {
                return Ok(Err(StoreError::Damaged(format!("sample kind {kind:?} of trial {trial}"))));
            };
            let (role, mark, at_ns) = (r.get(0)?, r.get(2)?, r.get(3)?);
            let (name, value, source) = (r.get(4)?, r.get(5)?, r.get(6)?);
            Ok(Ok(Sample { role, kind, mark, at_ns, name, value, source }))
        })?;
        rows.into_iter().collect()
    }

    fn load_histograms(&self, trial: i64) -> Result<Vec<(String, String, Encoded)>, StoreError> {
        let sql = "SELECT role, name, data FROM histograms WHERE trial = ?1 ORDER BY rowid";
        self.rows(sql, [trial], |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, String>(2)?.into())))
    }
}

/// A row of `trials` in SQLite's types.
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

pub(super) fn run_of(header: &str, status: &str, stopped_because: String) -> Result<Run, StoreError> {
    Ok(Run {
        header: from_json(header)?,
        status: RunStatus::parse(status)
            .ok_or_else(|| StoreError::Damaged(format!("run status {status:?}")))?,
        stopped_because: stopped_because.try_into().map_err(StoreError::Damaged)?,
        cells: Vec::new(),
        trials: Vec::new(),
    })
}
