//! INFO: the fields that can be computed without system calls.

use std::fmt::Write as _;

use crate::args::is;
use crate::command::{Command, Context};
use crate::config::REDIS_VERSION;
use crate::error::Error;
use crate::spec::{Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("info", -1, Flags::DANGEROUS, Keys::None, Group::Server, info)];

type Section = (&'static str, bool, fn(&Context<'_>, &mut String));

/// Name, whether it is shown by default, and the function that writes it.
const SECTIONS: &[Section] = &[
    ("server", true, server),
    ("clients", true, clients),
    ("memory", true, memory),
    ("persistence", true, persistence),
    ("stats", true, stats),
    ("replication", true, replication),
    ("cpu", true, |_, _| {}),
    ("commandstats", false, command_stats),
    ("errorstats", true, |_, _| {}),
    ("cluster", true, |_, text| *text += "cluster_enabled:0\r\n"),
    ("keyspace", true, keyspace),
];

fn info(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let asked = &args[1..];
    let everything = asked.iter().any(|word| is(word, "all") || is(word, "everything"));
    let default = asked.is_empty() || asked.iter().any(|word| is(word, "default"));
    let mut text = String::new();
    for (name, usual, write) in SECTIONS {
        if everything || default && *usual || asked.iter().any(|word| is(word, name)) {
            if !text.is_empty() {
                text += "\r\n";
            }
            let (first, rest) = name.split_at(1);
            let _ = write!(text, "# {}{rest}\r\n", first.to_ascii_uppercase());
            write(context, &mut text);
            text += context.world.info.get(*name).map_or("", String::as_str);
            if let Some(lines) = context.world.info_sources.get(*name) {
                text += &lines();
            }
        }
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn server(context: &Context<'_>, text: &mut String) {
    let now = context.keys.now;
    let up = now.unix_ms.saturating_sub(context.world.started_ms) / 1000;
    let _ = write!(
        text,
        "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nserver_name:netdyno-kv\r\narch_bits:{}\r\nrun_id:{}\r\n\
         tcp_port:{}\r\nserver_time_usec:{}\r\nuptime_in_seconds:{up}\r\nuptime_in_days:{}\r\nhz:{}\r\n",
        usize::BITS,
        context.world.run_id,
        context.world.config.get("port").unwrap_or_default(),
        now.unix_ms * 1000,
        up / 86_400,
        context.world.config.get("hz").unwrap_or_default(),
    );
}

fn clients(context: &Context<'_>, text: &mut String) {
    let _ = write!(
        text,
        "connected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:{}\r\n",
        context.world.sessions.len(),
        context.world.config.get("maxclients").unwrap_or_default(),
        context.world.blocking.len(),
    );
}

fn human(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.2}K", bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", bytes as f64 / 1_048_576.0),
        _ => format!("{:.2}G", bytes as f64 / 1_073_741_824.0),
    }
}

fn memory(context: &Context<'_>, text: &mut String) {
    let (used, most) = (context.keys.memory_bytes(), context.keys.memory_max);
    let _ = write!(
        text,
        "used_memory:{used}\r\nused_memory_human:{}\r\nused_memory_dataset:{used}\r\nmaxmemory:{most}\r\nmaxmemory_human:{}\r\n\
         maxmemory_policy:{}\r\n",
        human(used),
        human(most),
        context.keys.policy.name(),
    );
}

fn persistence(context: &Context<'_>, text: &mut String) {
    *text += if context.world.replication.loading { "loading:1\r\n" } else { "loading:0\r\n" };
    *text += "async_loading:0\r\n";
    context.world.saves.write_info(context.keys.dirty, context.keys.now, text);
    let _ = write!(
        text,
        "aof_enabled:{}\r\naof_rewrite_in_progress:{}\r\n",
        u8::from(context.keys.log.is_on() && !context.world.followers.own_log),
        u8::from(context.keys.dump.is_some()),
    );
}

fn stats(context: &Context<'_>, text: &mut String) {
    let (counters, totals) = (&context.keys.counters, &context.world.totals);
    let refusals = &context.world.sessions.refusals;
    let _ = write!(
        text,
        "total_connections_received:{}\r\ntotal_commands_processed:{}\r\nexpired_keys:{}\r\nevicted_keys:{}\r\n\
         keyspace_hits:{}\r\nkeyspace_misses:{}\r\npubsub_channels:{}\r\npubsub_patterns:{}\r\npubsubshard_channels:{}\r\n\
         total_error_replies:{}\r\nrejected_connections:{}\r\nacl_access_denied_auth:{}\r\nevicted_clients:{}\r\n\
         client_output_buffer_limit_disconnections:{}\r\n",
        context.world.sessions.opened(),
        totals.commands,
        counters.expired,
        counters.evicted,
        counters.hits,
        counters.misses,
        context.world.pubsub.subscribers(crate::pubsub::SubscriptionKind::Channel).len(),
        context.world.pubsub.subscribers(crate::pubsub::SubscriptionKind::Pattern).len(),
        context.world.pubsub.subscribers(crate::pubsub::SubscriptionKind::Shard).len(),
        totals.errors,
        refusals.connections,
        refusals.passwords,
        refusals.evicted,
        refusals.unread,
    );
}

fn replication(context: &Context<'_>, text: &mut String) {
    let world = &context.world;
    if world.replication.is_replica() {
        return world.replication.write_info(context.keys.now, text);
    }
    *text += "role:master\r\n";
    world.followers.write_info(context.keys.now.unix_ms, text);
    let offset = world.followers.base + context.keys.log.len() as u64;
    let _ = write!(text, "master_replid:{}\r\nmaster_repl_offset:{offset}\r\n", world.history);
}

fn command_stats(context: &Context<'_>, text: &mut String) {
    for (index, (calls, failed)) in
        context.world.totals.calls.iter().enumerate().filter(|(_, (calls, _))| *calls > 0)
    {
        let name = context.commands.get(index).spec.name;
        let _ = write!(text, "cmdstat_{name}:calls={calls},rejected_calls=0,failed_calls={failed}\r\n");
    }
}

fn keyspace(context: &Context<'_>, text: &mut String) {
    for db in 0..context.keys.databases() {
        let (keys, timed) = context.keys.sizes(db);
        if keys > 0 {
            let _ = write!(text, "db{db}:keys={keys},expires={timed},avg_ttl=0\r\n");
        }
    }
}
