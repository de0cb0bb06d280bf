//! Errors in values given as text, and in tables.

use crate::database::kind::Number;
use crate::database::value::Quantity;

/// Why a text is not a value of a property. `0x` and hexadecimal digits of an allowed length are always
/// accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It is not a number, or has more decimals than can be transmitted.
    #[error("{text:?} is not a number with at most {decimals} decimals")]
    NoNumber {
        /// The text.
        text: String,
        /// The maximum number of decimals.
        decimals: u8,
    },
    /// The number is too small or too large.
    #[error("{text} is not between {min} and {max}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The minimum.
        min: Box<Quantity>,
        /// The maximum.
        max: Box<Quantity>,
    },
    /// No state has this name.
    #[error("{text:?} is not one of: {}", .names.join(", "))]
    NoState {
        /// The text.
        text: String,
        /// The valid names.
        names: Vec<String>,
    },
    /// The text does not have the form of this kind of value.
    #[error("{text:?} does not have the form {form}")]
    Form {
        /// The text.
        text: String,
        /// The expected form.
        form: &'static str,
    },
    /// The property allows no value of this length.
    #[error("a value of {bytes} bytes: this property allows {min} to {max}")]
    Length {
        /// Length of the text's value in bytes.
        bytes: usize,
        /// The minimum.
        min: usize,
        /// The maximum.
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

/// Why a table cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the table: {rule}")]
pub struct TableError {
    /// The line number, from 1.
    pub line: usize,
    /// The violated rule.
    pub rule: &'static str,
}
