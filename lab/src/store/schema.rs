//! The tables.

use rusqlite::Connection;

/// Format of the file this program writes (`PRAGMA user_version`).
pub(super) const FORMAT: i64 = 2;

/// Sets the file up where it is new, and gives its format.
///
/// Write-ahead log with `synchronous = NORMAL`: a killed process loses nothing that was committed; a power cut may
/// lose the last trials but never damages the file (SQLite documentation, "Write-Ahead Logging", section 2).
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |r| r.get(0))?;
    match found {
        0 => connection.execute_batch(TABLES)?,
        1 => connection.execute_batch(FROM_1)?,
        FORMAT => {}
        _ => return Ok(found),
    }
    connection.execute_batch(PRINTED)?;
    Ok(FORMAT)
}

/// What a run's verdicts were when they were printed. It is no part of the format: who does not know it loses nothing.
const PRINTED: &str = "
CREATE TABLE IF NOT EXISTS printed (
    run TEXT PRIMARY KEY,
    text TEXT NOT NULL              -- JSON: the program's version, the verdicts
);
";

/// Turns came with format 2; what an older netdyno measured has none.
const FROM_1: &str = "
BEGIN IMMEDIATE;
ALTER TABLE trials ADD COLUMN turns TEXT;
PRAGMA user_version = 2;
COMMIT;
";

const TABLES: &str = "
BEGIN IMMEDIATE;
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
PRAGMA user_version = 2;
COMMIT;
";
