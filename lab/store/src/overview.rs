//! Data for lists of runs and histories, stored separately because headers and cells are long.
//! [`netdyno_lab_report::history`] computes outcome and digest from a whole run, and can recompute them; the rest is
//! known when a run starts.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::load::{Json, damaged};
use super::{CellRecord, Run, RunHeader, RunStatus, Store, StoreError, json};

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Name of the workload.
    pub workload: String,
    /// When it started.
    pub started_at: Timestamp,
    /// Its status.
    pub status: RunStatus,
    /// Why it stopped; empty while it is running.
    pub stopped_because: String,
    /// Preset; empty if none.
    pub preset: String,
    /// The compared contenders, in the order of the cells.
    pub contenders: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The result in one line; none before the run has ended.
    pub outcome: Option<String>,
}

/// A selection of runs.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Only runs of this workload.
    pub workload: Option<&'a str>,
    /// Number of newest runs to skip.
    pub skip: usize,
    /// Most runs to list.
    pub most: usize,
}

impl Listing<'_> {
    /// The newest runs of all workloads.
    pub fn newest(most: usize) -> Listing<'static> {
        Listing { workload: None, skip: 0, most }
    }
}

/// Runs of older versions may have no overview.
const LIST: &str =
    "SELECT r.id, r.workload, r.started_at, r.status, r.stopped_because, coalesce(o.preset, ''),
    coalesce(o.contenders, '[]'), coalesce(o.command, '[]'), o.outcome
    FROM runs r LEFT JOIN overviews o ON o.run = r.id";

/// The query of a list with this condition.
pub(super) fn list_sql(only: &str) -> String {
    format!("{LIST} {only} ORDER BY r.started_at DESC, r.id DESC LIMIT ?1 OFFSET ?2")
}

impl Store {
    /// Lists runs, newest first, without headers and cells.
    pub fn list(&self, listing: Listing<'_>) -> Result<Vec<Listed>, StoreError> {
        let only = if listing.workload.is_some() { "WHERE r.workload = ?3" } else { "WHERE ?3 IS NULL" };
        self.rows(&list_sql(only), params![listing.most, listing.skip, listing.workload], |row| {
            let (id, time, status): (String, String, String) = (row.get(0)?, row.get(2)?, row.get(3)?);
            Ok(Listed {
                workload: row.get(1)?,
                started_at: time.parse().map_err(|e| damaged(format!("run {id}: its time {time:?}: {e}")))?,
                status: status.parse().map_err(|_| damaged(format!("run {id}: its status {status:?}")))?,
                stopped_because: row.get(4)?,
                preset: row.get(5)?,
                contenders: row.get::<_, Json<_>>(6)?.0,
                command: row.get::<_, Json<_>>(7)?.0,
                outcome: row.get(8)?,
                id,
            })
        })
    }

    /// The number of runs of each workload, by name.
    pub fn workloads(&self) -> Result<Vec<(String, usize)>, StoreError> {
        let sql = "SELECT workload, count(*) FROM runs GROUP BY workload ORDER BY workload";
        self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Loads runs with their cells, without trials, newest first.
    pub fn runs(&self, most: usize) -> Result<Vec<Run>, StoreError> {
        let sql = "SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT ?1";
        let ids: Vec<String> = self.rows(sql, [most], |row| row.get(0))?;
        ids.iter().map(|id| self.load_head(id)).collect()
    }

    /// The stored digest of a run, if this version of the code wrote it.
    pub fn digest(&self, run: &str, version: u32) -> Result<Option<String>, StoreError> {
        self.value(
            "SELECT digest FROM overviews WHERE run = ?1 AND digest_version = ?2",
            params![run, version],
        )
    }

    /// Stores the outcome and the digest of a finished run.
    pub fn keep_digest(
        &self,
        run: &str,
        version: u32,
        outcome: &str,
        digest: &str,
    ) -> Result<(), StoreError> {
        if self.is_read_only {
            return Ok(());
        }
        let sql = "UPDATE overviews SET outcome = ?3, digest_version = ?2, digest = ?4 WHERE run = ?1";
        self.execute(sql, params![run, version, outcome, digest])
    }

    /// A number that changes when another process writes to the store.
    pub fn changes(&self) -> Result<i64, StoreError> {
        let number = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        number.map_err(|e| self.fail(e))
    }
}

/// Writes the overview of a new run.
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

/// Writes the overviews of all runs of an older format, except those with an unreadable header or cell.
pub(super) fn fill(connection: &Connection) -> rusqlite::Result<()> {
    let mut runs = connection.prepare("SELECT id, header FROM runs")?;
    let mut cells = connection.prepare("SELECT record FROM cells WHERE run = ?1 ORDER BY idx")?;
    let mut rows = runs.query([])?;
    while let Some(row) = rows.next()? {
        let records = cells.query_map([row.get::<_, String>(0)?], |row| Ok(row.get::<_, Json<_>>(0)?.0))?;
        let records: rusqlite::Result<Vec<CellRecord>> = records.collect();
        if let (Ok(Json(header)), Ok(records)) = (row.get::<_, Json<RunHeader>>(1), records) {
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
