//! Encoding of values from text.

use crate::database::error::EncodeError;
use crate::database::kind::{Kind, Number};
use crate::hex;

/// Synonyms of the two states of a switch, in pairs.
const SYNONYMS: [[&str; 2]; 3] = [["on", "off"], ["yes", "no"], ["true", "false"]];

/// Encodes a value, written as it is displayed, or as `0x` and digits.
pub(super) fn encode(kind: &Kind, text: &str) -> Result<Vec<u8>, EncodeError> {
    let text = text.trim();
    let form = |form| EncodeError::Form { text: text.to_owned(), form };
    if let Some(digits) = text.strip_prefix("0x") {
        return raw(digits, kind).ok_or(form("0x and an even number of hexadecimal digits"))?;
    }
    match kind {
        Kind::Number(kind) => number(kind, text),
        Kind::State { bytes, states } => state(*bytes, states, text),
        Kind::Level { base, max } => {
            let level = text.parse::<u8>().ok().filter(|level| (1..=*max).contains(level));
            level.map(|level| vec![base + (level - 1)]).ok_or_else(|| form("a level from 1 to the maximum"))
        }
        Kind::Text { max } => {
            if !text.is_ascii() || text.len() > usize::from(*max) {
                return Err(form("ASCII text within the maximum length"));
            }
            Ok(text.bytes().chain(std::iter::repeat(0)).take(usize::from(*max)).collect())
        }
        Kind::Date => numbers(text, &['-', '-'], 4).ok_or(form("2026-01-31")),
        Kind::Time { bytes: 2 } => numbers(text, &[':'], 2).ok_or(form("23:59")),
        Kind::Time { .. } => numbers(text, &[':', ':'], 3).ok_or(form("23:59:59")),
        Kind::DateTime { bytes } => {
            let between = &['-', '-', ' ', ':', ':'][..usize::from(*bytes).clamp(5, 7) - 2];
            numbers(text, between, usize::from(*bytes)).ok_or(form("2026-01-31 23:59:59"))
        }
        Kind::Record(fields) => record(fields, text),
        Kind::OneOf(kinds) => {
            let mut wrong = None;
            for kind in kinds {
                match encode(kind, text) {
                    Ok(bytes) => return Ok(bytes),
                    // An out-of-range number is a better explanation than an unknown state.
                    Err(error @ EncodeError::OutOfRange { .. }) => wrong = Some(error),
                    Err(error) => wrong = wrong.or(Some(error)),
                }
            }
            Err(wrong.unwrap_or_else(|| form("of a defined value, because none is defined")))
        }
        Kind::Bits { .. }
        | Kind::Raw { .. }
        | Kind::PropertyMap
        | Kind::Instances
        | Kind::Classes
        | Kind::List { .. } => Err(form("0x and hexadecimal digits")),
    }
}

/// Any bytes of an allowed length.
fn raw(digits: &str, kind: &Kind) -> Option<Result<Vec<u8>, EncodeError>> {
    let bytes = hex::bytes(digits)?;
    let lengths = kind.lengths();
    let (min, max) = (*lengths.start(), *lengths.end());
    let wrong = EncodeError::Length { bytes: bytes.len(), min, max };
    Some(if lengths.contains(&bytes.len()) { Ok(bytes) } else { Err(wrong) })
}

/// A number, with an optional unit.
fn number(kind: &Number, text: &str) -> Result<Vec<u8>, EncodeError> {
    let digits = text.strip_suffix(kind.unit.as_str()).unwrap_or(text).trim_end();
    let none = || EncodeError::NoNumber { text: text.to_owned(), decimals: kind.decimals };
    let meant = fixed(digits, kind.decimals).ok_or_else(none)?;
    let factor = i64::from(kind.factor.max(1));
    let sent = meant / factor;
    if meant % factor != 0 || !(kind.min..=kind.max).contains(&sent) {
        return Err(EncodeError::out_of_range(text, kind));
    }
    let bytes = sent.to_be_bytes();
    Ok(bytes[bytes.len() - usize::from(kind.format.bytes).min(bytes.len())..].to_vec())
}

/// A number with this many decimals, as an integer.
fn fixed(text: &str, decimals: u8) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let behind = behind.trim_end_matches('0');
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(behind) || behind.len() > usize::from(decimals) {
        return None;
    }
    let padding = usize::from(decimals) - behind.len();
    let number: i64 = format!("{whole}{behind}{}", "0".repeat(padding)).parse().ok()?;
    Some(if negative { -number } else { number })
}

fn state(bytes: u8, states: &[(u32, String)], text: &str) -> Result<Vec<u8>, EncodeError> {
    let named = |name: &str| states.iter().find(|(_, other)| other.eq_ignore_ascii_case(name));
    let side = SYNONYMS.iter().find_map(|pair| pair.iter().position(|name| name.eq_ignore_ascii_case(text)));
    let synonym = || SYNONYMS.iter().find_map(|pair| named(pair[side?]));
    let Some((code, _)) = named(text).or_else(synonym) else {
        let names = states.iter().map(|(_, name)| name.clone()).collect();
        return Err(EncodeError::NoState { text: text.to_owned(), names });
    };
    let code = code.to_be_bytes();
    Ok(code[code.len() - usize::from(bytes).min(code.len())..].to_vec())
}

/// Numbers separated by these characters. Each takes one byte; if there are four bytes or more, the first
/// number is a year of two bytes.
fn numbers(text: &str, between: &[char], bytes: usize) -> Option<Vec<u8>> {
    let (mut rest, mut values) = (text, Vec::with_capacity(bytes));
    for index in 0..=between.len() {
        let part = match between.get(index) {
            Some(separator) => {
                let (part, behind) = rest.split_once(*separator)?;
                rest = behind;
                part
            }
            None => rest,
        };
        if index == 0 && bytes >= 4 {
            values.extend(part.parse::<u16>().ok()?.to_be_bytes());
        } else {
            values.push(part.parse::<u8>().ok()?);
        }
    }
    (values.len() == bytes).then_some(values)
}

/// `name=value, name=value`, in the order of the definition.
fn record(fields: &[(String, Kind)], text: &str) -> Result<Vec<u8>, EncodeError> {
    let form = || EncodeError::Form {
        text: text.to_owned(),
        form: "name=value, name=value, for all fields in their order",
    };
    let mut bytes = Vec::new();
    let mut parts = text.split(',');
    for (name, kind) in fields {
        let (given, value) = parts.next().and_then(|part| part.split_once('=')).ok_or_else(form)?;
        if given.trim() != name {
            return Err(form());
        }
        bytes.extend(encode(kind, value)?);
    }
    if parts.next().is_some() { Err(form()) } else { Ok(bytes) }
}
