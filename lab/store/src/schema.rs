//! The tables.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{limits, overview};

/// Format of the file (`PRAGMA user_version`).
pub(super) const FORMAT: i64 = 3;

/// Creates or upgrades the tables. Returns the file's format if it is newer than ours, else ours.
///
/// Write-ahead log with `synchronous = NORMAL`: a killed process loses no committed transaction; a power failure may
/// lose the last ones but never damages the file (SQLite documentation, "Write-Ahead Logging", section 2).
pub(super) fn prepare(connection: &mut Connection) -> rusqlite::Result<i64> {
    let format =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |r| r.get::<_, i64>(0));
    write_ahead(connection)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let found = format(connection)?;
    if found == FORMAT {
        connection.execute_batch(PRINTED)?;
    }
    if found >= FORMAT {
        return Ok(found);
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have upgraded it in the meantime.
    match format(&tx)? {
        0 => tx.execute_batch(TABLES)?,
        1 => tx.execute_batch(TURNS)?,
        _ => {}
    }
    if format(&tx)? < FORMAT {
        tx.execute_batch(OVERVIEWS)?;
        tx.execute_batch(PROBES)?;
        tx.execute_batch(PRINTED)?;
        overview::fill(&tx)?;
        tx.pragma_update(None, "user_version", FORMAT)?;
    }
    tx.commit()?;
    Ok(FORMAT)
}

/// Turns the write-ahead log on. If two processes create a file at the same time, SQLite fails here instead of
/// waiting.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + limits::BUSY;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Printed verdicts and the origin of runs. These tables are not part of the format: older versions ignore them.
const PRINTED: &str = "
CREATE TABLE IF NOT EXISTS printed (
    run TEXT PRIMARY KEY,
    text TEXT NOT NULL              -- JSON: the program's version, the verdicts
);
CREATE TABLE IF NOT EXISTS imported (
    run TEXT PRIMARY KEY            -- measured elsewhere, and never resumed
);
";

/// Results of probes, since format 3.
const PROBES: &str = "
CREATE TABLE IF NOT EXISTS probes (
    run TEXT NOT NULL,
    cell INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,             -- kernel, syscalls, allocations, profile
    record TEXT NOT NULL,           -- JSON: what was found, by whom, at which cost
    PRIMARY KEY (run, cell, role, kind)
);
";

/// Turns, since format 2.
const TURNS: &str = "ALTER TABLE trials ADD COLUMN turns TEXT;";

/// Data for lists of runs, since format 3: loading a thousand headers takes a second.
const OVERVIEWS: &str = "
CREATE INDEX runs_newest ON runs(started_at DESC, id DESC);
CREATE TABLE overviews (
    run TEXT PRIMARY KEY REFERENCES runs(id),
    preset TEXT NOT NULL,
    contenders TEXT NOT NULL,       -- JSON: who plays a role that is compared
    command TEXT NOT NULL,          -- JSON: the command line
    outcome TEXT,                   -- what a run that ended says, in a line
    digest_version INTEGER,         -- of what made outcome and digest
    digest TEXT                     -- JSON: figures by contender, for histories
);
";

/// The tables of format 2.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY,
    workload TEXT NOT NULL,
    started_at TEXT NOT NULL,
    status TEXT NOT NULL,
    stopped_because TEXT NOT NULL DEFAULT '',
    header TEXT NOT NULL            -- JSON: host, settings, workload manifest
);
CREATE TABLE IF NOT EXISTS cells (
    run TEXT NOT NULL REFERENCES runs(id),
    idx INTEGER NOT NULL,
    record TEXT NOT NULL,           -- JSON: roles, params, status, build
    PRIMARY KEY (run, idx)
);
CREATE TABLE IF NOT EXISTS trials (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id),
    cell INTEGER NOT NULL,
    block INTEGER NOT NULL,
    position INTEGER NOT NULL,      -- place within its block
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,          -- from launch to the last exit
    seed INTEGER NOT NULL,
    outcome TEXT NOT NULL,          -- JSON: ok, skipped or failed, with the reason
    notes TEXT NOT NULL,            -- JSON: what was seen beside the figures
    turns TEXT                      -- JSON: how it took turns with another; NULL outside a duel
);
CREATE INDEX IF NOT EXISTS trials_run ON trials(run);
CREATE TABLE IF NOT EXISTS samples (
    trial INTEGER NOT NULL REFERENCES trials(id),
    role TEXT NOT NULL,
    kind TEXT NOT NULL,             -- counter, meter, setup, result
    mark INTEGER NOT NULL,          -- the mark's id; the connection's number for setup
    at_ns INTEGER NOT NULL,         -- CLOCK_MONOTONIC of the role's host
    name TEXT NOT NULL,
    value INTEGER,                  -- NULL: not measured, source says why
    source TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS samples_trial ON samples(trial);
CREATE TABLE IF NOT EXISTS histograms (
    trial INTEGER NOT NULL REFERENCES trials(id),
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL              -- HDR V2, base64
);
CREATE INDEX IF NOT EXISTS histograms_trial ON histograms(trial);
";
