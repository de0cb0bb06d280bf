//! BITFIELD: integers of any width within a string.

use super::string_range::write;
use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::EventClass;
use crate::limits::STRING_BYTES_MAX;
use crate::number;
use crate::spec::{Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] = &[
    Command::new(
        "bitfield",
        -2,
        Flags::WRITE.with(Flags::DENY_OOM),
        Keys::single(),
        Group::Bitmap,
        |c, a| run(c, a, true),
    ),
    Command::new(
        "bitfield_ro",
        -2,
        Flags::READ_ONLY.with(Flags::FAST),
        Keys::single(),
        Group::Bitmap,
        |c, a| run(c, a, false),
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Get,
    Set(i64),
    Increment(i64),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    signed: bool,
    width: u32,
    offset: usize,
    action: Action,
    overflow: Overflow,
}

impl Step {
    /// The range of the type.
    fn bounds(self) -> (i128, i128) {
        match self.signed {
            true => (-(1i128 << (self.width - 1)), (1i128 << (self.width - 1)) - 1),
            false => (0, (1i128 << self.width) - 1),
        }
    }

    fn read(self, text: &[u8]) -> i128 {
        let mut value: u64 = 0;
        for bit in self.offset..self.offset + self.width as usize {
            let on = text.get(bit >> 3).is_some_and(|byte| byte & (0x80 >> (bit & 7)) != 0);
            value = value << 1 | u64::from(on);
        }
        let sign = self.signed && value >> (self.width - 1) & 1 == 1;
        i128::from(value) - if sign { 1i128 << self.width } else { 0 }
    }

    fn write(self, text: &mut [u8], value: i128) {
        for at in 0..self.width as usize {
            let on = value >> (self.width as usize - 1 - at) & 1 == 1;
            let bit = self.offset + at;
            let mask = 0x80 >> (bit & 7);
            let byte = &mut text[bit >> 3];
            *byte = if on { *byte | mask } else { *byte & !mask };
        }
    }

    /// The stored value after overflow handling; `None` for OVERFLOW FAIL.
    fn fitted(self, value: i128) -> Option<i128> {
        let (least, most) = self.bounds();
        if (least..=most).contains(&value) {
            return Some(value);
        }
        match self.overflow {
            Overflow::Fail => None,
            Overflow::Saturate => Some(value.clamp(least, most)),
            Overflow::Wrap => {
                let wrapped = value.rem_euclid(1i128 << self.width);
                Some(if wrapped > most { wrapped - (1i128 << self.width) } else { wrapped })
            }
        }
    }
}

fn kind(text: &[u8]) -> Result<(bool, u32), Error> {
    let invalid = Error::fixed(
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    let (signed, digits) = match text {
        [b'i', digits @ ..] => (true, digits),
        [b'u', digits @ ..] => (false, digits),
        _ => return Err(invalid),
    };
    let most = if signed { 64 } else { 63 };
    let width = number::integer(digits).filter(|width| (1..=most).contains(width));
    width.map(|width| (signed, width as u32)).ok_or(invalid)
}

/// Parses a bit offset; after `#` it is a multiple of the type's width.
fn bit_offset(text: &[u8], width: u32) -> Result<usize, Error> {
    let invalid = Error::fixed("ERR bit offset is not an integer or out of range");
    let (scale, digits) = text.strip_prefix(b"#").map_or((1, text), |rest| (i64::from(width), rest));
    let offset =
        number::integer(digits).and_then(|n| n.checked_mul(scale)).and_then(|n| usize::try_from(n).ok());
    offset.filter(|bit| (bit + width as usize) >> 3 < STRING_BYTES_MAX).ok_or(invalid)
}

fn parse(args: &[&[u8]]) -> Result<Vec<Step>, Error> {
    let (mut steps, mut overflow) = (Vec::new(), Overflow::Wrap);
    let mut rest = args;
    while let [word, more @ ..] = rest {
        if let [kind, after @ ..] = more
            && is(word, "overflow")
        {
            overflow = match () {
                () if is(kind, "wrap") => Overflow::Wrap,
                () if is(kind, "sat") => Overflow::Saturate,
                () if is(kind, "fail") => Overflow::Fail,
                () => return Err(Error::fixed("ERR Invalid OVERFLOW type specified")),
            };
            rest = after;
            continue;
        }
        let [type_text, offset_text, after @ ..] = more else { return Err(Error::SYNTAX) };
        let get = is(word, "get");
        if !get && !is(word, "set") && !is(word, "incrby") {
            return Err(Error::SYNTAX);
        }
        let (signed, width) = kind(type_text)?;
        let offset = bit_offset(offset_text, width)?;
        let (action, after) = match after {
            _ if get => (Action::Get, after),
            [value, after @ ..] if is(word, "set") => (Action::Set(integer(value)?), after),
            [value, after @ ..] => (Action::Increment(integer(value)?), after),
            [] => return Err(Error::SYNTAX),
        };
        steps.push(Step { signed, width, offset, action, overflow });
        rest = after;
    }
    Ok(steps)
}

fn run(context: &mut Context<'_>, args: &[&[u8]], may_write: bool) -> Result<(), Error> {
    let steps = parse(&args[2..])?;
    let writes = steps.iter().filter(|step| !matches!(step.action, Action::Get));
    let needed = writes.map(|step| ((step.offset + step.width as usize - 1) >> 3) + 1).max();
    if needed.is_some() && !may_write {
        return Err(Error::fixed("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    let mut results = Vec::with_capacity(steps.len());
    match needed {
        None => {
            let text = context.keys.string(args[1])?.unwrap_or_default();
            results.extend(steps.iter().map(|step| Some(step.read(text))));
        }
        Some(length) => {
            let before = context.keys.string(args[1])?.map_or(0, <[u8]>::len);
            let mut changed = length > before;
            write(context, args[1], length, |text| {
                for step in &steps {
                    let old = step.read(text);
                    let (new, reply) = match step.action {
                        Action::Get => (None, Some(old)),
                        Action::Set(value) => {
                            // As in Redis, -1 is the maximum of an unsigned type.
                            let value = if step.signed { value.into() } else { i128::from(value as u64) };
                            let new = step.fitted(value);
                            (new, new.map(|_| old))
                        }
                        Action::Increment(by) => {
                            let new = step.fitted(old + i128::from(by));
                            (new, new)
                        }
                    };
                    if let Some(new) = new {
                        changed |= new != old;
                        step.write(text, new);
                    }
                    results.push(reply);
                }
            })?;
            if changed {
                context.keys.changed_by(EventClass::STRING, "setbit", args[1]);
            }
        }
    }
    context.reply.array(results.len());
    for result in results {
        match result {
            Some(value) => context.reply.integer(value as i64),
            None => context.reply.null(),
        }
    }
    Ok(())
}
