//! Descriptions as TOML files, with names and values in text form.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeTable;

use crate::database::{Class, Database, Definition, EncodeError, Rule};
use crate::description::types::{Access, Description, ObjectDescription, PropertyDescription, WritePolicy};
use crate::eoj::ClassCode;
use crate::epc::Epc;
use crate::hex;
use crate::limits::{DESCRIPTION_BYTES_MAX, INSTANCE_MAX};

/// Why a file is not a valid description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionFileError {
    /// It is not TOML, or has unknown fields. The message begins with line and column.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Another error, with its line.
    #[error("line {line}: {error}")]
    At {
        /// The line number, from 1.
        line: usize,
        /// The error.
        error: Box<Self>,
    },
    /// The file is too long.
    #[error("a description of {bytes} bytes: the limit is {DESCRIPTION_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The manufacturer code is malformed.
    #[error("manufacturer {0:?}: write six hexadecimal digits, as \"00000B\"")]
    Manufacturer(String),
    /// The unique number is malformed.
    #[error("unique {0:?}: write up to 13 letters, or 26 hexadecimal digits")]
    Unique(String),
    /// Unknown class.
    #[error("class {0:?} is not known: write its code, as \"0291\", or its short name")]
    Class(String),
    /// The number of instances is out of range.
    #[error("{0} instances: a class has 1 to 127 of them in a node")]
    Instances(i64),
    /// Unknown property.
    #[error("{class}: property {name:?} is not known: write its code, as \"B0\", or its short name")]
    Property {
        /// The class.
        class: ClassCode,
        /// The name in the file.
        name: String,
    },
    /// The text is not a value of the property.
    #[error("{class}: property {name:?}: {error}")]
    Value {
        /// The class.
        class: ClassCode,
        /// The name in the file.
        name: String,
        /// The error.
        error: EncodeError,
    },
    /// The format of the property's values is unknown.
    #[error("{class}: property {name:?}: its values are unknown: write 0x and hexadecimal digits")]
    Unknown {
        /// The class.
        class: ClassCode,
        /// The name in the file.
        name: String,
    },
    /// The access is malformed.
    #[error("access {0:?}: write some of get, set and announce, separated by spaces")]
    Access(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    manufacturer: Spanned<String>,
    unique: Spanned<String>,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    objects: Vec<Object>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(default)]
    properties: Properties,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    class: Spanned<String>,
    #[serde(default = "one_instance")]
    instances: i64,
    #[serde(default)]
    properties: Properties,
}

/// By name, with its position in the file.
type Properties = BTreeMap<Spanned<String>, Property>;

fn one_instance() -> i64 {
    1
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string, a number, true or false")]
enum Scalar {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

enum Property {
    Value(Scalar),
    Full(Full),
}

/// Implemented by hand, so that errors within the longer form are reported.
impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfProperty;

        impl<'de> Visitor<'de> for OfProperty {
            type Value = Property;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number, true, false, or { value = ..., access = ..., writes = ... }")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Property, E> {
                Ok(Property::Value(Scalar::Bool(value)))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Property, E> {
                Ok(Property::Value(Scalar::Integer(value)))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Property, E> {
                Ok(Property::Value(Scalar::Float(value)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Property, E> {
                Ok(Property::Value(Scalar::Text(text.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Property, A::Error> {
                Full::deserialize(MapAccessDeserializer::new(map)).map(Property::Full)
            }
        }

        deserializer.deserialize_any(OfProperty)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    value: Scalar,
    access: Option<String>,
    #[serde(default)]
    writes: Writes,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Writes {
    #[default]
    Accept,
    Ask,
    Refuse,
}

impl Description {
    /// Parses a TOML file. Classes and properties are given by short name or code, values as text for
    /// [`Definition::encode`]. The mandatory properties of a device are added: see
    /// [`ObjectDescription::device`].
    ///
    /// ```
    /// use netdyno_echonet_core::{Database, Description};
    ///
    /// let description = Description::from_toml(
    ///     r#"
    ///     manufacturer = "00000B"
    ///     unique = "living room"
    ///
    ///     [[objects]]
    ///     class = "mono_functional_lighting"
    ///     instances = 2
    ///     properties.operation_status = "on"
    ///     properties.light_level = 80
    ///     properties.F0 = { value = "0x0102", access = "get set", writes = "ask" }
    ///     "#,
    ///     &Database::builtin(),
    /// )?;
    /// assert_eq!(description.objects.len(), 2);
    /// # Ok::<(), netdyno_echonet_core::DescriptionFileError>(())
    /// ```
    ///
    /// Without `access`, a property has the access that the class requires or allows, and is announced if the
    /// class requires it. A property that the database does not know is readable.
    ///
    /// # Errors
    ///
    /// The first error in the file.
    pub fn from_toml(text: &str, database: &Database) -> Result<Self, DescriptionFileError> {
        if text.len() > DESCRIPTION_BYTES_MAX {
            return Err(DescriptionFileError::TooLong { bytes: text.len() });
        }
        Self::from_toml_table(text, DeTable::parse(text)?, database)
    }

    /// As [`from_toml`](Self::from_toml), for a description that is a table within `text`. Errors have line
    /// numbers of `text`.
    ///
    /// # Errors
    ///
    /// The first error in the table.
    pub fn from_toml_table(
        text: &str,
        table: Spanned<DeTable<'_>>,
        database: &Database,
    ) -> Result<Self, DescriptionFileError> {
        let file = File::deserialize(toml::Deserializer::from(table)).map_err(|mut error| {
            error.set_input(Some(text));
            error
        })?;
        let code = &file.manufacturer;
        let wrong = |_| at(text, code, DescriptionFileError::Manufacturer(code.get_ref().clone()));
        let manufacturer = hex::parse::<3>(code.get_ref()).map_err(wrong)?;
        let unique = unique(file.unique.get_ref()).map_err(|error| at(text, &file.unique, error))?;
        let mut description = Self::new(manufacturer, unique);
        let properties = |class, properties: &Properties| {
            let property = |(name, property): (&Spanned<String>, &Property)| {
                described(database, class, name.get_ref(), property).map_err(|error| at(text, name, error))
            };
            properties.iter().map(property).collect::<Result<Vec<_>, _>>()
        };
        for property in properties(ClassCode::NODE_PROFILE, &file.profile.properties)? {
            description = description.profile_property(property);
        }
        for object in &file.objects {
            let wrong = |error| at(text, &object.class, error);
            let name = object.class.get_ref();
            let known = database.class_named(name).map(|class: &Class| class.code);
            let class = known.or_else(|| name.parse().ok());
            let class = class.ok_or_else(|| wrong(DescriptionFileError::Class(name.clone())))?;
            // Several entries of a class continue the numbering of instances.
            let before = description.objects.iter().filter(|other| other.eoj.class() == class).count();
            let total = object.instances.saturating_add(i64::try_from(before).unwrap_or(i64::MAX));
            let last = u8::try_from(total).ok().filter(|last| object.instances > 0 && *last <= INSTANCE_MAX);
            let last = last.ok_or_else(|| wrong(DescriptionFileError::Instances(total)))?;
            let properties = properties(class, &object.properties)?;
            // One more than the count is in bounds: both are below 128.
            for instance in before as u8 + 1..=last {
                let mut made = ObjectDescription::device(class.instance(instance), manufacturer);
                for property in &properties {
                    made = made.with(property.clone());
                }
                description = description.object(made);
            }
        }
        Ok(description)
    }
}

/// Adds the position to an error.
fn at<T>(text: &str, there: &Spanned<T>, error: DescriptionFileError) -> DescriptionFileError {
    let before = text.get(..there.span().start).unwrap_or_default();
    DescriptionFileError::At { line: 1 + before.matches('\n').count(), error: Box::new(error) }
}

/// Letters, padded with zeros, or as many bytes in hexadecimal.
fn unique(text: &str) -> Result<[u8; 13], DescriptionFileError> {
    if let Ok(bytes) = hex::parse::<13>(text) {
        return Ok(bytes);
    }
    if text.is_empty() || text.len() > 13 {
        return Err(DescriptionFileError::Unique(text.to_owned()));
    }
    let mut bytes = [0; 13];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    Ok(bytes)
}

fn described(
    database: &Database,
    class: ClassCode,
    name: &str,
    property: &Property,
) -> Result<PropertyDescription, DescriptionFileError> {
    let definition = database.definition_named(class, name);
    let epc = definition.map(|definition| definition.epc).or_else(|| name.parse().ok());
    let unknown = || DescriptionFileError::Property { class, name: name.to_owned() };
    let epc: Epc = epc.ok_or_else(unknown)?;
    let (scalar, access, writes) = match property {
        Property::Value(scalar) => (scalar, None, Writes::Accept),
        Property::Full(full) => (&full.value, full.access.as_deref(), full.writes),
    };
    let value = encoded(definition, class, name, &scalar.text())?;
    let access = access.map_or_else(|| Ok(usual_access(definition)), parse_access)?;
    let made = PropertyDescription::new(epc, value, access).writes(match writes {
        Writes::Accept => WritePolicy::Accept,
        Writes::Ask => WritePolicy::Ask,
        Writes::Refuse => WritePolicy::Refuse,
    });
    Ok(match definition.map(|definition| definition.kind.lengths()) {
        Some(lengths) if lengths.contains(&made.value.len()) => {
            let longest = (*lengths.end()).min(crate::limits::EDT_BYTES_MAX);
            made.lengths(*lengths.start()..=longest)
        }
        _ => made,
    })
}

fn encoded(
    definition: Option<&Definition>,
    class: ClassCode,
    name: &str,
    text: &str,
) -> Result<Vec<u8>, DescriptionFileError> {
    let name = name.to_owned();
    if let Some(definition) = definition {
        return definition.encode(text).map_err(|error| DescriptionFileError::Value { class, name, error });
    }
    text.strip_prefix("0x").and_then(hex::bytes).ok_or(DescriptionFileError::Unknown { class, name })
}

fn usual_access(definition: Option<&Definition>) -> Access {
    definition.map_or(Access::GET, |definition| Access {
        get: definition.get != Rule::No,
        set: definition.set != Rule::No,
        announce: definition.announce == Rule::Required,
    })
}

fn parse_access(text: &str) -> Result<Access, DescriptionFileError> {
    let mut access = Access::default();
    for word in text.split_whitespace() {
        match word {
            "get" => access.get = true,
            "set" => access.set = true,
            "announce" => access.announce = true,
            _ => return Err(DescriptionFileError::Access(text.to_owned())),
        }
    }
    Ok(access)
}
