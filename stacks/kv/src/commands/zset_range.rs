//! Ranges of sorted sets: by rank, score or member.

use std::ops::Range;

use super::zset::reply_members;
use crate::args::{integer, is, range};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, ScoredMember, Value, Zset};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const Z: Group = Group::SortedSet;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zrange", -4, R, Keys::single(), Z, |c, a| unified(c, a, None)),
    Command::new("zrangestore", -5, Flags::WRITE.with(Flags::DENY_OOM), Keys::range(1, 2, 1), Z, |c, a| {
        unified(c, &a[1..], Some(a[1]))
    }),
    Command::new("zrevrange", -4, R, Keys::single(), Z, |c, a| fixed(c, a, RangeKind::Rank, true)),
    Command::new("zrangebyscore", -4, R, Keys::single(), Z, |c, a| fixed(c, a, RangeKind::Score, false)),
    Command::new("zrevrangebyscore", -4, R, Keys::single(), Z, |c, a| fixed(c, a, RangeKind::Score, true)),
    Command::new("zrangebylex", -4, R, Keys::single(), Z, |c, a| fixed(c, a, RangeKind::Lex, false)),
    Command::new("zrevrangebylex", -4, R, Keys::single(), Z, |c, a| fixed(c, a, RangeKind::Lex, true)),
    Command::new("zcount", 4, R.with(Flags::FAST), Keys::single(), Z, |c, a| counted(c, a, RangeKind::Score)),
    Command::new("zlexcount", 4, R.with(Flags::FAST), Keys::single(), Z, |c, a| {
        counted(c, a, RangeKind::Lex)
    }),
];

/// The kind of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeKind {
    Rank,
    Score,
    Lex,
}

/// The bounds of a range, as parsed.
#[derive(Debug)]
pub(super) enum Bounds<'a> {
    Rank(i64, i64),
    Score(Bound<f64>, Bound<f64>),
    Lex(Option<Bound<&'a [u8]>>, Option<Bound<&'a [u8]>>, bool),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<T> {
    value: T,
    exclusive: bool,
}

fn score_bound(text: &[u8]) -> Result<Bound<f64>, Error> {
    let (exclusive, text) = text.strip_prefix(b"(").map_or((false, text), |rest| (true, rest));
    let value = number::float(text).ok_or(Error::fixed("ERR min or max is not a float"))?;
    Ok(Bound { value, exclusive })
}

/// Parses a lexicographic bound: `Ok(Err(-1))` is below all members, `Ok(Err(1))` above all.
fn lex_bound(text: &[u8]) -> Result<Result<Bound<&[u8]>, i32>, Error> {
    match text {
        b"-" => Ok(Err(-1)),
        b"+" => Ok(Err(1)),
        [b'[', value @ ..] => Ok(Ok(Bound { value, exclusive: false })),
        [b'(', value @ ..] => Ok(Ok(Bound { value, exclusive: true })),
        _ => Err(Error::fixed("ERR min or max not valid string range item")),
    }
}

impl<'a> Bounds<'a> {
    pub(super) fn parse(by: RangeKind, min: &'a [u8], max: &'a [u8]) -> Result<Self, Error> {
        match by {
            RangeKind::Rank => Ok(Self::Rank(integer(min)?, integer(max)?)),
            RangeKind::Score => Ok(Self::Score(score_bound(min)?, score_bound(max)?)),
            RangeKind::Lex => {
                let (min, max) = (lex_bound(min)?, lex_bound(max)?);
                let nothing = matches!(min, Err(1)) || matches!(max, Err(-1));
                Ok(Self::Lex(min.ok(), max.ok(), nothing))
            }
        }
    }

    /// The ranks in the range; for ranks in reverse, counted from the other end.
    pub(super) fn ranks(&self, zset: &Zset, reverse: bool) -> Range<usize> {
        let (start, end) = match self {
            Self::Rank(start, end) => {
                let len = zset.len();
                match range(*start, *end, len) {
                    None => (0, 0),
                    Some((start, end)) if reverse => (len - 1 - end, len - start),
                    Some((start, end)) => (start, end + 1),
                }
            }
            Self::Score(min, max) => {
                let below =
                    |s: ScoredMember<'_>| s.score < min.value || min.exclusive && s.score == min.value;
                let within =
                    |s: ScoredMember<'_>| s.score < max.value || !max.exclusive && s.score == max.value;
                (zset.partition_point(below), zset.partition_point(within))
            }
            Self::Lex(_, _, true) => (0, 0),
            Self::Lex(min, max, false) => {
                let below = |s: ScoredMember<'_>| {
                    min.is_some_and(|min| s.member < min.value || min.exclusive && s.member == min.value)
                };
                let within = |s: ScoredMember<'_>| {
                    max.is_none_or(|max| s.member < max.value || !max.exclusive && s.member == max.value)
                };
                (zset.partition_point(below), zset.partition_point(within))
            }
        };
        start..end.max(start)
    }
}

struct Request<'a> {
    bounds: Bounds<'a>,
    reverse: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

/// ZRANGE and ZRANGESTORE: any kind of range, selected by options.
fn unified(context: &mut Context<'_>, args: &[&[u8]], store: Option<&[u8]>) -> Result<(), Error> {
    let (mut by, mut reverse, mut with_scores, mut limit) = (RangeKind::Rank, false, false, None);
    let mut at = 4;
    while at < args.len() {
        match args[at] {
            word if is(word, "byscore") => by = RangeKind::Score,
            word if is(word, "bylex") => by = RangeKind::Lex,
            word if is(word, "rev") => reverse = true,
            word if store.is_none() && is(word, "withscores") => with_scores = true,
            word if is(word, "limit") && at + 2 < args.len() => {
                limit = Some((integer(args[at + 1])?, integer(args[at + 2])?));
                at += 2;
            }
            _ => return Err(Error::SYNTAX),
        }
        at += 1;
    }
    if limit.is_some() && by == RangeKind::Rank {
        return Err(Error::fixed(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == RangeKind::Lex {
        return Err(Error::fixed("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
    }
    let (min, max) = if reverse && by != RangeKind::Rank { (args[3], args[2]) } else { (args[2], args[3]) };
    let bounds = Bounds::parse(by, min, max)?;
    reply_range(context, args[1], Request { bounds, reverse, with_scores, limit }, store)
}

/// The older commands, whose name determines the kind of range.
fn fixed(context: &mut Context<'_>, args: &[&[u8]], by: RangeKind, reverse: bool) -> Result<(), Error> {
    let (mut with_scores, mut limit) = (false, None);
    let mut at = 4;
    while at < args.len() {
        match args[at] {
            word if by != RangeKind::Lex && is(word, "withscores") => with_scores = true,
            word if by != RangeKind::Rank && is(word, "limit") && at + 2 < args.len() => {
                limit = Some((integer(args[at + 1])?, integer(args[at + 2])?));
                at += 2;
            }
            _ => return Err(Error::SYNTAX),
        }
        at += 1;
    }
    let (min, max) = if reverse && by != RangeKind::Rank { (args[3], args[2]) } else { (args[2], args[3]) };
    let bounds = Bounds::parse(by, min, max)?;
    reply_range(context, args[1], Request { bounds, reverse, with_scores, limit }, None)
}

fn reply_range(
    context: &mut Context<'_>,
    key: &[u8],
    range: Request<'_>,
    store: Option<&[u8]>,
) -> Result<(), Error> {
    let (hasher, small) = (context.keys.hasher(), context.keys.small);
    let zset = context.keys.get::<Zset>(key)?;
    let (skip, most) = range.limit.map_or((0, usize::MAX), |(offset, count)| {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        (skip, usize::try_from(count).unwrap_or(usize::MAX))
    });
    let members: Vec<ScoredMember<'_>> = match zset {
        None => Vec::new(),
        Some(zset) => {
            let ranks = range.bounds.ranks(zset, range.reverse);
            let count = ranks.len().saturating_sub(skip).min(most);
            match range.reverse {
                _ if count == 0 => Vec::new(),
                true => zset.iter_back_from(ranks.end - 1 - skip).take(count).collect(),
                false => zset.iter_from(ranks.start + skip).take(count).collect(),
            }
        }
    };
    let Some(to) = store else {
        reply_members(&mut context.reply, members.iter().map(|s| (s.member, s.score)), range.with_scores);
        return Ok(());
    };
    let mut result = Zset::new(hasher);
    members.iter().for_each(|scored| {
        result.insert(scored.member, scored.score, small);
    });
    save(context, to, result, "zrangestore")
}

/// Stores a computed sorted set and replies with its length.
pub(super) fn save(
    context: &mut Context<'_>,
    key: &[u8],
    result: Zset,
    event: &'static str,
) -> Result<(), Error> {
    let length = result.len();
    if length == 0 {
        context.keys.delete(key);
    } else {
        context.keys.put(key, Value::Zset(result));
        context.keys.changed_by(EventClass::ZSET, event, key);
        context.keys.signal(key);
    }
    context.reply.integer(length as i64);
    Ok(())
}

fn counted(context: &mut Context<'_>, args: &[&[u8]], by: RangeKind) -> Result<(), Error> {
    let bounds = Bounds::parse(by, args[2], args[3])?;
    let count = context.keys.get::<Zset>(args[1])?.map_or(0, |zset| bounds.ranks(zset, false).len());
    context.reply.integer(count as i64);
    Ok(())
}
