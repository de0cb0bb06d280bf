//! The consortium's Machine Readable Appendix: converts its JSON files to classes.
//!
//! Its archive has `definitions/definitions.json` and a file for each class: `superClass/0x0000.json`,
//! `nodeProfile/0x0EF0.json`, `devices/0x0130.json` and so on, in some versions below `mraData/`. Pass the
//! first file to [`Mra::new`], each of the others to [`Mra::class`].

use serde_json::Value as Json;

use crate::database::class::{Class, Definition, Rule};
use crate::database::kind::{BitField, Format, Kind, Number};
use crate::database::table::scale;
use crate::eoj::ClassCode;
use crate::epc::Epc;
use crate::limits::{KIND_DEPTH_MAX, MRA_BYTES_MAX};

/// Why a file of the appendix cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MraError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is too long for a file of the appendix.
    #[error("a file of {bytes} bytes: those of the appendix are shorter than {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A required part is missing.
    #[error("the file has no {0}: is it the right file of the appendix?")]
    Missing(&'static str),
}

/// The definitions that all files of the appendix refer to.
///
/// ```
/// use netdyno_echonet_core::{Database, Epc, Mra};
///
/// let mra = Mra::new(br#"{ "definitions": { "percent": {
///     "type": "number", "format": "uint8", "minimum": 0, "maximum": 100, "unit": "%" } } }"#)?;
/// let class = mra.class(br##"{ "eoj": "0x0F01", "shortName": "myDevice", "className": { "en": "My device" },
///     "elProperties": [{ "epc": "0xF0", "shortName": "fillLevel", "propertyName": { "en": "Fill level" },
///         "accessRule": { "get": "required", "set": "optional", "inf": "notApplicable" },
///         "data": { "$ref": "#/definitions/percent" } }] }"##)?;
/// let mut database = Database::builtin();
/// database.insert(class);
/// let level = database.definition_named("0F01".parse()?, "fill_level").ok_or("unknown")?;
/// assert_eq!((level.epc, level.decode(&[50]).to_string()), (Epc(0xF0), "50 %".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Mra {
    definitions: Json,
}

impl Mra {
    /// Parses `definitions.json`.
    ///
    /// # Errors
    ///
    /// The file is too long, or is not this file.
    pub fn new(definitions: &[u8]) -> Result<Self, MraError> {
        let mut json = read(definitions)?;
        let definitions = json.get_mut("definitions").map(Json::take);
        Ok(Self { definitions: definitions.ok_or(MraError::Missing("definitions"))? })
    }

    /// Parses the file of a class: the newest release of each property. Values of an unknown kind become raw.
    ///
    /// # Errors
    ///
    /// The file is too long, or is not the file of a class.
    pub fn class(&self, file: &[u8]) -> Result<Class, MraError> {
        let json = read(file)?;
        let code = text(&json, "eoj").and_then(|code| code.parse::<ClassCode>().ok());
        let code = code.ok_or(MraError::Missing("eoj"))?;
        let properties: Vec<(Option<Epc>, &Json)> = match json.get("elProperties") {
            Some(Json::Array(list)) => list.iter().map(|property| (None, property)).collect(),
            Some(Json::Object(map)) => {
                map.iter().map(|(epc, property)| (epc.parse().ok(), property)).collect()
            }
            _ => return Err(MraError::Missing("elProperties")),
        };
        let mut definitions = Vec::new();
        for (epc, property) in properties {
            let epc = epc.or_else(|| text(property, "epc")?.parse().ok());
            let epc = epc.ok_or(MraError::Missing("epc"))?;
            // Some versions nest the releases of a property below it.
            match property.get("oneOf").and_then(Json::as_array) {
                Some(releases) => definitions.extend(releases.iter().map(|release| (epc, release))),
                None => definitions.push((epc, property)),
            }
        }
        // The first definition of a property takes precedence.
        definitions.sort_by_key(|(_, property)| !is_latest(property));
        let definitions =
            definitions.into_iter().map(|(epc, property)| self.definition(epc, property)).collect();
        let short_name = snake(text(&json, "shortName").unwrap_or_default());
        Ok(Class::new(code, english(&json, "className"), short_name, definitions))
    }

    fn definition(&self, epc: Epc, property: &Json) -> Definition {
        let rule = |name| match property.get("accessRule").and_then(|rules| text(rules, name)) {
            Some("required") => Rule::Required,
            Some("notApplicable") | None => Rule::No,
            Some(_) => Rule::Optional,
        };
        let kind = property.get("data").and_then(|data| self.kind(data, 0));
        let name = english(property, "propertyName");
        // The name "del" marks what the consortium's Web API omits.
        let short_name = text(property, "shortName").filter(|name| *name != "del").unwrap_or(&name);
        Definition {
            epc,
            short_name: snake(short_name),
            name,
            get: rule("get"),
            set: rule("set"),
            announce: rule("inf"),
            kind: kind.unwrap_or(Kind::Raw { min: 0, max: u8::MAX }),
        }
    }

    /// The format of a value; `None` if it is unknown or too deeply nested.
    fn kind(&self, data: &Json, depth: usize) -> Option<Kind> {
        if depth > KIND_DEPTH_MAX {
            return None;
        }
        if let Some(kinds) = data.get("oneOf").and_then(Json::as_array) {
            return Some(Kind::OneOf(
                kinds.iter().map(|kind| self.kind(kind, depth + 1)).collect::<Option<_>>()?,
            ));
        }
        if let Some(reference) = text(data, "$ref") {
            let definition = self.definitions.get(reference.rsplit('/').next()?)?;
            let mut kind = self.kind(definition, depth + 1)?;
            if let Kind::Number(number) = &mut kind {
                number.coefficients.extend(coefficients(data));
            }
            return Some(kind);
        }
        let small = |name| data.get(name).and_then(Json::as_u64).and_then(|number| u8::try_from(number).ok());
        Some(match text(data, "type")? {
            "number" => Kind::Number(number(data)?),
            "state" | "numericValue" => states(small("size")?, data)?,
            "level" => {
                Kind::Level { base: text(data, "base")?.parse::<Epc>().ok()?.0, max: small("maximum")? }
            }
            "bitmap" => Kind::Bits { bytes: small("size")?, fields: bit_fields(data)? },
            "raw" => {
                Kind::Raw { min: small("minSize").unwrap_or(0), max: small("maxSize").unwrap_or(u8::MAX) }
            }
            "date" => Kind::Date,
            "time" => Kind::Time { bytes: small("size").unwrap_or(3).clamp(2, 3) },
            "date-time" => Kind::DateTime { bytes: small("size").unwrap_or(7).clamp(5, 7) },
            "object" => {
                let part = |part: &Json| {
                    let name = snake(text(part, "shortName")?);
                    Some((name, self.kind(part.get("element")?, depth + 1)?))
                };
                Kind::Record(data.get("properties")?.as_array()?.iter().map(part).collect::<Option<_>>()?)
            }
            "array" => {
                let item = Box::new(self.kind(data.get("items")?, depth + 1)?);
                Kind::List { max: small("maxItems").unwrap_or(u8::MAX), item }
            }
            _ => return None,
        })
    }
}

fn read(bytes: &[u8]) -> Result<Json, MraError> {
    if bytes.len() > MRA_BYTES_MAX {
        return Err(MraError::TooLong { bytes: bytes.len(), max: MRA_BYTES_MAX });
    }
    Ok(serde_json::from_slice(bytes)?)
}

fn text<'j>(json: &'j Json, name: &str) -> Option<&'j str> {
    json.get(name)?.as_str()
}

fn english(json: &Json, name: &str) -> String {
    json.get(name).and_then(|names| text(names, "en")).unwrap_or_default().to_owned()
}

fn is_latest(property: &Json) -> bool {
    let release = property.get("validRelease").and_then(|release| text(release, "to"));
    release.is_none_or(|release| release == "latest")
}

fn coefficients(data: &Json) -> impl Iterator<Item = Epc> {
    let list = data.get("coefficient").and_then(Json::as_array);
    list.into_iter().flatten().filter_map(|code| code.as_str()?.parse().ok())
}

fn number(data: &Json) -> Option<Number> {
    let format = match text(data, "format")? {
        "uint8" => Format { bytes: 1, signed: false },
        "int8" => Format { bytes: 1, signed: true },
        "uint16" => Format { bytes: 2, signed: false },
        "int16" => Format { bytes: 2, signed: true },
        "uint32" => Format { bytes: 4, signed: false },
        "int32" => Format { bytes: 4, signed: true },
        _ => return None,
    };
    let bits = 8 * u32::from(format.bytes) - u32::from(format.signed);
    let (min, max) = (if format.signed { -(1_i64 << bits) } else { 0 }, (1_i64 << bits) - 1);
    let limit = |name| data.get(name).and_then(Json::as_i64).map(|limit| limit.clamp(min, max));
    // Files use either of these names, with the same meaning.
    let multiple = data.get("multiple").or_else(|| data.get("multipleOf"));
    let (factor, decimals) = match multiple {
        Some(Json::Number(multiple)) => scale(&multiple.to_string())?,
        _ => (1, 0),
    };
    let unit = match text(data, "unit").unwrap_or_default() {
        "Celsius" => "°C",
        "digit" => "",
        "second" => "s",
        "minute" | "minutes" => "min",
        "days" => "d",
        "degree" => "°",
        other => other,
    };
    Some(Number {
        format,
        min: limit("minimum").unwrap_or(min),
        max: limit("maximum").unwrap_or(max),
        factor,
        decimals,
        unit: unit.to_owned(),
        coefficients: coefficients(data).collect(),
    })
}

fn states(bytes: u8, data: &Json) -> Option<Kind> {
    let state = |state: &Json| {
        let code = u32::from_str_radix(text(state, "edt")?.strip_prefix("0x")?, 16).ok()?;
        let name = match state.get("numericValue") {
            Some(number) => number.to_string(),
            None => snake(on_or_off(state).or(text(state, "name"))?),
        };
        Some((code, name))
    };
    // Some files name a range of codes by its bounds: those stay codes.
    let is_range = |state: &&Json| text(state, "edt").is_some_and(|codes| codes.contains("..."));
    let states = data.get("enum")?.as_array()?.iter().filter(|state| !is_range(state));
    let states = states.map(state).collect::<Option<_>>()?;
    (1..=4).contains(&bytes).then_some(Kind::State { bytes, states })
}

/// Switches are named true and false, and described as ON and OFF, the usual names.
fn on_or_off(state: &Json) -> Option<&'static str> {
    let described = text(state.get("descriptions")?, "en")?.rsplit(' ').next()?;
    [("true", "on"), ("false", "off")]
        .into_iter()
        .find(|(name, word)| text(state, "name") == Some(name) && described.eq_ignore_ascii_case(word))
        .map(|(_, word)| word)
}

fn bit_fields(data: &Json) -> Option<Vec<BitField>> {
    let field = |field: &Json| {
        let position = field.get("position")?;
        let mask = u8::from_str_radix(text(position, "bitMask")?.strip_prefix("0b")?, 2).ok()?;
        let byte = u8::try_from(position.get("index")?.as_u64()?).ok()?;
        Some(BitField { name: snake(text(field, "name")?), byte, mask })
    };
    data.get("bitmaps")?.as_array()?.iter().map(field).collect()
}

/// Converts `operationStatus` to `operation_status`.
fn snake(camel: &str) -> String {
    let mut snake = String::with_capacity(camel.len() + 8);
    let mut after_small = false;
    for c in camel.chars() {
        if !c.is_ascii_alphanumeric() {
            if !snake.ends_with('_') {
                snake.push('_');
            }
            after_small = false;
            continue;
        }
        if c.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        after_small = !c.is_ascii_uppercase();
        snake.push(c.to_ascii_lowercase());
    }
    snake.trim_matches('_').to_owned()
}
