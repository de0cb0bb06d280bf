//! Substrings: APPEND, GETRANGE, SETRANGE.

use crate::args::{integer, range};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{Deadline, EventClass};
use crate::limits::STRING_BYTES_MAX;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const S: Group = Group::String;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("append", 3, W.with(Flags::FAST), Keys::single(), S, append),
    Command::new("getrange", 4, R, Keys::single(), S, part),
    Command::new("substr", 4, R, Keys::single(), S, part),
    Command::new("setrange", 4, W, Keys::single(), S, overwrite),
];

fn append(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (key, more) = (args[1], args[2]);
    let old = context
        .keys
        .peek(key)
        .map(|entry| entry.string().map(<[u8]>::len).ok_or(Error::WRONG_TYPE))
        .transpose()?;
    let length = match old {
        None => {
            context.keys.set_string(key, more, Deadline::Clear);
            more.len()
        }
        Some(old) => {
            let new = old + more.len();
            if new > STRING_BYTES_MAX {
                return Err(Error::TOO_LONG);
            }
            context.keys.edit_string(key, |entry| {
                if let Some(text) = entry.grow_string(new) {
                    text[old..].copy_from_slice(more);
                }
            })?;
            new
        }
    };
    context.keys.changed_by(EventClass::STRING, "append", key);
    context.reply.integer(length as i64);
    Ok(())
}

fn part(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (start, end) = (integer(args[2])?, integer(args[3])?);
    let text = context.keys.string(args[1])?.unwrap_or_default();
    let len = text.len() as i64;
    // Unlike in lists, an end before the start of the string is clamped to 0.
    let clamp = |index: i64| if index < 0 { index.saturating_add(len).max(0) } else { index };
    let upside_down = start < 0 && end < 0 && start > end;
    match range(clamp(start), clamp(end), text.len()) {
        Some((start, end)) if !upside_down => context.reply.bulk(&text[start..=end]),
        _ => context.reply.bulk(b""),
    }
    Ok(())
}

fn overwrite(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let (key, more) = (args[1], args[3]);
    let offset =
        usize::try_from(integer(args[2])?).map_err(|_| Error::fixed("ERR offset is out of range"))?;
    let old = context
        .keys
        .peek(key)
        .map(|entry| entry.string().map(<[u8]>::len).ok_or(Error::WRONG_TYPE))
        .transpose()?;
    if more.is_empty() {
        context.reply.integer(old.unwrap_or(0) as i64);
        return Ok(());
    }
    let end = offset.checked_add(more.len()).filter(|end| *end <= STRING_BYTES_MAX).ok_or(Error::TOO_LONG)?;
    let length = write(context, key, end, |text| text[offset..end].copy_from_slice(more))?;
    context.keys.changed_by(EventClass::STRING, "setrange", key);
    context.reply.integer(length as i64);
    Ok(())
}

/// Extends a string, overwrites some of its bytes, and replies with its length.
pub(super) fn write(
    context: &mut Context<'_>,
    key: &[u8],
    length: usize,
    change: impl FnOnce(&mut [u8]),
) -> Result<usize, Error> {
    if context.keys.peek(key).is_none() {
        context.keys.set_string(key, b"", Deadline::Clear);
    }
    let edited = context.keys.edit_string(key, |entry| {
        let length = entry.string().map_or(0, <[u8]>::len).max(length);
        if let Some(text) = entry.grow_string(length) {
            change(text);
        }
        length
    })?;
    Ok(edited.unwrap_or(0))
}
