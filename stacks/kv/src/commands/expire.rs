//! Deadlines: EXPIRE, TTL, PERSIST and similar commands.

use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::EventClass;
use crate::spec::{Flags, Group, Keys};
use crate::timestamp::Timestamp;

const R: Flags = Flags::READ_ONLY.with(Flags::FAST);
const W: Flags = Flags::WRITE.with(Flags::FAST);
const G: Group = Group::Generic;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("expire", -3, W, Keys::single(), G, |c, a| expire(c, a, Unit::Seconds, true, "expire")),
    Command::new("pexpire", -3, W, Keys::single(), G, |c, a| {
        expire(c, a, Unit::Milliseconds, true, "pexpire")
    }),
    Command::new("expireat", -3, W, Keys::single(), G, |c, a| expire(c, a, Unit::Seconds, false, "expireat")),
    Command::new("pexpireat", -3, W, Keys::single(), G, |c, a| {
        expire(c, a, Unit::Milliseconds, false, "pexpireat")
    }),
    Command::new("ttl", 2, R, Keys::single(), G, |c, a| left(c, a, Unit::Seconds, true)),
    Command::new("pttl", 2, R, Keys::single(), G, |c, a| left(c, a, Unit::Milliseconds, true)),
    Command::new("expiretime", 2, R, Keys::single(), G, |c, a| left(c, a, Unit::Seconds, false)),
    Command::new("pexpiretime", 2, R, Keys::single(), G, |c, a| left(c, a, Unit::Milliseconds, false)),
    Command::new("persist", 2, W, Keys::single(), G, persist),
];

/// The unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

impl Unit {
    /// Parses `EX` and similar options: the unit, and whether the time is relative.
    pub(super) fn option(word: &[u8]) -> Option<(Self, bool)> {
        let words = [
            ("ex", (Self::Seconds, true)),
            ("px", (Self::Milliseconds, true)),
            ("exat", (Self::Seconds, false)),
        ];
        let all = words.into_iter().chain([("pxat", (Self::Milliseconds, false))]);
        all.into_iter().find(|(name, _)| is(word, name)).map(|(_, meaning)| meaning)
    }
}

/// Converts a time to Unix milliseconds; times before 1970 become 0.
pub(super) fn absolute(
    now: Timestamp,
    text: &[u8],
    unit: Unit,
    from_now: bool,
    positive: bool,
    name: &str,
) -> Result<u64, Error> {
    let invalid = || Error::new(format!("ERR invalid expire time in '{name}' command"));
    let time = integer(text)?;
    if positive && time <= 0 {
        return Err(invalid());
    }
    let ms = if unit == Unit::Seconds { time.checked_mul(1000) } else { Some(time) };
    let base = if from_now { now.unix_ms as i64 } else { 0 };
    let at = ms.and_then(|ms| ms.checked_add(base)).ok_or_else(invalid)?;
    Ok(at.max(0) as u64)
}

/// Sets a deadline; if it has passed, the key is removed.
pub(super) fn set(context: &mut Context<'_>, key: &[u8], at: u64, class: EventClass) {
    if !context.keys.exists(key) {
        return;
    }
    if at <= context.keys.judged_ms() {
        context.keys.delete(key);
        return context.log(&[b"DEL", key]);
    }
    context.keys.set_deadline(key, Some(at));
    context.keys.changed_by(class, "expire", key);
    context.log(&[b"PEXPIREAT", key, itoa::Buffer::new().format(at).as_bytes()]);
}

fn expire(c: &mut Context<'_>, args: &[&[u8]], unit: Unit, from_now: bool, name: &str) -> Result<(), Error> {
    let key = args[1];
    let (mut absent, mut present, mut greater, mut less) = (false, false, false, false);
    for word in &args[3..] {
        match () {
            () if is(word, "nx") => absent = true,
            () if is(word, "xx") => present = true,
            () if is(word, "gt") => greater = true,
            () if is(word, "lt") => less = true,
            () => {
                return Err(Error::new(format!("ERR Unsupported option {}", String::from_utf8_lossy(word))));
            }
        }
    }
    if absent && (present || greater || less) {
        return Err(Error::fixed("ERR NX and XX, GT or LT options at the same time are not compatible"));
    }
    if greater && less {
        return Err(Error::fixed("ERR GT and LT options at the same time are not compatible"));
    }
    let at = absolute(c.keys.now, args[2], unit, from_now, false, name)?;
    let Some(current) = c.keys.peek(key).map(|entry| entry.deadline()) else {
        c.reply.integer(0);
        return Ok(());
    };
    let allowed = match current {
        None => !present && !greater,
        Some(current) => !absent && (!greater || at > current) && (!less || at < current),
    };
    if allowed {
        set(c, key, at, EventClass::GENERIC);
    }
    c.reply.integer(i64::from(allowed));
    Ok(())
}

fn left(context: &mut Context<'_>, args: &[&[u8]], unit: Unit, from_now: bool) -> Result<(), Error> {
    let now = context.keys.now.unix_ms;
    let time = match context.keys.peek(args[1]).map(|entry| entry.deadline()) {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => {
            let ms = if from_now { at.saturating_sub(now) } else { at } as i64;
            match unit {
                Unit::Milliseconds => ms,
                Unit::Seconds if from_now => (ms + 500) / 1000,
                Unit::Seconds => ms / 1000,
            }
        }
    };
    context.reply.integer(time);
    Ok(())
}

fn persist(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let timed = context.keys.peek(args[1]).is_some_and(|entry| entry.deadline().is_some());
    if timed {
        context.keys.set_deadline(args[1], None);
        context.keys.changed_by(EventClass::GENERIC, "persist", args[1]);
    }
    context.reply.integer(i64::from(timed));
    Ok(())
}
