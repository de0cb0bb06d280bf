//! Deadlines of keys, and expiry.

use super::{Database, Keyspace};

/// How expired keys are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Expiry {
    /// They are removed on access or by the background expiry.
    #[default]
    Remove,
    /// They are hidden until the primary removes them.
    Hide,
    /// They are visible: a command of the primary is executing, for which they had not expired.
    Ignore,
}

impl Database {
    /// A key with this hash no longer has this deadline.
    pub(super) fn forget_deadline(&mut self, at: u64, hash: u32) {
        // Another key can have the same hash and deadline.
        if self.table.find_where(hash, |entry| entry.deadline() == Some(at)).is_none() {
            self.deadlines.remove(&(at, hash));
        }
    }

    /// The deadline of a key with this hash, in the updated table, has changed.
    pub(super) fn move_deadline(&mut self, old: Option<u64>, new: Option<u64>, hash: u32) {
        old.into_iter().for_each(|at| self.forget_deadline(at, hash));
        self.deadlines.extend(new.map(|at| (at, hash)));
    }
}

impl Keyspace {
    /// The time that deadlines are compared with.
    #[inline]
    pub(crate) fn judged_ms(&self) -> u64 {
        if self.expiry == Expiry::Ignore { 0 } else { self.now.unix_ms }
    }

    fn expires_by_itself(&self) -> bool {
        self.active_expiry && self.expiry == Expiry::Remove
    }

    /// The next deadline of any key.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let first = self.databases.iter().filter_map(|d| d.deadlines.first()).map(|(at, _)| *at).min();
        first.filter(|_| self.expires_by_itself())
    }

    /// Removes at most `most` expired keys.
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
