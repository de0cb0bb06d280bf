//! Snapshots of the keyspace at one time, in the RDB format, in parts.
//!
//! Commands execute meanwhile. Before a key that was not reached yet is changed, removed or created, its
//! entry is written early, or its absence is recorded. A database that is emptied is retained for the
//! snapshot until it is written; SWAPDB is tracked. The additional memory is at most that of the keyspace at
//! the start.

use std::collections::BTreeSet;

use super::stored::{kind, write_value};
use super::value::Entry;
use super::{Database, Keyspace};
use crate::rdb::{KeyAttributes, Writer};

/// Entries between checks of the output size.
const ENTRIES_PER_STEP: usize = 16;

/// The progress of a snapshot.
#[derive(Debug)]
pub(crate) struct Snapshot {
    writer: Writer,
    /// Where each original database is now, in order.
    places: Vec<Place>,
    /// The database being written, and the next hash.
    db: usize,
    cursor: u64,
    /// Entries written early: database, hash and key.
    early: BTreeSet<(usize, u32, Box<[u8]>)>,
    /// Output that has not been taken.
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Place {
    /// The current database with this number.
    Live(usize),
    /// A database that was emptied.
    Gone(Box<Database>),
}

impl Snapshot {
    /// Whether an entry has to be written early; marks it as done.
    fn claim_early(&mut self, number: usize, hash: u32, key: &[u8]) -> bool {
        let reached = number < self.db || number == self.db && u64::from(hash) < self.cursor;
        !reached && self.early.insert((number, hash, key.into()))
    }

    fn number_of(&self, db: usize) -> Option<usize> {
        self.places.iter().position(|place| matches!(place, Place::Live(live) if *live == db))
    }

    /// Forgets early entries that the snapshot has passed.
    fn discard_passed(&mut self) {
        if !self.early.is_empty() {
            let next = u32::try_from(self.cursor).unwrap_or(u32::MAX);
            self.early = self.early.split_off(&(self.db, next, Box::default()));
        }
    }
}

impl Keyspace {
    /// Starts a snapshot of the current keyspace. `about` is written to its header.
    pub(crate) fn begin_snapshot(&mut self, compresses: bool, about: &[(&str, &str)]) {
        let (mut writer, mut bytes) = (Writer::new(compresses), Vec::new());
        writer.begin(about, &mut bytes);
        let places = (0..self.databases.len()).map(Place::Live).collect();
        let (db, cursor, early) = (0, 0, BTreeSet::new());
        self.snapshot = Some(Box::new(Snapshot { writer, places, db, cursor, early, bytes }));
    }

    /// Discards the snapshot.
    pub(crate) fn drop_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Appends the next part, about `budget` bytes plus one value, or early entries; `true` for the last
    /// part.
    pub(crate) fn snapshot_part(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        let Some(mut snapshot) = self.snapshot.take() else { return true };
        let start = out.len();
        out.append(&mut snapshot.bytes);
        loop {
            let Snapshot { writer, places, db: number, cursor, early, .. } = &mut *snapshot;
            let database = match places.get(*number) {
                Some(Place::Live(db)) => &self.databases[*db],
                Some(Place::Gone(database)) => &**database,
                None => {
                    snapshot.writer.end(out);
                    return true;
                }
            };
            if *cursor == 0 && database.table.len() > 0 {
                writer.database(*number, database.table.len(), database.deadlines.len(), out);
            }
            *cursor = database.table.scan(*cursor, ENTRIES_PER_STEP, |entry| {
                let kept = !early.is_empty() && was_kept(early, *number, entry);
                if !kept {
                    write_entry(writer, *number, entry, self.policy.usage(entry, self.now), out);
                }
            });
            if *cursor == 0 {
                snapshot.places[snapshot.db] = Place::Live(usize::MAX);
                snapshot.db += 1;
            }
            snapshot.discard_passed();
            // Each call makes progress, even with a small budget.
            if out.len() - start >= budget {
                self.snapshot = Some(snapshot);
                return false;
            }
        }
    }

    /// A key is about to change: writes it to the snapshot first.
    #[inline]
    pub(super) fn write_early(&mut self, key: &[u8]) {
        if self.snapshot.is_some() {
            self.write_early_now(key);
        }
    }

    fn write_early_now(&mut self, key: &[u8]) {
        let Some(snapshot) = self.snapshot.as_deref_mut() else { return };
        let Some(number) = snapshot.number_of(self.db) else { return };
        let table = &self.databases[self.db].table;
        let hash = table.hash(key);
        if !snapshot.claim_early(number, hash, key) {
            return;
        }
        if let Some(position) = table.find(hash, key) {
            let entry = table.at(position);
            let usage = self.policy.usage(entry, self.now);
            write_entry(&mut snapshot.writer, number, entry, usage, &mut snapshot.bytes);
        }
    }

    /// Retains the contents of a database that was emptied.
    pub(super) fn retain_database(&mut self, db: usize, held: Database) {
        if let Some(snapshot) = self.snapshot.as_deref_mut()
            && let Some(number) = snapshot.number_of(db)
        {
            snapshot.places[number] = Place::Gone(Box::new(held));
        }
    }

    /// Records a SWAPDB.
    pub(super) fn track_swap(&mut self, a: usize, b: usize) {
        for place in self.snapshot.iter_mut().flat_map(|snapshot| &mut snapshot.places) {
            match place {
                Place::Live(db) if *db == a => *db = b,
                Place::Live(db) if *db == b => *db = a,
                _ => {}
            }
        }
    }
}

fn was_kept(early: &BTreeSet<(usize, u32, Box<[u8]>)>, number: usize, entry: &Entry) -> bool {
    let of_hash = early.range((number, entry.hash(), Box::default())..);
    of_hash.take_while(|kept| (kept.0, kept.1) == (number, entry.hash())).any(|kept| *kept.2 == *entry.key())
}

fn write_entry(writer: &mut Writer, db: usize, entry: &Entry, usage: crate::rdb::Usage, out: &mut Vec<u8>) {
    let about = KeyAttributes { db, deadline: entry.deadline(), usage };
    writer.entry(about, entry.key(), kind(entry), out, |to, out| write_value(entry, to, out));
}
