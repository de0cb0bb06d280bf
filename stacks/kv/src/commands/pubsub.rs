//! SUBSCRIBE, PUBLISH and similar commands.

use crate::args::wrong_arguments;
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::glob;
use crate::held::entry_bytes;
use crate::pubsub::SubscriptionKind;
use crate::spec::{Flags, Group, Keys};

const P: Flags = Flags::PUBSUB.with(Flags::LISTENER);
const G: Group = Group::PubSub;
const N: Keys = Keys::None;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("subscribe", -2, P, N, G, |c, a| subscribe(c, a, SubscriptionKind::Channel)),
    Command::new("psubscribe", -2, P, N, G, |c, a| subscribe(c, a, SubscriptionKind::Pattern)),
    Command::new("ssubscribe", -2, P, N, G, |c, a| subscribe(c, a, SubscriptionKind::Shard)),
    Command::new("unsubscribe", -1, P, N, G, |c, a| unsubscribe(c, a, SubscriptionKind::Channel)),
    Command::new("punsubscribe", -1, P, N, G, |c, a| unsubscribe(c, a, SubscriptionKind::Pattern)),
    Command::new("sunsubscribe", -1, P, N, G, |c, a| unsubscribe(c, a, SubscriptionKind::Shard)),
    Command::new("publish", 3, Flags::PUBSUB.with(Flags::FAST), N, G, |c, a| publish(c, a, false)),
    Command::new("spublish", 3, Flags::PUBSUB.with(Flags::FAST), N, G, |c, a| publish(c, a, true)),
    Command::new("pubsub", -2, Flags::PUBSUB, N, G, pubsub).containing(PUBSUB_TABLE),
];

impl Context<'_> {
    fn subscriptions(
        &mut self,
        kind: SubscriptionKind,
    ) -> Result<&mut std::collections::BTreeSet<Box<[u8]>>, Error> {
        let session = self.session()?;
        Ok(match kind {
            SubscriptionKind::Channel => &mut session.channels,
            SubscriptionKind::Pattern => &mut session.patterns,
            SubscriptionKind::Shard => &mut session.shard_channels,
        })
    }

    fn count_of(&mut self, kind: SubscriptionKind) -> Result<usize, Error> {
        let session = self.session()?;
        Ok(if kind == SubscriptionKind::Shard {
            session.shard_channels.len()
        } else {
            session.subscriptions()
        })
    }

    fn confirm(&mut self, word: &[u8], name: Option<&[u8]>, count: usize) {
        self.reply.push(3);
        self.reply.bulk(word);
        match name {
            Some(name) => self.reply.bulk(name),
            None => self.reply.null(),
        }
        self.reply.integer(count as i64);
    }
}

fn subscribe(context: &mut Context<'_>, args: &[&[u8]], kind: SubscriptionKind) -> Result<(), Error> {
    for name in &args[1..] {
        if context.subscriptions(kind)?.insert((*name).into()) {
            context.session()?.held.subscribed += entry_bytes(name);
            context.world.pubsub.subscribe(kind, context.id, name);
        }
        let count = context.count_of(kind)?;
        context.confirm(kind.message_types().0, Some(name), count);
    }
    Ok(())
}

fn unsubscribe(context: &mut Context<'_>, args: &[&[u8]], kind: SubscriptionKind) -> Result<(), Error> {
    let names: Vec<Box<[u8]>> = match args.len() {
        1 => context.subscriptions(kind)?.iter().cloned().collect(),
        _ => args[1..].iter().map(|name| Box::from(*name)).collect(),
    };
    if names.is_empty() {
        let count = context.count_of(kind)?;
        context.confirm(kind.message_types().1, None, count);
    }
    for name in names {
        if context.subscriptions(kind)?.remove(&name) {
            context.session()?.held.subscribed -= entry_bytes(&name);
        }
        context.world.pubsub.unsubscribe(kind, context.id, &name);
        let count = context.count_of(kind)?;
        context.confirm(kind.message_types().1, Some(&name), count);
    }
    Ok(())
}

fn publish(context: &mut Context<'_>, args: &[&[u8]], shard: bool) -> Result<(), Error> {
    let world = &mut *context.world;
    let own = Some((context.id, &mut context.reply));
    let count = world.pubsub.publish(&mut world.sessions, shard, args[1], args[2], own);
    context.reply.integer(count as i64);
    Ok(())
}

fn pubsub(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "pubsub", PUBSUB_TABLE)
}

fn channels(context: &mut Context<'_>, args: &[&[u8]], kind: SubscriptionKind) -> Result<(), Error> {
    let pattern = match args {
        [_, _] => &b"*"[..],
        [_, _, pattern] => pattern,
        _ => {
            return Err(wrong_arguments(if kind == SubscriptionKind::Shard {
                "pubsub|shardchannels"
            } else {
                "pubsub|channels"
            }));
        }
    };
    let later = context.reply.later();
    let mut count = 0;
    for name in context.world.pubsub.subscribers(kind).keys().filter(|name| glob::matches(pattern, name)) {
        count += 1;
        context.reply.bulk(name);
    }
    context.reply.finish_array(later, count);
    Ok(())
}

fn numbers(context: &mut Context<'_>, args: &[&[u8]], kind: SubscriptionKind) -> Result<(), Error> {
    context.reply.array((args.len() - 2) * 2);
    for name in &args[2..] {
        context.reply.bulk(name);
        let count = context.world.pubsub.subscribers(kind).get(*name).map_or(0, |listeners| listeners.len());
        context.reply.integer(count as i64);
    }
    Ok(())
}

const PUBSUB_TABLE: &[Subcommand] = &[
    ("channels", -2, |c, a| channels(c, a, SubscriptionKind::Channel)),
    ("shardchannels", -2, |c, a| channels(c, a, SubscriptionKind::Shard)),
    ("numsub", -2, |c, a| numbers(c, a, SubscriptionKind::Channel)),
    ("shardnumsub", -2, |c, a| numbers(c, a, SubscriptionKind::Shard)),
    ("numpat", 2, |c, _| {
        let count = c.world.pubsub.subscribers(SubscriptionKind::Pattern).len();
        c.reply.integer(count as i64);
        Ok(())
    }),
    ("help", 2, |c, _| {
        help(
            c,
            "PUBSUB",
            &[
                "CHANNELS [<pattern>]",
                "    Return the currently active channels matching a <pattern> (default: '*').",
                "NUMPAT",
                "    Return number of subscriptions to patterns.",
                "NUMSUB [<channel> ...]",
                "    Return the number of subscribers for the specified channels, excluding",
                "    pattern subscriptions(default: no channels).",
                "SHARDCHANNELS [<pattern>]",
                "    Return the currently active shard level channels matching a <pattern> (default: '*').",
                "SHARDNUMSUB [<shardchannel> ...]",
                "    Return the number of subscribers for the specified shard level channel(s)",
            ],
        );
        Ok(())
    }),
];
