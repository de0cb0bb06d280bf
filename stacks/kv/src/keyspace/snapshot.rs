//! The keyspace as it was at one moment, in the RDB format, a part a call.
//!
//! Commands go on meanwhile. Whoever is about to change, remove or make a key that was not reached yet has it kept first: its
//! entry is written early, as it is, or it is noted that there was none. A database that is emptied stays, for the snapshot
//! alone, until it is written; one that is exchanged is found where it went. What this takes beside the keyspace is at the most
//! what the keyspace held when it began.

use std::collections::BTreeSet;

use super::stored::{kind, write_value};
use super::value::Entry;
use super::{Database, Keyspace};
use crate::rdb::{About, Writer};

/// Entries after which the size of what was written is looked at.
const ENTRIES_PER_STEP: usize = 16;

/// How far a snapshot has come.
#[derive(Debug)]
pub(crate) struct Snapshot {
    writer: Writer,
    /// What each database was when it began, in that order.
    places: Vec<Place>,
    /// The one that is written, and its next hash.
    db: usize,
    cursor: u64,
    /// What was kept before it was reached: database, hash and key.
    early: BTreeSet<(usize, u32, Box<[u8]>)>,
    /// What is written and not taken yet.
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Place {
    /// It is this one now.
    Live(usize),
    /// It was emptied since.
    Gone(Box<Database>),
}

impl Snapshot {
    /// Whether an entry still is to be kept, and from now on no more.
    fn keeps(&mut self, number: usize, hash: u32, key: &[u8]) -> bool {
        let reached = number < self.db || number == self.db && u64::from(hash) < self.cursor;
        !reached && self.early.insert((number, hash, key.into()))
    }

    fn number_of(&self, db: usize) -> Option<usize> {
        self.places.iter().position(|place| matches!(place, Place::Live(live) if *live == db))
    }

    /// Those that were passed are forgotten.
    fn pass(&mut self) {
        if !self.early.is_empty() {
            let next = u32::try_from(self.cursor).unwrap_or(u32::MAX);
            self.early = self.early.split_off(&(self.db, next, Box::default()));
        }
    }
}

impl Keyspace {
    /// Begins: the keyspace as it is now is what the snapshot will have. `about` is told at its beginning.
    pub(crate) fn begin_snapshot(&mut self, compresses: bool, about: &[(&str, &str)]) {
        let (mut writer, mut bytes) = (Writer::new(compresses), Vec::new());
        writer.begin(about, &mut bytes);
        let places = (0..self.databases.len()).map(Place::Live).collect();
        let (db, cursor, early) = (0, 0, BTreeSet::new());
        self.snapshot = Some(Box::new(Snapshot { writer, places, db, cursor, early, bytes }));
    }

    /// Nobody wants the rest.
    pub(crate) fn drop_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Appends the next part, about `budget` bytes and one value's more, or what was kept early; `true` when that was the last.
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
            snapshot.pass();
            // However small the budget is, each call comes further.
            if out.len() - start >= budget {
                self.snapshot = Some(snapshot);
                return false;
            }
        }
    }

    /// This key is about to change: a snapshot gets it as it is.
    #[inline]
    pub(super) fn keep(&mut self, key: &[u8]) {
        if self.snapshot.is_some() {
            self.keep_now(key);
        }
    }

    fn keep_now(&mut self, key: &[u8]) {
        let Some(snapshot) = self.snapshot.as_deref_mut() else { return };
        let Some(number) = snapshot.number_of(self.db) else { return };
        let table = &self.databases[self.db].table;
        let hash = table.hash(key);
        if !snapshot.keeps(number, hash, key) {
            return;
        }
        if let Some(position) = table.find(hash, key) {
            let entry = table.at(position);
            let usage = self.policy.usage(entry, self.now);
            write_entry(&mut snapshot.writer, number, entry, usage, &mut snapshot.bytes);
        }
    }

    /// A database was emptied, and this is what it held.
    pub(super) fn keep_database(&mut self, db: usize, held: Database) {
        if let Some(snapshot) = self.snapshot.as_deref_mut()
            && let Some(number) = snapshot.number_of(db)
        {
            snapshot.places[number] = Place::Gone(Box::new(held));
        }
    }

    /// Two databases were exchanged.
    pub(super) fn keep_exchanged(&mut self, a: usize, b: usize) {
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
    let about = About { db, deadline: entry.deadline(), usage };
    writer.entry(about, entry.key(), kind(entry), out, |to, out| write_value(entry, to, out));
}
