//! MULTI, EXEC, DISCARD, WATCH, UNWATCH; and how one command is run.

use netdyno_resp::Reply;

use super::context::Waiting;
use super::{Command, Commands, Context, Flags, Group, Keys};
use crate::engine::Outcome;
use crate::error::Error;
use crate::keyspace::Keyspace;
use crate::limits::{TRANSACTION_BYTES_MAX, TRANSACTION_COMMANDS_MAX};
use crate::session::{SessionId, Transaction, borrowed, owned};
use crate::world::World;

const F: Flags = Flags::FAST.with(Flags::NO_MULTI);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("multi", 1, F, Keys::None, Group::Transactions, multi),
    Command::new("exec", 1, Flags::NONE, Keys::None, Group::Transactions, exec),
    Command::new("discard", 1, Flags::FAST, Keys::None, Group::Transactions, discard),
    Command::new("watch", -2, F, Keys::range(1, -1, 1), Group::Transactions, watch),
    Command::new("unwatch", 1, Flags::FAST, Keys::None, Group::Transactions, unwatch),
];

/// Runs a command that may run, and writes its reply, its error, and what is to be logged.
pub(crate) fn call(
    keys: &mut Keyspace,
    world: &mut World,
    commands: &Commands,
    id: SessionId,
    index: usize,
    args: &[&[u8]],
    out: &mut Vec<u8>,
) -> Outcome {
    let Some(session) = world.sessions.get(id) else { return Outcome::Close };
    keys.db = session.db;
    keys.touching = !session.no_touch || commands.get(index).name == "touch";
    let reply = Reply::new(out, session.protocol);
    let waiting = Waiting::Allowed;
    let mut context = Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
    context.run(index, args);
    let close = context.close;
    match world.sessions.get(id) {
        Some(session) if session.blocked.is_some() => Outcome::Blocked,
        Some(_) if !close => Outcome::Continue,
        _ => Outcome::Close,
    }
}

impl Context<'_> {
    fn run(&mut self, index: usize, args: &[&[u8]]) {
        let command = self.commands.get(index);
        let start = self.reply.out().len();
        let (db, dirty) = (self.keys.db, self.keys.dirty);
        if self.keys.dump.is_some() && command.flags.contains(Flags::WRITE) {
            command.keys.positions(args).for_each(|at| self.keys.dump_early(args[at]));
        }
        self.keys.log.begin();
        let result = (command.run)(self, args);
        if self.keys.dirty != dirty {
            self.keys.log.end(db, args);
        }
        let totals = &mut self.world.totals;
        if totals.calls.len() <= index {
            totals.calls.resize(self.commands.len(), (0, 0));
        }
        totals.calls[index].0 += 1;
        if let Err(error) = result {
            totals.calls[index].1 += 1;
            totals.errors += 1;
            self.reply.out().truncate(start);
            self.reply.error(error.text());
        }
    }

    /// Keeps a command for EXEC.
    pub(crate) fn queue(transaction: &mut Transaction, args: &[&[u8]]) -> Result<(), Error> {
        let bytes: usize = args.iter().map(|arg| arg.len() + size_of::<usize>() * 4).sum();
        transaction.bytes += bytes;
        if transaction.commands.len() >= TRANSACTION_COMMANDS_MAX || transaction.bytes > TRANSACTION_BYTES_MAX
        {
            transaction.bytes -= bytes;
            return Err(Error::fixed("ERR transaction is too large, send EXEC or DISCARD"));
        }
        transaction.commands.push(owned(args));
        Ok(())
    }

    /// Tries a waiting session's command again, since `key` has something; `false` if there is nothing left for others.
    pub(crate) fn try_again(
        keys: &mut Keyspace,
        world: &mut World,
        commands: &Commands,
        id: SessionId,
        key: &(usize, Box<[u8]>),
    ) -> bool {
        let Some(session) = world.sessions.get_mut(id) else { return true };
        let protocol = session.protocol;
        let Some(blocked) = session.blocked.take() else { return true };
        keys.db = key.0;
        let index = blocked.args.first().and_then(|name| commands.find(name));
        let group = index.map(|index| commands.get(index).group);
        let kind = keys.peek(&key.1).map(|entry| entry.value().map_or("string", |value| value.type_name()));
        let fits = matches!(
            (group, kind),
            (Some(Group::List), Some("list")) | (Some(Group::SortedSet), Some("zset"))
        );
        let mut out = Vec::new();
        let mut served = false;
        if let Some(index) = index.filter(|_| fits) {
            let reply = Reply::new(&mut out, protocol);
            let waiting = Waiting::Again;
            let mut context =
                Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
            context.run(index, &borrowed(&blocked.args));
            served = !context.still_waits;
        }
        if let Some(session) = world.sessions.get_mut(id) {
            session.blocked = Some(blocked);
        }
        if served {
            world.blocking.remove(keys, &mut world.sessions, id);
            world.sessions.resume(id, &out);
        }
        kind.is_some()
    }

    /// Ends the watches of the session.
    pub(crate) fn forget_watches(&mut self) -> Result<(), Error> {
        let watched = std::mem::take(&mut self.session()?.watched);
        self.keys.watch.forget(self.id, &watched);
        Ok(())
    }
}

fn multi(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let session = context.session()?;
    if session.transaction.is_some() {
        return Err(Error::fixed("ERR MULTI calls can not be nested"));
    }
    session.transaction = Some(Box::default());
    context.reply.ok();
    Ok(())
}

fn exec(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let Some(transaction) = context.session()?.transaction.take() else {
        return Err(Error::fixed("ERR EXEC without MULTI"));
    };
    // A watched key whose time is over counts as changed.
    let watched = std::mem::take(&mut context.session()?.watched);
    let db = context.keys.db;
    for (db, key) in &watched {
        context.keys.db = *db;
        context.keys.exists(key);
    }
    context.keys.db = db;
    let touched = context.keys.watch.is_touched(context.id);
    context.keys.watch.forget(context.id, &watched);
    if transaction.spoiled {
        return Err(Error::fixed("EXECABORT Transaction discarded because of previous errors."));
    }
    if touched {
        context.reply.null_array();
        return Ok(());
    }
    context.reply.array(transaction.commands.len());
    context.keys.log.begin_transaction();
    for args in &transaction.commands {
        let args = borrowed(args);
        let Some(index) = args.first().and_then(|name| context.commands.find(name)) else { continue };
        let command = context.commands.get(index);
        let refused = refusal(context, index, command, &args)?;
        if let Some(error) = refused {
            context.reply.error(error.text());
            continue;
        }
        // What the commands before have changed holds for this one: database, protocol.
        let (db, protocol) = (context.session()?.db, context.session()?.protocol);
        context.keys.db = db;
        let mut inner = Context {
            keys: &mut *context.keys,
            world: &mut *context.world,
            commands: context.commands,
            reply: Reply::new(context.reply.out(), protocol),
            id: context.id,
            waiting: Waiting::Never,
            still_waits: false,
            close: false,
        };
        inner.run(index, &args);
        context.close |= inner.close;
    }
    context.keys.log.end_transaction();
    Ok(())
}

/// Users can change between MULTI and EXEC, and within.
fn refusal(
    context: &mut Context<'_>,
    index: usize,
    command: &Command,
    args: &[&[u8]],
) -> Result<Option<Error>, Error> {
    let session = context.session()?;
    if session.unrestricted {
        return Ok(None);
    }
    let user = session.user.clone();
    Ok(context.world.acl.check(&user, index, command, args).err())
}

fn discard(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    if context.session()?.transaction.take().is_none() {
        return Err(Error::fixed("ERR DISCARD without MULTI"));
    }
    context.forget_watches()?;
    context.reply.ok();
    Ok(())
}

fn watch(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.session()?.transaction.is_some() {
        return Err(Error::fixed("ERR WATCH inside MULTI is not allowed"));
    }
    let db = context.keys.db;
    for key in &args[1..] {
        // If its time is over, it is gone now, and not by somebody's doing.
        context.keys.exists(key);
        context.keys.watch.watch(context.id, db, key);
        let key: Box<[u8]> = (*key).into();
        let session = context.session()?;
        if !session.watched.iter().any(|watched| *watched == (db, key.clone())) {
            session.watched.push((db, key));
        }
    }
    context.reply.ok();
    Ok(())
}

fn unwatch(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.forget_watches()?;
    context.reply.ok();
    Ok(())
}
