//! What is known of a command: name, arity, what it does, where its keys stand, what it is about.

use crate::args::is;
use crate::number;

/// What a command does, as `COMMAND` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// It may change keys.
    pub const WRITE: Self = Self(1);
    /// It reads keys.
    pub const READ_ONLY: Self = Self(1 << 1);
    /// It may need more memory.
    pub const DENY_OOM: Self = Self(1 << 2);
    /// It is for operators.
    pub const ADMIN: Self = Self(1 << 3);
    /// It is about channels.
    pub const PUBSUB: Self = Self(1 << 4);
    /// It may wait.
    pub const BLOCKING: Self = Self(1 << 5);
    /// Its time does not depend on the number of elements.
    pub const FAST: Self = Self(1 << 6);
    /// It runs before a client has said who it is.
    pub const NO_AUTH: Self = Self(1 << 7);
    /// It cannot be queued in a transaction.
    pub const NO_MULTI: Self = Self(1 << 8);
    /// It can do harm.
    pub const DANGEROUS: Self = Self(1 << 9);
    /// A subscriber in RESP2 may use it, too.
    pub const LISTENER: Self = Self(1 << 10);

    /// Both.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of the other's is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Where a command's keys stand among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// It has none.
    None,
    /// From the first to the last (negative: from the end), each `step` arguments.
    Range {
        /// Position of the first.
        first: u8,
        /// Position of the last.
        last: i8,
        /// Arguments from one to the next.
        step: u8,
    },
    /// The argument at `at` tells how many follow; at `also` there is one more, unless that is 0.
    Counted {
        /// Position of the number.
        at: u8,
        /// Position of a key that is not counted.
        also: u8,
    },
    /// The first argument, and what follows the last STORE.
    Store,
}

impl Keys {
    /// The first argument is the only key.
    pub const fn one() -> Self {
        Self::range(1, 1, 1)
    }

    /// From `first` to `last`, each `step` arguments.
    pub const fn range(first: u8, last: i8, step: u8) -> Self {
        Self::Range { first, last, step }
    }

    /// First, last and step as `COMMAND` tells them.
    pub(crate) fn triple(self) -> (i64, i64, i64) {
        match self {
            Self::None | Self::Counted { also: 0, .. } => (0, 0, 0),
            Self::Store => (1, 1, 1),
            Self::Counted { also, .. } => (i64::from(also), i64::from(also), 1),
            Self::Range { first, last, step } => (i64::from(first), i64::from(last), i64::from(step)),
        }
    }

    /// Positions of the keys in a command of so many arguments.
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
            Self::Store => {
                let store = (2..args.len().max(3) - 1).rev().find(|at| is(args[*at], "store"));
                (None, 1, 1, 1, store.map(|at| at + 1))
            }
        };
        let end = usize::try_from(last + 1).unwrap_or(0).min(args.len());
        before.into_iter().chain((first..end.max(first)).step_by(step.max(1))).chain(after)
    }
}

/// What a command is about.
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
    /// Strings as bits.
    Bitmap,
    /// Channels.
    PubSub,
    /// Connections.
    Connection,
    /// Transactions.
    Transactions,
    /// The server itself.
    Server,
}

/// What is known of a command, whatever runs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    pub(crate) keys: Keys,
    pub(crate) group: Group,
}

impl Spec {
    /// Whether so many arguments are neither too few nor too many.
    pub(crate) fn takes(&self, args: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= arity } else { args == arity }
    }

    /// Its time depends on little but its arguments.
    pub(crate) fn is_quick(&self) -> bool {
        self.flags.contains(Flags::FAST) || self.name == "set"
    }

    /// It only reads or writes keys: it changes nothing that another command's admission depends on.
    pub(crate) fn concerns_keys(&self) -> bool {
        use Group::{Bitmap, Generic, Hash, List, Set, SortedSet, String};
        let group = matches!(self.group, Generic | String | List | Hash | Set | SortedSet | Bitmap);
        group && !self.flags.contains(Flags::BLOCKING.with(Flags::ADMIN))
    }

    /// Runs at once although a transaction is open.
    pub(crate) fn ends_transaction(&self) -> bool {
        matches!(self.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
    }

    /// Categories of access control, as ACL names them.
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

/// Whether access control knows a category by this name.
pub(crate) fn is_category(name: &str) -> bool {
    name == "all" || CATEGORIES.contains(&name)
}

/// The categories that `ACL CAT` lists.
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
