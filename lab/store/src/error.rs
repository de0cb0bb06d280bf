//! Errors of the store. They have external causes; stored data is not lost.

use std::path::PathBuf;

/// An error of the store, with a remedy.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum StoreError {
    #[error("the store {}: {source}. {}", path.display(), remedy(source))]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("the store's folder {}: {source}. Set NETDYNO_STORE to a file that can be written", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("the store {} has format {found}, this netdyno reads {known}: use the newer netdyno, or another NETDYNO_STORE", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("no run {0:?} in the store; `netdyno history` lists them")]
    NoRun(String),
    #[error("several runs begin with {0:?}; `netdyno history` lists them")]
    Ambiguous(String),
    #[error("no unfinished run in the store; `netdyno history` lists the runs")]
    NoneUnfinished,
    #[error("another netdyno is measuring run {0}: wait for it to end, or end it")]
    Busy(String),
    #[error(
        "the store has a different run {0}, which is kept. Import into another store (NETDYNO_STORE), or remove the existing run"
    )]
    Taken(String),
    #[error("a damaged row in the store: {0}")]
    Damaged(String),
}

fn remedy(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "The disk is full: free some space, or set NETDYNO_STORE to a file on another disk"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "Another netdyno is writing to it: wait for it to end"
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "It is not a netdyno store: move it away, or set NETDYNO_STORE"
        }
        _ => "Set NETDYNO_STORE to a file that can be written",
    }
}
