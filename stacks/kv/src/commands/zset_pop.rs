//! Sorted sets as queues: ZPOPMIN, ZPOPMAX, ZMPOP, and the blocking BZPOPMIN, BZPOPMAX, BZMPOP.

use netdyno_resp::Protocol;

use super::list_move::{at_most, counted};
use super::zset::reply_members;
use crate::args::{count, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, RankedMember, Zset};
use crate::session::OnTimeout;
use crate::spec::{Flags, Group, Keys};

const W: Flags = Flags::WRITE;
const F: Flags = W.with(Flags::FAST);
const B: Flags = F.with(Flags::BLOCKING);
const Z: Group = Group::SortedSet;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zpopmin", -2, F, Keys::single(), Z, |c, a| pop(c, a, End::Min)),
    Command::new("zpopmax", -2, F, Keys::single(), Z, |c, a| pop(c, a, End::Max)),
    Command::new("bzpopmin", -3, B, Keys::range(1, -2, 1), Z, |c, a| pop_waiting(c, a, End::Min)),
    Command::new("bzpopmax", -3, B, Keys::range(1, -2, 1), Z, |c, a| pop_waiting(c, a, End::Max)),
    Command::new("zmpop", -4, W, Keys::Counted { at: 1, also: 0 }, Z, |c, a| pop_many(c, a, 1)),
    Command::new("bzmpop", -5, W.with(Flags::BLOCKING), Keys::Counted { at: 2, also: 0 }, Z, |c, a| {
        pop_many(c, a, 2)
    }),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Min,
    Max,
}

fn take(context: &mut Context<'_>, key: &[u8], end: End, most: usize) -> Result<Vec<RankedMember>, Error> {
    let popped = context.keys.edit(key, false, |zset: &mut Zset| {
        let take = most.min(zset.len());
        let at = |zset: &Zset| if end == End::Min { 0 } else { zset.len() - 1 };
        (0..take).filter_map(|_| zset.remove_at(at(zset))).collect::<Vec<_>>()
    })?;
    let popped = popped.unwrap_or_default();
    if !popped.is_empty() {
        context.keys.changed_by(EventClass::ZSET, if end == End::Min { "zpopmin" } else { "zpopmax" }, key);
        let name: &[u8] = if end == End::Min { b"ZPOPMIN" } else { b"ZPOPMAX" };
        context.log(&[name, key, popped.len().to_string().as_bytes()]);
    }
    Ok(popped)
}

fn pop(context: &mut Context<'_>, args: &[&[u8]], end: End) -> Result<(), Error> {
    let most = match args {
        [_, _] => None,
        [_, _, text] => Some(count(text)?),
        _ => return Err(Error::SYNTAX),
    };
    context.keys.get::<Zset>(args[1])?;
    let popped = take(context, args[1], end, most.unwrap_or(1))?;
    // Without a count, the RESP3 reply is one flat pair.
    if most.is_none() && context.reply.protocol() == Protocol::Resp3 {
        context.reply.array(popped.len() * 2);
        for scored in popped.iter().map(RankedMember::as_scored) {
            context.reply.bulk(scored.member);
            context.reply.double(scored.score);
        }
        return Ok(());
    }
    reply_members(
        &mut context.reply,
        popped.iter().map(RankedMember::as_scored).map(|s| (s.member, s.score)),
        true,
    );
    Ok(())
}

fn pop_waiting(context: &mut Context<'_>, args: &[&[u8]], end: End) -> Result<(), Error> {
    let deadline = context.timeout(args[args.len() - 1])?;
    let keys = &args[1..args.len() - 1];
    for key in keys {
        if context.keys.get::<Zset>(key)?.is_none() {
            continue;
        }
        let popped = take(context, key, end, 1)?;
        context.reply.array(3);
        context.reply.bulk(key);
        for scored in popped.iter().map(RankedMember::as_scored) {
            context.reply.bulk(scored.member);
            context.reply.double(scored.score);
        }
        return Ok(());
    }
    context.wait(args, keys, deadline, OnTimeout::NullArray);
    Ok(())
}

fn pop_many(context: &mut Context<'_>, args: &[&[u8]], at: usize) -> Result<(), Error> {
    let deadline = if at == 2 { Some(context.timeout(args[1])?) } else { None };
    let (keys, rest) = counted(args, at)?;
    let (word, rest) = rest.split_first().ok_or(Error::SYNTAX)?;
    let end = match () {
        () if is(word, "min") => End::Min,
        () if is(word, "max") => End::Max,
        () => return Err(Error::SYNTAX),
    };
    let most = at_most(rest)?;
    for key in keys {
        if context.keys.get::<Zset>(key)?.is_none() {
            continue;
        }
        let popped = take(context, key, end, most)?;
        context.reply.array(2);
        context.reply.bulk(key);
        context.reply.array(popped.len());
        for scored in popped.iter().map(RankedMember::as_scored) {
            context.reply.array(2);
            context.reply.bulk(scored.member);
            context.reply.double(scored.score);
        }
        return Ok(());
    }
    match deadline {
        Some(deadline) => context.wait(args, keys, deadline, OnTimeout::NullArray),
        None => context.reply.null_array(),
    }
    Ok(())
}
