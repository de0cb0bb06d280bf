//! Properties of commands: name, arity, flags, positions of keys, group.

use crate::args::is;
use crate::number;

/// The flags of a command, as returned by `COMMAND`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// May modify keys.
    pub const WRITE: Self = Self(1);
    /// Reads keys.
    pub const READ_ONLY: Self = Self(1 << 1);
    /// May need more memory.
    pub const DENY_OOM: Self = Self(1 << 2);
    /// Is administrative.
    pub const ADMIN: Self = Self(1 << 3);
    /// Concerns publish/subscribe.
    pub const PUBSUB: Self = Self(1 << 4);
    /// May block.
    pub const BLOCKING: Self = Self(1 << 5);
    /// Takes time independent of the number of elements.
    pub const FAST: Self = Self(1 << 6);
    /// Is allowed before authentication.
    pub const NO_AUTH: Self = Self(1 << 7);
    /// Is not allowed in a transaction.
    pub const NO_MULTI: Self = Self(1 << 8);
    /// Is dangerous (an ACL category).
    pub const DANGEROUS: Self = Self(1 << 9);
    /// Is allowed for RESP2 subscribers.
    pub const LISTENER: Self = Self(1 << 10);

    /// The union of both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The positions of a command's keys among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// The command has no keys.
    None,
    /// Every `step`th argument from the first to the last position (negative: from the end).
    Range {
        /// Position of the first key.
        first: u8,
        /// Position of the last key.
        last: i8,
        /// Distance between keys.
        step: u8,
    },
    /// The argument at `at` is the number of keys after it; `also` is the position of a further key, or 0.
    Counted {
        /// Position of the number.
        at: u8,
        /// Position of a further key.
        also: u8,
    },
    /// The first argument, and the arguments after STORE.
    Store,
}

impl Keys {
    /// The first argument is the only key.
    pub const fn single() -> Self {
        Self::range(1, 1, 1)
    }

    /// Every `step`th argument from `first` to `last`.
    pub const fn range(first: u8, last: i8, step: u8) -> Self {
        Self::Range { first, last, step }
    }

    /// First position, last position and step, as returned by `COMMAND`.
    pub(crate) fn triple(self) -> (i64, i64, i64) {
        match self {
            Self::None | Self::Counted { also: 0, .. } => (0, 0, 0),
            Self::Store => (1, 1, 1),
            Self::Counted { also, .. } => (i64::from(also), i64::from(also), 1),
            Self::Range { first, last, step } => (i64::from(first), i64::from(last), i64::from(step)),
        }
    }

    /// The positions of the keys among these arguments.
    pub(crate) fn positions(self, args: &[&[u8]]) -> impl Iterator<Item = usize> + use<> {
        let (before, first, last, step, after) = match self {
            Self::None => (None, 1, 0, 1, None),
            Self::Range { first, last, step } => {
                let last = if last < 0 { args.len() as i64 + i64::from(last) } else { i64::from(last) };
                (None, usize::from(first), last, usize::from(step), None)
            }
            Self::Counted { at, also } => {
                let count = args.get(usize::from(at)).and_then(|text| number::integer(text)).unwrap_or(0);
                let last = i64::from(at).saturating_add(count.max(0));
                ((also > 0).then_some(usize::from(also)), usize::from(at) + 1, last, 1, None)
            }
            Self::Store => (None, 1, 1, 1, stored_at(args)),
        };
        let end = usize::try_from(last + 1).unwrap_or(0).min(args.len());
        before.into_iter().chain((first..end.max(first)).step_by(step.max(1))).chain(after)
    }
}

/// The position of the last key after STORE. Arguments of other options of SORT are skipped, as in Redis.
fn stored_at(args: &[&[u8]]) -> Option<usize> {
    let (mut at, mut found) = (2, None);
    while at < args.len() {
        at += match args[at] {
            word if is(word, "limit") => 3,
            word if is(word, "by") || is(word, "get") => 2,
            word if is(word, "store") && at + 1 < args.len() => {
                found = Some(at + 1);
                2
            }
            _ => 1,
        };
    }
    found
}

/// The group of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Keys of any type.
    Generic,
    /// Strings.
    String,
    /// Lists.
    List,
    /// Hashes.
    Hash,
    /// Sets.
    Set,
    /// Sorted sets.
    SortedSet,
    /// Bitmaps.
    Bitmap,
    /// Publish/subscribe.
    PubSub,
    /// Connections.
    Connection,
    /// Transactions.
    Transactions,
    /// The server.
    Server,
}

/// The properties of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    pub(crate) keys: Keys,
    pub(crate) group: Group,
}

impl Spec {
    /// Whether the arity permits this number of arguments.
    pub(crate) fn takes(&self, args: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= arity } else { args == arity }
    }

    /// Whether its time depends little on the data.
    pub(crate) fn is_fast(&self) -> bool {
        self.flags.contains(Flags::FAST) || self.name == "set"
    }

    /// Whether it accesses only keys, so that it cannot affect the checks of later commands.
    pub(crate) fn concerns_keys(&self) -> bool {
        use Group::{Bitmap, Generic, Hash, List, Set, SortedSet, String};
        let group = matches!(self.group, Generic | String | List | Hash | Set | SortedSet | Bitmap);
        group && !self.flags.contains(Flags::BLOCKING.with(Flags::ADMIN))
    }

    /// Whether it runs immediately within a transaction.
    pub(crate) fn ends_transaction(&self) -> bool {
        matches!(self.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
    }

    /// Whether it is in an ACL category.
    pub(crate) fn is_in(&self, category: &str) -> bool {
        let group = |wanted: Group| self.group == wanted;
        match category {
            "all" => true,
            "keyspace" => group(Group::Generic),
            "read" => self.flags.contains(Flags::READ_ONLY),
            "write" => self.flags.contains(Flags::WRITE),
            "set" => group(Group::Set),
            "sortedset" => group(Group::SortedSet),
            "list" => group(Group::List),
            "hash" => group(Group::Hash),
            "string" => group(Group::String),
            "bitmap" => group(Group::Bitmap),
            "pubsub" => group(Group::PubSub),
            "admin" => self.flags.contains(Flags::ADMIN),
            "fast" => self.flags.contains(Flags::FAST),
            "slow" => !self.flags.contains(Flags::FAST),
            "blocking" => self.flags.contains(Flags::BLOCKING),
            "dangerous" => self.flags.contains(Flags::DANGEROUS.with(Flags::ADMIN)),
            "connection" => group(Group::Connection),
            "transaction" => group(Group::Transactions),
            _ => false,
        }
    }
}

/// Whether an ACL category with this name exists.
pub(crate) fn is_category(name: &str) -> bool {
    name == "all" || CATEGORIES.contains(&name)
}

/// The categories listed by `ACL CAT`.
pub(crate) const CATEGORIES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];
