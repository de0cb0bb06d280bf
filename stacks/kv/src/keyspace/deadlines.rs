//! Which keys have a deadline, and what goes when it is over.

use super::{Database, Keyspace};

/// What becomes of keys whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Expiry {
    /// They go as soon as somebody notices.
    #[default]
    Remove,
    /// They go when the primary says so; until then nobody sees them.
    Hide,
    /// A command of the primary's runs, which found them there.
    Ignore,
}

impl Database {
    /// A key with this hash has no deadline at this time any more.
    pub(super) fn forget_deadline(&mut self, at: u64, hash: u32) {
        // Among millions of keys some have the hash of another, and may have its deadline, too.
        if self.table.find_where(hash, |entry| entry.deadline() == Some(at)).is_none() {
            self.deadlines.remove(&(at, hash));
        }
    }

    /// A key with this hash, in the table as it is now, had one deadline and has another.
    pub(super) fn move_deadline(&mut self, old: Option<u64>, new: Option<u64>, hash: u32) {
        old.into_iter().for_each(|at| self.forget_deadline(at, hash));
        self.deadlines.extend(new.map(|at| (at, hash)));
    }
}

impl Keyspace {
    /// The time that deadlines are held against.
    #[inline]
    pub(crate) fn judged_ms(&self) -> u64 {
        if self.expiry == Expiry::Ignore { 0 } else { self.now.unix_ms }
    }

    fn expires_by_itself(&self) -> bool {
        self.active_expiry && self.expiry == Expiry::Remove
    }

    /// When the next key expires.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let first = self.databases.iter().filter_map(|d| d.deadlines.first()).map(|(at, _)| *at).min();
        first.filter(|_| self.expires_by_itself())
    }

    /// Removes keys whose time is over, so many at the most.
    pub(crate) fn expire_due(&mut self, mut most: usize) {
        if !self.expires_by_itself() {
            return;
        }
        for db in 0..self.databases.len() {
            while let Some(&(at, hash)) = self.databases[db].deadlines.first()
                && at <= self.now.unix_ms
                && most > 0
            {
                most -= 1;
                match self.databases[db].table.find_where(hash, |entry| entry.deadline() == Some(at)) {
                    Some(position) => self.expire(db, position),
                    None => {
                        self.databases[db].deadlines.remove(&(at, hash));
                    }
                }
            }
        }
    }
}
