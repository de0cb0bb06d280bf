//! Data for lists of runs and histories, stored separately because headers and cells are long.
//! [`netdyno_lab_report::history`] computes outcome and digest from a whole run, and can recompute them; the rest is
//! known when a run starts.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::{CellRecord, Run, RunHeader, RunStatus, Store, StoreError, from_json, json};

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
        let rows =
            self.rows(&list_sql(only), params![listing.most, listing.skip, listing.workload], texts)?;
        let listed = |(texts, outcome): ([String; 8], Option<String>)| {
            let [id, workload, started_at, status, stopped_because, preset, contenders, command] = texts;
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
        };
        rows.into_iter().map(listed).collect()
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
