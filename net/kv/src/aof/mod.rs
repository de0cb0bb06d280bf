//! The append-only file: every change, as a command, in execution order.
//!
//! Guarantees by policy ([`Fsync`]):
//!
//! | | `always` | `everysec` | `no` |
//! |---|---|---|---|
//! | a change that was acknowledged survives the end of the process, including `kill -9` | yes | yes | yes |
//! | a change that was acknowledged survives a crash of the machine | yes | after at most two seconds | once the kernel has written it |
//!
//! - With `always`, all changes of an iteration are synced together before any of their replies is sent: one sync
//!   serves any number of clients.
//! - A failed write (for example on a full disk) never loses an acknowledged change and leaves no partial
//!   command: the file is truncated to its previous length. The bytes are retained and written again with the
//!   next change or within a second. Until a write succeeds, write commands are refused with `MISCONF` and
//!   reads continue. Clients whose change was executed but not written are disconnected without a reply;
//!   other clients may observe such a change.
//! - A failed sync is not retried, because the kernel may have dropped the data. Changes are refused until
//!   the server is restarted.
//! - On startup the file is replayed. An incomplete command or transaction at its end is truncated: it was
//!   never acknowledged. Trailing zeros, which some file systems leave after a crash, are truncated too, even
//!   within the last command. Any other damage prevents startup, and the file is not modified.
//! - Keys do not expire during replay. Otherwise a command could recreate an expired key without its
//!   deadline.
//! - A rewrite copies the keys in parts, together with all changes made meanwhile, to a new file, which then
//!   replaces the old one. Until then the old file stays complete.
//!
//! Not guaranteed: the order in which *reads* observe changes that are not durable yet. With `everysec` and
//! `no`, a client can read a change that a crash of the machine then loses.

mod file;
mod replay;

use std::path::PathBuf;

pub(crate) use file::LogFile;

/// When writes are synced to the disk (`appendfsync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// Before the reply to a write.
    Always,
    /// Once a second.
    #[default]
    EverySecond,
    /// When the kernel decides.
    No,
}

/// The location of the append-only file, and how it is maintained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AofSettings {
    /// The directory; it must exist.
    pub directory: PathBuf,
    /// The name of the file in the directory.
    pub file_name: String,
    /// The sync policy.
    pub fsync: Fsync,
    /// Rewrite the file after it has grown by this percentage since the last rewrite
    /// (`auto-aof-rewrite-percentage`); 0 disables automatic rewrites.
    pub rewrite_percent: u64,
    /// Do not rewrite a file that is smaller than this (`auto-aof-rewrite-min-size`).
    pub rewrite_min_bytes: u64,
}

impl AofSettings {
    /// `appendonly.aof` in this directory, synced once a second.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            file_name: "appendonly.aof".into(),
            fsync: Fsync::default(),
            rewrite_percent: 100,
            rewrite_min_bytes: 64 << 20,
        }
    }
}
