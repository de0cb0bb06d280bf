//! What a property's value is made of.

use std::ops::RangeInclusive;

use crate::epc::Epc;
use crate::limits::{EDT_BYTES_MAX, MAP_BYTES};

/// How a number stands in its bytes, the first byte the highest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bytes: 1, 2 or 4.
    pub bytes: u8,
    /// Whether it can be negative (two's complement).
    pub signed: bool,
}

/// A number with a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Number {
    /// How it stands in its bytes.
    pub format: Format,
    /// The least number as it is sent, before `factor` and `decimals`.
    pub min: i64,
    /// The greatest number as it is sent.
    pub max: i64,
    /// What is meant is the number sent times this...
    pub factor: u32,
    /// ...with the point so many digits to the left.
    pub decimals: u8,
    /// The unit; empty if there is none.
    pub unit: String,
    /// Properties of the same object that it is to be multiplied with too; one that the object does not have counts
    /// as 1. [`Definition::decode`](crate::Definition::decode) leaves them out.
    pub coefficients: Vec<Epc>,
}

/// Some bits of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BitField {
    /// A name without spaces.
    pub name: String,
    /// Which byte, from 0.
    pub byte: u8,
    /// Which of its bits.
    pub mask: u8,
}

/// What a value is made of. Lengths and ranges are part of it: a value that does not fit is none of its kind.
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
    /// A level from 1 up, sent as `base` and those after it.
    Level {
        /// What stands for level 1.
        base: u8,
        /// The highest level.
        max: u8,
    },
    /// A byte in which bits mean something.
    Bits {
        /// Bytes of the value.
        bytes: u8,
        /// What they mean.
        fields: Vec<BitField>,
    },
    /// Bytes that only their maker understands, or that mean something else each time.
    Raw {
        /// The least number of bytes.
        min: u8,
        /// The greatest.
        max: u8,
    },
    /// Letters, ASCII, filled up with zeros or spaces.
    Text {
        /// The greatest number of bytes.
        max: u8,
    },
    /// Year (two bytes), month, day.
    Date,
    /// Hours and minutes, and with three bytes seconds.
    Time {
        /// Bytes: 2 or 3.
        bytes: u8,
    },
    /// Date and time: year (two bytes), month, day, hours, and as many of minutes and seconds as there are bytes.
    DateTime {
        /// Bytes: 5, 6 or 7.
        bytes: u8,
    },
    /// A property map.
    PropertyMap,
    /// A number and so many instances (D5, D6).
    Instances,
    /// A number and so many classes (D7).
    Classes,
    /// Parts one behind the other, each with a name without spaces.
    Record(Vec<(String, Kind)>),
    /// The same again and again.
    List {
        /// How often at the most.
        max: u8,
        /// What.
        item: Box<Kind>,
    },
    /// The first of these that it fits: a number, or a code for "no data".
    OneOf(Vec<Kind>),
}

impl Kind {
    /// How many bytes a value may have.
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
