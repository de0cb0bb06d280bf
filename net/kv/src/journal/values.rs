//! For a storage that keeps values: determines which keys an iteration has changed, and their new values.

use std::collections::BTreeSet;

use netdyno_kv_core::Engine;
use netdyno_resp::write_command;

use crate::storage::{EMPTIED, commands};

/// Extracts commands from the log.
#[derive(Default)]
pub(super) struct Values {
    /// The database selected for the next command.
    db: usize,
}

/// The changed keys. Only the state after the iteration matters.
struct Changed<'a> {
    engine: &'a Engine,
    db: usize,
    keys: BTreeSet<(usize, Box<[u8]>)>,
    /// Databases that were emptied.
    all_emptied: bool,
    emptied: BTreeSet<usize>,
    /// Databases that were exchanged by SWAPDB.
    swapped: BTreeSet<usize>,
}

impl Values {
    /// The result of the logged commands, in the form that [`changes`](crate::storage::changes) reads.
    pub(super) fn take(&mut self, engine: &mut Engine) -> Vec<u8> {
        let log = std::mem::take(engine.take_log());
        let mut changed = Changed {
            engine,
            db: self.db,
            keys: BTreeSet::new(),
            all_emptied: false,
            emptied: BTreeSet::new(),
            swapped: BTreeSet::new(),
        };
        commands(&log).for_each(|command| changed.record(&command));
        self.db = changed.db;
        changed.encode()
    }
}

impl Changed<'_> {
    fn record(&mut self, command: &[&[u8]]) {
        let database = |at: usize| std::str::from_utf8(command.get(at)?).ok()?.parse::<usize>().ok();
        let Some(name) = command.first() else { return };
        match name.to_ascii_lowercase().as_slice() {
            b"select" => self.db = database(1).unwrap_or(self.db),
            b"flushdb" => {
                self.emptied.insert(self.db);
            }
            b"flushall" => self.all_emptied = true,
            b"swapdb" => self.swapped.extend([1, 2].into_iter().filter_map(database)),
            // These commands change a key in another database.
            b"move" => self.changed(database(2), command.get(1)),
            b"copy" => {
                let word = command.iter().skip(3).position(|word| word.eq_ignore_ascii_case(b"db"));
                self.changed(word.and_then(|at| database(at + 4)), command.get(2));
            }
            _ => {}
        }
        for at in self.engine.key_positions(command) {
            self.changed(Some(self.db), command.get(at));
        }
    }

    fn changed(&mut self, db: Option<usize>, key: Option<&&[u8]>) {
        self.keys.extend(db.zip(key).map(|(db, key)| (db, Box::from(*key))));
    }

    fn encode(&self) -> Vec<u8> {
        let (mut out, mut value) = (Vec::new(), Vec::new());
        if self.all_emptied {
            write_command(&mut out, &[EMPTIED]);
        }
        for db in self.emptied.union(&self.swapped) {
            write_command(&mut out, &[EMPTIED, db.to_string().as_bytes()]);
        }
        for db in &self.swapped {
            let db_text = db.to_string();
            self.engine.write_database(*db, |key, value| {
                write_command(&mut out, &[db_text.as_bytes(), key, value]);
            });
        }
        for (db, key) in self.keys.iter().filter(|(db, _)| !self.swapped.contains(db)) {
            let db_text = db.to_string();
            value.clear();
            if self.engine.write_key(*db, key, &mut value) {
                write_command(&mut out, &[db_text.as_bytes(), key, &value]);
            } else {
                write_command(&mut out, &[db_text.as_bytes(), key]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use netdyno_kv_core::{Config, Timestamp};

    use super::*;
    use crate::storage::{Change, Loader, Storage, StorageError, changes};

    const NOW: Timestamp = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };

    /// The contents of a storage of values.
    #[derive(Default)]
    struct Kept(BTreeMap<(usize, Vec<u8>), Vec<u8>>);

    impl Storage for Kept {
        fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError> {
            self.0.iter().try_for_each(|((db, _), value)| loader.load_value(*db, value))
        }

        fn commit(&mut self, batch: &[u8]) -> Result<(), StorageError> {
            for change in changes(batch) {
                match change {
                    Change::Emptied(None) => self.0.clear(),
                    Change::Emptied(Some(db)) => self.0.retain(|(other, _), _| *other != db),
                    Change::Key { db, key, value: None } => drop(self.0.remove(&(db, key.to_vec()))),
                    Change::Key { db, key, value: Some(value) } => {
                        self.0.insert((db, key.to_vec()), value.to_vec());
                    }
                }
            }
            Ok(())
        }
    }

    /// All keys of an engine, in order.
    fn receives_messages(engine: &Engine) -> BTreeMap<(usize, Vec<u8>), Vec<u8>> {
        let mut all = BTreeMap::new();
        for db in 0..4 {
            engine.write_database(db, |key, value| drop(all.insert((db, key.to_vec()), value.to_vec())));
        }
        all
    }

    /// A linear congruential generator.
    fn next(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    }

    #[test]
    fn stored_values_match_the_keyspace() {
        let lines = [
            "SET k1 a",
            "SET k2 b PX 99999",
            "APPEND k1 x",
            "DEL k1 k3",
            "RENAME k2 k3",
            "MOVE k3 2",
            "COPY k1 k4 DB 3 REPLACE",
            "COPY k1 k2",
            "SELECT 0",
            "SELECT 2",
            "SELECT 3",
            "SWAPDB 0 2",
            "SWAPDB 2 3",
            "FLUSHDB",
            "FLUSHALL",
            "HSET h1 f v g w",
            "HDEL h1 f",
            "RPUSH l1 a b c",
            "LMOVE l1 l2 LEFT RIGHT",
            "LPOP l2",
            "SADD s1 1 2 3",
            "SADD s2 2 x",
            "SUNIONSTORE s3 s1 s2",
            "SPOP s3",
            "ZADD z1 1 a 2 b",
            "ZPOPMIN z1",
            "SORT l1 ALPHA STORE l3",
            "EXPIRE k1 100",
            "PERSIST k1",
            "MULTI",
            "EXEC",
            "MSET k1 1 k2 2 k3 3",
            "INCR k1",
            "BITOP OR k4 k1 k2",
            "ZUNIONSTORE z2 1 z1",
            "EXPIREAT k2 1",
        ];
        for seed in 0..40 {
            let mut state = seed;
            let mut engine = Engine::new(Config::default(), seed);
            engine.record(true);
            let session = engine.open(NOW, "test");
            let (mut values, mut kept) = (Values::default(), Kept::default());
            for _ in 0..200 {
                for _ in 0..=next(&mut state) % 6 {
                    let line = lines[next(&mut state) % lines.len()];
                    let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
                    engine.execute(NOW, session, &words, &mut Vec::new());
                }
                kept.commit(&values.take(&mut engine)).unwrap();
                assert_eq!(kept.0, receives_messages(&engine), "seed {seed}");
            }
            let mut again = Engine::new(Config::default(), 9);
            let replayed = Loader::run(&mut kept, &mut again).unwrap();
            assert_eq!(replayed.refused, 0);
            let sorted = |engine: &Engine| receives_messages(engine).into_keys().collect::<Vec<_>>();
            assert_eq!(sorted(&again), sorted(&engine));
        }
    }
}
