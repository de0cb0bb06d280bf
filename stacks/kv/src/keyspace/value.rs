//! Values other than short strings.

use super::entry::EntryValue;
use super::hash::Hash;
use super::hasher::Hasher;
use super::list::List;
use super::set::Set;
use super::zset::Zset;

/// An entry of a database.
pub(crate) type Entry = super::entry::Entry<Value>;

/// The keys of a database.
pub(crate) type Table = super::table::Table<Value>;

/// All types other than short strings.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A growing string.
    Text(Vec<u8>),
    List(List),
    Hash(Hash),
    Set(Set),
    Zset(Zset),
}

impl Value {
    /// The name that `TYPE` returns.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
        }
    }

    /// The name that `OBJECT ENCODING` returns in Redis 7.0.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Text(_) => "raw",
            Self::List(_) => "quicklist",
            Self::Hash(hash) if hash.is_small() => "listpack",
            Self::Set(set) if set.is_integers() => "intset",
            Self::Hash(_) | Self::Set(_) => "hashtable",
            Self::Zset(zset) if zset.is_small() => "listpack",
            Self::Zset(_) => "skiplist",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(list) => list.len() == 0,
            Self::Hash(hash) => hash.len() == 0,
            Self::Set(set) => set.len() == 0,
            Self::Zset(zset) => zset.len() == 0,
        }
    }
}

impl EntryValue for Value {
    fn from_text(text: Vec<u8>) -> Self {
        Self::Text(text)
    }

    fn text(&self) -> Option<&[u8]> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn text_mut(&mut self) -> Option<&mut Vec<u8>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.capacity(),
            Self::List(list) => list.memory_bytes(),
            Self::Hash(hash) => hash.memory_bytes(),
            Self::Set(set) => set.memory_bytes(),
            Self::Zset(zset) => zset.memory_bytes(),
        }
    }
}

/// A type of value that commands operate on.
pub(crate) trait ValueType: Sized {
    fn empty(hasher: Hasher) -> Value;
    fn from_value(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
}

macro_rules! kind {
    ($type:ty, $variant:ident, $empty:expr) => {
        impl ValueType for $type {
            fn empty(hasher: Hasher) -> Value {
                let empty: fn(Hasher) -> $type = $empty;
                Value::$variant(empty(hasher))
            }
            fn from_value(value: &Value) -> Option<&Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }
            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }
        }
    };
}

kind!(List, List, |_| List::new());
kind!(Hash, Hash, Hash::new);
kind!(Set, Set, Set::new);
kind!(Zset, Zset, Zset::new);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_have_little_overhead() {
        assert!(size_of::<Value>() <= 48);
    }
}
