//! Lists as queues: LMOVE, LMPOP, and the blocking BLPOP, BRPOP, BLMOVE, BLMPOP.

use super::list::{End, take};
use crate::args::{Split, is, wrong_arguments};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, List};
use crate::number;
use crate::session::OnTimeout;
use crate::spec::{Flags, Group, Keys};

const W: Flags = Flags::WRITE;
const M: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const B: Flags = Flags::BLOCKING;
const L: Group = Group::List;
const TWO: Keys = Keys::range(1, 2, 1);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("rpoplpush", 3, M, TWO, L, |c, a| move_element(c, a, [End::Right, End::Left], None)),
    Command::new("lmove", 5, M, TWO, L, |c, a| {
        let ends = [End::parse(a[3])?, End::parse(a[4])?];
        move_element(c, a, ends, None)
    }),
    Command::new("brpoplpush", 4, M.with(B), TWO, L, |c, a| {
        move_element(c, a, [End::Right, End::Left], Some(a[3]))
    }),
    Command::new("blmove", 6, M.with(B), TWO, L, |c, a| {
        let ends = [End::parse(a[3])?, End::parse(a[4])?];
        move_element(c, a, ends, Some(a[5]))
    }),
    Command::new("blpop", -3, W.with(B), Keys::range(1, -2, 1), L, |c, a| pop_waiting(c, a, End::Left)),
    Command::new("brpop", -3, W.with(B), Keys::range(1, -2, 1), L, |c, a| pop_waiting(c, a, End::Right)),
    Command::new("lmpop", -4, W, Keys::Counted { at: 1, also: 0 }, L, |c, a| pop_many(c, a, 1)),
    Command::new("blmpop", -5, W.with(B), Keys::Counted { at: 2, also: 0 }, L, |c, a| pop_many(c, a, 2)),
];

fn move_element(
    context: &mut Context<'_>,
    args: &[&[u8]],
    ends: [End; 2],
    timeout: Option<&[u8]>,
) -> Result<(), Error> {
    let deadline = timeout.map(|text| context.timeout(text)).transpose()?;
    let (from, to) = (args[1], args[2]);
    if context.keys.get::<List>(from)?.is_none() {
        match deadline {
            Some(deadline) => context.wait(args, &[from], deadline, OnTimeout::Null),
            None => context.reply.null(),
        }
        return Ok(());
    }
    context.keys.get::<List>(to)?;
    let popped = take(context, from, ends[0], 1)?;
    let Some(element) = popped.into_iter().next() else {
        context.reply.null();
        return Ok(());
    };
    context.reply.bulk(element.as_slice());
    context.keys.edit(to, true, |list: &mut List| ends[1].push(list, element.as_slice()))?;
    context.keys.changed_by(EventClass::LIST, ends[1].push_event(), to);
    context.keys.signal(to);
    context.log(&[b"LMOVE", from, to, ends[0].word(), ends[1].word()]);
    Ok(())
}

fn pop_waiting(context: &mut Context<'_>, args: &[&[u8]], end: End) -> Result<(), Error> {
    let deadline = context.timeout(args[args.len() - 1])?;
    let keys = &args[1..args.len() - 1];
    for key in keys {
        if context.keys.get::<List>(key)?.is_none() {
            continue;
        }
        let popped = take(context, key, end, 1)?;
        context.reply.array(2);
        context.reply.bulk(key);
        popped.iter().for_each(|element| context.reply.bulk(element.as_slice()));
        context.log(&[end.pop_command(), key]);
        return Ok(());
    }
    context.wait(args, keys, deadline, OnTimeout::NullArray);
    Ok(())
}

/// Splits off a counted list of keys.
pub(super) fn counted<'a, 'b>(args: &'a [&'b [u8]], at: usize) -> Result<Split<'a, 'b>, Error> {
    let count = number::integer(args[at]).filter(|n| *n > 0);
    let count = count.ok_or(Error::fixed("ERR numkeys should be greater than 0"))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    args[at + 1..].split_at_checked(count).ok_or(Error::SYNTAX)
}

/// Parses an optional `COUNT n` at the end.
pub(super) fn at_most(rest: &[&[u8]]) -> Result<usize, Error> {
    match rest {
        [] => Ok(1),
        [word, text] if is(word, "count") => {
            let count = number::integer(text).filter(|n| *n > 0);
            let count = count.ok_or(Error::fixed("ERR count should be greater than 0"))?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        }
        _ => Err(Error::SYNTAX),
    }
}

fn pop_many(context: &mut Context<'_>, args: &[&[u8]], at: usize) -> Result<(), Error> {
    let deadline = if at == 2 { Some(context.timeout(args[1])?) } else { None };
    let (keys, rest) = counted(args, at)?;
    let (word, rest) = rest.split_first().ok_or_else(|| match at {
        1 => Error::SYNTAX,
        _ => wrong_arguments("blmpop"),
    })?;
    let end = End::parse(word)?;
    let most = at_most(rest)?;
    for key in keys {
        if context.keys.get::<List>(key)?.is_none() {
            continue;
        }
        let popped = take(context, key, end, most)?;
        context.reply.array(2);
        context.reply.bulk(key);
        context.reply.array(popped.len());
        popped.iter().for_each(|element| context.reply.bulk(element.as_slice()));
        context.log(&[end.pop_command(), key, popped.len().to_string().as_bytes()]);
        return Ok(());
    }
    match deadline {
        Some(deadline) => context.wait(args, keys, deadline, OnTimeout::NullArray),
        None => context.reply.null_array(),
    }
    Ok(())
}
