//! Commands for keys of any type: DEL, RENAME, COPY, TYPE, OBJECT and similar.

use super::connection::database;
use crate::args::is;
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::keyspace::{Entry, EventClass, Policy};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY.with(Flags::FAST);
const W: Flags = Flags::WRITE;
const G: Group = Group::Generic;
const ALL: Keys = Keys::range(1, -1, 1);
const TWO: Keys = Keys::range(1, 2, 1);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("del", -2, W, ALL, G, delete),
    Command::new("unlink", -2, W.with(Flags::FAST), ALL, G, delete),
    Command::new("exists", -2, R, ALL, G, exists),
    Command::new("touch", -2, R, ALL, G, touch),
    Command::new("type", 2, R, Keys::single(), G, kind),
    Command::new("rename", 3, W, TWO, G, |c, a| rename(c, a, false)),
    Command::new("renamenx", 3, W.with(Flags::FAST), TWO, G, |c, a| rename(c, a, true)),
    Command::new("copy", -3, W.with(Flags::DENY_OOM), TWO, G, copy),
    Command::new("move", 3, W.with(Flags::FAST), Keys::single(), G, move_to),
    Command::new("object", -2, Flags::READ_ONLY, Keys::range(2, 2, 1), G, object).containing(OBJECT_TABLE),
];

fn delete(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let deleted = args[1..].iter().filter(|key| context.keys.delete(key)).count();
    context.reply.integer(deleted as i64);
    Ok(())
}

fn exists(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let found = args[1..].iter().filter(|key| context.keys.exists(key)).count();
    context.keys.counters.hits += found as u64;
    context.keys.counters.misses += (args.len() - 1 - found) as u64;
    context.reply.integer(found as i64);
    Ok(())
}

fn touch(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let found = args[1..].iter().filter(|key| context.keys.read(key).is_some()).count();
    context.reply.integer(found as i64);
    Ok(())
}

/// The name that `TYPE` returns.
pub(super) fn type_name(entry: &Entry) -> &'static str {
    entry.value().map_or("string", |value| value.type_name())
}

fn kind(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let name = context.keys.peek(args[1]).map_or("none", type_name);
    context.reply.simple(name);
    Ok(())
}

fn rename(context: &mut Context<'_>, args: &[&[u8]], only_new: bool) -> Result<(), Error> {
    let (from, to) = (args[1], args[2]);
    if !context.keys.exists(from) {
        return Err(Error::NO_SUCH_KEY);
    }
    let taken = context.keys.exists(to);
    if from != to && !(only_new && taken) {
        context.keys.take(to);
        if let Some(entry) = context.keys.take(from) {
            let hash = context.keys.table().hash(to);
            context.keys.insert_entry(entry.renamed(hash, to));
        }
        context.keys.changed_by(EventClass::GENERIC, "rename_from", from);
        context.keys.changed_by(EventClass::GENERIC, "rename_to", to);
        context.keys.signal(to);
    }
    match only_new {
        true => context.reply.integer(i64::from(!taken && from != to)),
        false => context.reply.ok(),
    }
    Ok(())
}

fn copy(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (from, to, own) = (args[1], args[2], context.keys.db);
    let (mut db, mut replace) = (own, false);
    let mut at = 3;
    while at < args.len() {
        if is(args[at], "replace") {
            replace = true;
        } else if is(args[at], "db") && at + 1 < args.len() {
            at += 1;
            db = database(context, args[at])?;
        } else {
            return Err(Error::SYNTAX);
        }
        at += 1;
    }
    if db == own && from == to {
        return Err(Error::fixed("ERR source and destination objects are the same"));
    }
    let hash = context.keys.table().hash(to);
    let Some(entry) = context.keys.read(from).map(|entry| entry.copied(hash, to)) else {
        context.reply.integer(0);
        return Ok(());
    };
    context.keys.db = db;
    let free = replace || !context.keys.exists(to);
    if free {
        context.keys.take(to);
        insert_and_signal(context, to, entry, "copy_to");
    }
    context.keys.db = own;
    context.reply.integer(i64::from(free));
    Ok(())
}

fn move_to(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (key, own) = (args[1], context.keys.db);
    let db = database(context, args[2])?;
    if db == own {
        return Err(Error::fixed("ERR source and destination objects are the same"));
    }
    context.keys.db = db;
    let taken = context.keys.exists(key);
    context.keys.db = own;
    let entry = if taken { None } else { context.keys.take(key) };
    let moved = entry.is_some();
    if let Some(entry) = entry {
        context.keys.changed_by(EventClass::GENERIC, "move_from", key);
        context.keys.db = db;
        insert_and_signal(context, key, entry, "move_to");
        context.keys.db = own;
    }
    context.reply.integer(i64::from(moved));
    Ok(())
}

/// Stores an entry under an unused key and signals blocked sessions and event subscribers.
fn insert_and_signal(context: &mut Context<'_>, key: &[u8], entry: Entry, event: &'static str) {
    context.keys.insert_entry(entry);
    context.keys.changed_by(EventClass::GENERIC, event, key);
    context.keys.signal(key);
}

/// The encoding that Redis would use.
pub(super) fn encoding(entry: &Entry) -> &'static str {
    match (entry.value(), entry.string()) {
        (Some(value), _) => value.encoding(),
        (None, Some(text)) if number::integer(text).is_some() => "int",
        (None, Some(text)) if text.len() <= 44 => "embstr",
        _ => "raw",
    }
}

fn object(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "object", OBJECT_TABLE)
}

fn about(
    context: &mut Context<'_>,
    args: &[&[u8]],
    tell: impl Fn(&mut netdyno_resp::Reply<'_>, &Entry, Policy, crate::timestamp::Timestamp),
) -> Result<(), Error> {
    let (policy, now) = (context.keys.policy, context.keys.now);
    match context.keys.peek(args[2]) {
        Some(entry) => tell(&mut context.reply, entry, policy, now),
        None => context.reply.null(),
    }
    Ok(())
}

fn idle_time(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.keys.exists(args[2]) && context.keys.policy.counts_uses() {
        return Err(Error::fixed(
            "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at \
             runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    about(context, args, |reply, entry, _, now| reply.integer(i64::from(Policy::idle_seconds(entry, now))))
}

fn frequency(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.keys.exists(args[2]) && !context.keys.policy.counts_uses() {
        return Err(Error::fixed(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
             policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    about(context, args, |reply, entry, policy, now| reply.integer(i64::from(policy.uses(entry, now))))
}

const OBJECT_TABLE: &[Subcommand] = &[
    ("encoding", 3, |c, a| about(c, a, |reply, entry, _, _| reply.bulk(encoding(entry).as_bytes()))),
    ("refcount", 3, |c, a| about(c, a, |reply, _, _, _| reply.integer(1))),
    ("idletime", 3, idle_time),
    ("freq", 3, frequency),
    ("help", 2, |c, _| {
        help(
            c,
            "OBJECT",
            &[
                "ENCODING <key>",
                "    Return the kind of internal representation used in order to store the value",
                "    associated with a <key>.",
                "FREQ <key>",
                "    Return the access frequency index of the <key>. The returned integer is",
                "    proportional to the logarithm of the recent access frequency of the key.",
                "IDLETIME <key>",
                "    Return the idle time of the <key>, that is the approximated number of",
                "    seconds elapsed since the last access to the key.",
                "REFCOUNT <key>",
                "    Return the number of references of the value associated with the specified",
                "    <key>.",
            ],
        );
        Ok(())
    }),
];
