//! DEBUG: the part that Redis' test suite needs.

use std::net::SocketAddr;

use crate::args::integer;
use crate::command::{Command, Context, Subcommand, subcommand};
use crate::error::Error;
use crate::limits::STRINGMATCH_BYTES_MAX;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);

pub(super) const COMMANDS: &[Command] =
    &[Command::new("debug", -2, ADMIN, Keys::None, Group::Server, debug).containing(DEBUG_TABLE)];

fn debug(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let allowed = match context.world.config.get("enable-debug-command") {
        Some("yes") => true,
        Some("local") => is_local(&context.session()?.peer),
        _ => false,
    };
    if !allowed {
        return Err(Error::fixed(
            "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local \
             connection, otherwise you need to set this option in the configuration file, and then restart the server.",
        ));
    }
    subcommand(context, args, "debug", DEBUG_TABLE)
}

/// Whether a peer's address is of this machine.
fn is_local(peer: &str) -> bool {
    peer.parse::<SocketAddr>().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
}

fn object(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let now = context.keys.now;
    let entry = context.keys.peek(args[2]).ok_or(Error::NO_SUCH_KEY)?;
    let text = format!(
        "Value at:0x0 refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{}",
        super::key::encoding(entry),
        entry.heap_bytes(),
        entry.access(),
        crate::keyspace::Policy::idle_seconds(entry, now),
    );
    context.reply.simple(text);
    Ok(())
}

const DEBUG_TABLE: &[Subcommand] = &[
    ("set-active-expire", 3, |c, a| {
        c.keys.active_expiry = a[2] != b"0";
        c.reply.ok();
        Ok(())
    }),
    ("object", -3, object),
    // Client libraries use it to test their handling of errors.
    ("error", 3, |c, a| {
        c.reply.error(a[2]);
        Ok(())
    }),
    ("jmap", 2, |c, _| {
        c.reply.ok();
        Ok(())
    }),
    ("set-disable-deny-scripts", 3, |c, _| {
        c.reply.ok();
        Ok(())
    }),
    ("quicklist-packed-threshold", 3, |c, _| {
        c.reply.ok();
        Ok(())
    }),
    ("stringmatch-len", 4, |c, a| {
        let length = usize::try_from(integer(a[2])?).ok().filter(|length| *length <= STRINGMATCH_BYTES_MAX);
        let length = length.ok_or(Error::fixed("ERR value is out of range"))?;
        let found = crate::glob::matches(a[3], &vec![b'a'; length]);
        c.reply.integer(i64::from(found));
        Ok(())
    }),
];
