//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use netdyno_resp::Reply;

use crate::acl::Denial;
use crate::command::{Command, Context, Waiting};
use crate::error::Error;
use crate::held::entry_bytes;
use crate::session::borrowed;
use crate::spec::{Flags, Group, Keys};

const F: Flags = Flags::FAST.with(Flags::NO_MULTI);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("multi", 1, F, Keys::None, Group::Transactions, multi),
    Command::new("exec", 1, Flags::NONE, Keys::None, Group::Transactions, exec),
    Command::new("discard", 1, Flags::FAST, Keys::None, Group::Transactions, discard),
    Command::new("watch", -2, F, Keys::range(1, -1, 1), Group::Transactions, watch),
    Command::new("unwatch", 1, Flags::FAST, Keys::None, Group::Transactions, unwatch),
];

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
    // A watched key that has expired counts as changed.
    let watched = context.session()?.take_watched();
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
        if let Some(denial) = denial(context, command, &args)? {
            context.reply.error(denial.error_in_exec().text());
            continue;
        }
        // Earlier commands of the transaction may have changed the database or protocol.
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

/// Permissions can change between MULTI and EXEC, and within the transaction.
fn denial(context: &mut Context<'_>, command: &Command, args: &[&[u8]]) -> Result<Option<Denial>, Error> {
    let session = context.session()?;
    if session.unrestricted || command.spec.flags.contains(Flags::NO_AUTH) {
        return Ok(None);
    }
    let user = session.user.clone();
    Ok(context.world.acl.check(&user, &command.spec, args).err())
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
        // Removes the key now if it has expired, so that its expiry does not count as a later change.
        context.keys.exists(key);
        context.keys.watch.watch(context.id, db, key);
        let session = context.session()?;
        if session.watched.insert((db, (*key).into())) {
            session.held.watched += entry_bytes(key);
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
