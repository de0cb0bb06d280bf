//! Classes and their properties.

use crate::database::decode::decode;
use crate::database::encode::encode;
use crate::database::error::{EncodeError, TableError};
use crate::database::kind::Kind;
use crate::database::table;
use crate::database::value::Value;
use crate::eoj::ClassCode;
use crate::epc::Epc;

/// Whether an object of a class must allow something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Rule {
    /// It does not.
    #[default]
    No,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// What is known of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// Which.
    pub epc: Epc,
    /// Its name for people: `Operation status`.
    pub name: String,
    /// Its name for programs: `operation_status`.
    pub short_name: String,
    /// Whether it can be read.
    pub get: Rule,
    /// Whether it can be written.
    pub set: Rule,
    /// Whether its changes are told.
    pub announce: Rule,
    /// What its value is made of.
    pub kind: Kind,
}

impl Definition {
    /// What a value means. One that does not fit is [`Value::Raw`]: some devices send what they should not.
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

    /// The bytes of a value that is written as [`decode`](Self::decode) shows it: `on`, `25.5`, `26 °C`,
    /// `2026-01-31`. `0x` and digits are any bytes of a length that it may have. `on`, `yes` and `true` stand for each other.
    ///
    /// # Errors
    ///
    /// The text is no value of this property; the error says what would be.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        encode(&self.kind, text)
    }

    /// Whether a value is one that the definition has.
    pub fn is_valid(&self, edt: &[u8]) -> bool {
        decode(&self.kind, edt).is_some()
    }
}

/// What is known of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Class {
    /// Which. The super class of device objects is 0000.
    pub code: ClassCode,
    /// Its name for people: `Home air conditioner`.
    pub name: String,
    /// Its name for programs: `home_air_conditioner`.
    pub short_name: String,
    /// Its properties in ascending order, each once.
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

    /// Reads a table, as the built-in ones are: a line for the class, then one for each property.
    ///
    /// ```text
    /// class 0291 mono_functional_lighting Mono functional lighting
    /// 80 RRR operation_status | Operation status | on=30 off=31
    /// B0 OO- light_level | Illuminance level | u8 0..100 %
    /// ```
    ///
    /// The letters say whether it can be read, written and is announced: `R` it must, `O` it may, `-` it does not.
    /// What its value is made of:
    ///
    /// | text | kind |
    /// |---|---|
    /// | `on=30 off=31` | states and their codes, as many digits as they have |
    /// | `i16 -2732..32765 x0.1 °C` | a number as it is sent, what it is multiplied with, its unit; `*D3` behind it a coefficient |
    /// | `level 31 8` | levels 1 to 8, sent as 31 to 38 |
    /// | `bits 1 compressor@0:01` | bytes; names, and byte and mask of each |
    /// | `raw 4`, `raw 1..17`, `text 12` | bytes |
    /// | `date`, `time 2`, `datetime 7` | as they say, bytes |
    /// | `map`, `instances`, `classes` | as in the node profile |
    /// | `record r=i16 0..9 A, t=i16 0..9 A` | parts |
    /// | `list 48 u32 0..9 kWh` | the same again |
    /// | `u8 0..50 °C; undefined=FD` | one of these |
    ///
    /// # Errors
    ///
    /// A line is not as it should be.
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

    /// One of them.
    pub fn property(&self, epc: Epc) -> Option<&Definition> {
        let at = self.properties.binary_search_by_key(&epc, |definition| definition.epc).ok()?;
        Some(&self.properties[at])
    }
}
