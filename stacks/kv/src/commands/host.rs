//! BGREWRITEAOF and SHUTDOWN: what the program around the engine has to do.

use crate::args::is;
use crate::command::{Command, Context};
use crate::error::Error;
use crate::host::Wish;
use crate::spec::{Flags, Group, Keys};

const HOST: Flags = Flags::ADMIN.with(Flags::DANGEROUS).with(Flags::NO_MULTI);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("bgrewriteaof", 1, HOST, Keys::None, Group::Server, rewrite),
    Command::new("shutdown", -1, HOST, Keys::None, Group::Server, shutdown),
];

fn rewrite(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let host = &mut context.world.host;
    if !host.has_log {
        return Err(Error::fixed("ERR there is no append-only file: start the server with --appendonly yes"));
    }
    if host.rewriting || host.wish == Some(Wish::Rewrite) {
        return Err(Error::fixed("ERR Background append only file rewriting already in progress"));
    }
    host.wish = Some(Wish::Rewrite);
    context.reply.simple("Background append only file rewriting started");
    Ok(())
}

/// What is to be saved is in the append-only file: there is no other way to end.
fn shutdown(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if !args[1..].iter().all(|arg| ["save", "nosave", "now", "force"].iter().any(|word| is(arg, word))) {
        return Err(Error::SYNTAX);
    }
    context.world.host.wish = Some(Wish::Shutdown);
    // Redis says nothing: the connection ends.
    context.close = true;
    Ok(())
}
