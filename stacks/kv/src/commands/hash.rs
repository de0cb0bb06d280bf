//! Hash commands.

use crate::args::{integer, wrong_arguments};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, Hash};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM).with(Flags::FAST);
const H: Group = Group::Hash;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("hset", -4, W, Keys::single(), H, |c, a| set(c, a, "hset")),
    Command::new("hmset", -4, W, Keys::single(), H, |c, a| set(c, a, "hmset")),
    Command::new("hsetnx", 4, W, Keys::single(), H, set_if_absent),
    Command::new("hget", 3, R.with(Flags::FAST), Keys::single(), H, get),
    Command::new("hmget", -3, R.with(Flags::FAST), Keys::single(), H, get_many),
    Command::new("hdel", -3, Flags::WRITE.with(Flags::FAST), Keys::single(), H, delete),
    Command::new("hlen", 2, R.with(Flags::FAST), Keys::single(), H, length),
    Command::new("hstrlen", 3, R.with(Flags::FAST), Keys::single(), H, field_length),
    Command::new("hexists", 3, R.with(Flags::FAST), Keys::single(), H, exists),
    Command::new("hincrby", 4, W, Keys::single(), H, increment),
    Command::new("hincrbyfloat", 4, W, Keys::single(), H, increment_float),
    Command::new("hgetall", 2, R, Keys::single(), H, all),
    Command::new("hkeys", 2, R, Keys::single(), H, fields),
    Command::new("hvals", 2, R, Keys::single(), H, values),
];

fn set(context: &mut Context<'_>, args: &[&[u8]], name: &'static str) -> Result<(), Error> {
    if args.len() % 2 == 1 {
        return Err(wrong_arguments(name));
    }
    let small = context.keys.small;
    let new = context.keys.edit(args[1], true, |hash: &mut Hash| {
        args[2..].chunks_exact(2).filter(|pair| hash.set(pair[0], pair[1], small)).count()
    })?;
    context.keys.changed_by(EventClass::HASH, "hset", args[1]);
    match name {
        "hset" => context.reply.integer(new.unwrap_or(0) as i64),
        _ => context.reply.ok(),
    }
    Ok(())
}

fn set_if_absent(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let small = context.keys.small;
    let new = context.keys.edit(args[1], true, |hash: &mut Hash| {
        let absent = !hash.contains(args[2]);
        if absent {
            hash.set(args[2], args[3], small);
        }
        absent
    })?;
    if new == Some(true) {
        context.keys.changed_by(EventClass::HASH, "hset", args[1]);
    }
    context.reply.integer(i64::from(new == Some(true)));
    Ok(())
}

fn get(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    match hash.and_then(|hash| hash.get(args[2])) {
        Some(value) => context.reply.bulk(value),
        None => context.reply.null(),
    }
    Ok(())
}

fn get_many(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    context.reply.array(args.len() - 2);
    for field in &args[2..] {
        match hash.and_then(|hash| hash.get(field)) {
            Some(value) => context.reply.bulk(value),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn delete(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let deleted = context.keys.edit(args[1], false, |hash: &mut Hash| {
        args[2..].iter().filter(|field| hash.remove(field)).count()
    })?;
    let deleted = deleted.unwrap_or(0);
    if deleted > 0 {
        context.keys.changed_by(EventClass::HASH, "hdel", args[1]);
    }
    context.reply.integer(deleted as i64);
    Ok(())
}

fn length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let length = context.keys.get::<Hash>(args[1])?.map_or(0, |hash| hash.len());
    context.reply.integer(length as i64);
    Ok(())
}

fn field_length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    let value = hash.and_then(|hash| hash.get(args[2]));
    context.reply.integer(value.map_or(0, <[u8]>::len) as i64);
    Ok(())
}

fn exists(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let found = context.keys.get::<Hash>(args[1])?.is_some_and(|hash| hash.contains(args[2]));
    context.reply.integer(i64::from(found));
    Ok(())
}

/// The current value of a field, read before the increment so that an invalid value does not create a hash.
fn current(context: &mut Context<'_>, key: &[u8], field: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let hash = context.keys.get::<Hash>(key)?;
    Ok(hash.and_then(|hash| hash.get(field)).map(<[u8]>::to_vec))
}

fn increment(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let by = integer(args[3])?;
    let old = current(context, args[1], args[2])?;
    let old = old.map_or(Ok(0), |text| {
        number::integer(&text).ok_or(Error::fixed("ERR hash value is not an integer"))
    })?;
    let new = old.checked_add(by).ok_or(Error::OVERFLOW)?;
    let text = new.to_string();
    let small = context.keys.small;
    context.keys.edit(args[1], true, |hash: &mut Hash| hash.set(args[2], text.as_bytes(), small))?;
    context.keys.changed_by(EventClass::HASH, "hincrby", args[1]);
    context.reply.integer(new);
    Ok(())
}

fn increment_float(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let by = number::float(args[3]).ok_or(Error::NOT_FLOAT)?;
    if by.is_infinite() {
        return Err(Error::fixed("ERR value is NaN or Infinity"));
    }
    let old = current(context, args[1], args[2])?.unwrap_or_else(|| b"0".to_vec());
    if number::float(&old).is_none() {
        return Err(Error::fixed("ERR hash value is not a float"));
    }
    let new = number::add_decimal(&old, args[3]).ok_or(Error::NOT_FINITE)?;
    let small = context.keys.small;
    context.keys.edit(args[1], true, |hash: &mut Hash| hash.set(args[2], new.as_bytes(), small))?;
    context.keys.changed_by(EventClass::HASH, "hincrbyfloat", args[1]);
    context.log(&[b"HSET", args[1], args[2], new.as_bytes()]);
    context.reply.bulk(new.as_bytes());
    Ok(())
}

fn all(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    context.reply.map(hash.map_or(0, |hash| hash.len()));
    let reply = &mut context.reply;
    hash.into_iter().for_each(|hash| {
        hash.each(|field| {
            reply.bulk(field.name);
            reply.bulk(field.value);
        });
    });
    Ok(())
}

fn fields(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    context.reply.array(hash.map_or(0, |hash| hash.len()));
    hash.into_iter().for_each(|hash| hash.each(|field| context.reply.bulk(field.name)));
    Ok(())
}

fn values(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let hash = context.keys.get::<Hash>(args[1])?;
    context.reply.array(hash.map_or(0, |hash| hash.len()));
    let reply = &mut context.reply;
    hash.into_iter().for_each(|hash| hash.each(|field| reply.bulk(field.value)));
    Ok(())
}
