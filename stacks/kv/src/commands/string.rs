//! SET, GET and their kin.

use super::expire::{Unit, absolute};
use crate::args::{is, wrong_arguments};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{Deadline, EventClass};
use crate::limits::STRING_BYTES_MAX;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY.with(Flags::FAST);
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const WF: Flags = W.with(Flags::FAST);
const S: Group = Group::String;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("get", 2, R, Keys::single(), S, get),
    Command::new("set", -3, W, Keys::single(), S, set),
    Command::new("setnx", 3, WF, Keys::single(), S, set_if_absent),
    Command::new("setex", 4, W, Keys::single(), S, set_seconds),
    Command::new("psetex", 4, W, Keys::single(), S, set_milliseconds),
    Command::new("getset", 3, WF, Keys::single(), S, get_and_set),
    Command::new("getdel", 2, Flags::WRITE.with(Flags::FAST), Keys::single(), S, get_and_delete),
    Command::new("getex", -2, Flags::WRITE.with(Flags::FAST), Keys::single(), S, get_and_expire),
    Command::new("mget", -2, R, Keys::range(1, -1, 1), S, get_many),
    Command::new("mset", -3, W, Keys::range(1, -1, 2), S, set_many),
    Command::new("msetnx", -3, W, Keys::range(1, -1, 2), S, set_many_if_absent),
    Command::new("strlen", 2, R, Keys::single(), S, length),
];

fn get(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    match context.keys.string(args[1])? {
        Some(text) => context.reply.bulk(text),
        None => context.reply.null(),
    }
    Ok(())
}

/// Options of SET and GETEX.
#[derive(Default)]
struct Options {
    absent: bool,
    present: bool,
    get: bool,
    keep: bool,
    persist: bool,
    deadline: Option<u64>,
}

fn options(context: &Context<'_>, args: &[&[u8]], setting: bool, name: &str) -> Result<Options, Error> {
    let mut options = Options::default();
    // Evaluated after all options are parsed.
    let mut time = None;
    let mut at = 0;
    while at < args.len() {
        let word = args[at];
        at += 1;
        let timed = time.is_some() || options.keep || options.persist;
        if setting && is(word, "nx") && !options.present {
            options.absent = true;
        } else if setting && is(word, "xx") && !options.absent {
            options.present = true;
        } else if setting && is(word, "get") {
            options.get = true;
        } else if setting && is(word, "keepttl") && !timed {
            options.keep = true;
        } else if !setting && is(word, "persist") && !timed {
            options.persist = true;
        } else if let (Some(kind), Some(text), false) = (Unit::option(word), args.get(at), timed) {
            at += 1;
            time = Some((*text, kind));
        } else {
            return Err(Error::SYNTAX);
        }
    }
    if let Some((text, (unit, from_now))) = time {
        options.deadline = Some(absolute(context.keys.now, text, unit, from_now, true, name)?);
    }
    Ok(options)
}

fn set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (key, value) = (args[1], args[2]);
    if args.len() == 3 {
        context.set_string(key, value)?;
        context.reply.ok();
        return Ok(());
    }
    let options = options(context, &args[3..], true, "set")?;
    if options.get {
        match context.keys.string(key)? {
            Some(text) => context.reply.bulk(text),
            None => context.reply.null(),
        }
    }
    if options.absent || options.present {
        let exists = context.keys.exists(key);
        if exists == options.absent {
            if !options.get {
                context.reply.null();
            }
            return Ok(());
        }
    }
    let deadline = match options.deadline {
        Some(at) => Deadline::At(at),
        None if options.keep => Deadline::Keep,
        None => Deadline::Clear,
    };
    store(context, key, value, deadline)?;
    if !options.get {
        context.reply.ok();
    }
    Ok(())
}

/// Sets a string with an optional deadline, and logs it with an absolute time.
pub(super) fn store(
    context: &mut Context<'_>,
    key: &[u8],
    value: &[u8],
    deadline: Deadline,
) -> Result<(), Error> {
    if value.len() > STRING_BYTES_MAX {
        return Err(Error::TOO_LONG);
    }
    context.keys.set_string(key, value, deadline);
    context.keys.changed_by(EventClass::STRING, "set", key);
    match deadline {
        Deadline::At(at) => {
            context.keys.event(EventClass::GENERIC, "expire", key);
            context.log(&[b"SET", key, value, b"PXAT", itoa::Buffer::new().format(at).as_bytes()]);
        }
        Deadline::Keep => context.log(&[b"SET", key, value, b"KEEPTTL"]),
        Deadline::Clear => context.log(&[b"SET", key, value]),
    }
    Ok(())
}

fn set_if_absent(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let absent = !context.keys.exists(args[1]);
    if absent {
        context.set_string(args[1], args[2])?;
    }
    context.reply.integer(i64::from(absent));
    Ok(())
}

fn set_seconds(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    set_for(context, args, Unit::Seconds, "setex")
}

fn set_milliseconds(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    set_for(context, args, Unit::Milliseconds, "psetex")
}

fn set_for(context: &mut Context<'_>, args: &[&[u8]], unit: Unit, name: &str) -> Result<(), Error> {
    let at = absolute(context.keys.now, args[2], unit, true, true, name)?;
    store(context, args[1], args[3], Deadline::At(at))?;
    context.reply.ok();
    Ok(())
}

fn get_and_set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    get(context, args)?;
    store(context, args[1], args[2], Deadline::Clear)
}

fn get_and_delete(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    get(context, args)?;
    if context.keys.delete(args[1]) {
        context.log(&[b"DEL", args[1]]);
    }
    Ok(())
}

fn get_and_expire(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let key = args[1];
    let options = options(context, &args[2..], false, "getex")?;
    get(context, args)?;
    if let Some(at) = options.deadline {
        super::expire::set(context, key, at, EventClass::GENERIC);
    } else if options.persist && context.keys.peek(key).is_some_and(|entry| entry.deadline().is_some()) {
        context.keys.set_deadline(key, None);
        context.keys.changed_by(EventClass::GENERIC, "persist", key);
        context.log(&[b"PERSIST", key]);
    }
    Ok(())
}

fn get_many(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    context.reply.array(args.len() - 1);
    for key in &args[1..] {
        match context.keys.read(key).and_then(|entry| entry.string()) {
            Some(text) => context.reply.bulk(text),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn set_many(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len().is_multiple_of(2) {
        return Err(wrong_arguments("mset"));
    }
    for pair in args[1..].chunks_exact(2) {
        context.set_string(pair[0], pair[1])?;
    }
    context.reply.ok();
    Ok(())
}

fn set_many_if_absent(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len().is_multiple_of(2) {
        return Err(wrong_arguments("msetnx"));
    }
    let free = args[1..].chunks_exact(2).all(|pair| !context.keys.exists(pair[0]));
    if free {
        for pair in args[1..].chunks_exact(2) {
            context.set_string(pair[0], pair[1])?;
        }
    }
    context.reply.integer(i64::from(free));
    Ok(())
}

fn length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let length = context.keys.string(args[1])?.map_or(0, <[u8]>::len);
    context.reply.integer(length as i64);
    Ok(())
}
