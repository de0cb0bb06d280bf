//! The databases: keys, values and deadlines, and the notifications of changes.

mod access;
mod deadlines;
mod dump;
mod entry;
mod evict;
mod hash;
mod hasher;
mod list;
mod log;
mod notify;
mod packed;
mod prefetch;
mod segment;
mod sequence;
mod set;
mod short;
mod single;
mod snapshot;
mod stored;
mod table;
mod value;
mod watch;
mod weight;
mod zset;

use std::collections::{BTreeMap, BTreeSet};

pub use access::Policy;
pub(crate) use deadlines::Expiry;
pub(crate) use dump::Dump;
pub(crate) use hash::{Hash, SmallLimits};
pub(crate) use hasher::Hasher;
pub(crate) use list::List;
pub(crate) use log::Log;
pub(crate) use notify::{Event, EventClass};
pub(crate) use set::{Member, Set};
pub(crate) use short::ShortString;
pub(crate) use snapshot::Snapshot;
pub use stored::Loaded;
pub(crate) use stored::{KeyspaceSink, PendingKey, payload};
pub(crate) use table::Position;
use value::Table;
pub(crate) use value::{Entry, Value, ValueType};
pub(crate) use watch::Watch;
pub(crate) use zset::{RankedMember, ScoredMember, Zset};

use crate::entropy::Entropy;
use crate::error::Error;
use crate::random::Random;
use crate::timestamp::Timestamp;

/// Approximate memory of an entry in the set of deadlines.
const DEADLINE_BYTES: usize = 24;

/// A database.
#[derive(Debug)]
struct Database {
    table: Table,
    /// Deadlines, with the hashes of their keys.
    deadlines: BTreeSet<(u64, u32)>,
}

impl Database {
    fn new(hasher: &Hasher) -> Self {
        Self { table: Table::new(hasher), deadlines: BTreeSet::new() }
    }
}

/// How a write affects the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    Keep,
    Clear,
    At(u64),
}

/// Counters for INFO.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counters {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
}

/// All databases, and the state that changes with them.
#[derive(Debug)]
pub(crate) struct Keyspace {
    pub(crate) now: Timestamp,
    /// The database of the running command.
    pub(crate) db: usize,
    databases: Vec<Database>,
    hasher: Hasher,
    pub(crate) random: Random,
    pub(crate) log: Log,
    pub(crate) watch: Watch,
    pub(crate) events: Vec<Event>,
    /// The enabled event classes (`notify-keyspace-events`).
    pub(crate) notify: EventClass,
    /// Keys that sessions wait for, by database, with the number of sessions.
    pub(crate) awaited: BTreeMap<(usize, Box<[u8]>), usize>,
    /// Those of them that have received a value.
    pub(crate) ready: Vec<(usize, Box<[u8]>)>,
    pub(crate) counters: Counters,
    /// The running command has removed the last element of a key, which is a separate event.
    emptied: bool,
    /// Whether reads update the access information.
    pub(crate) touching: bool,
    /// Number of changes.
    pub(crate) dirty: u64,
    pub(crate) policy: Policy,
    pub(crate) memory_max: usize,
    pub(crate) samples: usize,
    /// The limits of small collections.
    pub(crate) small: SmallLimits,
    pub(crate) active_expiry: bool,
    pub(crate) expiry: Expiry,
    pub(crate) dump: Option<Dump>,
    pub(crate) snapshot: Option<Box<Snapshot>>,
}

impl Keyspace {
    pub(crate) fn new(databases: usize, entropy: &mut Entropy) -> Self {
        let hasher = Hasher::with_keys([(); 4].map(|()| entropy.number()));
        let random = Random::new(entropy.number());
        Self {
            now: Timestamp::default(),
            db: 0,
            databases: (0..databases).map(|_| Database::new(&hasher)).collect(),
            hasher,
            random,
            log: Log::default(),
            watch: Watch::default(),
            events: Vec::new(),
            notify: EventClass::NONE,
            awaited: BTreeMap::new(),
            ready: Vec::new(),
            counters: Counters::default(),
            emptied: false,
            touching: true,
            dirty: 0,
            policy: Policy::default(),
            memory_max: 0,
            samples: crate::limits::EVICTION_SAMPLES,
            small: SmallLimits::default(),
            active_expiry: true,
            expiry: Expiry::Remove,
            dump: None,
            snapshot: None,
        }
    }

    pub(crate) fn hasher(&self) -> Hasher {
        self.hasher.clone()
    }

    pub(crate) fn databases(&self) -> usize {
        self.databases.len()
    }

    /// Number of keys in a database, and of those with a deadline.
    pub(crate) fn sizes(&self, db: usize) -> (usize, usize) {
        self.databases.get(db).map_or((0, 0), |d| (d.table.len(), d.deadlines.len()))
    }

    /// Approximate memory used by keys and values, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |d: &Database| d.table.memory_bytes() + d.deadlines.len() * DEADLINE_BYTES;
        self.databases.iter().map(of).sum()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.databases[self.db].table
    }

    /// The position of a key; an expired key is removed.
    #[inline]
    fn position(&mut self, key: &[u8]) -> Option<Position> {
        let database = &self.databases[self.db];
        let position = database.table.find(database.table.hash(key), key)?;
        match database.table.at(position).deadline() {
            Some(deadline) if deadline <= self.judged_ms() => {
                if self.expiry == Expiry::Remove {
                    self.expire(self.db, position);
                }
                None
            }
            _ => Some(position),
        }
    }

    /// An entry, without updating its access information.
    pub(crate) fn peek(&mut self, key: &[u8]) -> Option<&Entry> {
        let position = self.position(key)?;
        Some(self.databases[self.db].table.at(position))
    }

    pub(crate) fn exists(&mut self, key: &[u8]) -> bool {
        self.position(key).is_some()
    }

    /// An entry that a command reads: counts the access and updates its access information.
    #[inline]
    pub(crate) fn read(&mut self, key: &[u8]) -> Option<&Entry> {
        let Some(position) = self.position(key) else {
            self.counters.misses += 1;
            self.event(EventClass::MISS, "keymiss", key);
            return None;
        };
        self.counters.hits += 1;
        let (policy, now) = (self.policy, self.now);
        let entry = self.databases[self.db].table.at_mut(position);
        if self.touching {
            policy.used(entry, now, &mut self.random);
        }
        Some(entry)
    }

    /// A string that a command reads.
    #[inline]
    pub(crate) fn string(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.read(key).map(|entry| entry.string().ok_or(Error::WRONG_TYPE)).transpose()
    }

    /// A value of a given type that a command reads.
    pub(crate) fn get<K: ValueType>(&mut self, key: &[u8]) -> Result<Option<&K>, Error> {
        self.read(key).map(|entry| entry.value().and_then(K::from_value).ok_or(Error::WRONG_TYPE)).transpose()
    }

    /// Modifies a string; `None` if the key does not exist.
    pub(crate) fn edit_string<R>(
        &mut self,
        key: &[u8],
        edit: impl FnOnce(&mut Entry) -> R,
    ) -> Result<Option<R>, Error> {
        let Some(position) = self.position(key) else { return Ok(None) };
        self.write_early(key);
        let (policy, now) = (self.policy, self.now);
        let table = &mut self.databases[self.db].table;
        if table.at(position).string().is_none() {
            return Err(Error::WRONG_TYPE);
        }
        policy.used(table.at_mut(position), now, &mut self.random);
        Ok(Some(table.change(position, edit)))
    }

    /// Modifies a value of a given type. A missing key is created if `create` is set; an empty value is
    /// removed.
    pub(crate) fn edit<K: ValueType, R>(
        &mut self,
        key: &[u8],
        create: bool,
        edit: impl FnOnce(&mut K) -> R,
    ) -> Result<Option<R>, Error> {
        self.write_early(key);
        let (policy, now) = (self.policy, self.now);
        let position = match self.position(key) {
            Some(position) => position,
            None if create => {
                let table = &mut self.databases[self.db].table;
                let hash = table.hash(key);
                let mut entry = Entry::object(hash, key, K::empty(self.hasher.clone()));
                policy.made(&mut entry, now);
                table.insert(entry);
                self.event(EventClass::NEW, "new", key);
                match self.position(key) {
                    Some(position) => position,
                    None => return Ok(None),
                }
            }
            None => return Ok(None),
        };
        let table = &mut self.databases[self.db].table;
        policy.used(table.at_mut(position), now, &mut self.random);
        let result = table.change(position, |entry| {
            let value = entry.value_mut().and_then(K::of_mut).ok_or(Error::WRONG_TYPE)?;
            Ok(edit(value))
        })?;
        if table.at(position).value().is_some_and(Value::is_empty) {
            self.take_at(position);
            self.emptied = true;
        }
        Ok(Some(result))
    }

    /// Sets a string, replacing any value.
    pub(crate) fn set_string(&mut self, key: &[u8], value: &[u8], deadline: Deadline) {
        self.write_early(key);
        let (policy, now, db, judged) = (self.policy, self.now, self.db, self.judged_ms());
        let database = &mut self.databases[db];
        let hash = database.table.hash(key);
        let Some(position) = database.table.find(hash, key) else {
            let mut entry = Entry::text(hash, key, value);
            if let Deadline::At(at) = deadline {
                entry.set_deadline(Some(at));
                database.deadlines.insert((at, hash));
            }
            policy.made(&mut entry, now);
            database.table.insert(entry);
            return self.event(EventClass::NEW, "new", key);
        };
        if !matches!(deadline, Deadline::At(_)) {
            let entry = database.table.at_mut(position);
            if entry.overwrite_short(value) {
                return policy.used(entry, now, &mut self.random);
            }
        }
        let old = database.table.at(position).deadline();
        // The deadline of an expired key that is not removed yet is not inherited.
        let new = match deadline {
            Deadline::Keep => old.filter(|at| *at > judged),
            Deadline::Clear => None,
            Deadline::At(at) => Some(at),
        };
        database.table.change(position, |entry| {
            if old.is_some() && new.is_none() {
                entry.set_deadline(None);
            }
            entry.set_string(value);
            entry.set_deadline(new);
            policy.used(entry, now, &mut self.random);
        });
        if old != new {
            database.move_deadline(old, new, hash);
        }
    }

    /// Stores a value, replacing any previous one; an empty value removes the key.
    pub(crate) fn put(&mut self, key: &[u8], value: Value) {
        self.take(key);
        if !value.is_empty() {
            let entry = Entry::object(self.databases[self.db].table.hash(key), key, value);
            self.insert_entry(entry);
        }
    }

    /// Inserts an entry whose key does not exist.
    pub(crate) fn insert_entry(&mut self, mut entry: Entry) {
        self.write_early(entry.key());
        self.policy.made(&mut entry, self.now);
        let database = &mut self.databases[self.db];
        if let Some(at) = entry.deadline() {
            database.deadlines.insert((at, entry.hash()));
        }
        database.table.insert(entry);
    }

    /// Removes and returns an entry.
    pub(crate) fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let position = self.position(key)?;
        Some(self.take_at(position))
    }

    /// Removes a key and emits the notifications.
    pub(crate) fn delete(&mut self, key: &[u8]) -> bool {
        let existed = self.take(key).is_some();
        if existed {
            self.changed(key);
            self.event(EventClass::GENERIC, "del", key);
        }
        existed
    }

    fn take_at(&mut self, position: Position) -> Entry {
        if self.snapshot.is_some() {
            let key: Box<[u8]> = self.databases[self.db].table.at(position).key().into();
            self.write_early(&key);
        }
        let database = &mut self.databases[self.db];
        let entry = database.table.take(position);
        if let Some(at) = entry.deadline() {
            database.forget_deadline(at, entry.hash());
        }
        entry
    }

    /// Sets or removes a key's deadline; `false` if the key does not exist.
    pub(crate) fn set_deadline(&mut self, key: &[u8], deadline: Option<u64>) -> bool {
        let Some(position) = self.position(key) else { return false };
        self.write_early(key);
        let database = &mut self.databases[self.db];
        let (hash, old) = (database.table.at(position).hash(), database.table.at(position).deadline());
        database.table.change(position, |entry| entry.set_deadline(deadline));
        database.move_deadline(old, deadline, hash);
        true
    }

    /// Removes an expired key.
    fn expire(&mut self, db: usize, position: Position) {
        let before = std::mem::replace(&mut self.db, db);
        let entry = self.take_at(position);
        self.counters.expired += 1;
        self.watch.touch(db, entry.key());
        self.log.append(db, &[b"DEL", entry.key()]);
        self.event(EventClass::EXPIRED, "expired", entry.key());
        self.db = before;
    }

    /// Empties one database or all, and returns the number of keys.
    pub(crate) fn flush(&mut self, db: Option<usize>) -> usize {
        let mut removed = 0;
        for at in 0..self.databases.len() {
            if db.is_none_or(|db| db == at) {
                let database = &self.databases[at];
                self.watch.touch_all(at, |key| database.table.contains(key));
                removed += database.table.len();
                let held = std::mem::replace(&mut self.databases[at], Database::new(&self.hasher));
                self.retain_database(at, held);
            }
        }
        removed
    }

    /// Exchanges two databases.
    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        for at in [a, b] {
            let (left, right) = (&self.databases[a].table, &self.databases[b].table);
            self.watch.touch_all(at, |key| left.contains(key) || right.contains(key));
        }
        self.databases.swap(a, b);
        self.track_swap(a, b);
        if self.dump.is_some() {
            self.begin_dump();
        }
        for at in [a, b] {
            let awaited = self.awaited.keys().filter(|(db, _)| *db == at);
            self.ready.extend(awaited.filter(|(_, key)| self.databases[at].table.contains(key)).cloned());
        }
    }

    /// A random key that has not expired.
    pub(crate) fn random_key(&mut self) -> Option<Box<[u8]>> {
        for _ in 0..crate::limits::RANDOM_TRIES {
            let key: Box<[u8]> = self.databases[self.db].table.random(&mut self.random)?.key().into();
            if self.exists(&key) {
                return Some(key);
            }
        }
        None
    }
}
