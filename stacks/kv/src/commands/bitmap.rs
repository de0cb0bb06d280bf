//! Bitmaps: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP.

use super::string_range::write;
use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::keyspace::{Deadline, EventClass};
use crate::limits::STRING_BYTES_MAX;
use crate::number;
use crate::spec::{Flags, Group, Keys};

const R: Flags = Flags::READ_ONLY;
const W: Flags = Flags::WRITE.with(Flags::DENY_OOM);
const B: Group = Group::Bitmap;

pub(super) const COMMANDS: &[Command] = &[
    Command::new("setbit", 4, W, Keys::single(), B, set),
    Command::new("getbit", 3, R.with(Flags::FAST), Keys::single(), B, get),
    Command::new("bitcount", -2, R, Keys::single(), B, count),
    Command::new("bitpos", -3, R, Keys::single(), B, position),
    Command::new("bitop", -4, W, Keys::range(2, -1, 1), B, operate),
];

const NOT_A_BIT: Error = Error::fixed("ERR bit is not an integer or out of range");

fn offset(text: &[u8]) -> Result<usize, Error> {
    let offset = number::integer(text).and_then(|n| usize::try_from(n).ok());
    let fits = offset.filter(|bit| *bit >> 3 < STRING_BYTES_MAX);
    fits.ok_or(Error::fixed("ERR bit offset is not an integer or out of range"))
}

fn set(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let bit = offset(args[2])?;
    let on = match args[3] {
        b"0" => false,
        b"1" => true,
        _ => return Err(NOT_A_BIT),
    };
    let mask = 0x80 >> (bit & 7);
    let before = context.keys.peek(args[1]).and_then(|entry| entry.string()).map_or(0, <[u8]>::len);
    let mut old = false;
    let after = write(context, args[1], (bit >> 3) + 1, |text| {
        let byte = &mut text[bit >> 3];
        old = *byte & mask != 0;
        *byte = if on { *byte | mask } else { *byte & !mask };
    })?;
    if old != on || after > before {
        context.keys.changed_by(EventClass::STRING, "setbit", args[1]);
    }
    context.reply.integer(i64::from(old));
    Ok(())
}

fn get(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let bit = offset(args[2])?;
    let text = context.keys.string(args[1])?.unwrap_or_default();
    let on = text.get(bit >> 3).is_some_and(|byte| byte & (0x80 >> (bit & 7)) != 0);
    context.reply.integer(i64::from(on));
    Ok(())
}

/// Whether a range is in bits rather than bytes.
fn in_bits(word: Option<&&[u8]>) -> Result<bool, Error> {
    match word {
        None => Ok(false),
        Some(word) if is(word, "bit") => Ok(true),
        Some(word) if is(word, "byte") => Ok(false),
        Some(_) => Err(Error::SYNTAX),
    }
}

/// First and last bit of a range in bytes or bits; negative indexes count from the end.
fn bits(start: i64, end: i64, bytes: usize, by_bit: bool) -> Option<(usize, usize)> {
    let total = if by_bit { bytes as i64 * 8 } else { bytes as i64 };
    if start < 0 && end < 0 && start > end {
        return None;
    }
    let clamp = |at: i64| if at < 0 { at.saturating_add(total).max(0) } else { at };
    let (start, end) = (clamp(start), clamp(end).min(total - 1));
    if start > end {
        return None;
    }
    Some(if by_bit { (start as usize, end as usize) } else { (start as usize * 8, end as usize * 8 + 7) })
}

/// The bytes of a bit range, with the bits outside the range replaced by those of `outside`.
fn masked(text: &[u8], first: usize, last: usize, outside: u8) -> impl Iterator<Item = u8> {
    let (from, to) = (first >> 3, last >> 3);
    text[from..=to].iter().enumerate().map(move |(at, byte)| {
        let mut keep = 0xff_u8;
        if at == 0 {
            keep &= 0xff >> (first & 7);
        }
        if at == to - from {
            keep &= (0xff00_u16 >> ((last & 7) + 1)) as u8;
        }
        byte & keep | outside & !keep
    })
}

fn count(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let Some(text) = context.keys.string(args[1])? else {
        context.reply.integer(0);
        return Ok(());
    };
    let (start, end, by_bit) = match args {
        [_, _] => (0, -1, false),
        [_, _, start, end] => (integer(start)?, integer(end)?, false),
        [_, _, start, end, unit] => (integer(start)?, integer(end)?, in_bits(Some(unit))?),
        _ => return Err(Error::SYNTAX),
    };
    let ones: u64 = match bits(start, end, text.len(), by_bit) {
        Some((first, last)) => masked(text, first, last, 0).map(|byte| u64::from(byte.count_ones())).sum(),
        None => 0,
    };
    context.reply.integer(ones as i64);
    Ok(())
}

fn position(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let wanted = match integer(args[2])? {
        0 => false,
        1 => true,
        _ => return Err(Error::fixed("ERR The bit argument must be 1 or 0.")),
    };
    let Some(text) = context.keys.string(args[1])? else {
        context.reply.integer(if wanted { -1 } else { 0 });
        return Ok(());
    };
    if args.len() > 6 {
        return Err(Error::SYNTAX);
    }
    let start = args.get(3).map_or(Ok(0), |text| integer(text))?;
    let by_bit = in_bits(args.get(5))?;
    let end = args.get(4).map(|text| integer(text)).transpose()?;
    let Some((first, last)) = bits(start, end.unwrap_or(-1), text.len(), by_bit) else {
        context.reply.integer(-1);
        return Ok(());
    };
    let outside = if wanted { 0 } else { 0xff };
    let found = masked(text, first, last, outside).enumerate().find_map(|(at, byte)| {
        let zeros = if wanted { byte.leading_zeros() } else { byte.leading_ones() };
        (zeros < 8).then_some(((first >> 3) + at) * 8 + zeros as usize)
    });
    // Without an explicit end, the string counts as padded with zeros.
    let nothing = if !wanted && end.is_none() { text.len() as i64 * 8 } else { -1 };
    context.reply.integer(found.map_or(nothing, |bit| bit as i64));
    Ok(())
}

fn operate(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let combine: fn(u8, u8) -> u8 = match args[1] {
        word if is(word, "and") => |a, b| a & b,
        word if is(word, "or") => |a, b| a | b,
        word if is(word, "xor") => |a, b| a ^ b,
        word if is(word, "not") => |a, _| !a,
        _ => return Err(Error::SYNTAX),
    };
    let not = is(args[1], "not");
    if not && args.len() != 4 {
        return Err(Error::fixed("ERR BITOP NOT must be called with a single source key."));
    }
    let mut texts = Vec::new();
    for key in &args[3..] {
        texts.push(context.keys.string(key)?.unwrap_or_default().to_vec());
    }
    let length = texts.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = std::mem::take(&mut texts[0]);
    result.resize(length, 0);
    if not {
        result.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
    }
    for text in &texts[1..] {
        for (at, byte) in result.iter_mut().enumerate() {
            *byte = combine(*byte, text.get(at).copied().unwrap_or(0));
        }
    }
    if length == 0 {
        context.keys.delete(args[2]);
    } else {
        context.keys.set_string(args[2], &result, Deadline::Clear);
        context.keys.changed_by(EventClass::STRING, "set", args[2]);
    }
    context.reply.integer(length as i64);
    Ok(())
}
