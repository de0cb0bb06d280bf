//! Set operations: SINTER, SUNION, SDIFF, their STORE variants, and SINTERCARD.

use crate::args::is;
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, Set, Value};
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const S: Group = Group::Set;
const ALL: Keys = Keys::range(1, -1, 1);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("sinter", -2, R, ALL, S, |c, a| reply_members(c, a, Operation::Inter)),
    Command::new("sunion", -2, R, ALL, S, |c, a| reply_members(c, a, Operation::Union)),
    Command::new("sdiff", -2, R, ALL, S, |c, a| reply_members(c, a, Operation::Diff)),
    Command::new("sinterstore", -3, W, ALL, S, |c, a| store(c, a, Operation::Inter)),
    Command::new("sunionstore", -3, W, ALL, S, |c, a| store(c, a, Operation::Union)),
    Command::new("sdiffstore", -3, W, ALL, S, |c, a| store(c, a, Operation::Diff)),
    Command::new("sintercard", -3, R, Keys::Counted { at: 1, also: 0 }, S, inter_card),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Inter,
    Union,
    Diff,
}

/// Computes at most `most` members of the result.
fn compute(
    context: &mut Context<'_>,
    keys: &[&[u8]],
    operation: Operation,
    most: usize,
) -> Result<Set, Error> {
    let mut result = Set::new(context.keys.hasher());
    for key in keys {
        context.keys.get::<Set>(key)?;
    }
    let space = &*context.keys;
    let (now, small) = (space.judged_ms(), space.small);
    // The keys were looked up just before, so none has expired.
    let sets: Vec<Option<&Set>> = keys
        .iter()
        .map(|key| {
            let entry = space.table().get(key).filter(|entry| entry.deadline().is_none_or(|at| at > now))?;
            match entry.value() {
                Some(Value::Set(set)) => Some(set),
                _ => None,
            }
        })
        .collect();
    match operation {
        Operation::Union => sets.iter().flatten().for_each(|set| {
            set.each(|member| {
                result.add(member, small);
            });
        }),
        Operation::Diff => {
            let (first, others) =
                sets.split_first().map_or((None, &[][..]), |(first, others)| (*first, others));
            let members = first.into_iter().flat_map(|set| set.iter());
            for member in
                members.filter(|member| !others.iter().flatten().any(|set| set.contains(member.as_slice())))
            {
                result.add(member.as_slice(), small);
            }
        }
        Operation::Inter => {
            let Some(sets) = sets.into_iter().collect::<Option<Vec<_>>>() else { return Ok(result) };
            let smallest = sets.iter().min_by_key(|set| set.len());
            let members = smallest.into_iter().flat_map(|set| set.iter());
            for member in
                members.filter(|member| sets.iter().all(|set| set.contains(member.as_slice()))).take(most)
            {
                result.add(member.as_slice(), small);
            }
        }
    }
    Ok(result)
}

fn reply_members(context: &mut Context<'_>, args: &[&[u8]], operation: Operation) -> Result<(), Error> {
    let result = compute(context, &args[1..], operation, usize::MAX)?;
    context.reply.set(result.len());
    result.each(|member| context.reply.bulk(member));
    Ok(())
}

fn store(context: &mut Context<'_>, args: &[&[u8]], operation: Operation) -> Result<(), Error> {
    let result = compute(context, &args[2..], operation, usize::MAX)?;
    let (length, event) = (
        result.len(),
        match operation {
            Operation::Inter => "sinterstore",
            Operation::Union => "sunionstore",
            Operation::Diff => "sdiffstore",
        },
    );
    if length == 0 {
        context.keys.delete(args[1]);
    } else {
        context.keys.put(args[1], Value::Set(result));
        context.keys.changed_by(EventClass::SET, event, args[1]);
    }
    context.reply.integer(length as i64);
    Ok(())
}

fn inter_card(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (keys, most) = limited(args)?;
    let result = compute(context, keys, Operation::Inter, most)?;
    context.reply.integer(result.len() as i64);
    Ok(())
}

/// The counted keys, and LIMIT.
fn limited<'a, 'b>(args: &'a [&'b [u8]]) -> Result<(&'a [&'b [u8]], usize), Error> {
    let count = number::integer(args[1]).filter(|n| *n > 0);
    let count = count.ok_or(Error::fixed("ERR numkeys should be greater than 0"))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let too_many = Error::fixed("ERR Number of keys can't be greater than number of args");
    let (keys, rest) = args[2..].split_at_checked(count).ok_or(too_many)?;
    Ok((keys, parse_limit(rest)?))
}

/// The optional LIMIT of SINTERCARD and ZINTERCARD; 0 means no limit.
pub(super) fn parse_limit(rest: &[&[u8]]) -> Result<usize, Error> {
    match rest {
        [] => Ok(usize::MAX),
        [word, text] if is(word, "limit") => {
            let limit = number::integer(text).and_then(|n| usize::try_from(n).ok());
            let limit = limit.ok_or(Error::fixed("ERR LIMIT can't be negative"))?;
            Ok(if limit == 0 { usize::MAX } else { limit })
        }
        _ => Err(Error::SYNTAX),
    }
}
