//! Removal of ranges: ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

use super::zset_range::{Bounds, RangeKind};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{EventClass, Zset};
use crate::spec::{Flags, Group, Keys};

const W: Flags = Flags::WRITE;
const Z: Group = Group::SortedSet;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zremrangebyrank", 4, W, Keys::single(), Z, |c, a| {
        remove(c, a, RangeKind::Rank, "zremrangebyrank")
    }),
    Command::new("zremrangebyscore", 4, W, Keys::single(), Z, |c, a| {
        remove(c, a, RangeKind::Score, "zremrangebyscore")
    }),
    Command::new("zremrangebylex", 4, W, Keys::single(), Z, |c, a| {
        remove(c, a, RangeKind::Lex, "zremrangebylex")
    }),
];

fn remove(
    context: &mut Context<'_>,
    args: &[&[u8]],
    by: RangeKind,
    event: &'static str,
) -> Result<(), Error> {
    let bounds = Bounds::parse(by, args[2], args[3])?;
    let removed = context.keys.edit(args[1], false, |zset: &mut Zset| {
        let ranks = bounds.ranks(zset, false);
        ranks.clone().filter(|_| zset.remove_at(ranks.start).is_some()).count()
    })?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.keys.changed_by(EventClass::ZSET, event, args[1]);
    }
    context.reply.integer(removed as i64);
    Ok(())
}
