//! TIME, MEMORY, SLOWLOG, LATENCY: the parts that apply here.

use crate::args::{integer, is};
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::keyspace::Entry;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);
const S: Group = Group::Server;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("time", 1, Flags::FAST, Keys::None, S, time),
    Command::new("memory", -2, Flags::READ_ONLY, Keys::range(2, 2, 1), S, memory).containing(MEMORY_TABLE),
    Command::new("slowlog", -2, ADMIN, Keys::None, S, slow_log).containing(SLOWLOG_TABLE),
    Command::new("latency", -2, ADMIN, Keys::None, S, latency).containing(LATENCY_TABLE),
    Command::new("function", -2, Flags::NONE, Keys::None, S, function).containing(FUNCTION_TABLE),
    Command::new("script", -2, Flags::NONE, Keys::None, S, script).containing(SCRIPT_TABLE),
    Command::new("lolwut", -1, Flags::READ_ONLY.with(Flags::FAST), Keys::None, S, |c, _| {
        c.reply.verbatim("txt", b"Redis ver. 7.0.15\n");
        Ok(())
    }),
];

fn time(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let now = context.keys.now;
    context.reply.array(2);
    context.reply.bulk_integer((now.unix_ms / 1000) as i64);
    context.reply.bulk_integer((now.unix_ms % 1000 * 1000 + now.monotonic_us % 1000) as i64);
    Ok(())
}

fn memory(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "memory", MEMORY_TABLE)
}

fn slow_log(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "slowlog", SLOWLOG_TABLE)
}

fn latency(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "latency", LATENCY_TABLE)
}

const MEMORY_TABLE: &[Subcommand] = &[
    ("usage", -3, |c, a| {
        match a {
            [_, _, _] => {}
            [_, _, _, word, samples] if is(word, "samples") => {
                integer(samples)?;
            }
            _ => return Err(Error::SYNTAX),
        }
        match c.keys.peek(a[2]).map(|entry| size_of::<Entry>() + entry.heap_bytes()) {
            Some(bytes) => c.reply.integer(bytes as i64),
            None => c.reply.null(),
        }
        Ok(())
    }),
    ("doctor", 2, |c, _| {
        c.reply.verbatim("txt", b"Nothing to report: only the host program knows the size of the process.\n");
        Ok(())
    }),
    ("purge", 2, |c, _| {
        c.reply.ok();
        Ok(())
    }),
    ("help", 2, |c, _| {
        help(
            c,
            "MEMORY",
            &[
                "USAGE <key> [SAMPLES <count>]",
                "    Return memory in bytes used by <key> and its value. Nested values are",
                "    sampled up to <count> times (default: 5, 0 means sample all).",
            ],
        );
        Ok(())
    }),
];

/// Default number of entries for SLOWLOG GET.
const SLOWLOG_GET: usize = 10;

fn slow_commands(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let count = match args.get(2).map(|count| crate::number::integer(count)) {
        None => SLOWLOG_GET,
        Some(Some(-1)) => usize::MAX,
        Some(Some(count @ 0..)) => count as usize,
        Some(_) => return Err(Error::fixed("ERR count should be greater than or equal to -1")),
    };
    let log = &context.world.slow.log;
    context.reply.array(log.len().min(count));
    for entry in log.iter().take(count) {
        context.reply.array(6);
        context.reply.integer(entry.number as i64);
        context.reply.integer(entry.unix_s as i64);
        context.reply.integer(entry.took_us as i64);
        context.reply.array(entry.args.len());
        entry.args.iter().for_each(|arg| context.reply.bulk(arg));
        context.reply.bulk(entry.peer.as_bytes());
        context.reply.bulk(&entry.name);
    }
    Ok(())
}

const SLOWLOG_TABLE: &[Subcommand] = &[
    ("get", -2, slow_commands),
    ("len", 2, |c, _| {
        c.reply.integer(c.world.slow.log.len() as i64);
        Ok(())
    }),
    ("reset", 2, |c, _| {
        c.world.slow.log.clear();
        c.reply.ok();
        Ok(())
    }),
    ("help", 2, |c, _| {
        help(
            c,
            "SLOWLOG",
            &[
                "GET [<count>]",
                "    Return top <count> entries from the slowlog.",
                "LEN",
                "    Return the length of the slowlog.",
                "RESET",
                "    Reset the slowlog.",
            ],
        );
        Ok(())
    }),
];

fn latest(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let events = &context.world.slow.events;
    context.reply.array(events.len());
    for (name, event) in events {
        let (unix_s, ms) = event.samples.back().copied().unwrap_or_default();
        context.reply.array(4);
        context.reply.bulk(name.as_bytes());
        for number in [unix_s, ms, event.most_ms] {
            context.reply.integer(number as i64);
        }
    }
    Ok(())
}

fn history(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let events = &context.world.slow.events;
    let event = events.iter().find(|(name, _)| is(args[2], name)).map(|(_, event)| event);
    context.reply.array(event.map_or(0, |event| event.samples.len()));
    for (unix_s, ms) in event.iter().flat_map(|event| &event.samples) {
        context.reply.array(2);
        context.reply.integer(*unix_s as i64);
        context.reply.integer(*ms as i64);
    }
    Ok(())
}

fn reset_latency(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let events = &mut context.world.slow.events;
    let before = events.len();
    let asked = |name: &str| args.len() == 2 || args[2..].iter().any(|word| is(word, name));
    events.retain(|name, _| !asked(name));
    context.reply.integer((before - events.len()) as i64);
    Ok(())
}

const LATENCY_TABLE: &[Subcommand] = &[
    ("latest", 2, latest),
    ("history", 3, history),
    ("reset", -2, reset_latency),
    ("help", 2, |c, _| {
        help(
            c,
            "LATENCY",
            &[
                "HISTORY <event>",
                "    Return time-latency samples for the <event> class.",
                "LATEST",
                "    Return the latest latency samples for all events.",
                "RESET [<event> ...]",
                "    Reset latency data of one or more <event> classes.",
            ],
        );
        Ok(())
    }),
];

/// FUNCTION: there are no functions or scripts, so FLUSH succeeds and LIST is empty.
fn function(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "function", FUNCTION_TABLE)
}

fn script(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "script", SCRIPT_TABLE)
}

fn nothing_left(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.reply.ok();
    Ok(())
}

const FUNCTION_TABLE: &[Subcommand] = &[
    ("flush", -2, nothing_left),
    ("list", -2, |c, _| {
        c.reply.array(0);
        Ok(())
    }),
];

const SCRIPT_TABLE: &[Subcommand] = &[
    ("flush", -2, nothing_left),
    ("kill", 2, |_, _| Err(Error::fixed("NOTBUSY No scripts in execution right now."))),
    ("exists", -3, |c, a| {
        c.reply.array(a.len() - 2);
        a[2..].iter().for_each(|_| c.reply.integer(0));
        Ok(())
    }),
];
