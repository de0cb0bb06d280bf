//! How a command uses each of its keys: users can have read or write access only.

use crate::args::is;
use crate::spec::{Flags, Spec};

/// Write commands that return or move the previous value of a key.
const RETURNING: [&str; 33] = [
    "blmove",
    "blmpop",
    "blpop",
    "brpop",
    "brpoplpush",
    "bzmpop",
    "bzpopmax",
    "bzpopmin",
    "decr",
    "decrby",
    "getdel",
    "getex",
    "getset",
    "hincrby",
    "hincrbyfloat",
    "incr",
    "incrby",
    "incrbyfloat",
    "lmove",
    "lmpop",
    "lpop",
    "move",
    "rename",
    "renamenx",
    "rpop",
    "rpoplpush",
    "setbit",
    "smove",
    "spop",
    "zincrby",
    "zmpop",
    "zpopmax",
    "zpopmin",
];

/// Commands whose second key is only written.
const TO_SECOND: [&str; 8] =
    ["blmove", "brpoplpush", "copy", "lmove", "rename", "renamenx", "rpoplpush", "smove"];

/// How one key is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyUse {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

impl KeyUse {
    /// How a command uses the key at position `at` of its arguments.
    pub(super) fn new(command: &Spec, at: usize, args: &[&[u8]]) -> Self {
        let (reads, writes) = match command.name {
            _ if !command.flags.contains(Flags::WRITE) => (true, false),
            "copy" | "sort" if at == 1 => (true, false),
            "sort" => (false, true),
            "bitop" => (at > 2, at == 2),
            name if TO_SECOND.contains(&name) && at == 2 => (false, true),
            // The first key is the destination.
            name if name.ends_with("store") => (at > 1, at == 1),
            "set" => (args.iter().skip(3).any(|word| is(word, "get")), true),
            "bitfield" => {
                let changes = args.iter().skip(2).any(|word| is(word, "set") || is(word, "incrby"));
                (true, changes)
            }
            name => (RETURNING.contains(&name), true),
        };
        Self { reads, writes }
    }
}
