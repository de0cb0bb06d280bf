//! Formats of property values.

use std::ops::RangeInclusive;

use crate::epc::Epc;
use crate::limits::{EDT_BYTES_MAX, MAP_BYTES};

/// The encoding of a number, in big-endian order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Length in bytes: 1, 2 or 4.
    pub bytes: u8,
    /// Whether it is signed (two's complement).
    pub signed: bool,
}

/// A number with a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Number {
    /// Its encoding.
    pub format: Format,
    /// The minimum as transmitted, before `factor` and `decimals`.
    pub min: i64,
    /// The maximum as transmitted.
    pub max: i64,
    /// The factor that the transmitted number is multiplied by.
    pub factor: u32,
    /// The number of decimals of the result.
    pub decimals: u8,
    /// The unit; empty if there is none.
    pub unit: String,
    /// Properties of the same object that are further factors; a property that the object lacks counts as 1.
    /// [`Definition::decode`](crate::Definition::decode) ignores them.
    pub coefficients: Vec<Epc>,
}

/// A bit field.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BitField {
    /// A name without spaces.
    pub name: String,
    /// The byte, from 0.
    pub byte: u8,
    /// The mask within the byte.
    pub mask: u8,
}

/// The format of a value, including its length and range: a value outside them does not fit the format.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A number.
    Number(Number),
    /// One of several codes, each with a name without spaces.
    State {
        /// Bytes of each code: 1 to 4.
        bytes: u8,
        /// Codes and names.
        states: Vec<(u32, String)>,
    },
    /// A level from 1 up, transmitted as `base` and the codes after it.
    Level {
        /// The code of level 1.
        base: u8,
        /// The highest level.
        max: u8,
    },
    /// Bit fields.
    Bits {
        /// Bytes of the value.
        bytes: u8,
        /// The fields.
        fields: Vec<BitField>,
    },
    /// Opaque bytes.
    Raw {
        /// The minimum length in bytes.
        min: u8,
        /// The maximum.
        max: u8,
    },
    /// ASCII text, padded with zeros or spaces.
    Text {
        /// The maximum length in bytes.
        max: u8,
    },
    /// Year (two bytes), month, day.
    Date,
    /// Hours and minutes; with three bytes also seconds.
    Time {
        /// Bytes: 2 or 3.
        bytes: u8,
    },
    /// Date and time: year (two bytes), month, day, hours, and, depending on the length, minutes and seconds.
    DateTime {
        /// Bytes: 5, 6 or 7.
        bytes: u8,
    },
    /// A property map.
    PropertyMap,
    /// A count and that many instances (D5, D6).
    Instances,
    /// A count and that many classes (D7).
    Classes,
    /// Consecutive fields, each with a name without spaces.
    Record(Vec<(String, Kind)>),
    /// A repeated format.
    List {
        /// The maximum number of items.
        max: u8,
        /// The format of an item.
        item: Box<Kind>,
    },
    /// The first of these formats that the value fits: a number, or a code for "no data".
    OneOf(Vec<Kind>),
}

impl Kind {
    /// The allowed lengths of a value in bytes.
    pub fn lengths(&self) -> RangeInclusive<usize> {
        let exactly = |bytes: u8| usize::from(bytes)..=usize::from(bytes);
        match self {
            Self::Number(number) => exactly(number.format.bytes),
            Self::State { bytes, .. }
            | Self::Bits { bytes, .. }
            | Self::Time { bytes }
            | Self::DateTime { bytes } => exactly(*bytes),
            Self::Level { .. } => exactly(1),
            Self::Raw { min, max } => usize::from(*min)..=usize::from(*max),
            Self::Text { max } => 0..=usize::from(*max),
            Self::Date => exactly(4),
            Self::PropertyMap => 1..=MAP_BYTES,
            Self::Instances | Self::Classes => 1..=EDT_BYTES_MAX,
            Self::Record(fields) => {
                let lengths = fields.iter().map(|(_, kind)| kind.lengths());
                lengths.fold(0..=0, |sum, part| {
                    sum.start().saturating_add(*part.start())..=sum.end().saturating_add(*part.end())
                })
            }
            Self::List { max, item } => 0..=usize::from(*max).saturating_mul(*item.lengths().end()),
            Self::OneOf(kinds) => {
                let least = kinds.iter().map(|kind| *kind.lengths().start()).min().unwrap_or(0);
                least..=kinds.iter().map(|kind| *kind.lengths().end()).max().unwrap_or(0)
            }
        }
    }
}
