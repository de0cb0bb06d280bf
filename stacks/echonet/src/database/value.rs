//! Decoded values.

use std::fmt;

use crate::eoj::{ClassCode, Eoj};
use crate::property_map::PropertyMap;

/// A number and its unit, exact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// The digits.
    pub digits: i64,
    /// The number of decimals among them.
    pub decimals: u8,
    /// The unit; empty if there is none.
    pub unit: String,
}

impl Quantity {
    /// As a floating-point number.
    pub fn as_f64(&self) -> f64 {
        // Exact: a transmitted number has 32 bits and a factor.
        #[expect(clippy::cast_precision_loss)]
        let digits = self.digits as f64;
        digits / 10_f64.powi(i32::from(self.decimals))
    }
}

impl fmt::Display for Quantity {
    /// The number with all its decimals, and the unit if there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, digits) = (if self.digits < 0 { "-" } else { "" }, self.digits.unsigned_abs());
        match 10_u64.checked_pow(u32::from(self.decimals)).filter(|_| self.decimals > 0) {
            Some(ten) => write!(
                f,
                "{sign}{}.{:0width$}",
                digits / ten,
                digits % ten,
                width = usize::from(self.decimals)
            )?,
            None => write!(f, "{sign}{digits}")?,
        }
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}

/// The meaning of a property's value. [`Definition::encode`](crate::Definition::encode) parses its text form.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// A number with its unit.
    Number(Quantity),
    /// The name of a state.
    State(String),
    /// Text; also dates and times, as `2026-01-31 23:59:00`.
    Text(String),
    /// A property map.
    Properties(PropertyMap),
    /// Objects.
    Instances(Vec<Eoj>),
    /// Classes.
    Classes(Vec<ClassCode>),
    /// Named fields.
    Record(Vec<(String, Value)>),
    /// Several values.
    List(Vec<Value>),
    /// Bytes without a known format, or that do not fit their definition.
    Raw(Vec<u8>),
}

/// Formats a sequence.
fn list<T>(f: &mut fmt::Formatter<'_>, between: &str, items: impl IntoIterator<Item = T>) -> fmt::Result
where
    T: fmt::Display,
{
    for (index, item) in items.into_iter().enumerate() {
        let between = if index == 0 { "" } else { between };
        write!(f, "{between}{item}")?;
    }
    Ok(())
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(quantity) => quantity.fmt(f),
            Self::State(text) | Self::Text(text) => f.write_str(text),
            Self::Properties(map) => list(f, " ", map.iter()),
            Self::Instances(instances) => list(f, " ", instances),
            Self::Classes(classes) => list(f, " ", classes),
            Self::Record(fields) => {
                list(f, ", ", fields.iter().map(|(name, value)| format!("{name}={value}")))
            }
            Self::List(values) => list(f, ", ", values),
            Self::Raw(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
            }
        }
    }
}
