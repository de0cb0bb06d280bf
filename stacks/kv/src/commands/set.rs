//! Set commands.

use super::hash_scan::{draw_count, draw_some};
use crate::args::count;
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, Member, Set};
use crate::random::Random;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::FAST);
const F: Flags = Flags::FAST;
const S: Group = Group::Set;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("sadd", -3, W.with(Flags::DENY_OOM), Keys::single(), S, add),
    Command::new("srem", -3, W, Keys::single(), S, remove),
    Command::new("smove", 4, W, Keys::range(1, 2, 1), S, move_member),
    Command::new("sismember", 3, R.with(F), Keys::single(), S, is_member),
    Command::new("smismember", -3, R.with(F), Keys::single(), S, are_members),
    Command::new("scard", 2, R.with(F), Keys::single(), S, length),
    Command::new("smembers", 2, R, Keys::single(), S, members),
    Command::new("spop", -2, W, Keys::single(), S, pop),
    Command::new("srandmember", -2, R, Keys::single(), S, random),
];

fn add(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let small = context.keys.small;
    let added = context.keys.edit(args[1], true, |set: &mut Set| {
        args[2..].iter().filter(|member| set.add(member, small)).count()
    })?;
    let added = added.unwrap_or(0);
    if added > 0 {
        context.keys.changed_by(EventClass::SET, "sadd", args[1]);
    }
    context.reply.integer(added as i64);
    Ok(())
}

fn remove(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let removed = context
        .keys
        .edit(args[1], false, |set: &mut Set| args[2..].iter().filter(|member| set.remove(member)).count())?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.keys.changed_by(EventClass::SET, "srem", args[1]);
    }
    context.reply.integer(removed as i64);
    Ok(())
}

fn move_member(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (from, to, member) = (args[1], args[2], args[3]);
    let found = context.keys.get::<Set>(from)?.map(|set| set.contains(member));
    if found.is_some() {
        context.keys.get::<Set>(to)?;
    }
    if found != Some(true) || from == to {
        context.reply.integer(i64::from(found == Some(true)));
        return Ok(());
    }
    context.keys.edit(from, false, |set: &mut Set| set.remove(member))?;
    context.keys.changed_by(EventClass::SET, "srem", from);
    let small = context.keys.small;
    let new = context.keys.edit(to, true, |set: &mut Set| set.add(member, small))?;
    if new == Some(true) {
        context.keys.changed_by(EventClass::SET, "sadd", to);
    }
    context.reply.integer(1);
    Ok(())
}

fn is_member(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let found = context.keys.get::<Set>(args[1])?.is_some_and(|set| set.contains(args[2]));
    context.reply.integer(i64::from(found));
    Ok(())
}

fn are_members(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let set = context.keys.get::<Set>(args[1])?;
    context.reply.array(args.len() - 2);
    for member in &args[2..] {
        context.reply.integer(i64::from(set.is_some_and(|set| set.contains(member))));
    }
    Ok(())
}

fn length(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let length = context.keys.get::<Set>(args[1])?.map_or(0, |set| set.len());
    context.reply.integer(length as i64);
    Ok(())
}

fn members(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let set = context.keys.get::<Set>(args[1])?;
    context.reply.set(set.map_or(0, |set| set.len()));
    set.into_iter().for_each(|set| set.each(|member| context.reply.bulk(member)));
    Ok(())
}

fn pop(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let key = args[1];
    let most = match args {
        [_, _] => None,
        [_, _, text] => Some(count(text)?),
        _ => return Err(Error::SYNTAX),
    };
    let mut random = Random::new(context.keys.random.next());
    let set = context.keys.get::<Set>(key)?;
    let drawn: Vec<Box<[u8]>> = match set {
        None => Vec::new(),
        Some(set) => {
            let wanted = i64::try_from(most.unwrap_or(1)).unwrap_or(i64::MAX);
            draw_members(set, &mut random, wanted).iter().map(|member| member.as_slice().into()).collect()
        }
    };
    if !drawn.is_empty() {
        context.keys.edit(key, false, |set: &mut Set| {
            drawn.iter().for_each(|member| {
                set.remove(member);
            });
        })?;
        context.keys.changed_by(EventClass::SET, "spop", key);
        if context.keys.exists(key) {
            let words: Vec<&[u8]> =
                [&b"SREM"[..], key].into_iter().chain(drawn.iter().map(|m| &**m)).collect();
            context.log(&words);
        } else {
            context.log(&[b"DEL", key]);
        }
    }
    match (most, drawn.first()) {
        (Some(_), _) => {
            context.reply.set(drawn.len());
            drawn.iter().for_each(|member| context.reply.bulk(member));
        }
        (None, Some(member)) => context.reply.bulk(member),
        (None, None) => context.reply.null(),
    }
    Ok(())
}

fn draw_members<'a>(set: &'a Set, random: &mut Random, count: i64) -> Vec<Member<'a>> {
    draw_some(random, count, set.len(), |random| set.random(random), || set.iter().collect())
}

fn random(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let count = match args {
        [_, _] => None,
        [_, _, text] => Some(draw_count(text, i64::MAX)?),
        _ => return Err(Error::SYNTAX),
    };
    let mut random = Random::new(context.keys.random.next());
    let set = context.keys.get::<Set>(args[1])?;
    let Some(count) = count else {
        match set.and_then(|set| set.random(&mut random)) {
            Some(member) => context.reply.bulk(member.as_slice()),
            None => context.reply.null(),
        }
        return Ok(());
    };
    let drawn = set.map(|set| draw_members(set, &mut random, count)).unwrap_or_default();
    context.reply.array(drawn.len());
    drawn.iter().for_each(|member| context.reply.bulk(member.as_slice()));
    Ok(())
}
