//! Names, units and values for people.

use netdyno_echonet::core::{ClassCode, Epc};

/// The name of a class.
pub(crate) fn class(class: ClassCode) -> String {
    let _ = class;
    format!("class {class}")
}

/// The name of a property.
pub(crate) fn property(class: ClassCode, epc: Epc) -> String {
    let _ = class;
    format!("property {epc}")
}

/// A value in words.
pub(crate) fn value(class: ClassCode, epc: Epc, edt: &[u8]) -> String {
    let _ = (class, epc);
    hex(edt)
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Hexadecimal digits as bytes, spaces and 0x left out.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.strip_prefix("0x").unwrap_or(text).chars().filter(|c| *c != ' ').collect();
    if digits.is_empty() || digits.len() % 2 != 0 || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

/// The class of this name.
pub(crate) fn find_class(name: &str) -> Option<ClassCode> {
    let _ = name;
    None
}

/// The property of this name.
pub(crate) fn find_property(class: ClassCode, name: &str) -> Option<Epc> {
    let _ = (class, name);
    None
}

/// Names of the properties of a class.
pub(crate) fn properties(class: ClassCode) -> Vec<String> {
    let _ = class;
    Vec::new()
}

/// A value as bytes: hexadecimal digits, or as [`value`] writes it.
pub(crate) fn parse(class: ClassCode, epc: Epc, text: &str) -> Result<Vec<u8>, String> {
    let _ = (class, epc);
    unhex(text).ok_or_else(|| "a value is an even number of hexadecimal digits".to_owned())
}

/// Who made it.
pub(crate) fn maker(code: &[u8]) -> String {
    hex(code)
}

/// What kind of value a property has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// One of two: the words for on and off.
    Switch(String, String),
    /// One of several words.
    Choice(Vec<String>),
    /// A number and its unit.
    Number { unit: String, min: f64, max: f64, step: f64 },
    /// Anything else.
    Other,
}

/// What kind of value a property has.
pub(crate) fn kind(class: ClassCode, epc: Epc) -> Kind {
    let _ = class;
    if epc == Epc::OPERATION_STATUS { Kind::Switch("30".to_owned(), "31".to_owned()) } else { Kind::Other }
}

/// A value as a state for programs: a number without its unit, or a word.
pub(crate) fn state(class: ClassCode, epc: Epc, edt: &[u8]) -> String {
    value(class, epc, edt)
}
