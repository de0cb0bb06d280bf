//! Classes and their properties.

use crate::database::decode::decode;
use crate::database::encode::encode;
use crate::database::error::{EncodeError, TableError};
use crate::database::kind::Kind;
use crate::database::table;
use crate::database::value::Value;
use crate::eoj::ClassCode;
use crate::epc::Epc;

/// Whether the specification requires an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Rule {
    /// Not allowed.
    #[default]
    No,
    /// Optional.
    Optional,
    /// Required.
    Required,
}

/// The definition of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// Its code.
    pub epc: Epc,
    /// Its display name: `Operation status`.
    pub name: String,
    /// Its identifier: `operation_status`.
    pub short_name: String,
    /// Whether it can be read.
    pub get: Rule,
    /// Whether it can be written.
    pub set: Rule,
    /// Whether changes are announced.
    pub announce: Rule,
    /// The format of its value.
    pub kind: Kind,
}

impl Definition {
    /// Decodes a value. A value that does not fit the definition becomes [`Value::Raw`], since some devices
    /// send invalid values.
    ///
    /// ```
    /// use netdyno_echonet_core::{ClassCode, Database, Epc};
    ///
    /// let database = Database::builtin();
    /// let room_temperature = database.definition(ClassCode(0x0130), Epc(0xBB)).ok_or("unknown")?;
    /// assert_eq!(room_temperature.decode(&[0x1A]).to_string(), "26 °C");
    /// assert_eq!(room_temperature.decode(&[0x7E]).to_string(), "unmeasurable");
    /// # Ok::<(), &str>(())
    /// ```
    pub fn decode(&self, edt: &[u8]) -> Value {
        decode(&self.kind, edt).unwrap_or_else(|| Value::Raw(edt.to_vec()))
    }

    /// Encodes a value from text as [`decode`](Self::decode) shows it: `on`, `25.5`, `26 °C`, `2026-01-31`.
    /// `0x` and hexadecimal digits give any bytes of an allowed length. `on`, `yes` and `true` are synonyms.
    ///
    /// # Errors
    ///
    /// The text is not a value of this property; the error states the allowed values.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        encode(&self.kind, text)
    }

    /// Whether a value fits the definition.
    pub fn is_valid(&self, edt: &[u8]) -> bool {
        decode(&self.kind, edt).is_some()
    }
}

/// The definition of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Class {
    /// Its code. The super class of device objects is 0000.
    pub code: ClassCode,
    /// Its display name: `Home air conditioner`.
    pub name: String,
    /// Its identifier: `home_air_conditioner`.
    pub short_name: String,
    /// Its properties in ascending order, without duplicates.
    properties: Vec<Definition>,
}

impl Class {
    pub(crate) fn new(
        code: ClassCode,
        name: String,
        short_name: String,
        mut properties: Vec<Definition>,
    ) -> Self {
        properties.sort_by_key(|definition| definition.epc);
        properties.dedup_by_key(|definition| definition.epc);
        Self { code, name, short_name, properties }
    }

    /// Parses a table in the format of the built-in ones: a line for the class, then one for each property.
    ///
    /// ```text
    /// class 0291 mono_functional_lighting Mono functional lighting
    /// 80 RRR operation_status | Operation status | on=30 off=31
    /// B0 OO- light_level | Illuminance level | u8 0..100 %
    /// ```
    ///
    /// Three letters give the rules for reading, writing and announcing: `R` required, `O` optional, `-` not
    /// allowed. The formats of values:
    ///
    /// | text | kind |
    /// |---|---|
    /// | `on=30 off=31` | states and their codes; the number of digits gives the length |
    /// | `i16 -2732..32765 x0.1 °C` | a number: type, range as transmitted, factor, unit; a suffix `*D3` names a coefficient |
    /// | `level 31 8` | levels 1 to 8, transmitted as 31 to 38 |
    /// | `bits 1 compressor@0:01` | number of bytes; name, byte and mask of each field |
    /// | `raw 4`, `raw 1..17`, `text 12` | bytes |
    /// | `date`, `time 2`, `datetime 7` | dates and times, with their number of bytes |
    /// | `map`, `instances`, `classes` | as in the node profile |
    /// | `record r=i16 0..9 A, t=i16 0..9 A` | parts |
    /// | `list 48 u32 0..9 kWh` | a repeated format |
    /// | `u8 0..50 °C; undefined=FD` | alternatives |
    ///
    /// # Errors
    ///
    /// A line is malformed.
    pub fn from_table(text: &str) -> Result<Self, TableError> {
        let table = table::parse(text)?;
        let definition = |row: table::Row| {
            let [get, set, announce] = row.rules.map(|rule| match rule {
                b'R' => Rule::Required,
                b'O' => Rule::Optional,
                _ => Rule::No,
            });
            let (epc, name, short_name, kind) = (row.epc, row.name, row.short_name, row.kind);
            Definition { epc, name, short_name, get, set, announce, kind }
        };
        let properties = table.rows.into_iter().map(definition).collect();
        Ok(Self::new(table.code, table.name, table.short_name, properties))
    }

    /// Its properties in ascending order; those of the super class only where they differ from it.
    pub fn properties(&self) -> &[Definition] {
        &self.properties
    }

    /// The property with this code.
    pub fn property(&self, epc: Epc) -> Option<&Definition> {
        let at = self.properties.binary_search_by_key(&epc, |definition| definition.epc).ok()?;
        Some(&self.properties[at])
    }
}
