//! Sorted set operations: ZUNION, ZINTER, ZDIFF, their STORE variants, and ZINTERCARD. Members of plain sets
//! have score 1.

use super::set_algebra::{Operation, parse_limit};
use super::zset::reply_members;
use super::zset_range::save;
use crate::args::{Split, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{Set, SmallLimits, Value, Zset};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const Z: Group = Group::SortedSet;
const READ: Keys = Keys::Counted { at: 1, also: 0 };
const STORE: Keys = Keys::Counted { at: 2, also: 1 };

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zunion", -3, R, READ, Z, |c, a| run(c, a, Operation::Union, None)),
    Command::new("zinter", -3, R, READ, Z, |c, a| run(c, a, Operation::Inter, None)),
    Command::new("zdiff", -3, R, READ, Z, |c, a| run(c, a, Operation::Diff, None)),
    Command::new("zunionstore", -4, W, STORE, Z, |c, a| {
        run(c, &a[1..], Operation::Union, Some("zunionstore"))
    }),
    Command::new("zinterstore", -4, W, STORE, Z, |c, a| {
        run(c, &a[1..], Operation::Inter, Some("zinterstore"))
    }),
    Command::new("zdiffstore", -4, W, STORE, Z, |c, a| run(c, &a[1..], Operation::Diff, Some("zdiffstore"))),
    Command::new("zintercard", -3, R, READ, Z, inter_card),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            // The sum of opposite infinities is 0.
            Self::Sum => Some(a + b).filter(|sum| !sum.is_nan()).unwrap_or(0.0),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// An operand: a set or a sorted set.
#[derive(Clone, Copy)]
enum Source<'a> {
    Nothing,
    Set(&'a Set),
    Zset(&'a Zset),
}

impl<'a> Source<'a> {
    fn len(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
        }
    }

    fn score(self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Nothing => None,
            Self::Set(set) => set.contains(member).then_some(1.0),
            Self::Zset(zset) => zset.score(member),
        }
    }

    fn each(self, mut visit: impl FnMut(&[u8], f64)) {
        match self {
            Self::Nothing => {}
            Self::Set(set) => set.each(|member| visit(member, 1.0)),
            Self::Zset(zset) => zset.iter().for_each(|scored| visit(scored.member, scored.score)),
        }
    }
}

fn check_types(context: &mut Context<'_>, keys: &[&[u8]]) -> Result<(), Error> {
    for key in keys {
        match context.keys.read(key).map(|entry| entry.value()) {
            None | Some(Some(Value::Set(_) | Value::Zset(_))) => {}
            _ => return Err(Error::WRONG_TYPE),
        }
    }
    Ok(())
}

/// The operands at these keys; fails if a type is wrong.
fn sources<'a>(context: &'a mut Context<'_>, keys: &[&[u8]]) -> Result<Vec<Source<'a>>, Error> {
    check_types(context, keys)?;
    let space = &*context.keys;
    let now = space.judged_ms();
    let of = |key: &&[u8]| {
        let entry = space.table().get(key).filter(|entry| entry.deadline().is_none_or(|at| at > now));
        match entry.and_then(|entry| entry.value()) {
            Some(Value::Set(set)) => Source::Set(set),
            Some(Value::Zset(zset)) => Source::Zset(zset),
            _ => Source::Nothing,
        }
    };
    Ok(keys.iter().map(of).collect())
}

fn weighted(score: f64, weight: f64) -> f64 {
    Some(score * weight).filter(|product| !product.is_nan()).unwrap_or(0.0)
}

fn compute(
    result: &mut Zset,
    sources: &[Source<'_>],
    weights: &[f64],
    (aggregate, operation): (Aggregate, Operation),
    small: SmallLimits,
) {
    match operation {
        Operation::Union => {
            for (source, weight) in sources.iter().zip(weights) {
                source.each(|member, score| {
                    let score = weighted(score, *weight);
                    let new = result.score(member).map_or(score, |old| aggregate.apply(old, score));
                    result.insert(member, new, small);
                });
            }
        }
        Operation::Inter => {
            let Some(smallest) = (0..sources.len()).min_by_key(|at| sources[*at].len()) else { return };
            sources[smallest].each(|member, _| {
                let scores = sources.iter().zip(weights).map(|(s, w)| Some(weighted(s.score(member)?, *w)));
                let Some(scores) = scores.collect::<Option<Vec<_>>>() else { return };
                if let Some(score) = scores.into_iter().reduce(|a, b| aggregate.apply(a, b)) {
                    result.insert(member, score, small);
                }
            });
        }
        Operation::Diff => {
            let Some((first, others)) = sources.split_first() else { return };
            first.each(|member, score| {
                if others.iter().all(|other| other.score(member).is_none()) {
                    result.insert(member, score, small);
                }
            });
        }
    }
}

fn run(
    context: &mut Context<'_>,
    args: &[&[u8]],
    operation: Operation,
    store: Option<&'static str>,
) -> Result<(), Error> {
    let name = match operation {
        Operation::Union => "zunion",
        Operation::Inter => "zinter",
        Operation::Diff => "zdiff",
    };
    let (keys, rest) = inputs(args, store.unwrap_or(name))?;
    check_types(context, keys)?;
    let (mut weights, mut aggregate, mut with_scores) = (vec![1.0; keys.len()], Aggregate::Sum, false);
    let mut at = 0;
    while at < rest.len() {
        let left = rest.len() - at - 1;
        if operation != Operation::Diff && is(rest[at], "weights") && left >= keys.len() {
            for (weight, text) in weights.iter_mut().zip(&rest[at + 1..]) {
                *weight = number::float(text).ok_or(Error::fixed("ERR weight value is not a float"))?;
            }
            at += keys.len();
        } else if operation != Operation::Diff && is(rest[at], "aggregate") && left >= 1 {
            aggregate = match rest[at + 1] {
                word if is(word, "sum") => Aggregate::Sum,
                word if is(word, "min") => Aggregate::Min,
                word if is(word, "max") => Aggregate::Max,
                _ => return Err(Error::SYNTAX),
            };
            at += 1;
        } else if store.is_none() && is(rest[at], "withscores") {
            with_scores = true;
        } else {
            return Err(Error::SYNTAX);
        }
        at += 1;
    }
    let mut result = Zset::new(context.keys.hasher());
    let small = context.keys.small;
    compute(&mut result, &sources(context, keys)?, &weights, (aggregate, operation), small);
    if let Some(event) = store {
        return save(context, args[0], result, event);
    }
    let members: Vec<_> = result.iter().collect();
    reply_members(&mut context.reply, members.iter().map(|s| (s.member, s.score)), with_scores);
    Ok(())
}

fn inter_card(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (keys, rest) = inputs(args, "zintercard")?;
    check_types(context, keys)?;
    let most = parse_limit(rest)?;
    let sources = sources(context, keys)?;
    let smallest = sources.iter().min_by_key(|source| source.len()).copied().unwrap_or(Source::Nothing);
    let mut count = 0;
    smallest.each(|member, _| {
        if count < most && sources.iter().all(|source| source.score(member).is_some()) {
            count += 1;
        }
    });
    context.reply.integer(count as i64);
    Ok(())
}

/// Splits off a counted list of keys.
fn inputs<'a, 'b>(args: &'a [&'b [u8]], name: &str) -> Result<Split<'a, 'b>, Error> {
    let count = number::integer(args[1]).ok_or(Error::NOT_INTEGER)?;
    if count < 1 {
        return Err(Error::new(format!("ERR at least 1 input key is needed for '{name}' command")));
    }
    args[2..].split_at_checked(usize::try_from(count).unwrap_or(usize::MAX)).ok_or(Error::SYNTAX)
}
