//! CLIENT: information about connections, and control of them.

use std::fmt::Write as _;

use netdyno_resp::Protocol;

use crate::args::{integer, is};
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::monitors::Monitors;
use crate::number;
use crate::session::{ReplyMode, Session};
use crate::spec::{Flags, Group, Keys};
use crate::world::{Pause, World};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("client", -2, Flags::NONE, Keys::None, Group::Connection, client)
        .containing(CLIENT_TABLE)];

/// Checks a connection's name: no spaces, so that CLIENT LIST can be parsed.
pub(super) fn check_name(name: &[u8]) -> Result<(), Error> {
    let fine = name.iter().all(|byte| (b'!'..=b'~').contains(byte));
    let error = Error::fixed("ERR Client names cannot contain spaces, newlines or special characters.");
    if fine { Ok(()) } else { Err(error) }
}

fn client(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "client", CLIENT_TABLE)
}

fn on_off(word: &[u8]) -> Result<bool, Error> {
    match () {
        () if is(word, "on") => Ok(true),
        () if is(word, "off") => Ok(false),
        () => Err(Error::SYNTAX),
    }
}

fn get_name(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let name = context.session()?.name.clone();
    if name.is_empty() {
        context.reply.null();
    } else {
        context.reply.bulk(&name);
    }
    Ok(())
}

fn set_info(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let option = args[2];
    if !args[3].iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        let option = String::from_utf8_lossy(option).to_ascii_lowercase();
        return Err(Error::new(format!(
            "ERR {option} cannot contain spaces, newlines or special characters."
        )));
    }
    match () {
        () if is(option, "lib-name") => context.session()?.library = args[3].into(),
        () if is(option, "lib-ver") => context.session()?.library_version = args[3].into(),
        () => {
            let option = String::from_utf8_lossy(option);
            return Err(Error::new(format!("ERR Unrecognized option '{option}'")));
        }
    }
    context.reply.ok();
    Ok(())
}

/// One line of CLIENT LIST.
fn line(session: &Session, monitors: &Monitors, now_ms: u64) -> String {
    let mut flags = String::new();
    if session.blocked.is_some() {
        flags.push('b');
    }
    if session.transaction.is_some() {
        flags.push('x');
    }
    if session.subscriptions() + session.shard_channels.len() > 0 {
        flags.push('P');
    }
    if monitors.has(session.id) {
        flags.push('O');
    }
    if session.no_evict {
        flags.push('e');
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let mut line = format!(
        "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={flags}",
        session.number,
        session.peer,
        local(session),
        String::from_utf8_lossy(&session.name),
        now_ms.saturating_sub(session.opened_ms) / 1000,
        now_ms.saturating_sub(session.active_ms) / 1000,
    );
    let queued = session.transaction.as_ref().map_or(-1, |t| t.commands.len() as i64);
    let bytes = session.transaction.as_ref().map_or(0, |t| t.bytes);
    let unsent = session.buffers.unsent + session.pending();
    let _ = write!(
        line,
        " db={} sub={} psub={} ssub={} multi={queued} qbuf={} qbuf-free={} argv-mem=0 multi-mem={bytes} rbs=0 rbp=0 obl=0 oll={} omem={} \
         tot-mem={} events=r cmd={} user={} redir=-1 resp={} lib-name={} lib-ver={}",
        session.db,
        session.channels.len(),
        session.patterns.len(),
        session.shard_channels.len(),
        session.buffers.unread,
        session.buffers.unread_capacity.saturating_sub(session.buffers.unread),
        u8::from(unsent > 0),
        unsent,
        session.held_bytes(),
        session.last_command.0.to_owned()
            + &session.last_command.1.map(|sub| format!("|{sub}")).unwrap_or_default(),
        session.user,
        if session.protocol == Protocol::Resp3 { 3 } else { 2 },
        String::from_utf8_lossy(&session.library),
        String::from_utf8_lossy(&session.library_version),
    );
    line
}

/// The local address; Redis' placeholder for a session without a connection.
fn local(session: &Session) -> String {
    session.local.map_or_else(|| "?:0".to_owned(), |local| local.to_string())
}

fn kind_of(session: &Session) -> &'static str {
    if session.subscriptions() + session.shard_channels.len() > 0 { "pubsub" } else { "normal" }
}

fn check_kind(kind: &[u8]) -> Result<(), Error> {
    if ["normal", "master", "replica", "slave", "pubsub"].iter().any(|name| is(kind, name)) {
        return Ok(());
    }
    Err(Error::new(format!("ERR Unknown client type '{}'", String::from_utf8_lossy(kind))))
}

fn list(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (mut kind, mut numbers) = (None, None);
    match &args[2..] {
        [] => {}
        [word, name] if is(word, "type") => {
            check_kind(name)?;
            kind = Some(*name);
        }
        [word, list @ ..] if is(word, "id") && !list.is_empty() => {
            let parsed = list.iter().map(|text| number::integer(text).filter(|n| *n > 0));
            let invalid = Error::fixed("ERR Invalid client ID");
            numbers = Some(parsed.collect::<Option<Vec<_>>>().ok_or(invalid)?);
        }
        _ => return Err(Error::SYNTAX),
    }
    let now = context.keys.now.unix_ms;
    let mut text = String::new();
    let mut sessions: Vec<&Session> = context.world.sessions.iter().collect();
    sessions.sort_by_key(|session| session.number);
    for session in sessions {
        let wanted = kind.is_none_or(|kind| is(kind, kind_of(session)))
            && numbers.as_ref().is_none_or(|numbers| numbers.contains(&(session.number as i64)));
        if wanted {
            text += &line(session, &context.world.monitors, now);
            text.push('\n');
        }
    }
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// The filters of CLIENT KILL.
#[derive(Default)]
struct Filter<'a> {
    number: Option<i64>,
    peer: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    own: bool,
}

impl Filter<'_> {
    fn means(&self, session: &Session) -> bool {
        self.local.is_none_or(|address| local(session).as_bytes() == address)
            && self.number.is_none_or(|number| session.number as i64 == number)
            && self.peer.is_none_or(|peer| session.peer.as_bytes() == peer)
            && self.kind.is_none_or(|kind| is(kind, kind_of(session)))
            && self.user.is_none_or(|user| session.user.as_bytes() == user)
    }
}

fn kill(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let old_form = args.len() == 3;
    let mut filter = Filter::default();
    if old_form {
        filter = Filter { peer: Some(args[2]), own: true, ..filter };
    }
    for pair in args[2..].chunks(2).filter(|_| !old_form) {
        match pair {
            [word, text] if is(word, "id") => {
                let number = number::integer(text).filter(|n| *n > 0);
                filter.number = Some(number.ok_or(Error::fixed("ERR client-id should be greater than 0"))?);
            }
            [word, kind] if is(word, "type") => {
                check_kind(kind)?;
                filter.kind = Some(kind);
            }
            [word, user] if is(word, "user") => {
                if context.world.acl.user(&String::from_utf8_lossy(user)).is_none() {
                    return Err(Error::new(format!("ERR No such user '{}'", String::from_utf8_lossy(user))));
                }
                filter.user = Some(user);
            }
            [word, peer] if is(word, "addr") => filter.peer = Some(peer),
            [word, local] if is(word, "laddr") => filter.local = Some(local),
            [word, answer] if is(word, "skipme") => {
                filter.own = match () {
                    () if is(answer, "yes") => false,
                    () if is(answer, "no") => true,
                    () => return Err(Error::SYNTAX),
                };
            }
            _ => return Err(Error::SYNTAX),
        }
    }
    let own = context.id;
    let meant = context.world.sessions.iter().filter(|s| filter.means(s) && (filter.own || s.id != own));
    let ids: Vec<_> = meant.map(|session| session.id).collect();
    if old_form && ids.is_empty() {
        return Err(Error::fixed("ERR No such client"));
    }
    for id in &ids {
        if *id == own {
            context.close = true;
        } else {
            context.world.sessions.end(*id);
        }
    }
    match old_form {
        true => context.reply.ok(),
        false => context.reply.integer(ids.len() as i64),
    }
    Ok(())
}

fn reply_mode(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let mode = match () {
        () if is(args[2], "on") => ReplyMode::On,
        () if is(args[2], "off") => ReplyMode::Off,
        () if is(args[2], "skip") => ReplyMode::SkipNext,
        () => return Err(Error::SYNTAX),
    };
    let session = context.session()?;
    if !(mode == ReplyMode::SkipNext && session.reply_mode == ReplyMode::Off) {
        session.reply_mode = mode;
    }
    if mode == ReplyMode::On {
        context.reply.ok();
    }
    Ok(())
}

fn pause(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let all = match args.get(3) {
        None => true,
        Some(word) if is(word, "all") => true,
        Some(word) if is(word, "write") => false,
        Some(_) => return Err(Error::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL")),
    };
    let invalid = Error::fixed("ERR timeout is not an integer or out of range");
    let ms = number::integer(args[2]).ok_or(invalid)?;
    let ms = u64::try_from(ms).map_err(|_| Error::fixed("ERR timeout is negative"))?;
    let old = context.world.pause;
    let now = context.keys.now.unix_ms;
    // A pause in progress is never shortened or weakened.
    let still_all = old.all && old.until_ms > now;
    context.world.pause = Pause { until_ms: old.until_ms.max(now.saturating_add(ms)), all: all || still_all };
    context.reply.ok();
    Ok(())
}

fn unblock(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let error = match args.get(3) {
        None => None,
        Some(word) if is(word, "timeout") => None,
        Some(word) if is(word, "error") => Some("UNBLOCKED client unblocked via CLIENT UNBLOCK"),
        Some(_) => return Err(Error::fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let number = integer(args[2])?;
    let waits =
        |s: &&Session| s.number as i64 == number && s.blocked.as_ref().is_some_and(|b| !b.keys.is_empty());
    let id = context.world.sessions.iter().find(waits).map(|session| session.id);
    let done = id.is_some_and(|id| context.world.unblock(context.keys, id, error));
    context.reply.integer(i64::from(done));
    Ok(())
}

const CLIENT_TABLE: &[Subcommand] = &[
    ("id", 2, |c, _| {
        let number = c.session()?.number;
        c.reply.integer(number as i64);
        Ok(())
    }),
    ("getname", 2, get_name),
    ("setname", 3, |c, a| {
        check_name(a[2])?;
        c.session()?.name = a[2].into();
        c.reply.ok();
        Ok(())
    }),
    ("setinfo", 4, set_info),
    ("info", 2, |c, _| {
        let World { sessions, monitors, .. } = &*c.world;
        let text = sessions.get(c.id).map(|session| line(session, monitors, c.keys.now.unix_ms) + "\n");
        c.reply.verbatim("txt", text.unwrap_or_default().as_bytes());
        Ok(())
    }),
    ("list", -2, list),
    ("kill", -3, kill),
    ("reply", 3, reply_mode),
    ("no-evict", 3, |c, a| {
        c.session()?.no_evict = on_off(a[2])?;
        c.reply.ok();
        Ok(())
    }),
    ("no-touch", 3, |c, a| {
        c.session()?.no_touch = on_off(a[2])?;
        c.reply.ok();
        Ok(())
    }),
    ("pause", -3, pause),
    ("unpause", 2, |c, _| {
        c.world.pause = Pause::default();
        for id in c.world.blocking.with_deadline() {
            c.world.blocking.end_pause(&mut c.world.sessions, id);
        }
        c.reply.ok();
        Ok(())
    }),
    ("unblock", -3, unblock),
    ("getredir", 2, |c, _| {
        c.reply.integer(-1);
        Ok(())
    }),
    ("help", 2, |c, _| {
        help(
            c,
            "CLIENT",
            &[
                "ID",
                "    Return the ID of the current connection.",
                "LIST [options ...]",
                "    Return information about client connections.",
            ],
        );
        Ok(())
    }),
];
