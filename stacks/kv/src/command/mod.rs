//! Commands: what is known of each, what it runs in, and how it reads its arguments.

mod context;
mod table;

mod acl;
mod bitfield;
mod bitmap;
mod client;
mod config;
mod connection;
mod counter;
mod debug;
mod expire;
mod hash;
mod hash_scan;
mod info;
mod introspect;
mod key;
mod key_scan;
mod lcs;
mod list;
mod list_move;
mod pubsub;
mod save;
mod server;
mod set;
mod set_algebra;
mod sort;
mod string;
mod string_range;
mod transaction;
mod zset;
mod zset_algebra;
mod zset_pop;
mod zset_range;
mod zset_remove;

pub use context::Context;
pub(crate) use table::Commands;
pub(crate) use transaction::call;

use crate::error::Error;
use crate::number;

/// What runs a command. What it has replied is withdrawn if it fails.
pub type Run = fn(&mut Context<'_>, &[&[u8]]) -> Result<(), Error>;

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

/// A command: data about it, and what runs it.
#[derive(Clone, Copy)]
pub struct Command {
    pub(crate) name: &'static str,
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    pub(crate) keys: Keys,
    pub(crate) group: Group,
    pub(crate) run: Run,
    /// What its first argument can be, if it holds other commands.
    pub(crate) subcommands: &'static [Subcommand],
}

/// A command in another: name, arity with both names, what runs it.
pub(crate) type Subcommand = (&'static str, i32, Run);

impl Command {
    /// A command with its name in small letters. Its arity counts the name, too; negative, it is the least.
    pub const fn new(
        name: &'static str,
        arity: i32,
        flags: Flags,
        keys: Keys,
        group: Group,
        run: Run,
    ) -> Self {
        Self { name, arity, flags, keys, group, run, subcommands: &[] }
    }

    pub(crate) const fn containing(mut self, subcommands: &'static [Subcommand]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// Whether it can be run with these arguments, as far as their number tells; and its subcommand, if it has any.
    pub(crate) fn check(&self, args: &[&[u8]]) -> Result<Option<&'static str>, Error> {
        if !self.takes(args.len()) {
            return Err(wrong_arguments(self.name));
        }
        if self.subcommands.is_empty() || args.len() < 2 {
            return Ok(None);
        }
        find_subcommand(args, self.name, self.subcommands).map(|found| Some(found.0))
    }

    pub(crate) fn takes(&self, args: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= arity } else { args == arity }
    }
}

/// The error of a command that has too few arguments, or too many.
pub(crate) fn wrong_arguments(name: &str) -> Error {
    Error::new(format!("ERR wrong number of arguments for '{name}' command"))
}

/// Keys, and the arguments behind them.
pub(crate) type Split<'a, 'b> = (&'a [&'b [u8]], &'a [&'b [u8]]);

/// Whether an argument is a word, in capitals or not.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

pub(crate) fn integer(arg: &[u8]) -> Result<i64, Error> {
    number::integer(arg).ok_or(Error::NOT_INTEGER)
}

pub(crate) fn float(arg: &[u8]) -> Result<f64, Error> {
    number::float(arg).ok_or(Error::NOT_FLOAT)
}

/// A count that must not be negative.
pub(crate) fn count(arg: &[u8]) -> Result<usize, Error> {
    let value = number::integer(arg).ok_or(Error::OUT_OF_RANGE)?;
    usize::try_from(value).map_err(|_| Error::OUT_OF_RANGE)
}

/// Start and end as LRANGE and its kin count them: from the end if negative; `None` if nothing is between.
pub(crate) fn range(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).ok()?;
    let start = if start < 0 { (start + len).max(0) } else { start };
    let end = if end < 0 { end + len } else { end.min(len - 1) };
    (start <= end && start < len).then_some((start as usize, end as usize))
}

/// Runs the subcommand that the second argument names.
pub(crate) fn subcommand(
    context: &mut Context<'_>,
    args: &[&[u8]],
    container: &'static str,
    table: &[Subcommand],
) -> Result<(), Error> {
    (find_subcommand(args, container, table)?.2)(context, args)
}

fn find_subcommand(
    args: &[&[u8]],
    container: &'static str,
    table: &[Subcommand],
) -> Result<Subcommand, Error> {
    let Some(&(name, arity, run)) = table.iter().find(|(name, _, _)| is(args[1], name)) else {
        let text = String::from_utf8_lossy(&args[1][..args[1].len().min(128)]);
        let capitals = container.to_ascii_uppercase();
        return Err(Error::new(format!("ERR unknown subcommand '{text}'. Try {capitals} HELP.")));
    };
    let enough =
        if arity < 0 { args.len() >= arity.unsigned_abs() as usize } else { args.len() == arity as usize };
    if enough { Ok((name, arity, run)) } else { Err(wrong_arguments(&format!("{container}|{name}"))) }
}

/// The lines of a HELP subcommand.
pub(crate) fn help(context: &mut Context<'_>, container: &str, lines: &[&str]) {
    let reply = context.reply();
    reply.array(lines.len() + 3);
    reply.simple(format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    lines.iter().for_each(|line| reply.simple(line));
    reply.simple("HELP");
    reply.simple("    Print this help.");
}

/// Whether access control knows a category by this name.
pub(crate) fn is_category(name: &str) -> bool {
    name == "all" || table::CATEGORIES.contains(&name)
}

const BUILT_IN: &[&[Command]] = &[
    acl::COMMANDS,
    bitfield::COMMANDS,
    bitmap::COMMANDS,
    client::COMMANDS,
    config::COMMANDS,
    connection::COMMANDS,
    counter::COMMANDS,
    debug::COMMANDS,
    expire::COMMANDS,
    hash::COMMANDS,
    hash_scan::COMMANDS,
    info::COMMANDS,
    introspect::COMMANDS,
    key::COMMANDS,
    key_scan::COMMANDS,
    lcs::COMMANDS,
    list::COMMANDS,
    list_move::COMMANDS,
    pubsub::COMMANDS,
    save::COMMANDS,
    server::COMMANDS,
    set::COMMANDS,
    set_algebra::COMMANDS,
    sort::COMMANDS,
    string::COMMANDS,
    string_range::COMMANDS,
    transaction::COMMANDS,
    zset::COMMANDS,
    zset_algebra::COMMANDS,
    zset_pop::COMMANDS,
    zset_range::COMMANDS,
    zset_remove::COMMANDS,
];
