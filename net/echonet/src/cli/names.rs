//! Names, units and values in text form, from the core's database.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use netdyno_echonet::core::{
    ClassCode, Database, Definition, Epc, Kind as Shape, Mra, Number, Value, manufacturer_name,
};

use super::Failure;

/// The database: the built-in one, with the user's additions.
static DATABASE: LazyLock<Database> =
    LazyLock::new(|| SUPPLIED.get().cloned().unwrap_or_else(Database::builtin));
static SUPPLIED: OnceLock<Database> = OnceLock::new();

/// The maximum number of files of a folder; the consortium's has about 120.
const FILES_MAX: usize = 1024;
/// The maximum depth of nested folders.
const DEPTH_MAX: usize = 4;

/// Adds classes from the consortium's Machine Readable Appendix, unpacked in this folder. Call it before any
/// name is looked up.
pub(crate) fn load(folder: &Path) -> Result<(), Failure> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::new(format!(
            "--mra: {}: {why}: expected the folder of the unpacked Machine Readable Appendix",
            path.display()
        ))
    };
    let mut files = Vec::new();
    json_files(folder, DEPTH_MAX, &mut files).map_err(|error| wrong(folder, &error))?;
    let definitions = files.iter().find(|path| path.ends_with("definitions.json"));
    let definitions = definitions.ok_or_else(|| wrong(folder, &"it has no definitions.json"))?;
    let read = |path: &Path| std::fs::read(path).map_err(|error| wrong(path, &error));
    let mra = Mra::new(&read(definitions)?).map_err(|error| wrong(definitions, &error))?;
    let mut database = Database::builtin();
    // Other files, such as 0x0130_mcrule.json, contain rules and are skipped.
    let is_class = |path: &&PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()?.strip_prefix("0x"));
        name.is_some_and(|code| code.parse::<ClassCode>().is_ok())
    };
    for path in files.iter().filter(is_class) {
        database.complete(mra.class(&read(path)?).map_err(|error| wrong(path, &error))?);
    }
    // Set once, before any name is looked up.
    let _ = SUPPLIED.set(database);
    Ok(())
}

fn json_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && depth > 0 {
            json_files(&path, depth - 1, found)?;
        } else if path.extension().is_some_and(|extension| extension == "json") && found.len() < FILES_MAX {
            found.push(path);
        }
    }
    Ok(())
}

/// The database of classes and properties.
pub(crate) fn database() -> &'static Database {
    &DATABASE
}

/// The name of a class.
pub(crate) fn class(class: ClassCode) -> String {
    DATABASE.class(class).map_or_else(|| format!("class {class}"), |known| known.name.clone())
}

/// The class with this short name or code.
pub(crate) fn find_class(name: &str) -> Option<ClassCode> {
    DATABASE.class_named(name).map(|class| class.code)
}

/// The name of a manufacturer.
pub(crate) fn maker(code: &[u8]) -> String {
    let name = <[u8; 3]>::try_from(code).ok().and_then(manufacturer_name);
    name.map_or_else(|| hex(code), |name| format!("{name} ({})", hex(code)))
}

/// The name of a property.
pub(crate) fn property(class: ClassCode, epc: Epc) -> String {
    definition(class, epc).map_or_else(|| format!("property {epc}"), |known| known.name.clone())
}

/// The property with this short name or code.
pub(crate) fn find_property(class: ClassCode, name: &str) -> Option<Epc> {
    DATABASE.definition_named(class, name).map(|definition| definition.epc)
}

/// The properties of a class, followed by those of all devices.
pub(crate) fn properties(class: ClassCode) -> impl Iterator<Item = &'static Definition> {
    let properties_of = |class| DATABASE.class(class).map_or(&[][..], |class| class.properties()).iter();
    let own = move |epc| properties_of(class).any(|definition| definition.epc == epc);
    let is_device = class.group() != ClassCode::NODE_PROFILE.group() && class != Database::SUPER_CLASS;
    let shared =
        properties_of(Database::SUPER_CLASS).filter(move |definition| is_device && !own(definition.epc));
    properties_of(class).chain(shared)
}

fn definition(class: ClassCode, epc: Epc) -> Option<&'static Definition> {
    DATABASE.definition(class, epc)
}

/// A value as text.
pub(crate) fn value(class: ClassCode, epc: Epc, edt: &[u8]) -> String {
    definition(class, epc).map_or_else(|| Value::Raw(edt.to_vec()), |known| known.decode(edt)).to_string()
}

/// A value for programs: a number without its unit, or a word.
pub(crate) fn state(class: ClassCode, epc: Epc, edt: &[u8]) -> String {
    match definition(class, epc).map(|known| known.decode(edt)) {
        Some(Value::Number(mut number)) => {
            number.unit.clear();
            number.to_string()
        }
        Some(other) => other.to_string(),
        None => Value::Raw(edt.to_vec()).to_string(),
    }
}

/// Parses a value: as [`value`] shows it, or hexadecimal digits after 0x; also without 0x if nothing else is
/// possible.
pub(crate) fn parse(class: ClassCode, epc: Epc, text: &str) -> Result<Vec<u8>, String> {
    let Some(known) = definition(class, epc) else {
        return unhex(text)
            .ok_or_else(|| "a value must have an even number of hexadecimal digits".to_owned());
    };
    known.encode(text).or_else(|error| {
        let bytes = unhex(text).filter(|bytes| !is_number(&known.kind) && known.is_valid(bytes));
        bytes.ok_or_else(|| error.to_string())
    })
}

fn is_number(kind: &Shape) -> bool {
    match kind {
        Shape::Number(_) | Shape::Level { .. } => true,
        Shape::OneOf(kinds) => kinds.iter().any(is_number),
        _ => false,
    }
}

/// The kind of a property's values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// Two states: the words for on and off.
    Switch(String, String),
    /// Several states.
    Choice(Vec<String>),
    /// A number and its unit.
    Number { unit: String, min: f64, max: f64, step: f64 },
    /// Anything else.
    Other,
}

/// Whether the property allows a value; true if its format is unknown.
pub(crate) fn is_valid(class: ClassCode, epc: Epc, edt: &[u8]) -> bool {
    definition(class, epc).is_none_or(|known| known.is_valid(edt))
}

/// The kind of a property's values.
pub(crate) fn kind(class: ClassCode, epc: Epc) -> Kind {
    definition(class, epc).map_or(Kind::Other, |known| kind_of(&known.kind))
}

fn kind_of(shape: &Shape) -> Kind {
    match shape {
        Shape::State { states, .. } => {
            let words: Vec<_> = states.iter().map(|(_, word)| word.clone()).collect();
            let two = [("on", "off"), ("yes", "no"), ("true", "false")];
            let has = |word: &str| words.iter().any(|known| known == word);
            let pair = two.iter().find(|(on, off)| words.len() == 2 && has(on) && has(off));
            pair.map_or_else(
                || Kind::Choice(words.clone()),
                |(on, off)| Kind::Switch((*on).to_owned(), (*off).to_owned()),
            )
        }
        Shape::Number(number) => number_kind(number),
        Shape::Level { max, .. } => {
            Kind::Number { unit: String::new(), min: 1.0, max: f64::from(*max), step: 1.0 }
        }
        // A number, or a word for "no data".
        Shape::OneOf(kinds) => kinds.first().map_or(Kind::Other, kind_of),
        _ => Kind::Other,
    }
}

fn number_kind(number: &Number) -> Kind {
    // At most four bytes, which are exact as f64. The division comes last, so that -12.7 is exact.
    #[expect(clippy::cast_precision_loss)]
    let scaled = |raw: i64| raw as f64 * f64::from(number.factor) / 10_f64.powi(number.decimals.into());
    Kind::Number {
        unit: number.unit.clone(),
        min: scaled(number.min),
        max: scaled(number.max),
        step: scaled(1),
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Parses hexadecimal digits; spaces and 0x are skipped.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.strip_prefix("0x").unwrap_or(text).chars().filter(|c| *c != ' ').collect();
    if digits.is_empty()
        || !digits.len().is_multiple_of(2)
        || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIR_CONDITIONER: ClassCode = ClassCode(0x0130);

    #[test]
    fn displayed_values_can_be_parsed() {
        for (epc, edt, text) in
            [(0x80, &[0x30][..], "on"), (0xB0, &[0x42], "cooling"), (0xB3, &[26], "26 °C")]
        {
            assert_eq!(value(AIR_CONDITIONER, Epc(epc), edt), text);
            assert_eq!(parse(AIR_CONDITIONER, Epc(epc), text), Ok(edt.to_vec()));
        }
        // Digits are bytes if nothing else is possible.
        assert_eq!(parse(AIR_CONDITIONER, Epc(0x80), "31"), Ok(vec![0x31]));
        assert_eq!(parse(AIR_CONDITIONER, Epc(0xB3), "20"), Ok(vec![20]));
        assert_eq!(parse(AIR_CONDITIONER, Epc(0xB3), "0x20"), Ok(vec![0x20]));
        assert_eq!(parse(ClassCode(0x0666), Epc(0xF1), "31"), Ok(vec![0x31]));
        assert!(parse(AIR_CONDITIONER, Epc(0x80), "99").is_err());
    }

    #[test]
    fn states_for_programs() {
        assert_eq!(state(AIR_CONDITIONER, Epc(0xBB), &[26]), "26");
        assert_eq!(kind(AIR_CONDITIONER, Epc(0x80)), Kind::Switch("on".to_owned(), "off".to_owned()));
        assert!(
            matches!(kind(AIR_CONDITIONER, Epc(0xB0)), Kind::Choice(words) if words.contains(&"cooling".to_owned()))
        );
        assert!(
            matches!(kind(AIR_CONDITIONER, Epc(0xB3)), Kind::Number { unit, step: 1.0, .. } if unit == "°C")
        );
        let relative = kind(AIR_CONDITIONER, Epc(0xBF));
        assert!(matches!(relative, Kind::Number { min, .. } if min.to_string() == "-12.7"), "{relative:?}");
        assert_eq!(unhex("é0"), None);
    }
}
