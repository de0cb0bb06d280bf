//! Decoding of values.

use crate::database::kind::{BitField, Format, Kind, Number};
use crate::database::value::{Quantity, Value};
use crate::eoj::{ClassCode, Eoj};
use crate::property_map::PropertyMap;

/// Decodes a value; `None` if the bytes do not fit the format.
pub(super) fn decode(kind: &Kind, edt: &[u8]) -> Option<Value> {
    if !kind.lengths().contains(&edt.len()) {
        return None;
    }
    Some(match kind {
        Kind::Number(number) => Value::Number(quantity(number, edt)?),
        Kind::State { states, .. } => {
            let code = unsigned(edt);
            Value::State(states.iter().find(|(other, _)| i64::from(*other) == code)?.1.clone())
        }
        Kind::Level { base, max } => {
            let level = edt[0].checked_sub(*base).filter(|level| level < max)?;
            Value::Number(Quantity { digits: i64::from(level) + 1, decimals: 0, unit: String::new() })
        }
        Kind::Bits { fields, .. } => Value::Record(fields.iter().map(|field| bits(field, edt)).collect()),
        Kind::Raw { .. } => Value::Raw(edt.to_vec()),
        Kind::Text { .. } => Value::Text(text(edt)?),
        Kind::Date => Value::Text(date(edt)?),
        Kind::Time { .. } => Value::Text(time(edt)),
        Kind::DateTime { .. } => Value::Text(format!("{} {}", date(&edt[..4])?, time(&edt[4..]))),
        Kind::PropertyMap => Value::Properties(PropertyMap::decode(edt).ok()?),
        Kind::Instances => Value::Instances(
            counted::<3>(edt)?.map(|[group, class, instance]| Eoj([group, class, instance])).collect(),
        ),
        Kind::Classes => {
            Value::Classes(counted::<2>(edt)?.map(|code| ClassCode(u16::from_be_bytes(code))).collect())
        }
        Kind::Record(fields) => Value::Record(record(fields, edt)?),
        Kind::List { item, .. } => {
            let bytes = (*item.lengths().end()).max(1);
            Value::List(edt.chunks(bytes).map(|part| decode(item, part)).collect::<Option<_>>()?)
        }
        Kind::OneOf(kinds) => return kinds.iter().find_map(|kind| decode(kind, edt)),
    })
}

/// An unsigned number of up to seven bytes.
fn unsigned(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// The number in these bytes, as transmitted.
pub(super) fn number(format: Format, bytes: &[u8]) -> i64 {
    let number = unsigned(bytes);
    let half = 1_i64 << (8 * i64::from(format.bytes) - 1);
    if format.signed && number >= half { number - 2 * half } else { number }
}

fn quantity(kind: &Number, edt: &[u8]) -> Option<Quantity> {
    let sent = number(kind.format, edt);
    let digits = (kind.min..=kind.max).contains(&sent).then(|| sent * i64::from(kind.factor))?;
    Some(Quantity { digits, decimals: kind.decimals, unit: kind.unit.clone() })
}

fn bits(field: &BitField, edt: &[u8]) -> (String, Value) {
    let byte = edt.get(usize::from(field.byte)).copied().unwrap_or(0);
    let value = (byte & field.mask).checked_shr(field.mask.trailing_zeros()).unwrap_or(0);
    let one = field.mask.is_power_of_two();
    let value = match (one, value) {
        (true, 0) => Value::State("off".to_owned()),
        (true, _) => Value::State("on".to_owned()),
        _ => Value::Number(Quantity { digits: i64::from(value), decimals: 0, unit: String::new() }),
    };
    (field.name.clone(), value)
}

fn text(edt: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(edt).ok()?.trim_end_matches(['\0', ' ']);
    (!text.contains(|c: char| c.is_control())).then(|| text.to_owned())
}

fn date(edt: &[u8]) -> Option<String> {
    let [high, low, month, day] = edt else { return None };
    if *month > 12 || *day > 31 {
        return None;
    }
    Some(format!("{:04}-{month:02}-{day:02}", u16::from_be_bytes([*high, *low])))
}

fn time(edt: &[u8]) -> String {
    edt.iter().map(|part| format!("{part:02}")).collect::<Vec<_>>().join(":")
}

/// The items after an item count; items beyond the count are ignored.
fn counted<const N: usize>(edt: &[u8]) -> Option<impl Iterator<Item = [u8; N]>> {
    let (count, rest) = edt.split_first()?;
    let (items, _) = rest.as_chunks::<N>();
    Some(items.get(..usize::from(*count))?.iter().copied())
}

/// Fields of fixed lengths, except for the last one.
fn record(fields: &[(String, Kind)], mut edt: &[u8]) -> Option<Vec<(String, Value)>> {
    let mut values = Vec::with_capacity(fields.len());
    for (index, (name, kind)) in fields.iter().enumerate() {
        let bytes = if index + 1 == fields.len() { edt.len() } else { *kind.lengths().end() };
        let (part, rest) = edt.split_at_checked(bytes)?;
        values.push((name.clone(), decode(kind, part)?));
        edt = rest;
    }
    Some(values)
}
