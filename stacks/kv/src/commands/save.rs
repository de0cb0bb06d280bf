//! SAVE, BGSAVE, LASTSAVE, and DUMP and RESTORE of single keys.

use super::expire::{Unit, absolute};
use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::host::HostRequest;
use crate::keyspace::{EventClass, payload};
use crate::rdb::{Usage, check_payload};
use crate::session::OnTimeout;
use crate::spec::{Flags, Group, Keys};

const ADMIN: Flags = Flags::ADMIN.with(Flags::DANGEROUS);
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM).with(Flags::DANGEROUS);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("save", 1, ADMIN.with(Flags::NO_MULTI), Keys::None, Group::Server, save),
    Command::new("bgsave", -1, ADMIN, Keys::None, Group::Server, save_behind),
    Command::new("lastsave", 1, ADMIN.with(Flags::FAST), Keys::None, Group::Server, last_save),
    Command::new("dump", 2, Flags::READ_ONLY, Keys::single(), Group::Generic, dump),
    Command::new("restore", -4, W, Keys::single(), Group::Generic, restore),
];

fn begin(context: &mut Context<'_>) -> Result<(), Error> {
    let saves = &context.world.saves;
    if !saves.kept {
        return Err(Error::fixed(
            "ERR this server stores no snapshots: it was started without a folder for them",
        ));
    }
    if saves.is_running() || context.keys.snapshot.is_some() {
        return Err(Error::fixed("ERR Background save already in progress"));
    }
    context.world.begin_save(context.keys);
    context.world.host.request(HostRequest::Snapshot);
    Ok(())
}

/// Only this session waits for the end of the snapshot.
fn save(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    begin(context)?;
    context.world.saves.await_end(context.id);
    context.wait(args, &[], None, OnTimeout::Never);
    Ok(())
}

fn save_behind(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    // A snapshot can always start immediately, so SCHEDULE has no effect.
    if !matches!(args, [_]) && !matches!(args, [_, word] if is(word, "schedule")) {
        return Err(Error::SYNTAX);
    }
    begin(context)?;
    context.reply.simple("Background saving started");
    Ok(())
}

fn last_save(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    context.reply.integer((context.world.saves.last_ms / 1000) as i64);
    Ok(())
}

fn dump(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    match context.keys.peek(args[1]).map(payload) {
        Some(payload) => context.reply.bulk(&payload),
        None => context.reply.null(),
    }
    Ok(())
}

/// The options after the payload.
#[derive(Default)]
struct Options {
    replace: bool,
    from_1970: bool,
    usage: Usage,
}

impl Options {
    fn parse(words: &[&[u8]]) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if is(word, "replace") {
                options.replace = true;
            } else if is(word, "absttl") {
                options.from_1970 = true;
            } else if is(word, "idletime") && options.usage == Usage::Unknown {
                let seconds = u64::try_from(integer(words.next().ok_or(Error::SYNTAX)?)?);
                let seconds =
                    seconds.map_err(|_| Error::fixed("ERR Invalid IDLETIME value, must be >= 0"))?;
                options.usage = Usage::Idle(seconds);
            } else if is(word, "freq") && options.usage == Usage::Unknown {
                let uses = u8::try_from(integer(words.next().ok_or(Error::SYNTAX)?)?);
                let invalid = Error::fixed("ERR Invalid FREQ value, must be >= 0 and <= 255");
                options.usage = Usage::Uses(uses.map_err(|_| invalid)?);
            } else {
                return Err(Error::SYNTAX);
            }
        }
        Ok(options)
    }
}

fn restore(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (key, payload) = (args[1], args[3]);
    let options = Options::parse(&args[4..])?;
    if !options.replace && context.keys.exists(key) {
        return Err(Error::fixed("BUSYKEY Target key name already exists."));
    }
    if integer(args[2])? < 0 {
        return Err(Error::fixed("ERR Invalid TTL value, must be >= 0"));
    }
    let deadline = match args[2] {
        b"0" => None,
        text => {
            Some(absolute(context.keys.now, text, Unit::Milliseconds, !options.from_1970, false, "restore")?)
        }
    };
    let value =
        check_payload(payload).ok_or(Error::fixed("ERR DUMP payload version or checksum are wrong"))?;
    let entry = context.keys.entry_of_payload(key, value);
    let mut entry = entry.map_err(|_| Error::fixed("ERR Bad data format"))?;
    let replaced = context.keys.take(key).is_some();
    if deadline.is_some_and(|at| at <= context.keys.judged_ms()) {
        if replaced {
            context.keys.changed_by(EventClass::GENERIC, "del", key);
            context.log(&[b"DEL", key]);
        }
        context.reply.ok();
        return Ok(());
    }
    entry.set_deadline(deadline);
    context.keys.insert_entry(entry);
    context.keys.set_usage(key, options.usage);
    context.keys.changed_by(EventClass::GENERIC, "restore", key);
    context.keys.signal(key);
    let at = deadline.unwrap_or(0);
    context.log(&[
        b"RESTORE",
        key,
        itoa::Buffer::new().format(at).as_bytes(),
        payload,
        b"REPLACE",
        b"ABSTTL",
    ]);
    context.reply.ok();
    Ok(())
}
