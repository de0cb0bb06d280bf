//! REPLICAOF, ROLE, WAIT, REPLCONF, PSYNC: replication.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::args::{integer, is};
use crate::command::{Command, Context, Waiting};
use crate::error::Error;
use crate::followers::Waiter;
use crate::host::HostRequest;
use crate::limits::REPLICA_ADDRESS_BYTES;
use crate::session::OnTimeout;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);
const S: Group = Group::Server;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("replicaof", 3, ADMIN, Keys::None, S, follow),
    Command::new("slaveof", 3, ADMIN, Keys::None, S, follow),
    Command::new("role", 1, ADMIN.with(Flags::FAST), Keys::None, S, role),
    Command::new("replconf", -1, ADMIN.with(Flags::NO_MULTI), Keys::None, S, introduce),
    Command::new("psync", 3, ADMIN.with(Flags::NO_MULTI), Keys::None, S, synchronise),
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
        context.world.host.request(HostRequest::Follow);
    }
    context.reply.ok();
    Ok(())
}

/// Parses an IP address; resolving a name would block all clients.
fn address(host: &[u8], port: &[u8]) -> Result<SocketAddr, Error> {
    let port = u16::try_from(integer(port)?).ok().filter(|port| *port > 0);
    let port = port.ok_or(Error::fixed("ERR Invalid master port"))?;
    let text = std::str::from_utf8(host).unwrap_or_default();
    let ip = if is(host, "localhost") { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { text.parse().ok() };
    let ip = ip.ok_or(Error::fixed("ERR the primary must be an IP address: host names are not resolved"))?;
    Ok(SocketAddr::new(ip, port))
}

fn role(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let Some(primary) = context.world.replication.primary else {
        let offset = context.world.followers.base + context.keys.log.len() as u64;
        context.reply.array(3);
        context.reply.bulk(b"master");
        context.reply.integer(offset as i64);
        context.reply.array(context.world.followers.iter().count());
        for follower in context.world.followers.iter() {
            context.reply.array(3);
            context.reply.bulk(follower.address.as_bytes());
            context.reply.bulk(follower.port.to_string().as_bytes());
            context.reply.bulk(follower.acknowledged.to_string().as_bytes());
        }
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

/// WAIT: blocks until the given number of replicas has acknowledged all earlier changes.
fn wait(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.world.replication.is_replica() {
        return Err(Error::fixed(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to \
             be writable (which is not the default) writes to replicas are just local and are not propagated.",
        ));
    }
    let wanted = usize::try_from(integer(args[1])?).unwrap_or(0);
    let timeout = crate::number::integer(args[2]);
    let timeout = timeout.ok_or(Error::fixed("ERR timeout is not an integer or out of range"))?;
    let timeout = u64::try_from(timeout).map_err(|_| Error::fixed("ERR timeout is negative"))?;
    let offset = context.world.followers.base + context.keys.log.len() as u64;
    let count = context.world.followers.count(offset);
    if count >= wanted || context.waiting == Waiting::Never {
        context.reply.integer(count as i64);
        return Ok(());
    }
    let deadline = (timeout > 0).then(|| context.keys.now.unix_ms.saturating_add(timeout));
    context.world.followers.waiters.push(Waiter { id: context.id, offset, wanted });
    context.world.host.request(HostRequest::Acknowledgements);
    context.wait(args, &[], deadline, OnTimeout::Count);
    Ok(())
}

/// REPLCONF: properties and acknowledgements of a replica.
fn introduce(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len().is_multiple_of(2) {
        return Err(Error::SYNTAX);
    }
    let (id, now_ms) = (context.id, context.keys.now.unix_ms);
    let address = context.session()?.peer.rsplit_once(':').map(|(address, _)| Box::from(address));
    let follower = context.world.followers.get_mut(id);
    follower.address = address.unwrap_or_default();
    for pair in args[1..].chunks_exact(2) {
        if is(pair[0], "listening-port") {
            follower.port = u16::try_from(integer(pair[1])?).unwrap_or(0);
        } else if is(pair[0], "ip-address") {
            if pair[1].len() > REPLICA_ADDRESS_BYTES {
                return Err(Error::fixed("ERR REPLCONF ip-address provided by replica instance is too long"));
            }
            follower.address = String::from_utf8_lossy(pair[1]).into();
        } else if is(pair[0], "capa") {
            follower.knows_marks |= is(pair[1], "eof");
        } else if is(pair[0], "ack") {
            // An acknowledgement has no reply, because the connection carries the change stream. Those of other
            // clients are ignored.
            if !follower.follows {
                return Ok(());
            }
            follower.acknowledged = u64::try_from(integer(pair[1])?).unwrap_or(0);
            (follower.words, follower.heard_ms) = (follower.words + 1, now_ms);
            while let Some(served) = context.world.followers.served() {
                context.world.unblock(context.keys, served, None);
            }
            return Ok(());
        } else if !is(pair[0], "version") {
            let name = String::from_utf8_lossy(pair[0]);
            return Err(Error::new(format!("ERR Unrecognized REPLCONF option: {name}")));
        }
    }
    context.reply.ok();
    Ok(())
}

/// PSYNC: a replica requests the keys and the changes.
fn synchronise(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if context.world.replication.restricts() {
        return Err(Error::fixed(
            "NOMASTERLINK this server is a replica and accepts no replicas: replicate its primary",
        ));
    }
    let id = context.id;
    let follower = context.world.followers.get_mut(id);
    if !follower.knows_marks {
        return Err(Error::fixed(
            "ERR the replica must support the EOF marker: send REPLCONF capa eof first",
        ));
    }
    if !std::mem::replace(&mut follower.follows, true) {
        let next = crate::number::integer(args[2]).and_then(|next| u64::try_from(next).ok());
        let asked = next.map(|next| (String::from_utf8_lossy(args[1]).into_owned(), next));
        context.world.followers.asked.push((id, asked));
        context.session()?.is_replica = true;
        context.world.host.request(HostRequest::ServeReplicas);
    }
    Ok(())
}
