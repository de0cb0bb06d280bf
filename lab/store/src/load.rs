//! Loading of runs, completely or incrementally.

use rusqlite::params;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, Type, ValueRef};
use serde::de::DeserializeOwned;

use super::{CellRecord, Run, Sample, Store, StoreError, TrialRecord};
use netdyno_stats::Encoded;

/// A column with a value as JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Json).map_err(|e| FromSqlError::Other(e.into()))
    }
}

/// A value that this program did not write; it becomes [`StoreError::Damaged`].
pub(super) fn damaged(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, what.into())
}

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
        let found = self.rows(sql, [run], |r| {
            let (status, why): (String, String) = (r.get(1)?, r.get(2)?);
            Ok(Run {
                header: r.get::<_, Json<_>>(0)?.0,
                status: status.parse().map_err(|_| damaged(format!("run status {status:?}")))?,
                stopped_because: why.try_into().map_err(damaged)?,
                cells: Vec::new(),
                trials: Vec::new(),
            })
        })?;
        let mut loaded = found.into_iter().next().ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let sql = "SELECT record FROM cells WHERE run = ?1 ORDER BY idx";
        loaded.cells = self.rows(sql, [run], |r| Ok(r.get::<_, Json<CellRecord>>(0)?.0))?;
        Ok(loaded)
    }

    /// Adds the trials stored after row `last`, or all for 0. Returns the last row.
    pub fn load_more(&self, run: &mut Run, last: i64) -> Result<i64, StoreError> {
        let sql =
            "SELECT id, cell, block, position, started_at, seconds, seed, outcome, notes, turns FROM trials
                   WHERE run = ?1 AND id > ?2 ORDER BY id";
        let rows: Vec<(i64, TrialRecord)> = self.rows(sql, params![run.header.id, last], |r| {
            let started_at: String = r.get(4)?;
            let trial = TrialRecord {
                cell: r.get(1)?,
                block: r.get(2)?,
                position: r.get(3)?,
                started_at: started_at
                    .parse()
                    .map_err(|e| damaged(format!("trial's time {started_at:?}: {e}")))?,
                seconds: r.get(5)?,
                seed: r.get(6)?,
                outcome: r.get::<_, Json<_>>(7)?.0,
                notes: r.get::<_, Json<_>>(8)?.0,
                turns: r.get::<_, Option<Json<_>>>(9)?.map(|turns| turns.0),
                samples: Vec::new(),
                histograms: Vec::new(),
            };
            Ok((r.get(0)?, trial))
        })?;
        let last = rows.last().map_or(last, |(id, _)| *id);
        for (id, mut trial) in rows {
            trial.samples = self.load_samples(id)?;
            trial.histograms = self.load_histograms(id)?;
            run.trials.push(trial);
        }
        run.trials.sort_by_key(|t| (t.block, t.position));
        Ok(last)
    }

    fn load_samples(&self, trial: i64) -> Result<Vec<Sample>, StoreError> {
        let sql = "SELECT role, kind, mark, at_ns, name, value, source FROM samples WHERE trial = ?1 ORDER BY rowid";
        self.rows(sql, [trial], |r| {
            let kind: String = r.get(1)?;
            let kind = kind.parse().map_err(|_| damaged(format!("sample kind {kind:?} of trial {trial}")))?;
            let (role, mark, at_ns) = (r.get(0)?, r.get(2)?, r.get(3)?);
            let (name, value, source) = (r.get(4)?, r.get(5)?, r.get(6)?);
            Ok(Sample { role, kind, mark, at_ns, name, value, source })
        })
    }

    fn load_histograms(&self, trial: i64) -> Result<Vec<(String, String, Encoded)>, StoreError> {
        let sql = "SELECT role, name, data FROM histograms WHERE trial = ?1 ORDER BY rowid";
        self.rows(sql, [trial], |r| Ok((r.get(0)?, r.get(1)?, r.get::<_, String>(2)?.into())))
    }
}
