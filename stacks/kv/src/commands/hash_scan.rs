//! Random draws and scans of collections: HRANDFIELD, HSCAN, SSCAN, ZSCAN.

use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::glob;
use crate::keyspace::{Hash, Set, Zset};
use crate::limits::DRAWN_MAX;
use crate::number;
use crate::random::Random;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("hrandfield", -2, R, Keys::single(), Group::Hash, random_fields),
    Command::new("hscan", -3, R, Keys::single(), Group::Hash, scan_hash),
    Command::new("sscan", -3, R, Keys::single(), Group::Set, scan_set),
    Command::new("zscan", -3, R, Keys::single(), Group::SortedSet, scan_zset),
];

/// Options of SCAN and similar commands.
pub(super) struct ScanOptions<'a> {
    pub(super) cursor: u64,
    pub(super) count: usize,
    pub(super) pattern: Option<&'a [u8]>,
    pub(super) kind: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    pub(super) fn parse(cursor: &[u8], args: &[&'a [u8]], typed: bool) -> Result<Self, Error> {
        let cursor = number::unsigned(cursor).ok_or(Error::CURSOR)?;
        let mut scan = Self { cursor, count: 10, pattern: None, kind: None };
        for pair in args.chunks(2) {
            match pair {
                [word, count] if is(word, "count") => {
                    scan.count =
                        usize::try_from(integer(count)?).ok().filter(|n| *n > 0).ok_or(Error::SYNTAX)?;
                }
                [word, pattern] if is(word, "match") => scan.pattern = Some(pattern),
                [word, kind] if typed && is(word, "type") => scan.kind = Some(kind),
                _ => return Err(Error::SYNTAX),
            }
        }
        Ok(scan)
    }

    pub(super) fn matches_key(&self, key: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, key))
    }
}

/// Replies with the cursor and the items.
fn reply(context: &mut Context<'_>, cursor: u64, items: &[Vec<u8>]) {
    context.reply.array(2);
    context.reply.bulk_display(cursor);
    context.reply.array(items.len());
    items.iter().for_each(|item| context.reply.bulk(item));
}

fn scan_hash(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let scan = ScanOptions::parse(args[2], &args[3..], false)?;
    let mut items = Vec::new();
    let cursor = context.keys.get::<Hash>(args[1])?.map_or(0, |hash| {
        hash.scan(scan.cursor, scan.count, |field| {
            if scan.matches_key(field.name) {
                items.push(field.name.to_vec());
                items.push(field.value.to_vec());
            }
        })
    });
    reply(context, cursor, &items);
    Ok(())
}

fn scan_set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let scan = ScanOptions::parse(args[2], &args[3..], false)?;
    let mut items = Vec::new();
    let cursor = context.keys.get::<Set>(args[1])?.map_or(0, |set| {
        set.scan(scan.cursor, scan.count, |member| {
            if scan.matches_key(member) {
                items.push(member.to_vec());
            }
        })
    });
    reply(context, cursor, &items);
    Ok(())
}

fn scan_zset(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let scan = ScanOptions::parse(args[2], &args[3..], false)?;
    let mut items = Vec::new();
    let cursor = context.keys.get::<Zset>(args[1])?.map_or(0, |zset| {
        zset.scan(scan.cursor, scan.count, |member, score| {
            if scan.matches_key(member) {
                items.push(member.to_vec());
                items.push(number::double(score));
            }
        })
    });
    reply(context, cursor, &items);
    Ok(())
}

/// Draws indexes: at most `count` distinct ones, or, for a negative count, that many with repetition.
pub(super) fn draw(random: &mut Random, count: i64, len: usize) -> Vec<usize> {
    if count < 0 {
        return (0..count.unsigned_abs()).map(|_| random.below(len)).collect();
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(len);
    let mut all: Vec<usize> = (0..len).collect();
    for at in 0..count {
        let other = at + random.below(len - at);
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// Parses a count that may be negative, limited because draws with repetition have no natural bound.
pub(super) fn draw_count(text: &[u8], limit: i64) -> Result<i64, Error> {
    let count = integer(text)?;
    if count < -limit.min(DRAWN_MAX) || count > limit {
        return Err(Error::fixed("ERR value is out of range"));
    }
    Ok(count)
}

/// Draws random elements, of which `element` returns any: distinct ones if `count` is positive.
pub(super) fn draw_some<T: Ord + Copy>(
    random: &mut Random,
    count: i64,
    len: usize,
    element: impl Fn(&mut Random) -> Option<T>,
    all: impl FnOnce() -> Vec<T>,
) -> Vec<T> {
    if count < 0 {
        return (0..count.unsigned_abs()).filter_map(|_| element(random)).collect();
    }
    let wanted = usize::try_from(count).unwrap_or(usize::MAX);
    if wanted >= len {
        return all();
    }
    if wanted * 4 < len {
        // A few of many: duplicates are drawn again.
        let mut unique = std::collections::BTreeSet::new();
        let mut drawn = Vec::with_capacity(wanted);
        for _ in 0..wanted.saturating_mul(16) {
            if drawn.len() == wanted {
                return drawn;
            }
            drawn.extend(element(random).filter(|drawn| unique.insert(*drawn)));
        }
    }
    let all = all();
    draw(random, count, all.len()).into_iter().map(|at| all[at]).collect()
}

fn draw_fields<'a>(hash: &'a Hash, random: &mut Random, count: i64) -> Vec<(&'a [u8], &'a [u8])> {
    let one = |random: &mut Random| hash.random(random).map(|field| (field.name, field.value));
    let all = || hash.iter().map(|field| (field.name, field.value)).collect();
    draw_some(random, count, hash.len(), one, all)
}

fn random_fields(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let with_values = match args {
        [_, _] | [_, _, _] => false,
        [_, _, _, word] if is(word, "withvalues") => true,
        _ => return Err(Error::SYNTAX),
    };
    let limit = if with_values { i64::MAX / 2 } else { i64::MAX };
    let count = args.get(2).map(|text| draw_count(text, limit)).transpose()?;
    let mut random = Random::new(context.keys.random.next());
    let hash = context.keys.get::<Hash>(args[1])?;
    let Some(count) = count else {
        match hash.and_then(|hash| hash.random(&mut random)) {
            Some(field) => context.reply.bulk(field.name),
            None => context.reply.null(),
        }
        return Ok(());
    };
    let drawn = hash.map(|hash| draw_fields(hash, &mut random, count)).unwrap_or_default();
    let nested = context.reply.protocol() == netdyno_resp::Protocol::Resp3;
    context.reply.array(if with_values && !nested { drawn.len() * 2 } else { drawn.len() });
    for (field, value) in drawn {
        if with_values && nested {
            context.reply.array(2);
        }
        context.reply.bulk(field);
        if with_values {
            context.reply.bulk(value);
        }
    }
    Ok(())
}
