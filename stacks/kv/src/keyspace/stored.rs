//! Conversion between entries and the RDB format.

use super::Keyspace;
use super::hash::{Hash, SmallLimits};
use super::hasher::Hasher;
use super::list::List;
use super::set::Set;
use super::value::{Entry, Value, ValueType as _};
use super::zset::Zset;
use crate::rdb::{Header, Part, RdbFault, Sink, ValueKind, ValueReader, ValueWriter, write_payload};
use crate::timestamp::Timestamp;

/// The result of loading a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Keys loaded.
    pub keys: u64,
    /// Keys that had expired.
    pub expired: u64,
    /// Keys with empty values, which some versions of Redis left behind.
    pub empty: u64,
}

/// The type of an entry's value.
pub(super) fn kind(entry: &Entry) -> ValueKind {
    match entry.value() {
        None | Some(Value::Text(_)) => ValueKind::String,
        Some(Value::List(_)) => ValueKind::List,
        Some(Value::Hash(_)) => ValueKind::Hash,
        Some(Value::Set(_)) => ValueKind::Set,
        Some(Value::Zset(_)) => ValueKind::Zset,
    }
}

/// Writes an entry's value.
pub(super) fn write_value(entry: &Entry, to: &mut ValueWriter, out: &mut Vec<u8>) {
    match entry.value() {
        None | Some(Value::Text(_)) => to.part(Part::Element(entry.string().unwrap_or_default()), out),
        Some(Value::List(list)) => {
            to.count(list.len(), out);
            list.iter().for_each(|element| to.part(Part::Element(element), out));
        }
        Some(Value::Set(set)) => {
            to.count(set.len(), out);
            set.iter().for_each(|member| to.part(Part::Element(member.as_slice()), out));
        }
        Some(Value::Hash(hash)) => {
            to.count(hash.len(), out);
            hash.iter().for_each(|field| to.part(Part::Field(field.name, field.value), out));
        }
        Some(Value::Zset(zset)) => {
            to.count(zset.len(), out);
            // In descending order, as in Redis, which then inserts each at the front.
            let members = zset.iter_back_from(zset.len().saturating_sub(1));
            members.for_each(|scored| to.part(Part::Scored(scored.member, scored.score), out));
        }
    }
}

/// The payload of DUMP.
pub(crate) fn payload(entry: &Entry) -> Vec<u8> {
    write_payload(kind(entry), |to, out| write_value(entry, to, out))
}

/// A value that is received in parts.
#[derive(Debug)]
enum Growing {
    /// Any string: a short one becomes an inline entry.
    Text(Vec<u8>),
    Value(Value),
}

impl Growing {
    fn new(kind: ValueKind, hasher: &Hasher) -> Self {
        Self::Value(match kind {
            ValueKind::String => return Self::Text(Vec::new()),
            ValueKind::List => List::empty(hasher.clone()),
            ValueKind::Set => Set::empty(hasher.clone()),
            ValueKind::Hash => Hash::empty(hasher.clone()),
            ValueKind::Zset => Zset::empty(hasher.clone()),
        })
    }

    fn add(&mut self, part: Part<'_>, small: SmallLimits) -> Result<(), RdbFault> {
        let new = match (self, part) {
            (Self::Text(text), Part::Element(bytes)) => {
                text.extend_from_slice(bytes);
                true
            }
            (Self::Value(Value::List(list)), Part::Element(element)) => {
                list.push_back(element);
                true
            }
            (Self::Value(Value::Set(set)), Part::Element(member)) => set.add(member, small),
            (Self::Value(Value::Hash(hash)), Part::Field(field, value)) => hash.set(field, value, small),
            (Self::Value(Value::Zset(zset)), Part::Scored(member, score)) => {
                zset.insert(member, score, small).is_none()
            }
            _ => return Err(RdbFault::Damaged("a part that does not match the type of the value")),
        };
        if new { Ok(()) } else { Err(RdbFault::Twice("a member or field")) }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Value(value) if value.is_empty())
    }

    fn entry(self, hash: u32, key: &[u8]) -> Entry {
        match self {
            Self::Text(text) => Entry::text(hash, key, &text),
            Self::Value(value) => Entry::object(hash, key, value),
        }
    }
}

/// The key and value being received.
#[derive(Debug, Default)]
pub(crate) struct PendingKey(Option<(Header, Growing)>);

/// Inserts the contents of a snapshot into the databases.
pub(crate) struct KeyspaceSink<'a> {
    pub(crate) keys: &'a mut Keyspace,
    pub(crate) coming: &'a mut PendingKey,
    pub(crate) loaded: &'a mut Loaded,
}

impl Sink for KeyspaceSink<'_> {
    fn begin(&mut self, header: Header) -> Result<(), RdbFault> {
        let databases = self.keys.databases();
        if header.db >= databases {
            return Err(RdbFault::Database(header.db as u64, databases));
        }
        let growing = Growing::new(header.kind, &self.keys.hasher);
        self.coming.0 = Some((header, growing));
        Ok(())
    }

    fn part(&mut self, part: Part<'_>) -> Result<(), RdbFault> {
        let small = self.keys.small;
        self.coming.0.as_mut().map_or(Ok(()), |(_, growing)| growing.add(part, small))
    }

    fn end(&mut self) -> Result<(), RdbFault> {
        let Some((header, growing)) = self.coming.0.take() else { return Ok(()) };
        if growing.is_empty() {
            self.loaded.empty += 1;
            return Ok(());
        }
        if header.deadline.is_some_and(|at| at <= self.keys.now.unix_ms) {
            self.loaded.expired += 1;
            return Ok(());
        }
        self.keys.db = header.db;
        let table = self.keys.table();
        let hash = table.hash(&header.key);
        if table.find(hash, &header.key).is_some() {
            return Err(RdbFault::Twice("the key"));
        }
        let mut entry = growing.entry(hash, &header.key);
        entry.set_deadline(header.deadline);
        if self.keys.log.is_on() {
            // Logs the key as well, for storages and replicas.
            let at = header.deadline.unwrap_or(0);
            let (mut digits, payload) = (itoa::Buffer::new(), payload(&entry));
            let at = digits.format(at).as_bytes();
            self.keys.log.append(header.db, &[b"RESTORE", &header.key, at, &payload, b"REPLACE", b"ABSTTL"]);
        }
        self.keys.insert_entry(entry);
        self.keys.set_usage(&header.key, header.usage);
        self.loaded.keys += 1;
        Ok(())
    }
}

/// A single value without a key.
struct Single<'a> {
    hasher: &'a Hasher,
    small: SmallLimits,
    growing: Option<Growing>,
}

impl Sink for Single<'_> {
    fn begin(&mut self, header: Header) -> Result<(), RdbFault> {
        self.growing = Some(Growing::new(header.kind, self.hasher));
        Ok(())
    }

    fn part(&mut self, part: Part<'_>) -> Result<(), RdbFault> {
        let small = self.small;
        self.growing.as_mut().map_or(Ok(()), |growing| growing.add(part, small))
    }

    fn end(&mut self) -> Result<(), RdbFault> {
        let empty = self.growing.as_ref().is_none_or(Growing::is_empty);
        if empty { Err(RdbFault::Damaged("an empty value")) } else { Ok(()) }
    }
}

impl Keyspace {
    /// Decodes a checked payload as an entry for this key.
    pub(crate) fn entry_of_payload(&self, key: &[u8], value: &[u8]) -> Result<Entry, RdbFault> {
        let mut single = Single { hasher: &self.hasher, small: self.small, growing: None };
        ValueReader::read_all(value, &mut single)?;
        let growing = single.growing.ok_or(RdbFault::CutOff)?;
        Ok(growing.entry(self.table().hash(key), key))
    }

    /// Applies access information from a snapshot if the policy uses it.
    pub(crate) fn set_usage(&mut self, key: &[u8], usage: crate::rdb::Usage) {
        let (policy, now): (_, Timestamp) = (self.policy, self.now);
        let table = &mut self.databases[self.db].table;
        if let Some(position) = table.find(table.hash(key), key) {
            policy.restored(table.at_mut(position), now, usage);
        }
    }
}
