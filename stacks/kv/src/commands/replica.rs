//! REPLICAOF, ROLE, WAIT: whose copy this server is.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::host::Wish;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);
const S: Group = Group::Server;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("replicaof", 3, ADMIN, Keys::None, S, follow),
    Command::new("slaveof", 3, ADMIN, Keys::None, S, follow),
    Command::new("role", 1, ADMIN.with(Flags::FAST), Keys::None, S, role),
    Command::new("wait", 3, Flags::NONE, Keys::None, Group::Generic, wait),
];

fn follow(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let none = is(args[1], "no") && is(args[2], "one");
    let primary = if none { None } else { Some(address(args[1], args[2])?) };
    if primary.is_some() && context.world.replication.primary == primary {
        context.reply.simple("OK Already connected to specified master");
        return Ok(());
    }
    if primary.is_some() || context.world.replication.is_replica() {
        context.world.follow(context.keys, primary);
        context.world.host.wish(Wish::Follow);
    }
    context.reply.ok();
    Ok(())
}

/// An address in digits: a name would have to be looked up, while everybody waits.
fn address(host: &[u8], port: &[u8]) -> Result<SocketAddr, Error> {
    let port = u16::try_from(integer(port)?).ok().filter(|port| *port > 0);
    let port = port.ok_or(Error::fixed("ERR Invalid master port"))?;
    let text = std::str::from_utf8(host).unwrap_or_default();
    let ip = if is(host, "localhost") { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { text.parse().ok() };
    let ip = ip.ok_or(Error::fixed("ERR give the primary's address in digits: names are not looked up"))?;
    Ok(SocketAddr::new(ip, port))
}

fn role(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let Some(primary) = context.world.replication.primary else {
        context.reply.array(3);
        context.reply.bulk(b"master");
        context.reply.integer(0);
        context.reply.array(0);
        return Ok(());
    };
    let link = &context.world.replication.link;
    context.reply.array(5);
    context.reply.bulk(b"slave");
    context.reply.bulk(primary.ip().to_string().as_bytes());
    context.reply.integer(i64::from(primary.port()));
    context.reply.bulk(link.state.name().as_bytes());
    context.reply.integer(link.offset as i64);
    Ok(())
}

/// This server has no replicas: nobody has anything, and there is nothing to wait for.
fn wait(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.world.replication.is_replica() {
        return Err(Error::fixed(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to \
             be writable (which is not the default) writes to replicas are just local and are not propagated.",
        ));
    }
    integer(args[1])?;
    let timeout = crate::number::integer(args[2]);
    let timeout = timeout.ok_or(Error::fixed("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Error::fixed("ERR timeout is negative"));
    }
    context.reply.integer(0);
    Ok(())
}
