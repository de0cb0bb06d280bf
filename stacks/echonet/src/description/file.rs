//! A description as a TOML file, with names and values as people write them.

use std::collections::BTreeMap;

use serde::Deserialize;

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
    /// It is no TOML, or has fields that nobody knows.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
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
    Instances(usize),
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
    manufacturer: String,
    unique: String,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    objects: Vec<Object>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(default)]
    properties: BTreeMap<String, Property>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    class: String,
    #[serde(default = "one")]
    instances: u8,
    #[serde(default)]
    properties: BTreeMap<String, Property>,
}

fn one() -> u8 {
    1
}

#[derive(Deserialize)]
#[serde(untagged)]
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

#[derive(Deserialize)]
#[serde(untagged)]
enum Property {
    Value(Scalar),
    Full(Full),
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
        let file: File = toml::from_str(text)?;
        let wrong = |_| DescriptionFileError::Manufacturer(file.manufacturer.clone());
        let manufacturer = hex::parse::<3>(&file.manufacturer).map_err(wrong)?;
        let mut description = Self::new(manufacturer, unique(&file.unique)?);
        for (name, property) in &file.profile.properties {
            let property = described(database, ClassCode::NODE_PROFILE, name, property)?;
            description = description.profile_property(property);
        }
        for object in &file.objects {
            let known = database.class_named(&object.class).map(|class: &Class| class.code);
            let class = known.or_else(|| object.class.parse().ok());
            let class = class.ok_or_else(|| DescriptionFileError::Class(object.class.clone()))?;
            if !(1..=INSTANCE_MAX).contains(&object.instances) {
                return Err(DescriptionFileError::Instances(object.instances.into()));
            }
            // Several entries of a class count on.
            let before = description.objects.iter().filter(|other| other.eoj.class() == class).count();
            let too_many = DescriptionFileError::Instances(before + usize::from(object.instances));
            let last = u8::try_from(before + usize::from(object.instances)).ok();
            let last = last.filter(|last| *last <= INSTANCE_MAX).ok_or(too_many)?;
            let first = last - object.instances + 1;
            for instance in first..=last {
                let mut made = ObjectDescription::device(class.instance(instance), manufacturer);
                for (name, property) in &object.properties {
                    made = made.with(described(database, class, name, property)?);
                }
                description = description.object(made);
            }
        }
        Ok(description)
    }
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
