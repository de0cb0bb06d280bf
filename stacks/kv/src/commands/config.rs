//! CONFIG: parameters at runtime.

use crate::args::{is, wrong_arguments};
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);

pub(super) const COMMANDS: &[Command] =
    &[Command::new("config", -2, ADMIN, Keys::None, Group::Server, config).containing(CONFIG_TABLE)];

fn config(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "config", CONFIG_TABLE)
}

fn get(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let found = context.world.config.matching(&args[2..]);
    context.reply.map(found.len());
    for (name, value) in found {
        context.reply.bulk(name.as_bytes());
        context.reply.bulk(value.as_bytes());
    }
    Ok(())
}

fn set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len() % 2 == 1 {
        return Err(wrong_arguments("config|set"));
    }
    let pairs: Vec<(&[u8], &[u8])> = args[2..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    context.world.config.set(&pairs)?;
    context.world.config.apply(context.keys);
    context.world.saves.points = context.world.config.save_points();
    context.world.client_memory_max = context.world.config.number("maxmemory-clients");
    context.world.slow.configure(&context.world.config);
    let names = pairs.iter().map(|(name, _)| String::from_utf8_lossy(name).to_ascii_lowercase());
    // Deduplicated, since the host may never collect them.
    context.world.host.configured.extend(names);
    context.world.host.configured.sort_unstable();
    context.world.host.configured.dedup();
    if pairs.iter().any(|(name, _)| is(name, "requirepass")) {
        let password = context.world.config.get("requirepass").unwrap_or_default().to_owned();
        context.world.acl.set_password(&password);
    }
    // A lower limit applies immediately.
    if !context.world.replication.is_replica() {
        context.keys.make_room();
    }
    context.reply.ok();
    Ok(())
}

const CONFIG_TABLE: &[Subcommand] = &[
    ("get", -3, get),
    ("set", -4, set),
    ("resetstat", 2, |c, _| {
        c.world.totals = crate::world::Totals::default();
        c.world.sessions.refusals = crate::held::Refusals::default();
        c.keys.counters = crate::keyspace::Counters::default();
        c.reply.ok();
        Ok(())
    }),
    ("rewrite", 2, |_, _| Err(Error::fixed("ERR The server is running without a config file"))),
    ("help", 2, |c, _| {
        help(
            c,
            "CONFIG",
            &[
                "GET <pattern>",
                "    Return parameters matching the glob-like <pattern> and their values.",
                "SET <directive> <value>",
                "    Set the configuration <directive> to <value>.",
                "RESETSTAT",
                "    Reset statistics reported by the INFO command.",
                "REWRITE",
                "    Rewrite the configuration file.",
            ],
        );
        Ok(())
    }),
];
