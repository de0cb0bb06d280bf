//! Sorted set commands: members and their scores.

use netdyno_resp::Protocol;

use super::hash_scan::{draw, draw_count};
use crate::args::{float, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, SmallLimits, Zset};
use crate::random::Random;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::FAST);
const F: Flags = Flags::FAST;
const Z: Group = Group::SortedSet;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zadd", -4, W.with(Flags::DENY_OOM), Keys::single(), Z, add),
    Command::new("zincrby", 4, W.with(Flags::DENY_OOM), Keys::single(), Z, increment),
    Command::new("zrem", -3, W, Keys::single(), Z, remove),
    Command::new("zcard", 2, R.with(F), Keys::single(), Z, length),
    Command::new("zscore", 3, R.with(F), Keys::single(), Z, score),
    Command::new("zmscore", -3, R.with(F), Keys::single(), Z, scores),
    Command::new("zrank", 3, R.with(F), Keys::single(), Z, |c, a| rank(c, a, false)),
    Command::new("zrevrank", 3, R.with(F), Keys::single(), Z, |c, a| rank(c, a, true)),
    Command::new("zrandmember", -2, R, Keys::single(), Z, random),
];

/// Options of ZADD.
#[derive(Debug, Default, Clone, Copy)]
struct Options {
    absent: bool,
    present: bool,
    greater: bool,
    less: bool,
    changed: bool,
    increment: bool,
}

/// The effect on one member.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Done {
    Added(f64),
    Updated(f64),
    Same(f64),
    Refused,
}

fn put(
    zset: &mut Zset,
    options: Options,
    member: &[u8],
    score: f64,
    small: SmallLimits,
) -> Result<Done, Error> {
    let Some(old) = zset.score(member) else {
        if options.present {
            return Ok(Done::Refused);
        }
        zset.insert(member, score, small);
        return Ok(Done::Added(score));
    };
    if options.absent {
        return Ok(Done::Refused);
    }
    let new = if options.increment { old + score } else { score };
    if new.is_nan() {
        return Err(Error::fixed("ERR resulting score is not a number (NaN)"));
    }
    if options.greater && new <= old || options.less && new >= old {
        return Ok(Done::Refused);
    }
    if new == old {
        return Ok(Done::Same(new));
    }
    zset.insert(member, new, small);
    Ok(Done::Updated(new))
}

fn add(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let mut options = Options::default();
    let mut at = 2;
    while let Some(word) = args.get(at) {
        match () {
            () if is(word, "nx") => options.absent = true,
            () if is(word, "xx") => options.present = true,
            () if is(word, "gt") => options.greater = true,
            () if is(word, "lt") => options.less = true,
            () if is(word, "ch") => options.changed = true,
            () if is(word, "incr") => options.increment = true,
            () => break,
        }
        at += 1;
    }
    let pairs = &args[at..];
    if pairs.is_empty() || pairs.len() % 2 == 1 {
        return Err(Error::SYNTAX);
    }
    if options.absent && options.present {
        return Err(Error::fixed("ERR XX and NX options at the same time are not compatible"));
    }
    if options.greater && options.less || options.absent && (options.greater || options.less) {
        return Err(Error::fixed("ERR GT, LT, and/or NX options at the same time are not compatible"));
    }
    if options.increment && pairs.len() > 2 {
        return Err(Error::fixed("ERR INCR option supports a single increment-element pair"));
    }
    put_all(context, args[1], options, pairs)
}

fn increment(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    put_all(context, args[1], Options { increment: true, ..Options::default() }, &args[2..])
}

fn put_all(context: &mut Context<'_>, key: &[u8], options: Options, pairs: &[&[u8]]) -> Result<(), Error> {
    let scores: Vec<f64> = pairs.chunks_exact(2).map(|pair| float(pair[0])).collect::<Result<_, _>>()?;
    let small = context.keys.small;
    let done = context.keys.edit(key, !options.present, |zset: &mut Zset| {
        let members = pairs.chunks_exact(2).map(|pair| pair[1]);
        members
            .zip(&scores)
            .map(|(member, score)| put(zset, options, member, *score, small))
            .collect::<Result<Vec<_>, _>>()
    });
    let done = done?.transpose()?.unwrap_or_default();
    let added = done.iter().filter(|done| matches!(done, Done::Added(_))).count();
    let updated = done.iter().filter(|done| matches!(done, Done::Updated(_))).count();
    if added + updated > 0 {
        context.keys.changed_by(EventClass::ZSET, if options.increment { "zincr" } else { "zadd" }, key);
        context.keys.signal(key);
    }
    if !options.increment {
        context.reply.integer(if options.changed { added + updated } else { added } as i64);
        return Ok(());
    }
    match done.first() {
        Some(Done::Added(score) | Done::Updated(score) | Done::Same(score)) => context.reply.double(*score),
        _ => context.reply.null(),
    }
    Ok(())
}

fn remove(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let removed = context.keys.edit(args[1], false, |zset: &mut Zset| {
        args[2..].iter().filter(|member| zset.remove(member).is_some()).count()
    })?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.keys.changed_by(EventClass::ZSET, "zrem", args[1]);
    }
    context.reply.integer(removed as i64);
    Ok(())
}

fn length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let length = context.keys.get::<Zset>(args[1])?.map_or(0, Zset::len);
    context.reply.integer(length as i64);
    Ok(())
}

fn score(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    match context.keys.get::<Zset>(args[1])?.and_then(|zset| zset.score(args[2])) {
        Some(score) => context.reply.double(score),
        None => context.reply.null(),
    }
    Ok(())
}

fn scores(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let zset = context.keys.get::<Zset>(args[1])?;
    context.reply.array(args.len() - 2);
    for member in &args[2..] {
        match zset.and_then(|zset| zset.score(member)) {
            Some(score) => context.reply.double(score),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn rank(context: &mut Context<'_>, args: &[&[u8]], reverse: bool) -> Result<(), Error> {
    let zset = context.keys.get::<Zset>(args[1])?;
    match zset.and_then(|zset| Some((zset.len(), zset.rank(args[2])?.0))) {
        Some((len, rank)) => context.reply.integer(if reverse { len - 1 - rank } else { rank } as i64),
        None => context.reply.null(),
    }
    Ok(())
}

/// Replies with members and optionally scores: a flat array in RESP2, pairs in RESP3.
pub(super) fn reply_members<'m>(
    context: &mut netdyno_resp::Reply<'_>,
    members: impl ExactSizeIterator<Item = (&'m [u8], f64)>,
    with_scores: bool,
) {
    let nested = with_scores && context.protocol() == Protocol::Resp3;
    context.array(if with_scores && !nested { members.len() * 2 } else { members.len() });
    for (member, score) in members {
        if nested {
            context.array(2);
        }
        context.bulk(member);
        if with_scores {
            context.double(score);
        }
    }
}

fn random(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let with_scores = match args {
        [_, _] | [_, _, _] => false,
        [_, _, _, word] if is(word, "withscores") => true,
        _ => return Err(Error::SYNTAX),
    };
    let limit = if with_scores { i64::MAX / 2 } else { i64::MAX };
    let count = args.get(2).map(|text| draw_count(text, limit)).transpose()?;
    let mut random = Random::new(context.keys.random.next());
    let zset = context.keys.get::<Zset>(args[1])?;
    let Some(count) = count else {
        match zset.and_then(|zset| zset.random(&mut random)) {
            Some(scored) => context.reply.bulk(scored.member),
            None => context.reply.null(),
        }
        return Ok(());
    };
    let Some(zset) = zset else {
        context.reply.array(0);
        return Ok(());
    };
    let drawn: Vec<_> =
        draw(&mut random, count, zset.len()).into_iter().filter_map(|at| zset.at(at)).collect();
    reply_members(&mut context.reply, drawn.iter().map(|s| (s.member, s.score)), with_scores);
    Ok(())
}
