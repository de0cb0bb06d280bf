//! Parser of class tables: see [`Class::from_table`](crate::Class::from_table).

use crate::database::error::TableError;
use crate::database::kind::{BitField, Format, Kind, Number};
use crate::eoj::ClassCode;
use crate::epc::Epc;
use crate::limits::{FACTOR_MAX, KIND_DEPTH_MAX};

/// The line of a property.
pub(super) struct Row {
    pub(super) epc: Epc,
    /// Get, Set, announcement: `R`, `O` or `-`.
    pub(super) rules: [u8; 3],
    pub(super) short_name: String,
    pub(super) name: String,
    pub(super) kind: Kind,
}

pub(super) struct Table {
    pub(super) code: ClassCode,
    pub(super) short_name: String,
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
}

pub(super) fn parse(text: &str) -> Result<Table, TableError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (line, first) = lines.next().ok_or(TableError { line: 1, rule: "a table begins with `class`" })?;
    let mut words = first.splitn(4, ' ');
    let head = (words.next(), words.next().and_then(|code| code.parse().ok()), words.next(), words.next());
    let (Some("class"), Some(code), Some(short_name), Some(name)) = head else {
        return Err(TableError { line, rule: "a table begins with `class CODE short_name Name`" });
    };
    let rows = lines.map(|(line, text)| row(text).map_err(|rule| TableError { line, rule }));
    let (short_name, name) = (short_name.to_owned(), name.to_owned());
    Ok(Table { code, short_name, name, rows: rows.collect::<Result<_, _>>()? })
}

type Parsed<T> = Result<T, &'static str>;

fn row(text: &str) -> Parsed<Row> {
    let mut parts = text.splitn(3, '|').map(str::trim);
    let mut words = parts.next().unwrap_or_default().split_whitespace();
    let epc = words.next().and_then(|code| code.parse().ok()).ok_or("a line begins with a property code")?;
    let rules = words.next().and_then(|rules| <[u8; 3]>::try_from(rules.as_bytes()).ok());
    let rules = rules.filter(|rules| rules.iter().all(|rule| b"RO-".contains(rule)));
    let rules = rules.ok_or("three of R, O and - must follow the code")?;
    let short_name = words.next().ok_or("a short name must follow the rules")?.to_owned();
    let name = parts.next().ok_or("a name must follow the first |")?.to_owned();
    let kind = kind(parts.next().ok_or("a kind must follow the second |")?, 0)?;
    Ok(Row { epc, rules, short_name, name, kind })
}

/// One format, or several separated by `;`. `depth` is the nesting depth.
fn kind(text: &str, depth: usize) -> Parsed<Kind> {
    if depth > KIND_DEPTH_MAX {
        return Err("kinds are nested too deeply");
    }
    if let Some(fields) = text.strip_prefix("record ") {
        let field = |text: &str| {
            let (name, text) = text.trim().split_once('=').ok_or("a part of a record is name=kind")?;
            Ok((name.to_owned(), kind(text, depth + 1)?))
        };
        return Ok(Kind::Record(fields.split(',').map(field).collect::<Parsed<_>>()?));
    }
    if let Some((count, item)) = text.strip_prefix("list ").and_then(|text| text.split_once(' ')) {
        let max = count.parse().map_err(|_| "a number must follow `list`")?;
        return Ok(Kind::List { max, item: Box::new(kind(item, depth + 1)?) });
    }
    let mut kinds: Vec<Kind> = text.split(';').map(|text| single(text.trim())).collect::<Parsed<_>>()?;
    match kinds.len() {
        1 => kinds.pop().ok_or("a kind"),
        _ => Ok(Kind::OneOf(kinds)),
    }
}

fn single(text: &str) -> Parsed<Kind> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let small = |text: &str| text.parse::<u8>().map_err(|_| "a number of bytes is 0 to 255");
    Ok(match words[..] {
        ["date"] => Kind::Date,
        ["time", bytes @ ("2" | "3")] => Kind::Time { bytes: small(bytes)? },
        ["datetime", bytes @ ("5" | "6" | "7")] => Kind::DateTime { bytes: small(bytes)? },
        ["map"] => Kind::PropertyMap,
        ["instances"] => Kind::Instances,
        ["classes"] => Kind::Classes,
        ["text", bytes] => Kind::Text { max: small(bytes)? },
        ["raw", bytes] => {
            let (min, max) = bytes.split_once("..").unwrap_or((bytes, bytes));
            Kind::Raw { min: small(min)?, max: small(max)? }
        }
        ["level", base, max] => {
            let base = base.parse::<Epc>().map_err(|_| "a level begins with two digits")?.0;
            let max = small(max)?;
            if max == 0 || base.checked_add(max - 1).is_none() {
                return Err("the levels of a kind must fit into a byte");
            }
            Kind::Level { base, max }
        }
        ["bits", bytes, ref fields @ ..] => {
            let fields = fields.iter().map(|field| bit_field(field)).collect::<Parsed<_>>()?;
            Kind::Bits { bytes: small(bytes)?, fields }
        }
        [format @ ("u8" | "i8" | "u16" | "i16" | "u32" | "i32"), range, ref rest @ ..] => {
            Kind::Number(number(format, range, rest)?)
        }
        [_, ..] if words.iter().all(|word| word.contains('=')) => states(&words)?,
        _ => return Err("a kind must be one of those in the documentation"),
    })
}

fn bit_field(text: &str) -> Parsed<BitField> {
    let rule = "a bit is name@BYTE:MASK";
    let (name, place) = text.split_once('@').ok_or(rule)?;
    let (byte, mask) = place.split_once(':').ok_or(rule)?;
    let mask = mask.parse::<Epc>().map_err(|_| rule)?.0;
    Ok(BitField { name: name.to_owned(), byte: byte.parse().map_err(|_| rule)?, mask })
}

fn states(words: &[&str]) -> Parsed<Kind> {
    let mut length = None;
    let states = words.iter().map(|word| {
        let (name, code) = word.split_once('=').ok_or("a state is name=CODE")?;
        if !(2..=8).contains(&code.len()) || *length.get_or_insert(code.len()) != code.len() {
            return Err("the codes of states must have the same length: 2, 4, 6 or 8 digits");
        }
        let code = u32::from_str_radix(code, 16).map_err(|_| "a state's code is hexadecimal")?;
        Ok((code, name.to_owned()))
    });
    let states = states.collect::<Parsed<Vec<_>>>()?;
    let bytes = u8::try_from(length.unwrap_or(2) / 2).unwrap_or(1);
    Ok(Kind::State { bytes, states })
}

fn number(format: &str, range: &str, rest: &[&str]) -> Parsed<Number> {
    let (sign, bits) = format.split_at(1);
    let bits: u8 = bits.parse().map_err(|_| "a number has 8, 16 or 32 bits")?;
    let (min, max) = range.split_once("..").ok_or("MIN..MAX must follow the format of a number")?;
    let rule = "a limit is an integer, as it is sent, of at most 32 bits";
    let fits = |limit: &i64| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(limit);
    let limit = |text: &str| text.parse::<i64>().ok().filter(fits).ok_or(rule);
    let mut number = Number {
        format: Format { bytes: bits / 8, signed: sign == "i" },
        min: limit(min)?,
        max: limit(max)?,
        factor: 1,
        decimals: 0,
        unit: String::new(),
        coefficients: Vec::new(),
    };
    for word in rest {
        match (word.strip_prefix('x'), word.strip_prefix('*')) {
            (Some(factor), _) => (number.factor, number.decimals) = scale(factor).ok_or("x0.1, x0.5, x10")?,
            (_, Some(code)) => {
                number.coefficients.push(code.parse().map_err(|_| "a coefficient is a property code")?);
            }
            _ => number.unit = (*word).to_owned(),
        }
    }
    Ok(number)
}

/// A factor as an integer and a number of decimals: 0.5 becomes 5 and 1.
pub(crate) fn scale(text: &str) -> Option<(u32, u8)> {
    let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
    let decimals = u8::try_from(behind.len()).ok().filter(|decimals| *decimals <= 6)?;
    let factor: u32 =
        format!("{whole}{behind}").parse().ok().filter(|factor| (1..=FACTOR_MAX).contains(factor))?;
    Some((factor, decimals))
}
