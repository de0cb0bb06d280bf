//! A description as a TOML file, with names and values as people write them.

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

/// Why a file is no description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionFileError {
    /// It is no TOML, or has fields that nobody knows. What it says begins with line and column.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Something else is wrong, and where.
    #[error("line {line}: {error}")]
    At {
        /// The line, from 1.
        line: usize,
        /// What.
        error: Box<Self>,
    },
    /// It is too long.
    #[error("a description of {bytes} bytes: at most {DESCRIPTION_BYTES_MAX} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The manufacturer's code is none.
    #[error("manufacturer {0:?}: write six hexadecimal digits, as \"00000B\"")]
    Manufacturer(String),
    /// The number that makes the node unique is none.
    #[error("unique {0:?}: write up to 13 letters, or 26 hexadecimal digits")]
    Unique(String),
    /// No such class.
    #[error("class {0:?} is not known: write its code, as \"0291\", or its short name")]
    Class(String),
    /// Not so many instances.
    #[error("{0} instances: a class has 1 to 127 of them in a node")]
    Instances(i64),
    /// No such property.
    #[error("{class}: property {name:?} is not known: write its code, as \"B0\", or its short name")]
    Property {
        /// The class.
        class: ClassCode,
        /// What stands in the file.
        name: String,
    },
    /// The text is no value.
    #[error("{class}: property {name:?}: {error}")]
    Value {
        /// The class.
        class: ClassCode,
        /// What stands in the file.
        name: String,
        /// What is wrong with it.
        error: EncodeError,
    },
    /// Nothing is known of the property's values.
    #[error("{class}: property {name:?}: its values are not known, write 0x and hexadecimal digits")]
    Unknown {
        /// The class.
        class: ClassCode,
        /// What stands in the file.
        name: String,
    },
    /// The access is none.
    #[error("access {0:?}: write some of get, set and announce, with spaces between them")]
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
    #[serde(default = "one")]
    instances: i64,
    #[serde(default)]
    properties: Properties,
}

/// By name, which says where it stands.
type Properties = BTreeMap<Spanned<String>, Property>;

fn one() -> i64 {
    1
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, a number, true or false")]
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

/// By hand, so that what is wrong within the longer form is told.
impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfProperty;

        impl<'de> Visitor<'de> for OfProperty {
            type Value = Property;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true, false, or { value = ..., access = ..., writes = ... }")
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
    /// Reads a TOML file. Classes and properties stand there by short name or code, values as
    /// [`Definition::encode`] reads them. What every device must have is added: see [`ObjectDescription::device`].
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
    /// Who may do what with a property, unless `access` says it: what the class requires and allows; changes are announced
    /// where it requires that. A property that the database does not know can be read.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn from_toml(text: &str, database: &Database) -> Result<Self, DescriptionFileError> {
        if text.len() > DESCRIPTION_BYTES_MAX {
            return Err(DescriptionFileError::TooLong { bytes: text.len() });
        }
        Self::from_toml_table(text, DeTable::parse(text)?, database)
    }

    /// As [`from_toml`](Self::from_toml), for a description that is a table within `text`: errors have the lines of that.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
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
            // Several entries of a class count on.
            let before = description.objects.iter().filter(|other| other.eoj.class() == class).count();
            let total = object.instances.saturating_add(i64::try_from(before).unwrap_or(i64::MAX));
            let last = u8::try_from(total).ok().filter(|last| object.instances > 0 && *last <= INSTANCE_MAX);
            let last = last.ok_or_else(|| wrong(DescriptionFileError::Instances(total)))?;
            let properties = properties(class, &object.properties)?;
            // One more than there are is in bounds: both are below 128.
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

/// An error of what stands there.
fn at<T>(text: &str, there: &Spanned<T>, error: DescriptionFileError) -> DescriptionFileError {
    let before = text.get(..there.span().start).unwrap_or_default();
    DescriptionFileError::At { line: 1 + before.matches('\n').count(), error: Box::new(error) }
}

/// Letters, filled up with zeros, or as many bytes in hexadecimal.
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
