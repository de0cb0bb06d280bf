//! SORT and SORT_RO: elements of a list, set or sorted set, sorted by themselves or by other keys.

use std::cmp::Ordering;

use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, Hash, List, Value};
use crate::number;
use crate::spec::{Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] = &[
    Command::new("sort", -2, Flags::WRITE.with(Flags::DENY_OOM), Keys::Store, Group::Generic, |c, a| {
        sort(c, a, true)
    }),
    Command::new("sort_ro", -2, Flags::READ_ONLY, Keys::single(), Group::Generic, |c, a| sort(c, a, false)),
];

#[derive(Default)]
struct Options<'a> {
    by: Option<&'a [u8]>,
    get: Vec<&'a [u8]>,
    limit: Option<(i64, i64)>,
    descending: bool,
    alpha: bool,
    store: Option<&'a [u8]>,
}

fn options<'a>(args: &[&'a [u8]], may_store: bool) -> Result<Options<'a>, Error> {
    let mut options = Options::default();
    let mut at = 0;
    while at < args.len() {
        let left = args.len() - at - 1;
        match args[at] {
            word if is(word, "asc") => options.descending = false,
            word if is(word, "desc") => options.descending = true,
            word if is(word, "alpha") => options.alpha = true,
            word if is(word, "limit") && left >= 2 => {
                options.limit = Some((integer(args[at + 1])?, integer(args[at + 2])?));
                at += 2;
            }
            word if is(word, "by") && left >= 1 => {
                options.by = Some(args[at + 1]);
                at += 1;
            }
            word if is(word, "get") && left >= 1 => {
                options.get.push(args[at + 1]);
                at += 1;
            }
            word if may_store && is(word, "store") && left >= 1 => {
                options.store = Some(args[at + 1]);
                at += 1;
            }
            _ => return Err(Error::SYNTAX),
        }
        at += 1;
    }
    Ok(options)
}

/// Resolves a pattern: the element itself, a string key, or a field of a hash.
fn resolve(context: &mut Context<'_>, pattern: &[u8], element: &[u8]) -> Option<Vec<u8>> {
    if pattern == b"#" {
        return Some(element.to_vec());
    }
    let star = pattern.iter().position(|byte| *byte == b'*')?;
    let arrow = pattern[star..].windows(2).position(|pair| pair == b"->").map(|at| at + star);
    let arrow = arrow.filter(|at| at + 2 < pattern.len());
    let end = arrow.unwrap_or(pattern.len());
    let key = [&pattern[..star], element, &pattern[star + 1..end]].concat();
    match arrow {
        None => context.keys.string(&key).ok()?.map(<[u8]>::to_vec),
        Some(at) => {
            let hash = context.keys.get::<Hash>(&key).ok()??;
            hash.get(&pattern[at + 2..]).map(<[u8]>::to_vec)
        }
    }
}

fn elements(context: &mut Context<'_>, key: &[u8]) -> Result<(Vec<Vec<u8>>, bool), Error> {
    match context.keys.read(key).map(|entry| entry.value()) {
        None => Ok((Vec::new(), false)),
        Some(Some(Value::List(list))) => Ok((list.iter().map(<[u8]>::to_vec).collect(), false)),
        Some(Some(Value::Set(set))) => Ok((set.iter().map(|e| e.as_slice().to_vec()).collect(), true)),
        Some(Some(Value::Zset(zset))) => Ok((zset.iter().map(|s| s.member.to_vec()).collect(), false)),
        Some(_) => Err(Error::WRONG_TYPE),
    }
}

fn order(
    context: &mut Context<'_>,
    items: &mut Vec<Vec<u8>>,
    options: &Options<'_>,
    stable: bool,
) -> Result<(), Error> {
    let unordered = options.by.is_some_and(|pattern| !pattern.contains(&b'*'));
    if unordered && !stable {
        if options.descending {
            items.reverse();
        }
        return Ok(());
    }
    let by = options.by.filter(|_| !unordered);
    let mut weighed = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        let weight = match by {
            Some(pattern) => resolve(context, pattern, &item),
            None => Some(item.clone()),
        };
        let score = match &weight {
            _ if options.alpha || unordered => 0.0,
            None => 0.0,
            Some(text) => number::float(text)
                .ok_or(Error::fixed("ERR One or more scores can't be converted into double"))?,
        };
        weighed.push((score, weight, item));
    }
    weighed.sort_by(|(score_a, weight_a, a), (score_b, weight_b, b)| {
        let first = match options.alpha || unordered {
            true => weight_a.cmp(weight_b),
            false => score_a.partial_cmp(score_b).unwrap_or(Ordering::Equal),
        };
        let both = first.then_with(|| a.cmp(b));
        if options.descending { both.reverse() } else { both }
    });
    items.extend(weighed.into_iter().map(|(_, _, item)| item));
    Ok(())
}

/// Patterns access keys that are not arguments, so the user must have read access to all keys.
fn check_patterns(context: &mut Context<'_>, options: &Options<'_>) -> Result<(), Error> {
    let session = context.session()?;
    if session.unrestricted {
        return Ok(());
    }
    let user = session.user.clone();
    if context.world.acl.reads_any_key(&user) {
        return Ok(());
    }
    if options.by.is_some_and(|pattern| pattern.contains(&b'*')) {
        return Err(Error::fixed("ERR BY option of SORT denied due to insufficient ACL permissions"));
    }
    // `#` is the element itself.
    if options.get.iter().any(|pattern| *pattern != b"#") {
        return Err(Error::fixed("ERR GET option of SORT denied due to insufficient ACL permissions"));
    }
    Ok(())
}

fn sort(context: &mut Context<'_>, args: &[&[u8]], may_store: bool) -> Result<(), Error> {
    let options = options(&args[2..], may_store)?;
    check_patterns(context, &options)?;
    let (mut items, is_set) = elements(context, args[1])?;
    // Sets are unordered: a stored result must be the same when the command is replayed.
    order(context, &mut items, &options, is_set && options.store.is_some())?;
    let (skip, most) = options.limit.map_or((0, usize::MAX), |(offset, count)| {
        let skip = usize::try_from(offset.max(0)).unwrap_or(usize::MAX);
        (skip, usize::try_from(count).unwrap_or(usize::MAX))
    });
    let mut results = Vec::new();
    for item in items.into_iter().skip(skip).take(most) {
        if options.get.is_empty() {
            results.push(Some(item));
            continue;
        }
        for pattern in &options.get {
            results.push(resolve(context, pattern, &item));
        }
    }
    let Some(to) = options.store else {
        context.reply.array(results.len());
        for result in &results {
            match result {
                Some(text) => context.reply.bulk(text),
                None => context.reply.null(),
            }
        }
        return Ok(());
    };
    let length = results.len();
    if length == 0 {
        context.keys.delete(to);
    } else {
        let mut list = List::new();
        results.iter().for_each(|text| list.push_back(text.as_deref().unwrap_or_default()));
        context.keys.put(to, Value::List(list));
        // Logs the result, because the order can depend on other keys.
        context.log(&[b"DEL", to]);
        let texts = results.iter().map(|text| text.as_deref().unwrap_or_default());
        let words: Vec<&[u8]> = [&b"RPUSH"[..], to].into_iter().chain(texts).collect();
        context.log(&words);
        context.keys.changed_by(EventClass::LIST, "sortstore", to);
        context.keys.signal(to);
    }
    context.reply.integer(length as i64);
    Ok(())
}
