//! Counters: INCR and similar commands.

use crate::args::integer;
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{Deadline, EventClass};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const W: Flags = Flags::WRITE.with(Flags::DENY_OOM).with(Flags::FAST);
const S: Group = Group::String;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("incr", 2, W, Keys::single(), S, increment),
    Command::new("decr", 2, W, Keys::single(), S, decrement),
    Command::new("incrby", 3, W, Keys::single(), S, increment_by),
    Command::new("decrby", 3, W, Keys::single(), S, decrement_by),
    Command::new("incrbyfloat", 3, W, Keys::single(), S, increment_by_float),
];

fn increment(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    add(context, args[1], 1, "incrby")
}

fn decrement(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    add(context, args[1], -1, "decrby")
}

fn increment_by(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    add(context, args[1], integer(args[2])?, "incrby")
}

fn decrement_by(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let by = integer(args[2])?.checked_neg().ok_or(Error::fixed("ERR decrement would overflow"))?;
    add(context, args[1], by, "decrby")
}

fn add(context: &mut Context<'_>, key: &[u8], by: i64, event: &'static str) -> Result<(), Error> {
    let old = context.keys.string(key)?.map_or(Ok(0), integer)?;
    let new = old.checked_add(by).ok_or(Error::OVERFLOW)?;
    context.keys.set_string(key, itoa::Buffer::new().format(new).as_bytes(), Deadline::Keep);
    context.keys.changed_by(EventClass::STRING, event, key);
    context.reply.integer(new);
    Ok(())
}

fn increment_by_float(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let key = args[1];
    let old = context.keys.string(key)?.unwrap_or(b"0");
    if number::float(old).is_none() || number::float(args[2]).is_none() {
        return Err(Error::NOT_FLOAT);
    }
    let new = number::add_decimal(old, args[2]).ok_or(Error::NOT_FINITE)?;
    context.keys.set_string(key, new.as_bytes(), Deadline::Keep);
    context.keys.changed_by(EventClass::STRING, "incrbyfloat", key);
    context.log(&[b"SET", key, new.as_bytes(), b"KEEPTTL"]);
    context.reply.bulk(new.as_bytes());
    Ok(())
}
