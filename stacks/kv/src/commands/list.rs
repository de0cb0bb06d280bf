//! List commands: both ends, positions, elements by value.

use crate::args::{count, integer, is, range, wrong_arguments};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, List, ShortString};
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const F: Flags = Flags::FAST;
const L: Group = Group::List;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("lpush", -3, W.with(F), Keys::single(), L, |c, a| push(c, a, End::Left, true)),
    Command::new("rpush", -3, W.with(F), Keys::single(), L, |c, a| push(c, a, End::Right, true)),
    Command::new("lpushx", -3, W.with(F), Keys::single(), L, |c, a| push(c, a, End::Left, false)),
    Command::new("rpushx", -3, W.with(F), Keys::single(), L, |c, a| push(c, a, End::Right, false)),
    Command::new("lpop", -2, Flags::WRITE.with(F), Keys::single(), L, |c, a| pop(c, a, End::Left)),
    Command::new("rpop", -2, Flags::WRITE.with(F), Keys::single(), L, |c, a| pop(c, a, End::Right)),
    Command::new("llen", 2, R.with(F), Keys::single(), L, length),
    Command::new("lindex", 3, R, Keys::single(), L, index),
    Command::new("lrange", 4, R, Keys::single(), L, elements),
    Command::new("lset", 4, W, Keys::single(), L, set),
    Command::new("linsert", 5, W, Keys::single(), L, insert),
    Command::new("lrem", 4, Flags::WRITE, Keys::single(), L, remove),
    Command::new("ltrim", 4, Flags::WRITE, Keys::single(), L, trim),
    Command::new("lpos", -3, R, Keys::single(), L, find),
];

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Left,
    Right,
}

impl End {
    pub(super) fn parse(word: &[u8]) -> Result<Self, Error> {
        match () {
            () if is(word, "left") => Ok(Self::Left),
            () if is(word, "right") => Ok(Self::Right),
            () => Err(Error::SYNTAX),
        }
    }

    pub(super) fn push(self, list: &mut List, element: &[u8]) {
        match self {
            Self::Left => list.push_front(element),
            Self::Right => list.push_back(element),
        }
    }

    pub(super) fn pop(self, list: &mut List) -> Option<ShortString> {
        match self {
            Self::Left => list.pop_front(),
            Self::Right => list.pop_back(),
        }
    }

    pub(super) fn push_event(self) -> &'static str {
        if self == Self::Left { "lpush" } else { "rpush" }
    }

    pub(super) fn pop_event(self) -> &'static str {
        if self == Self::Left { "lpop" } else { "rpop" }
    }

    pub(super) fn pop_command(self) -> &'static [u8] {
        if self == Self::Left { b"LPOP" } else { b"RPOP" }
    }

    pub(super) fn word(self) -> &'static [u8] {
        if self == Self::Left { b"LEFT" } else { b"RIGHT" }
    }
}

fn push(context: &mut Context<'_>, args: &[&[u8]], end: End, create: bool) -> Result<(), Error> {
    let key = args[1];
    let length = context.keys.edit(key, create, |list: &mut List| {
        args[2..].iter().for_each(|element| end.push(list, element));
        list.len()
    })?;
    if length.is_some() {
        context.keys.changed_by(EventClass::LIST, end.push_event(), key);
        context.keys.signal(key);
    }
    context.reply.integer(length.unwrap_or(0) as i64);
    Ok(())
}

fn pop(context: &mut Context<'_>, args: &[&[u8]], end: End) -> Result<(), Error> {
    let most = match args {
        [_, _] => None,
        [_, _, text] => Some(count(text)?),
        _ => return Err(wrong_arguments(end.pop_event())),
    };
    if context.keys.get::<List>(args[1])?.is_none() {
        match most {
            Some(_) => context.reply.null_array(),
            None => context.reply.null(),
        }
        return Ok(());
    }
    let popped = take(context, args[1], end, most.unwrap_or(1))?;
    if most.is_some() {
        context.reply.array(popped.len());
    }
    popped.iter().for_each(|element| context.reply.bulk(element.as_slice()));
    Ok(())
}

/// Pops elements from an end and emits the events.
pub(super) fn take(
    context: &mut Context<'_>,
    key: &[u8],
    end: End,
    most: usize,
) -> Result<Vec<ShortString>, Error> {
    let mut popped = Vec::new();
    context.keys.edit(key, false, |list: &mut List| {
        while popped.len() < most
            && let Some(element) = end.pop(list)
        {
            popped.push(element);
        }
    })?;
    if !popped.is_empty() {
        context.keys.changed_by(EventClass::LIST, end.pop_event(), key);
    }
    Ok(popped)
}

fn length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let length = context.keys.get::<List>(args[1])?.map_or(0, List::len);
    context.reply.integer(length as i64);
    Ok(())
}

/// Resolves an index; a negative one counts from the end.
fn resolve_index(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(len as i64)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

fn index(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let list = context.keys.get::<List>(args[1])?;
    let at = match list {
        Some(list) => resolve_index(integer(args[2])?, list.len()),
        None => None,
    };
    match list.zip(at).and_then(|(list, at)| list.get(at)) {
        Some(element) => context.reply.bulk(element),
        None => context.reply.null(),
    }
    Ok(())
}

fn elements(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (start, end) = (integer(args[2])?, integer(args[3])?);
    let list = context.keys.get::<List>(args[1])?;
    match list.and_then(|list| Some((list, range(start, end, list.len())?))) {
        Some((list, (start, end))) => {
            context.reply.array(end - start + 1);
            let elements = list.iter_from(start).take(end - start + 1);
            elements.for_each(|element| context.reply.bulk(element));
        }
        None => context.reply.array(0),
    }
    Ok(())
}

fn set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let list = context.keys.get::<List>(args[1])?.ok_or(Error::NO_SUCH_KEY)?;
    let at = resolve_index(integer(args[2])?, list.len()).ok_or(Error::INDEX)?;
    context.keys.edit(args[1], false, |list: &mut List| list.replace(at, args[3]))?;
    context.keys.changed_by(EventClass::LIST, "lset", args[1]);
    context.reply.ok();
    Ok(())
}

fn insert(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let after = match () {
        () if is(args[2], "before") => 0,
        () if is(args[2], "after") => 1,
        () => return Err(Error::SYNTAX),
    };
    let length = context.keys.edit(args[1], false, |list: &mut List| {
        let pivot = list.iter().position(|element| element == args[3]);
        pivot.map_or(-1, |at| {
            list.insert(at + after, args[4]);
            list.len() as i64
        })
    })?;
    let length = length.unwrap_or(0);
    if length > 0 {
        context.keys.changed_by(EventClass::LIST, "linsert", args[1]);
    }
    context.reply.integer(length);
    Ok(())
}

fn remove(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let wanted = integer(args[2])?;
    let most = match wanted {
        0 => usize::MAX,
        n => usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let removed = context.keys.edit(args[1], false, |list: &mut List| {
        let is_it = |element: &[u8]| element == args[3];
        let last = list.len().saturating_sub(1);
        let mut found: Vec<usize> = if wanted < 0 {
            list.iter_back_from(last)
                .enumerate()
                .filter(|(_, e)| is_it(e))
                .map(|(i, _)| last - i)
                .take(most)
                .collect()
        } else {
            list.iter().enumerate().filter(|(_, e)| is_it(e)).map(|(i, _)| i).take(most).collect()
        };
        found.sort_unstable();
        // For many removals, the list is rebuilt in one pass.
        if found.len() > 64 {
            let mut rest = List::new();
            let mut gone = found.iter().peekable();
            for (at, element) in list.iter().enumerate() {
                if gone.next_if(|i| **i == at).is_none() {
                    rest.push_back(element);
                }
            }
            *list = rest;
        } else {
            found.iter().rev().for_each(|at| {
                list.remove(*at);
            });
        }
        found.len()
    })?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.keys.changed_by(EventClass::LIST, "lrem", args[1]);
    }
    context.reply.integer(removed as i64);
    Ok(())
}

fn trim(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (start, end) = (integer(args[2])?, integer(args[3])?);
    let trimmed =
        context.keys.edit(args[1], false, |list: &mut List| match range(start, end, list.len()) {
            None => *list = List::new(),
            Some((start, end)) => {
                (end + 1..list.len()).for_each(|_| {
                    list.pop_back();
                });
                (0..start).for_each(|_| {
                    list.pop_front();
                });
            }
        })?;
    if trimmed.is_some() {
        context.keys.changed_by(EventClass::LIST, "ltrim", args[1]);
    }
    context.reply.ok();
    Ok(())
}

fn find(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (mut rank, mut wanted, mut most) = (1i64, None, 0);
    for pair in args[3..].chunks(2) {
        match pair {
            [word, text] if is(word, "rank") => {
                rank = integer(text)?;
                if rank == 0 {
                    return Err(Error::fixed(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to \
                         start from the end of the list",
                    ));
                }
                if rank == i64::MIN {
                    return Err(Error::fixed(
                        "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
                    ));
                }
            }
            [word, text] if is(word, "count") => {
                wanted = Some(count(text).map_err(|_| Error::fixed("ERR COUNT can't be negative"))?);
            }
            [word, text] if is(word, "maxlen") => {
                most = count(text).map_err(|_| Error::fixed("ERR MAXLEN can't be negative"))?;
            }
            _ => return Err(Error::SYNTAX),
        }
    }
    let list = context.keys.get::<List>(args[1])?;
    let take = match wanted {
        Some(0) => usize::MAX,
        Some(count) => count,
        None => 1,
    };
    let looked_at = if most == 0 { usize::MAX } else { most };
    let skip = usize::try_from(rank.unsigned_abs() - 1).unwrap_or(usize::MAX);
    let is_it = |element: &[u8]| element == args[2];
    let found: Vec<usize> = match list {
        None => Vec::new(),
        Some(list) if rank < 0 => {
            let last = list.len().saturating_sub(1);
            let back = list.iter_back_from(last).enumerate().take(looked_at).filter(|(_, e)| is_it(e));
            back.map(|(i, _)| last - i).skip(skip).take(take).collect()
        }
        Some(list) => {
            let all = list.iter().enumerate().take(looked_at).filter(|(_, e)| is_it(e));
            all.map(|(i, _)| i).skip(skip).take(take).collect()
        }
    };
    match (wanted, found.first()) {
        (Some(_), _) => {
            context.reply.array(found.len());
            found.iter().for_each(|at| context.reply.integer(*at as i64));
        }
        (None, Some(at)) => context.reply.integer(*at as i64),
        (None, None) => context.reply.null(),
    }
    Ok(())
}
