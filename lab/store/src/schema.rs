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
        tx.execute_batch(FORMAT_3)?;
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

/// Tables of every format since the verdicts of a run are stored.
const PRINTED: &str = include_str!("schema/printed.sql");
/// Tables added by format 3.
const FORMAT_3: &str = include_str!("schema/format3.sql");
/// The column added by format 2.
const TURNS: &str = "ALTER TABLE trials ADD COLUMN turns TEXT;";
/// Tables of format 2.
const TABLES: &str = include_str!("schema/format2.sql");
