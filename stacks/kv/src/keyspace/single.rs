//! Single keys as commands: for a storage that keeps values rather than a log.

use super::Keyspace;
use super::dump::write_entry;
use super::value::Entry;

impl Keyspace {
    /// Appends commands that recreate the value of a key; `false` if it does not exist. Does not update
    /// access information.
    pub(crate) fn write_key(&self, db: usize, key: &[u8], out: &mut Vec<u8>) -> bool {
        let entry = self.databases.get(db).and_then(|database| database.table.get(key));
        let there = |entry: &&Entry| entry.deadline().is_none_or(|at| at > self.now.unix_ms);
        entry.filter(there).map(|entry| write_entry(entry, out)).is_some()
    }

    /// The same for all keys of a database.
    pub(crate) fn write_keys(&self, db: usize, mut visit: impl FnMut(&[u8], &[u8])) {
        let mut commands = Vec::new();
        for entry in self.databases.get(db).into_iter().flat_map(|database| database.table.iter()) {
            commands.clear();
            write_entry(entry, &mut commands);
            visit(entry.key(), &commands);
        }
    }
}
