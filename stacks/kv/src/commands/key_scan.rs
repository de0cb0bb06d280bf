//! Keyspace commands: KEYS, SCAN, RANDOMKEY, FLUSHDB, FLUSHALL, SWAPDB.

use super::connection::database;
use super::hash_scan::ScanOptions;
use super::key::type_name;
use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::glob;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("keys", 2, R.with(Flags::DANGEROUS), Keys::None, Group::Generic, keys),
    Command::new("scan", -2, R, Keys::None, Group::Generic, scan),
    Command::new("randomkey", 1, R, Keys::None, Group::Generic, random),
    Command::new("dbsize", 1, R.with(Flags::FAST), Keys::None, Group::Server, size),
    Command::new("flushdb", -1, W.with(Flags::DANGEROUS), Keys::None, Group::Server, |c, a| {
        flush(c, a, false)
    }),
    Command::new("flushall", -1, W.with(Flags::DANGEROUS), Keys::None, Group::Server, |c, a| {
        flush(c, a, true)
    }),
    Command::new("swapdb", 3, W.with(Flags::FAST).with(Flags::DANGEROUS), Keys::None, Group::Server, swap),
];

fn keys(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let now = context.keys.now.unix_ms;
    let later = context.reply.later();
    let mut count = 0;
    for entry in context.keys.table().iter() {
        let alive = entry.deadline().is_none_or(|at| at > now);
        if alive && glob::matches(args[1], entry.key()) {
            count += 1;
            context.reply.bulk(entry.key());
        }
    }
    context.reply.finish_array(later, count);
    Ok(())
}

fn scan(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let scan = ScanOptions::parse(args[1], &args[2..], true)?;
    let (mut found, mut over) = (Vec::<Box<[u8]>>::new(), Vec::<Box<[u8]>>::new());
    let now = context.keys.now.unix_ms;
    let cursor = context.keys.table().scan(scan.cursor, scan.count, |entry| {
        if entry.deadline().is_some_and(|at| at <= now) {
            over.push(entry.key().into());
        } else if scan.matches_key(entry.key()) && scan.kind.is_none_or(|kind| is(kind, type_name(entry))) {
            found.push(entry.key().into());
        }
    });
    over.iter().for_each(|key| {
        context.keys.exists(key);
    });
    context.reply.array(2);
    context.reply.bulk_display(cursor);
    context.reply.array(found.len());
    found.iter().for_each(|key| context.reply.bulk(key));
    Ok(())
}

fn random(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    match context.keys.random_key() {
        Some(key) => context.reply.bulk(&key),
        None => context.reply.null(),
    }
    Ok(())
}

fn size(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let size = context.keys.sizes(context.keys.db).0;
    context.reply.integer(size as i64);
    Ok(())
}

fn flush(context: &mut Context<'_>, args: &[&[u8]], all: bool) -> Result<(), Error> {
    match args {
        [_] => {}
        [_, word] if is(word, "async") || is(word, "sync") => {}
        _ => return Err(Error::SYNTAX),
    }
    let db = context.keys.db;
    let removed = context.keys.flush((!all).then_some(db));
    // Counts as a change even if the database was empty, as in Redis, so that replicas are emptied too.
    context.keys.dirty += removed.max(1) as u64;
    context.reply.ok();
    Ok(())
}

fn swap(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    integer(args[1]).map_err(|_| Error::fixed("ERR invalid first DB index"))?;
    integer(args[2]).map_err(|_| Error::fixed("ERR invalid second DB index"))?;
    let (a, b) = (database(context, args[1])?, database(context, args[2])?);
    if a != b {
        context.keys.swap(a, b);
        context.keys.dirty += 1;
    }
    context.reply.ok();
    Ok(())
}
