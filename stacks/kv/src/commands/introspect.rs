//! COMMAND: introspection of the command table.

use netdyno_resp::Reply;

use crate::args::is;
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::glob;
use crate::spec::{CATEGORIES, Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("command", -1, Flags::NONE, Keys::None, Group::Server, command).containing(COMMAND_TABLE)];

fn command(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len() == 1 {
        context.reply.array(context.commands.len());
        context.commands.iter().for_each(|command| describe(&mut context.reply, command));
        return Ok(());
    }
    subcommand(context, args, "command", COMMAND_TABLE)
}

const FLAG_NAMES: [(Flags, &str); 8] = [
    (Flags::WRITE, "write"),
    (Flags::READ_ONLY, "readonly"),
    (Flags::DENY_OOM, "denyoom"),
    (Flags::ADMIN, "admin"),
    (Flags::PUBSUB, "pubsub"),
    (Flags::BLOCKING, "blocking"),
    (Flags::FAST, "fast"),
    (Flags::NO_AUTH, "no_auth"),
];

fn describe(reply: &mut Reply<'_>, command: &Command) {
    reply.array(10);
    reply.bulk(command.spec.name.as_bytes());
    reply.integer(i64::from(command.spec.arity));
    let mut flags: Vec<&str> = FLAG_NAMES
        .iter()
        .filter(|(flag, _)| command.spec.flags.contains(*flag))
        .map(|(_, name)| *name)
        .collect();
    if matches!(command.spec.keys, Keys::Counted { .. } | Keys::Store) {
        flags.push("movablekeys");
    }
    reply.set(flags.len());
    flags.iter().for_each(|name| reply.simple(name));
    let (first, last, step) = command.spec.keys.triple();
    [first, last, step].into_iter().for_each(|number| reply.integer(number));
    let categories: Vec<_> = CATEGORIES.iter().filter(|category| command.spec.is_in(category)).collect();
    reply.set(categories.len());
    categories.iter().for_each(|category| reply.simple(format!("@{category}")));
    // Tips, key specifications and subcommands are empty.
    (0..3).for_each(|_| reply.array(0));
}

fn group_name(group: Group) -> &'static str {
    match group {
        Group::Generic => "generic",
        Group::String => "string",
        Group::List => "list",
        Group::Hash => "hash",
        Group::Set => "set",
        Group::SortedSet => "sorted-set",
        Group::Bitmap => "bitmap",
        Group::PubSub => "pubsub",
        Group::Connection => "connection",
        Group::Transactions => "transactions",
        Group::Server => "server",
    }
}

fn docs(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let wanted: Vec<&Command> = match &args[2..] {
        [] => context.commands.iter().collect(),
        names => {
            names.iter().filter_map(|n| context.commands.find(n)).map(|at| context.commands.get(at)).collect()
        }
    };
    context.reply.map(wanted.len());
    for command in wanted {
        context.reply.bulk(command.spec.name.as_bytes());
        context.reply.map(1);
        context.reply.bulk(b"group");
        context.reply.bulk(group_name(command.spec.group).as_bytes());
    }
    Ok(())
}

fn list(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let names = context.commands.iter();
    let found: Vec<&str> = match &args[2..] {
        [] => names.map(|command| command.spec.name).collect(),
        [by, kind, text] if is(by, "filterby") && is(kind, "pattern") => names
            .map(|c| c.spec.name)
            .filter(|name| glob::matches_case(text, name.as_bytes(), true))
            .collect(),
        [by, kind, text] if is(by, "filterby") && is(kind, "aclcat") => {
            let category = String::from_utf8_lossy(text).to_ascii_lowercase();
            names.filter(|command| command.spec.is_in(&category)).map(|command| command.spec.name).collect()
        }
        [by, kind, _] if is(by, "filterby") && is(kind, "module") => Vec::new(),
        _ => return Err(Error::SYNTAX),
    };
    context.reply.array(found.len());
    found.iter().for_each(|name| context.reply.bulk(name.as_bytes()));
    Ok(())
}

fn keys(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let invalid = Error::fixed("ERR Invalid command specified");
    let command = context.commands.get(context.commands.find(args[2]).ok_or(invalid)?);
    let inner = &args[2..];
    if !command.spec.takes(inner.len()) {
        return Err(Error::fixed("ERR Invalid number of arguments specified for command"));
    }
    let positions: Vec<usize> = command.spec.keys.positions(inner).filter(|at| *at < inner.len()).collect();
    if positions.is_empty() {
        return Err(match command.spec.keys {
            Keys::Counted { .. } => Error::fixed("ERR Invalid arguments specified for command"),
            _ => Error::fixed("ERR The command has no key arguments"),
        });
    }
    let with_flags = is(args[1], "getkeysandflags");
    context.reply.array(positions.len());
    for at in positions {
        if with_flags {
            context.reply.array(2);
        }
        context.reply.bulk(inner[at]);
        if with_flags {
            context.reply.array(1);
            let write = command.spec.flags.contains(Flags::WRITE);
            context.reply.simple(if write { "RW" } else { "RO" });
        }
    }
    Ok(())
}

const COMMAND_TABLE: &[Subcommand] = &[
    ("count", 2, |c, _| {
        c.reply.integer(c.commands.len() as i64);
        Ok(())
    }),
    ("info", -2, |c, a| {
        if a.len() == 2 {
            return command(c, &a[..1]);
        }
        c.reply.array(a.len() - 2);
        for name in &a[2..] {
            match c.commands.find(name) {
                Some(index) => describe(&mut c.reply, c.commands.get(index)),
                None => c.reply.null_array(),
            }
        }
        Ok(())
    }),
    ("docs", -2, docs),
    ("list", -2, list),
    ("getkeys", -4, keys),
    ("getkeysandflags", -4, keys),
    ("help", 2, |c, _| {
        help(
            c,
            "COMMAND",
            &[
                "(no subcommand)",
                "    Return details about all Redis commands.",
                "COUNT",
                "    Return the total number of commands in this Redis server.",
                "LIST",
                "    Return a list of all commands in this Redis server.",
                "INFO [<command-name> ...]",
                "    Return details about multiple Redis commands.",
                "DOCS [<command-name> ...]",
                "    Return documentation details about multiple Redis commands.",
                "GETKEYS <full-command>",
                "    Return the keys from a full Redis command.",
            ],
        );
        Ok(())
    }),
];
