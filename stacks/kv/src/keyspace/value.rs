//! What a key can hold beside a short string.

use super::hasher::Hasher;
use super::sequence::Sequence;
use super::short::Short;
use super::table::Table;
use super::zset::Zset;

/// A value that has a place of its own, with its key and deadline.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) key: Box<[u8]>,
    pub(crate) deadline: Option<u64>,
    pub(crate) value: Value,
}

/// The types that are no short strings.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A string that was appended to.
    Text(Vec<u8>),
    List(List),
    Hash(Hash),
    Set(Set),
    Zset(Zset),
}

/// A list's elements.
pub(crate) type List = Sequence<Short>;

/// Fields and their values.
#[derive(Debug, Clone)]
pub(crate) struct Hash(pub(crate) Table);

/// Members.
#[derive(Debug, Clone)]
pub(crate) struct Set(pub(crate) Table);

impl Value {
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.capacity(),
            Self::List(list) => list.memory_bytes(),
            Self::Hash(hash) => hash.0.memory_bytes(),
            Self::Set(set) => set.0.memory_bytes(),
            Self::Zset(zset) => zset.memory_bytes(),
        }
    }

    /// As `TYPE` names it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
        }
    }

    /// As `OBJECT ENCODING` names what is nearest to it.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Text(_) => "raw",
            Self::List(_) => "quicklist",
            Self::Hash(_) | Self::Set(_) => "hashtable",
            Self::Zset(_) => "skiplist",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(list) => list.len() == 0,
            Self::Hash(hash) => hash.0.len() == 0,
            Self::Set(set) => set.0.len() == 0,
            Self::Zset(zset) => zset.len() == 0,
        }
    }
}

/// A type of value that commands ask for.
pub(crate) trait Kind: Sized {
    fn empty(hasher: Hasher) -> Value;
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
}

macro_rules! kind {
    ($type:ty, $variant:ident, $empty:expr) => {
        impl Kind for $type {
            fn empty(hasher: Hasher) -> Value {
                let empty: fn(Hasher) -> $type = $empty;
                Value::$variant(empty(hasher))
            }
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }
            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }
        }
    };
}

kind!(List, List, |_| Sequence::new());
kind!(Hash, Hash, |hasher| Hash(Table::new(hasher)));
kind!(Set, Set, |hasher| Set(Table::new(hasher)));
kind!(Zset, Zset, Zset::new);
