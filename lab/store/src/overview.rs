//! What lists of runs and histories need, kept beside the runs: a thousand headers with their cells are tens of megabytes.
//!
//! Outcome and digest are made by [`netdyno_lab_report::history`], from a whole run, and can be made again; the rest is of the run's begin.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::load::run_of;
use super::{CellRecord, Run, RunHeader, RunStatus, Store, StoreError, from_json, json};

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Name of the workload.
    pub workload: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How it stands.
    pub status: RunStatus,
    /// Why it stopped; empty while it goes on.
    pub stopped_because: String,
    /// Preset; empty where none was named.
    pub preset: String,
    /// Who plays a role in some cell, the bound and partners left out, in the order of the cells.
    pub contenders: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
    /// What it says, in a line; none until it has ended and somebody asked.
    pub outcome: Option<String>,
}

/// Which runs are listed.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Of this workload only.
    pub workload: Option<&'a str>,
    /// That many of the newest are left out ...
    pub skip: usize,
    /// ... and that many listed at the most.
    pub most: usize,
}

impl Listing<'_> {
    /// The newest of all.
    #[must_use]
    pub fn newest(most: usize) -> Listing<'static> {
        Listing { workload: None, skip: 0, most }
    }
}

/// A run that this netdyno did not begin, and no later one filled in, has no overview.
const LIST: &str =
    "SELECT r.id, r.workload, r.started_at, r.status, r.stopped_because, coalesce(o.preset, ''),
    coalesce(o.contenders, '[]'), coalesce(o.command, '[]'), o.outcome
    FROM runs r LEFT JOIN overviews o ON o.run = r.id";

/// The query of a list, with this condition.
pub(super) fn list_sql(only: &str) -> String {
    format!("{LIST} {only} ORDER BY r.started_at DESC, r.id DESC LIMIT ?1 OFFSET ?2")
}

impl Store {
    /// Runs, newest first, without headers and cells.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self, listing: Listing<'_>) -> Result<Vec<Listed>, StoreError> {
        let only = if listing.workload.is_some() { "WHERE r.workload = ?3" } else { "WHERE ?3 IS NULL" };
        let mut query = self.connection.prepare_cached(&list_sql(only)).map_err(|e| self.fail(e))?;
        let texts = |row: &rusqlite::Row<'_>| {
            let text: [String; 8] = [
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
                row.get(7)?,
            ];
            Ok((text, row.get::<_, Option<String>>(8)?))
        };
        let rows = query
            .query_map(params![listing.most, listing.skip, listing.workload], texts)
            .map_err(|e| self.fail(e))?;
        rows.map(|row| {
            let ([id, workload, started_at, status, stopped_because, preset, contenders, command], outcome) =
                row.map_err(|e| self.fail(e))?;
            Ok(Listed {
                started_at: started_at
                    .parse()
                    .map_err(|e| StoreError::Damaged(format!("run {id}: its time {started_at:?}: {e}")))?,
                status: RunStatus::parse(&status)
                    .ok_or_else(|| StoreError::Damaged(format!("run {id}: its status {status:?}")))?,
                contenders: from_json(&contenders)?,
                command: from_json(&command)?,
                id,
                workload,
                stopped_because,
                preset,
                outcome,
            })
        })
        .collect()
    }

    /// How many runs there are of each workload, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn workloads(&self) -> Result<Vec<(String, usize)>, StoreError> {
        let sql = "SELECT workload, count(*) FROM runs GROUP BY workload ORDER BY workload";
        let mut query = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(|e| self.fail(e))
    }

    /// The runs with their cells, without their trials, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, most: usize) -> Result<Vec<Run>, StoreError> {
        let sql =
            "SELECT header, status, stopped_because FROM runs ORDER BY started_at DESC, id DESC LIMIT ?1";
        let mut query = self.connection.prepare(sql).map_err(|e| self.fail(e))?;
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

    /// The digest of a run as this version of what makes it left it, if it did.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn digest(&self, run: &str, version: u32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT digest FROM overviews WHERE run = ?1 AND digest_version = ?2";
        let mut query = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        query.query_row(params![run, version], |row| row.get(0)).optional().map_err(|e| self.fail(e))
    }

    /// Keeps what a run that has ended says: in a line, and as a digest.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep_digest(
        &self,
        run: &str,
        version: u32,
        outcome: &str,
        digest: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE overviews SET outcome = ?3, digest_version = ?2, digest = ?4 WHERE run = ?1";
        let kept = self.connection.execute(sql, params![run, version, outcome, digest]);
        kept.map(drop).map_err(|e| self.fail(e))
    }

    /// A number that is another one when any process but this wrote to the store since.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn changes(&self) -> Result<i64, StoreError> {
        let number = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        number.map_err(|e| self.fail(e))
    }
}

/// Writes the overview of a run that begins.
pub(super) fn begin(
    connection: &Connection,
    header: &RunHeader,
    cells: &[CellRecord],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO overviews (run, preset, contenders, command) VALUES (?1, ?2, ?3, ?4)";
    let preset = header.settings.preset.as_deref().unwrap_or_default();
    connection
        .execute(sql, params![header.id, preset, json(&contenders(cells)), json(&header.command)])
        .map(drop)
}

/// Writes the overviews of all runs of an older format. One whose header or cells cannot be read goes without.
pub(super) fn fill(connection: &Connection) -> rusqlite::Result<()> {
    let mut runs = connection.prepare("SELECT id, header FROM runs")?;
    let mut cells = connection.prepare("SELECT record FROM cells WHERE run = ?1 ORDER BY idx")?;
    let mut rows = runs.query([])?;
    while let Some(row) = rows.next()? {
        let (id, header): (String, String) = (row.get(0)?, row.get(1)?);
        let records = cells.query_map([&id], |row| row.get::<_, String>(0))?;
        let records = records.collect::<rusqlite::Result<Vec<_>>>()?;
        let records: Result<Vec<CellRecord>, _> = records.iter().map(|text| from_json(text)).collect();
        if let (Ok(header), Ok(records)) = (from_json::<RunHeader>(&header), records) {
            begin(connection, &header, &records)?;
        }
    }
    Ok(())
}

fn contenders(cells: &[CellRecord]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in cells.iter().filter(|c| !c.ceiling).flat_map(|c| c.compared().map(|(_, name)| name)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}
