//! BGREWRITEAOF and SHUTDOWN: requests to the host program.

use crate::args::is;
use crate::command::{Command, Context};
use crate::error::Error;
use crate::host::HostRequest;
use crate::session::OnTimeout;
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
    if host.rewriting || host.is_requested(HostRequest::Rewrite) {
        return Err(Error::fixed("ERR Background append only file rewriting already in progress"));
    }
    host.request(HostRequest::Rewrite);
    context.reply.simple("Background append only file rewriting started");
    Ok(())
}

fn shutdown(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let word = |name: &str| args[1..].iter().any(|arg| is(arg, name));
    if !args[1..].iter().all(|arg| ["save", "nosave", "now", "force"].iter().any(|word| is(arg, word)))
        || word("save") && word("nosave")
    {
        return Err(Error::SYNTAX);
    }
    let saves = &mut context.world.saves;
    let save = saves.kept && !word("nosave") && (word("save") || !saves.points.is_empty());
    context.world.host.request(HostRequest::Shutdown { save, force: word("force") });
    if save {
        saves.await_shutdown(context.id);
        context.wait(args, &[], None, OnTimeout::Never);
    } else {
        // As in Redis, there is no reply: the connection is closed.
        context.close = true;
    }
    Ok(())
}
