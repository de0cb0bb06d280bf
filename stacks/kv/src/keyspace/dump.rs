//! Dumps the keyspace as commands, in parts, for a rewritten append-only file.
//!
//! Commands execute between the parts. Appending each part and the contents of [`Log`](super::Log) in order
//! produces a consistent file. Before a command changes a key that the dump has not reached, the values of
//! its keys are logged, so that the command has the same effect when replayed.

use std::collections::BTreeSet;

use netdyno_resp::{Protocol, Reply, write_command};

use super::{Entry, Keyspace, Member, Value};

/// Elements of a list, hash or set per command.
const ELEMENTS_PER_COMMAND: usize = 64;
/// Entries between checks of the output size.
const ENTRIES_PER_STEP: usize = 16;

/// The progress of a dump.
#[derive(Debug, Default)]
pub(crate) struct Dump {
    db: usize,
    cursor: u64,
    selected: bool,
    /// Keys that were logged before the dump reached them.
    early: BTreeSet<(usize, Box<[u8]>)>,
}

impl Keyspace {
    /// Starts a dump.
    pub(crate) fn begin_dump(&mut self) {
        self.dump = Some(Dump::default());
    }

    /// Appends the next part, at most `budget` bytes plus one value; `true` for the last part.
    pub(crate) fn dump(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        let Some(mut dump) = self.dump.take() else { return true };
        let start = out.len();
        dump.selected = false;
        // The part selects its own databases, so the log must select again.
        self.log.select_again();
        while out.len() - start < budget {
            let Some(database) = self.databases.get(dump.db) else { return true };
            if !dump.selected && database.table.len() > 0 {
                write_command(out, &[b"SELECT", itoa::Buffer::new().format(dump.db).as_bytes()]);
                dump.selected = true;
            }
            dump.cursor = database.table.scan(dump.cursor, ENTRIES_PER_STEP, |entry| write_entry(entry, out));
            if dump.cursor == 0 {
                dump.db += 1;
                dump.selected = false;
            }
        }
        self.dump = Some(dump);
        false
    }

    /// Dumps a key early because a command is about to change it or to copy from it.
    pub(crate) fn dump_early(&mut self, key: &[u8]) {
        let Some(dump) = &mut self.dump else { return };
        let table = &self.databases[self.db].table;
        let hash = table.hash(key);
        let reached = self.db < dump.db || self.db == dump.db && u64::from(hash) < dump.cursor;
        if reached || !dump.early.insert((self.db, key.into())) {
            return;
        }
        if let Some(position) = table.find(hash, key) {
            let mut commands = Vec::new();
            write_entry(table.at(position), &mut commands);
            self.log.append_raw(self.db, &commands);
        }
    }
}

/// Writes commands that recreate this entry, whatever the key holds.
pub(super) fn write_entry(entry: &Entry, out: &mut Vec<u8>) {
    let key = entry.key();
    let mut digits = itoa::Buffer::new();
    if let Some(text) = entry.string() {
        match entry.deadline() {
            Some(at) => write_command(out, &[b"SET", key, text, b"PXAT", digits.format(at).as_bytes()]),
            None => write_command(out, &[b"SET", key, text]),
        }
        return;
    }
    write_command(out, &[b"DEL", key]);
    match entry.value() {
        Some(Value::List(list)) => {
            let elements = list.iter().map(|element| [Some(Member::Text(element)), None]);
            write_elements(out, b"RPUSH", key, list.len(), elements);
        }
        Some(Value::Set(set)) => {
            write_elements(out, b"SADD", key, set.len(), set.iter().map(|member| [Some(member), None]));
        }
        Some(Value::Hash(hash)) => {
            let text = |text| Some(Member::Text(text));
            let fields = hash.iter().map(|field| [text(field.name), text(field.value)]);
            write_elements(out, b"HSET", key, hash.len(), fields);
        }
        Some(Value::Zset(zset)) => {
            let mut reply = Reply::new(out, Protocol::Resp2);
            let mut left = zset.len();
            for (at, scored) in zset.iter().enumerate() {
                if at % ELEMENTS_PER_COMMAND == 0 {
                    let count = left.min(ELEMENTS_PER_COMMAND);
                    left -= count;
                    reply.array(2 + 2 * count);
                    reply.bulk(b"ZADD");
                    reply.bulk(key);
                }
                reply.bulk_double(scored.score);
                reply.bulk(scored.member);
            }
        }
        Some(Value::Text(_)) | None => {}
    }
    if let Some(at) = entry.deadline() {
        write_command(out, &[b"PEXPIREAT", key, digits.format(at).as_bytes()]);
    }
}

fn write_elements<'a>(
    out: &mut Vec<u8>,
    name: &[u8],
    key: &[u8],
    mut left: usize,
    elements: impl Iterator<Item = [Option<Member<'a>>; 2]>,
) {
    let mut reply = Reply::new(out, Protocol::Resp2);
    for (at, element) in elements.enumerate() {
        let words = element.iter().flatten().count();
        if at % ELEMENTS_PER_COMMAND == 0 {
            let count = left.min(ELEMENTS_PER_COMMAND);
            left -= count;
            reply.array(2 + words * count);
            reply.bulk(name);
            reply.bulk(key);
        }
        element.into_iter().flatten().for_each(|word| reply.bulk(word.as_slice()));
    }
}
