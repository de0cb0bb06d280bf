//! What is wrong with text: of a person, or of a table.

use crate::database::kind::Number;
use crate::database::value::Quantity;

/// Why a text is no value of a property. `0x` and hexadecimal digits are always good, if their number is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It is no number, or has more decimals than can be sent.
    #[error("{text:?} is no number with at most {decimals} decimals")]
    NoNumber {
        /// The text.
        text: String,
        /// How many decimals there may be.
        decimals: u8,
    },
    /// The number is too small or too large.
    #[error("{text} is not between {min} and {max}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The least.
        min: Box<Quantity>,
        /// The greatest.
        max: Box<Quantity>,
    },
    /// No state has this name.
    #[error("{text:?} is none of: {}", .names.join(", "))]
    NoState {
        /// The text.
        text: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// It is not written as this kind of value is.
    #[error("{text:?} is not written as {form}")]
    Form {
        /// The text.
        text: String,
        /// How it is to be written.
        form: &'static str,
    },
    /// The value has no length that the property may have.
    #[error("a value of {bytes} bytes: this property has {min} to {max}")]
    Length {
        /// Bytes of the text's value.
        bytes: usize,
        /// The least.
        min: usize,
        /// The greatest.
        max: usize,
    },
}

impl EncodeError {
    pub(super) fn out_of_range(text: &str, number: &Number) -> Self {
        let quantity = |sent: i64| {
            let digits = sent * i64::from(number.factor);
            Box::new(Quantity { digits, decimals: number.decimals, unit: number.unit.clone() })
        };
        Self::OutOfRange { text: text.to_owned(), min: quantity(number.min), max: quantity(number.max) }
    }
}

/// Why a table cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the table: {rule}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What it should be.
    pub rule: &'static str,
}
