//! The append-only file: every change, as a command, in the order in which they were made.
//!
//! What is promised, by policy ([`Fsync`]):
//!
//! | | `always` | `everysec` | `no` |
//! |---|---|---|---|
//! | an answer was sent: the change survives the end of the process, however it ends (`kill -9`) | yes | yes | yes |
//! | an answer was sent: the change survives a crash of the machine | yes | after two seconds at the most | when the kernel has written it |
//!
//! - With `always` all that a turn's commands changed is synced at once, then all their answers go out: one sync for
//!   however many clients.
//! - Nothing that was answered is lost because a later write fails. A write that fails (a full disk) leaves no half
//!   command behind: the file is cut to where it was, and the bytes are kept to be tried again, with the next change
//!   or within a second. Until it works, commands that change something are refused with `MISCONF`, and reads go on.
//!   Clients whose change was made but could not be written are closed without an answer; others may see such a
//!   change meanwhile.
//! - A sync that fails is not tried again: the kernel may have thrown away what it could not write. Changes are
//!   refused until the server is started again.
//! - At the start the file is executed. A command that is not whole at its end, or a transaction without its end, is
//!   cut off: nobody had an answer to it. Zeros at its end are, too, which some file systems leave, also within the
//!   last command. Anything else that is no command stops the start, and is left as it is.
//! - No deadline passes while the file is executed, so that a key that outlived its commands is not made anew without
//!   one.
//! - A rewrite puts the keys, part by part, and meanwhile all changes, into a new file, which then takes the place of
//!   the old one. Until it does, the old one has everything.
//!
//! What is not promised: the order of changes and the answers of *reads*. With `everysec` and `no` a client can read
//! what a crash of the machine then takes.

mod file;
mod replay;

use std::path::PathBuf;

pub(crate) use file::LogFile;

/// When what was written is synced to the disk (`appendfsync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// Before a command that changed something is answered.
    Always,
    /// Once a second.
    #[default]
    EverySecond,
    /// When the kernel likes.
    No,
}

/// Where the append-only file is, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AofSettings {
    /// The directory; it must exist.
    pub directory: PathBuf,
    /// The file's name in it.
    pub file_name: String,
    /// When it is synced.
    pub fsync: Fsync,
    /// Rewritten by itself once it has grown by so many percent since the last time (`auto-aof-rewrite-percentage`);
    /// 0: never.
    pub rewrite_percent: u64,
    /// Not while it is shorter than this (`auto-aof-rewrite-min-size`).
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
