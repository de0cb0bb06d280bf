//! PING, ECHO, SELECT, HELLO, AUTH, RESET, QUIT.

use netdyno_resp::{Protocol, Reply};

use crate::args::{integer, is, wrong_arguments};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::number;
use crate::spec::{Flags, Group, Keys};

const F: Flags = Flags::FAST;
const FREE: Flags = F.with(Flags::NO_AUTH);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("ping", -1, F.with(Flags::LISTENER), Keys::None, Group::Connection, ping),
    Command::new("echo", 2, F, Keys::None, Group::Connection, echo),
    Command::new("select", 2, F, Keys::None, Group::Connection, select),
    Command::new("hello", -1, FREE, Keys::None, Group::Connection, hello),
    Command::new("auth", -2, FREE, Keys::None, Group::Connection, auth),
    Command::new("reset", 1, FREE.with(Flags::LISTENER), Keys::None, Group::Connection, reset),
    Command::new("quit", -1, FREE.with(Flags::LISTENER), Keys::None, Group::Connection, quit),
];

fn ping(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args.len() > 2 {
        return Err(wrong_arguments("ping"));
    }
    let listens = context.session()?.only_listens();
    match args.get(1) {
        _ if listens => {
            context.reply.array(2);
            context.reply.bulk(b"pong");
            context.reply.bulk(args.get(1).copied().unwrap_or_default());
        }
        Some(text) => context.reply.bulk(text),
        None => context.reply.simple("PONG"),
    }
    Ok(())
}

fn echo(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    context.reply.bulk(args[1]);
    Ok(())
}

fn select(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let db = database(context, args[1])?;
    context.session()?.db = db;
    context.reply.ok();
    Ok(())
}

/// Parses a database number.
pub(super) fn database(context: &Context<'_>, text: &[u8]) -> Result<usize, Error> {
    let number = integer(text)?;
    let db = usize::try_from(number).ok().filter(|db| *db < context.keys.databases());
    db.ok_or(Error::fixed("ERR DB index is out of range"))
}

fn auth(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (name, password) = match args {
        [_, password] => {
            if context.world.acl.is_open() {
                return Err(Error::fixed(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                     configuration is correct?",
                ));
            }
            (&b"default"[..], *password)
        }
        [_, name, password] => (*name, *password),
        _ => return Err(Error::SYNTAX),
    };
    log_in(context, name, password)?;
    context.reply.ok();
    Ok(())
}

fn log_in(context: &mut Context<'_>, name: &[u8], password: &[u8]) -> Result<(), Error> {
    let Some(name) = std::str::from_utf8(name).ok().filter(|name| context.world.acl.accepts(name, password))
    else {
        context.world.sessions.refusals.passwords += 1;
        return Err(Error::fixed("WRONGPASS invalid username-password pair or user is disabled."));
    };
    let unrestricted = context.world.acl.is_unrestricted(name);
    let session = context.session()?;
    session.user = name.into();
    session.authenticated = true;
    session.unrestricted = unrestricted;
    Ok(())
}

fn hello(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let mut protocol = context.session()?.protocol;
    if let Some(version) = args.get(1) {
        let version = number::integer(version)
            .ok_or(Error::fixed("ERR Protocol version is not an integer or out of range"))?;
        protocol = match version {
            2 => Protocol::Resp2,
            3 => Protocol::Resp3,
            _ => return Err(Error::fixed("NOPROTO unsupported protocol version")),
        };
    }
    let (mut login, mut name) = (None, None);
    let mut at = 2;
    while at < args.len() {
        let left = args.len() - at - 1;
        if is(args[at], "auth") && left >= 2 {
            login = Some((args[at + 1], args[at + 2]));
            at += 3;
        } else if is(args[at], "setname") && left >= 1 {
            super::client::check_name(args[at + 1])?;
            name = Some(args[at + 1]);
            at += 2;
        } else {
            let option = String::from_utf8_lossy(args[at]);
            return Err(Error::new(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    if let Some((user, password)) = login {
        log_in(context, user, password)?;
    }
    if !context.session()?.authenticated {
        return Err(Error::fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    let session = context.session()?;
    if let Some(name) = name {
        session.name = name.into();
    }
    session.protocol = protocol;
    let number = session.number;
    let mut reply = Reply::new(context.reply.out(), protocol);
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(crate::config::REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(number as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}

fn reset(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.session()?.transaction = None;
    context.forget_watches()?;
    let id = context.id;
    context.world.pubsub.forget(&mut context.world.sessions, id);
    context.world.monitors.forget(id);
    let open = context.world.acl.is_open();
    let unrestricted = context.world.acl.is_unrestricted("default");
    let session = context.session()?;
    session.db = 0;
    session.protocol = Protocol::Resp2;
    session.name = Box::default();
    session.user = "default".into();
    session.authenticated = open;
    session.unrestricted = unrestricted;
    session.reply_mode = crate::session::ReplyMode::On;
    session.no_evict = false;
    session.no_touch = false;
    Reply::new(context.reply.out(), Protocol::Resp2).simple("RESET");
    Ok(())
}

fn quit(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.reply.ok();
    context.close = true;
    Ok(())
}
